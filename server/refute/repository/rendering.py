"""Renders the results of this room as text that fits a coding agent and counts what it leaves out."""

# ruff: noqa: E501  (a line here is a line there)
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from refute.repository.models import ChangeScope, Claim, ClaimSet, RepositoryMap, Toolbox

_MOST_ENTRIES = 60  # of a toolbox in text, so that the inventory and the gaps still fit an answer


def _bounded(head: Iterable[str], body: Iterable[str], tail: Iterable[str], limit: int, start: int) -> str:
    """Head, lines of the body from `start` on, and tail in at most `limit` characters; where the body goes on."""
    first = [_on_one_line(text)[: limit // 8] for text in head]
    last = [_on_one_line(text)[: limit // 16] for text in tail]
    rows = [_on_one_line(text)[: limit // 4] for text in body]
    room = limit - 120 - sum(len(line) + 1 for line in (*first, *last))
    kept: list[str] = []
    for line in rows[start:]:
        room -= len(line) + 1
        if room < 0 and kept:
            break
        kept.append(line)
    left = len(rows) - start - len(kept)
    if left > 0:
        kept.append(f"... {left} more lines left out: ask again with start={start + len(kept)}, or for JSON.")
    if start:
        kept.insert(0, f"... {min(start, len(rows))} lines before these")
    return "\n".join([*first, *kept, *last])[:limit]


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
    """The first claims, a line or two each, with counts by category and contradictions."""
    shown = found.claims[: found.top]
    head = [
        f"{found.name} at {found.commit[:12]}: {len(found.claims)} claims kept of {found.candidates} candidate sentences; "
        f"{f'1-{len(shown)}' if shown else 'none'} shown{_why_few(found, len(shown))}. What stands in «» is quoted from the repository."
    ]
    head += [f"note: {note}" for note in found.notes]
    head.append("by category: " + ", ".join(f"{name} {count}" for name, count in found.counts.items()))
    empty = [name for name, count in found.counts.items() if not count]
    if empty:
        head.append(f"no claim found about: {', '.join(empty)}")
    lines = [
        f"CONTRADICTION ({row.kind}): {row.a} {_quoted(row.a_quote, 160)} against {row.b} {_quoted(row.b_quote, 160)}. {row.note}"
        for row in found.contradictions
    ]
    for claim in shown:
        lines += _claim_lines(claim)
    lines += _falsifier_lines(shown)
    tail = [
        f"left out: {_counted(found.left_out)}; withheld because the citation did not match: {found.withheld}"
    ]
    if found.without_grammar:
        tail.append(f"comments only, no grammar: {_counted(found.without_grammar)}")
    return _bounded(head, lines, tail, limit, start)


def _falsifier_lines(shown: Iterable[Claim]) -> list[str]:
    """Each fault and oracle once, with the claims that they would show to be false."""
    ranks: dict[str, list[int]] = {}
    for claim in shown:
        way = f"{claim.falsified_by.fault}; oracle: {claim.falsified_by.oracle}"
        ranks.setdefault(way, []).append(claim.rank)
    rows = [f"  {', '.join(map(str, numbers))}: {way}" for way, numbers in ranks.items()]
    return ["to falsify (by rank):", *rows] if rows else []


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
            "tests "
            + ", ".join(
                f"{test.name[:60]} ({test.strength}{', in CI' if test.in_ci else ''})"
                for test in claim.related_tests[:2]
            )
        )
    return [head, "   " + "; ".join(facts)]


def map_text(found: RepositoryMap, limit: int, start: int = 0) -> str:
    """Languages, diagram, components, entry documents, then surfaces and machinery."""
    head = [
        f"{found.name} at {found.commit[:12]}: {found.files} files; lines by language: {_counted(found.languages)}"
    ]
    head += [f"note: {note}" for note in found.notes]
    lines = [
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
    tail = [f"no sign of: {', '.join(found.absent)}"] if found.absent else []
    tail.append(f"left out: {_counted(found.left_out)}")
    if found.without_grammar:
        tail.append(f"comments only, no grammar: {_counted(found.without_grammar)}")
    return _bounded(head, lines, tail, limit, start)


def toolbox_text(found: Toolbox, limit: int, start: int = 0) -> str:
    """Entries by rank, then the inventory and the gaps."""
    head = [f"{found.name} at {found.commit[:12]}: {len(found.entries)} ways to test it"]
    head += [f"note: {note}" for note in found.notes]
    if found.absent:
        head.append(f"not found: {', '.join(found.absent)}")
    lines = []
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
    lines += [
        f"  {group.subsystem}: {group.tests} tests, {group.under_fault} under fault, {group.tests - group.asserting} without an assertion"
        for group in found.inventory[:15]
    ]
    lines.append(f"claims without a test under fault ({len(found.gaps)}):")
    lines += [f"  {gap}" for gap in found.gaps[:15]]
    return _bounded(head, lines, [f"left out: {_counted(found.left_out)}"], limit, start)


def _in_folder(folder: str) -> str:
    return f" in {folder}" if folder != "." else ""


def scope_text(found: ChangeScope, limit: int, start: int = 0) -> str:
    """The judgement first, then files, claims, surfaces, callers and tests."""
    head = [f"{found.name} {found.base[:12]}..{found.head[:12]}: {len(found.files)} files. {found.why}"]
    needed = {True: "yes", False: "not needed", None: "cannot be told, so do not leave it out"}
    head.append(f"distributed test: {needed[found.needs_distributed_test]}")
    head += [f"note: {note}" for note in found.notes]
    lines = [
        f"  {file.status} {file.path} ({file.role}) +{file.added} -{file.removed} {', '.join(file.symbols[:6])}".rstrip()
        for file in found.files[:60]
    ]
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
    if len(found.files) > 60:
        head.append(f"{len(found.files) - 60} more files are named in the JSON")
    return _bounded(head, lines, [f"left out: {_counted(found.left_out)}"], limit, start)
