"""Renders the results of this room as text that fits a coding agent and counts what it leaves out."""

# ruff: noqa: E501  (a line here is a line there)
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from refute.repository.models import ChangeScope, Claim, ClaimSet, RepositoryMap, Toolbox

_MOST_ENTRIES = 60  # of a toolbox in text, so that the inventory and the gaps still fit an answer


def _bounded(lines: Iterable[str], limit: int, what: str) -> str:
    """Whole lines up to `limit` characters, and how many more there were."""
    kept: list[str] = []
    size = left = 0
    for text in lines:
        line = _on_one_line(text)
        if left or size + len(line) + 1 > limit - 80:
            left += 1
            continue
        kept.append(line)
        size += len(line) + 1
    if left:
        kept.append(f"... {left} more lines of {what} left out: ask for the next page or for JSON.")
    return "\n".join(kept)


def _on_one_line(text: str) -> str:
    """A name out of the repository cannot begin a line of the answer, nor turn its direction."""
    return text if text.isprintable() else "".join(sign if sign.isprintable() else " " for sign in text)


def _counted(counts: dict[str, int]) -> str:
    return (
        ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda row: -row[1]))
        or "nothing"
    )


def _quoted(text: str, most: int = 320) -> str:
    """Text of the repository as a quotation on one line: it is material, whatever it says."""
    shown = " ".join(text.split()).replace("»", "›").replace("«", "‹")
    return f"«{shown[:most]}{'…' if len(shown) > most else ''}»"


def claims_text(found: ClaimSet, limit: int, start: int = 0) -> str:
    """The first claims, a line or three each, with counts by category and contradictions."""
    shown = found.claims[start : start + found.top]
    lines = [
        f"{found.name} at {found.commit[:12]}: {len(found.claims)} claims kept of {found.candidates} candidate sentences; "
        f"{start + 1}-{start + len(shown)} shown{_why_few(found, start + len(shown))}. What stands in «» is quoted from the repository."
    ]
    lines += [f"note: {note}" for note in found.notes]
    lines.append("by category: " + ", ".join(f"{name} {count}" for name, count in found.counts.items()))
    empty = [name for name, count in found.counts.items() if not count]
    if empty:
        lines.append(f"no claim found about: {', '.join(empty)}")
    for row in found.contradictions:
        lines.append(
            f"CONTRADICTION ({row.kind}): {row.a} {_quoted(row.a_quote, 160)} against {row.b} {_quoted(row.b_quote, 160)}. {row.note}"
        )
    for claim in shown:
        lines += _claim_lines(claim)
    lines.append(
        f"left out: {_counted(found.left_out)}; withheld because the citation did not match: {found.withheld}"
    )
    if found.without_grammar:
        lines.append(f"comments only, no grammar: {_counted(found.without_grammar)}")
    return _bounded(lines, limit, "claims")


def _why_few(found: ClaimSet, shown: int) -> str:
    if found.promising <= shown < len(found.claims):
        return ", the rest promises little (ask for more with top)"
    return ""


def _claim_lines(claim: Claim) -> list[str]:
    head = f"{claim.rank}. {claim.id} [{claim.category}{', ' + ', '.join(claim.secondary) if claim.secondary else ''}; {claim.polarity}] {_quoted(claim.sentence)}"
    facts = [claim.citation]
    if claim.symbol:
        facts.append(f"in {claim.symbol}")
    if claim.default:
        facts.append(f"default {claim.default}")
    if claim.also_at:
        facts.append(
            "also "
            + ", ".join(map(str, claim.also_at[:3]))
            + (f" +{len(claim.also_at) - 3}" if len(claim.also_at) > 3 else "")
        )
    if not claim.explicit:
        facts.append(f"inferred: {claim.rule}")
    if claim.related_tests:
        facts.append(
            "tests " + ", ".join(f"{test.name[:60]} ({test.strength})" for test in claim.related_tests[:2])
        )
    return [head, "   " + "; ".join(facts)]


def map_text(found: RepositoryMap, limit: int) -> str:
    """Languages, diagram, components, entry documents, then surfaces and machinery."""
    lines = [
        f"{found.name} at {found.commit[:12]}: {found.files} files; lines by language: {_counted(found.languages)}"
    ]
    lines += [f"note: {note}" for note in found.notes]
    lines += [
        "",
        *found.diagram.splitlines(),
        "",
        "read first: " + (", ".join(place.path for place in found.entry_documents) or "no entry document"),
    ]
    lines.append("components:")
    for part in found.components:
        has = (
            [f"{part.tests} tests"] if part.tests else []
        )  # many languages keep them in a folder of their own
        has += [f"{kind} {count}" for kind, count in part.marks.items()]
        languages = ", ".join(part.languages)
        about = f"  {part.path}: {part.lines} lines in {part.files} files ({languages})"
        lines.append("; ".join([about, ", ".join(has)]) if has else about)
    kind = ""
    for item in found.items:
        if item.kind != kind:
            kind = item.kind
            lines.append(f"{kind}:")
        lines.append(f"  {item.path}:{item.line} {_quoted(item.shown, 90) if item.shown else ''}".rstrip())
    if found.absent:
        lines.append(f"no sign of: {', '.join(found.absent)}")
    lines.append(f"left out: {_counted(found.left_out)}")
    if found.without_grammar:
        lines.append(f"comments only, no grammar: {_counted(found.without_grammar)}")
    return _bounded(lines, limit, "the map")


def toolbox_text(found: Toolbox, limit: int) -> str:
    """Entries by rank, then the inventory and the gaps."""
    lines = [f"{found.name} at {found.commit[:12]}: {len(found.entries)} ways to test it"]
    lines += [f"note: {note}" for note in found.notes]
    if found.absent:
        lines.append(f"not found: {', '.join(found.absent)}")
    for entry in found.entries[:_MOST_ENTRIES]:
        facts = [
            part
            for part in (
                f"run `{entry.command}`" + _in_folder(entry.working_directory) if entry.command else "",
                f"on {entry.trigger}" if entry.trigger else "",
                entry.status if entry.status != "active" else "",
                entry.what,
            )
            if part
        ]
        lines.append(f"[{entry.kind}] {entry.path}:{entry.line} {'; '.join(facts)}"[:260])
    if len(found.entries) > _MOST_ENTRIES:
        kinds = Counter(entry.kind for entry in found.entries[_MOST_ENTRIES:])
        lines.append(f"{len(found.entries) - _MOST_ENTRIES} more entries: {_counted(dict(kinds))}")
    lines.append("tests by subsystem:")
    for group in found.inventory[:15]:
        lines.append(
            f"  {group.subsystem}: {group.tests} tests, {group.under_fault} under fault, {group.tests - group.asserting} without an assertion"
        )
    lines.append(f"claims without a test under fault ({len(found.gaps)}):")
    lines += [f"  {gap}" for gap in found.gaps[:15]]
    lines.append(f"left out: {_counted(found.left_out)}")
    return _bounded(lines, limit, "the toolbox")


def _in_folder(folder: str) -> str:
    return f" in {folder}" if folder != "." else ""


def scope_text(found: ChangeScope, limit: int) -> str:
    """The judgement first, then files, claims, surfaces, callers and tests."""
    lines = [f"{found.name} {found.base[:12]}..{found.head[:12]}: {len(found.files)} files. {found.why}"]
    needed = {True: "yes", False: "not needed", None: "cannot be told, so do not leave it out"}
    lines.append(f"distributed test: {needed[found.needs_distributed_test]}")
    lines += [f"note: {note}" for note in found.notes]
    for file in found.files[:60]:
        lines.append(
            f"  {file.status} {file.path} ({file.role}) +{file.added} -{file.removed} {', '.join(file.symbols[:6])}".rstrip()
        )
    for title, items in (("surfaces", found.surfaces), ("callers", found.callers)):
        lines += [f"{title}:"] if items else []
        lines += [
            f"  {item.path}:{item.line} {item.kind} {item.name if title == 'callers' else ''} {_quoted(item.shown, 80)}"
            for item in items[:30]
        ]
    if found.claims:
        lines.append("claims on changed lines:")
    for claim in found.claims[:25]:
        lines += _claim_lines(claim)
    if found.tests:
        lines.append(
            "tests: "
            + ", ".join(f"{test.name[:60]} ({test.place}, {test.strength})" for test in found.tests[:20])
        )
    lines.append(f"left out: {_counted(found.left_out)}")
    return _bounded(lines, limit, "the scope")
