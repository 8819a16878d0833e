"""Renders the results of this room as text that fits a coding agent and counts what it leaves out."""

# ruff: noqa: E501  (a line here is a line there)
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from refute.repository.claim_lines import (
    IN_CI,
    ci_lines,
    claim_lines,
    claims_as_lines,
    falsifier_lines,
    first_of,
    quoted,
)
from refute.repository.models import (
    ChangedFile,
    ChangeScope,
    ClaimSet,
    Component,
    MapItem,
    RepositoryMap,
    TestInventory,
    Toolbox,
    ToolboxEntry,
)

_ROOM_TO_GO_ON = 120  # characters of the line that says where a cut answer goes on
_ENTRY_CHARACTERS, _MOST_GROUPS, _MOST_GAPS = 320, 15, 15
_MOST_FILES, _MOST_ITEMS, _MOST_CLAIMS, _MOST_TESTS = 60, 30, 25, 20  # of a change in text
_MOST_ENTRIES = 60  # of a toolbox in text, so that the inventory and the gaps still fit an answer


def _bounded(head: Iterable[str], body: Iterable[str], tail: Iterable[str], limit: int, start: int) -> str:
    """Head, lines of the body from `start` on, and tail in at most `limit` characters; where the body goes on."""
    first = [_on_one_line(text)[: limit // 8] for text in head]
    last = [_on_one_line(text)[: limit // 16] for text in tail]
    rows = [_on_one_line(text)[: limit // 4] for text in body]
    room = limit - _ROOM_TO_GO_ON - sum(len(line) + 1 for line in (*first, *last))
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
        f"CONTRADICTION ({row.kind}): {row.a} {quoted(row.a_quote, 160)} against {row.b} {quoted(row.b_quote, 160)}. {row.note}"
        for row in found.contradictions
    ]
    below = [*falsifier_lines(shown), *ci_lines(shown)]
    tail = [
        f"left out: {_counted(found.left_out)}; withheld because the citation did not match: {found.withheld}"
    ]
    if found.without_grammar:
        tail.append(f"comments only, no grammar: {_counted(found.without_grammar)}")
    taken = sum(len(line) + 1 for line in (*head, *lines, *below, *tail))
    lines += claims_as_lines(shown, limit - _ROOM_TO_GO_ON - taken)
    return _bounded(head, [*lines, *below], tail, limit, start)


def _why_few(found: ClaimSet, shown: int) -> str:
    if found.promising <= shown < len(found.claims):
        return ", the rest promises little (ask for more with top)"
    return ""


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
    lines += map(_component_line, found.components)
    kind = ""
    for item in found.items:
        if item.kind != kind:
            kind = item.kind
            lines.append(f"{kind}:")
        lines.append(_item_line(item))
    tail = [f"no sign of: {', '.join(found.absent)}"] if found.absent else []
    tail.append(f"left out: {_counted(found.left_out)}")
    if found.without_grammar:
        tail.append(f"comments only, no grammar: {_counted(found.without_grammar)}")
    return _bounded(head, lines, tail, limit, start)


def _component_line(part: Component) -> str:
    about = (
        f"  {part.path}: {part.lines} lines in {_number(part.files, 'file')} ({', '.join(part.languages)})"
    )
    # many languages keep tests in a folder of their own
    has = [_number(part.tests, "test")] if part.tests else []
    has += [f"{kind} {count}" for kind, count in part.marks.items()]
    purpose = quoted(part.purpose, 90) if part.purpose else ""
    return "; ".join(part for part in (about, ", ".join(has), purpose) if part)


def _item_line(item: MapItem) -> str:
    shown = f" {quoted(item.shown, 90)}" if item.shown else ""
    also = f" also on {', '.join(str(place.line) for place in item.also_at)}" if item.also_at else ""
    return f"  {item.path}:{item.line}{shown}{also}"


def toolbox_text(found: Toolbox, limit: int, start: int = 0) -> str:
    """Entries by rank, then the inventory and the gaps."""
    head = [f"{found.name} at {found.commit[:12]}: {len(found.entries)} ways to test it"]
    head += [f"note: {note}" for note in found.notes]
    if found.absent:
        head.append(f"not found: {', '.join(found.absent)}")
    lines = [_entry_line(entry)[:_ENTRY_CHARACTERS] for entry in found.entries[:_MOST_ENTRIES]]
    if len(found.entries) > _MOST_ENTRIES:
        kinds = Counter(entry.kind for entry in found.entries[_MOST_ENTRIES:])
        lines.append(f"{len(found.entries) - _MOST_ENTRIES} more entries: {_counted(dict(kinds))}")
    lines += _oracle_lines(found.entries[:_MOST_ENTRIES])
    lines.append(f"tests by subsystem ({len(found.inventory)}):")
    lines += [_inventory_line(group) for group in found.inventory[:_MOST_GROUPS]]
    lines += _more(len(found.inventory) - _MOST_GROUPS)
    lines.append(f"claims without a test under fault ({len(found.gaps)}):")
    lines += [f"  {gap}" for gap in found.gaps[:_MOST_GAPS]]
    lines += _more(len(found.gaps) - _MOST_GAPS)
    return _bounded(head, lines, [f"left out: {_counted(found.left_out)}"], limit, start)


def _entry_line(entry: ToolboxEntry) -> str:
    said = f"{entry.path} {entry.command} {entry.what}"
    needs = [need for need in entry.needs if need not in said]
    also = [kind for kind in entry.also if kind not in said]
    facts = (
        f"run `{entry.command}`{_in_folder(entry.working_directory)}" if entry.command else "",
        "" if entry.name in said or entry.path in entry.name else quoted(entry.name, 60),
        f"on {entry.trigger}" if entry.trigger else "",
        entry.status if entry.status != "active" else "",
        f"needs {', '.join(needs)}" if needs else "",
        f"also {', '.join(also)}" if also else "",
        f"faults: {', '.join(entry.faults)}" if entry.faults else "",
        f"seed: {quoted(entry.seed, 60)}" if entry.seed else "",
        entry.what,
    )
    return f"[{entry.kind}] {entry.path}:{entry.line} {'; '.join(fact for fact in facts if fact)}"


def _oracle_lines(entries: Iterable[ToolboxEntry]) -> list[str]:
    """Each oracle once, with the kinds of entries that have it."""
    kinds: dict[str, dict[str, None]] = {}
    for entry in entries:
        if entry.oracle:
            kinds.setdefault(entry.oracle, {})[entry.kind] = None
    rows = [f"  {', '.join(names)}: {oracle}" for oracle, names in kinds.items()]
    return ["oracles (by kind):", *rows] if rows else []


def _inventory_line(group: TestInventory) -> str:
    unasserted = group.tests - group.asserting
    counts = (
        f"{_number(group.tests, 'test')}, {group.under_fault} under fault, {unasserted} without an assertion"
    )
    pins = f"; pins {', '.join(quoted(pin, 60) for pin in group.pins[:2])}" if group.pins else ""
    return f"  {group.subsystem}: {counts}{pins}, first at {group.example}"


def _in_folder(folder: str) -> str:
    return f" in {folder}" if folder != "." else ""


def _number(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def _more(count: int) -> list[str]:
    """That this many rows of a list are in the data alone."""
    return [f"  {count} more in the JSON"] if count > 0 else []


def scope_text(found: ChangeScope, limit: int, start: int = 0) -> str:
    """The judgement first, then files, claims, surfaces, callers and tests."""
    about = f"{found.name} {found.base[:12]}..{found.head[:12]}: {_number(len(found.files), 'file')}"
    needed = {True: "yes", False: "not needed", None: "cannot be told, so do not leave it out"}
    head = [f"{about}. {found.why}", f"distributed test: {needed[found.needs_distributed_test]}"]
    head += [f"note: {note}" for note in found.notes]
    lines = [_file_line(file) for file in found.files[:_MOST_FILES]]
    lines += _more(len(found.files) - _MOST_FILES)
    for title, items in (("surfaces", found.surfaces), ("callers", found.callers)):
        lines += [f"{title}:"] if items else []
        lines += [
            f"  {item.path}:{item.line} {item.kind} {item.name if title == 'callers' else ''} {quoted(item.shown, 80)}"
            for item in items[:_MOST_ITEMS]
        ]
        lines += _more(len(items) - _MOST_ITEMS)
    if found.claims:
        lines.append("claims on changed lines:")
    for claim in found.claims[:_MOST_CLAIMS]:
        lines += claim_lines(claim)
    lines += _more(len(found.claims) - _MOST_CLAIMS)
    lines += falsifier_lines(found.claims[:_MOST_CLAIMS])
    if found.tests:
        lines.append("tests:")
    lines += [
        f"  {test.name[:60]} ({test.place}, {test.strength}, {IN_CI[test.in_ci]})"
        for test in found.tests[:_MOST_TESTS]
    ]
    lines += _more(len(found.tests) - _MOST_TESTS)
    lines += [
        f"  CI: {by}" for by in dict.fromkeys(test.ci for test in found.tests[:_MOST_TESTS] if test.ci)
    ][:6]
    return _bounded(head, lines, [f"left out: {_counted(found.left_out)}"], limit, start)


def _file_line(file: ChangedFile) -> str:
    ranges = [str(first) if first == last else f"{first}-{last}" for first, last in file.lines]
    facts = (
        f"from {file.old_path}" if file.old_path else "",
        f"lines {first_of(ranges, 4)}" if ranges else "",
        f"not compared: {file.unread}" if file.unread else "",
        "only comments or layout" if file.only_comments else "",
        "moves dependencies" if file.dependencies else "",
        f"what ships: {file.shipping}" if file.shipping else "",
        f"in {first_of(file.symbols, 6)}" if file.symbols else "",
    )
    about = f"  {file.status} {file.path} ({file.role}) +{file.added} -{file.removed}"
    return "; ".join([about, *(fact for fact in facts if fact)])
