"""What a commit, a range or a branch touches: files, symbols, surfaces, claims, tests, callers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from refute.repository.ci_reach import TestsInCi
from refute.repository.claims import claims_of
from refute.repository.differences import Change, changes_between, ends_of
from refute.repository.facts import FileFacts
from refute.repository.file_kinds import language_of, role_of
from refute.repository.models import ChangedFile, ChangeScope, Claim, MapItem, Place, RelatedTest
from refute.repository.notices import notices
from refute.repository.problems import RepositoryError
from refute.repository.quiet_changes import judge, moves_dependencies, only_comments
from refute.repository.related_tests import strength_of
from refute.repository.repository_map import KINDS
from refute.repository.shipping import shipping_of
from refute.repository.snapshot import RepositorySnapshot
from refute.repository.source_file import SourceFile
from refute.repository.survey import Survey, survey

_MOST_CALLERS = 40
_MOST_LINES_OF_A_NAME = 60


def scope_change(snapshot: RepositorySnapshot, change: str) -> ChangeScope:
    """What `change` touches: a commit, `A..B`, `A...B`, or a branch (against where it left HEAD).

    The snapshot is the right-hand side: open the repository at that revision for line numbers that agree;
    where it differs, a note says so. Where there is nothing to compare with (a plain folder, no commit, a
    parent that is missing), the answer says so. Raises RepositoryError where there is no such revision.
    """
    if change != "HEAD" and snapshot.commit is None:
        problem = "a plain folder has no revisions" if snapshot.repo is None else "there is no commit yet"
        raise RepositoryError(f"{problem}, so that {change!r} names no change", where=snapshot.root)
    surveyed = survey(snapshot)
    if snapshot.repo is None or snapshot.commit is None:
        why = (
            "Without a history that can be read, what changed cannot be told."
            if snapshot.repo is None
            else "HEAD names no commit: what changed cannot be told."
            if snapshot.references
            else "There is no commit yet: nothing can have changed."
        )
        return _nothing_compared(snapshot, surveyed, "", snapshot.label, why)
    ends = ends_of(snapshot, change)
    base, head = ends.base, ends.head
    if ends.why:
        return _nothing_compared(snapshot, surveyed, base, head, ends.why)
    changes, truncated = changes_between(snapshot, base, head)
    by_path = {file.path: (file, facts) for file, facts in surveyed.files}
    files = [_changed_file(row, by_path.get(row.path), only_comments(snapshot, row)) for row in changes]
    symbols = {name for file in files if file.role in ("code", "interface") for name in file.symbols}
    claims = _touched_claims(snapshot, surveyed, changes)
    surfaces = _surfaces(changes, by_path)
    tests = _tests(snapshot, surveyed, symbols, files)
    callers, unsought = _callers(snapshot, surveyed, symbols, {file.path for file in files})
    needed, why = judge(files, claims, surfaces)
    notes = list(ends.notes)
    if head != snapshot.commit:
        notes.append(
            f"The files were read at {snapshot.label[:12]}, the change ends at {head[:12]}: "
            "line numbers may differ."
        )
    if truncated:
        notes.append("The difference is over 40 MB: the rest of it was not read.")
    if unsought:
        notes.append(
            f"Callers of names that are short or everywhere are not told: {', '.join(unsought[:10])}."
        )
    if len(callers) > _MOST_CALLERS:
        notes.append(f"{len(callers) - _MOST_CALLERS} more lines name a changed symbol.")
    notes += notices(snapshot)
    return ChangeScope(
        name=snapshot.name,
        base=base,
        head=head,
        files=tuple(files),
        surfaces=tuple(surfaces),
        claims=tuple(claims),
        tests=tuple(tests),
        callers=tuple(callers[:_MOST_CALLERS]),
        needs_distributed_test=needed,
        why=why,
        left_out={**surveyed.left_out, **_not_compared(changes)},
        notes=tuple(notes),
    )


def _nothing_compared(
    snapshot: RepositorySnapshot, surveyed: Survey, base: str, head: str, why: str
) -> ChangeScope:
    """The answer where there is nothing to compare with: nobody knows whether a test is needed."""
    return ChangeScope(
        name=snapshot.name,
        base=base,
        head=head,
        files=(),
        surfaces=(),
        claims=(),
        tests=(),
        callers=(),
        needs_distributed_test=None if snapshot.files or snapshot.references else False,
        why=why,
        left_out={"files not compared": len(snapshot.files), **surveyed.left_out},
        notes=notices(snapshot),
    )


def _not_compared(changes: Iterable[Change]) -> dict[str, int]:
    """How many of the changed files could not be compared line by line, by reason."""
    return dict(Counter(f"changed files not compared ({row.unread})" for row in changes if row.unread))


def revision_to_open(change: str) -> str:
    """The revision at which to open a repository so that its lines are those of the end of the change."""
    return re.split(r"\.\.\.?", change)[-1] or "HEAD"


def _changed_file(
    change: Change, known: tuple[SourceFile, FileFacts] | None, only_comments: bool
) -> ChangedFile:
    lines = [number for number, _ in change.added] or [number for number, _ in change.removed]
    symbols: list[str] = []
    if known is not None and change.status != "deleted":
        touched = {number for number, _ in change.added} | {
            number for number, _ in change.removed if not change.added
        }
        symbols = [
            row.name
            for row in known[1].definitions
            if row.kind not in ("module", "variable")
            and any(row.line <= number <= row.end_line for number in touched)
        ]
    return ChangedFile(
        path=change.path,
        status=change.status,
        role=role_of(change.path),
        language=language_of(change.path),
        added=len(change.added),
        removed=len(change.removed),
        lines=tuple(_runs(lines))[:20],
        symbols=tuple(dict.fromkeys(symbols))[:30],
        only_comments=only_comments,
        old_path=change.old_path if change.old_path != change.path else "",
        unread=change.unread,
        dependencies=moves_dependencies(change),
        shipping="" if only_comments else shipping_of(change),
    )


def _runs(numbers: Sequence[int]) -> Iterable[tuple[int, int]]:
    start = last = None
    for number in sorted(set(numbers)):
        if last is not None and number == last + 1:
            last = number
            continue
        if start is not None and last is not None:
            yield start, last
        start = last = number
    if start is not None and last is not None:
        yield start, last


def _touched_claims(snapshot: RepositorySnapshot, surveyed: Survey, changes: Sequence[Change]) -> list[Claim]:
    """Claims with a citation on a changed line, then those bound to a changed symbol's file region."""
    lines: dict[str, set[int]] = {
        row.path: {number for number, _ in row.added} | {number for number, _ in row.removed}
        for row in changes
    }
    whole = claims_of(snapshot, surveyed, keep=1500)
    found = []
    for claim in whole.claims:
        places = [Place(path=claim.path, line=claim.line, end_line=claim.end_line), *claim.also_at]
        if any(
            number in lines.get(place.path, ())
            for place in places
            for number in range(place.line - 1, place.end_line + 2)
        ):
            found.append(claim)
    return found[:60]


def _surfaces(changes: Sequence[Change], by_path: dict[str, tuple[SourceFile, FileFacts]]) -> list[MapItem]:
    found = []
    for change in changes:
        if change.path not in by_path or role_of(change.path) not in (
            "code",
            "interface",
            "settings",
            "tooling",
        ):
            continue
        touched = {number for number, _ in change.added} | {number for number, _ in change.removed}
        kinds: Counter[str] = Counter()
        for kind, line, shown in by_path[change.path][1].marks:
            near = any(abs(line - number) <= 12 for number in touched)
            if kind in KINDS and not kinds[kind] and (near or role_of(change.path) == "interface"):
                kinds[kind] += 1
                found.append(
                    MapItem(
                        kind=kind, name=change.path, path=change.path, line=line, end_line=line, shown=shown
                    )
                )
        if role_of(change.path) == "interface" and not kinds:
            found.append(MapItem(kind="wire format", name=change.path, path=change.path, line=1, end_line=1))
    return found[:60]


def _tests(
    snapshot: RepositorySnapshot, surveyed: Survey, symbols: set[str], files: Sequence[ChangedFile]
) -> list[RelatedTest]:
    """Tests that changed, and tests whose name holds the name of a changed symbol."""
    changed = {file.path: file for file in files if file.role == "test"}
    in_ci = TestsInCi(snapshot)
    short = {name.rsplit(".", 1)[-1].lower() for name in symbols if len(name.rsplit(".", 1)[-1]) > 5}
    found = []
    for file, facts in surveyed.files:
        for case in facts.tests:
            touched = file.path in changed and any(
                first <= case.end_line and last >= case.line for first, last in changed[file.path].lines
            )
            plain = case.name.lower().replace("_", "").replace(" ", "")
            if touched or any(name.replace("_", "") in plain for name in short):
                place = Place(path=file.path, line=case.line, end_line=case.end_line)
                reach = in_ci.of(file.path)
                test = RelatedTest(
                    name=case.name,
                    place=place,
                    strength=strength_of(case),
                    in_ci=reach.answer,
                    ci=reach.by,
                )
                found.append((not touched, test))
    found.sort(key=lambda row: (row[0], row[1].place.path, row[1].place.line))
    return [test for _, test in found[:60]]


def _callers(
    snapshot: RepositorySnapshot, surveyed: Survey, symbols: set[str], changed: set[str]
) -> tuple[list[MapItem], list[str]]:
    """Lines elsewhere that name a changed symbol, each once a name; and the names that are not looked for.

    Those are short, or on so many lines that they say nothing.
    """
    names = sorted({name.rsplit(".", 1)[-1] for name in symbols})
    short = [name for name in names if len(name) > 3][:60]
    unsought = [name for name in names if name not in short]
    if not short:
        return [], unsought
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, short)) + r")\b")
    found: list[tuple[str, MapItem]] = []
    counts: Counter[str] = Counter()
    wanted = [
        file
        for file, facts in surveyed.files
        if file.path not in changed and role_of(file.path) in ("code", "interface") and facts.definitions
    ]
    definitions = {file.path: facts.definitions for file, facts in surveyed.files}
    for file, data in snapshot.contents(wanted):
        text = data.decode("utf-8", "replace")
        line = position = 0
        before = ("", -1)
        lines = text.split("\n")
        for match in pattern.finditer(text):
            line += text.count("\n", position, match.start())
            position = match.start()
            shown = lines[line].strip()
            if (match.group(1), line) == before:
                continue
            before = (match.group(1), line)
            if shown.startswith(("//", "#", "*", "/*", "--")):
                continue
            counts[match.group(1)] += 1
            if counts[match.group(1)] <= 30:
                within = ""
                for row in definitions[file.path]:
                    if row.line <= line + 1 <= row.end_line:
                        within = row.name
                item = MapItem(
                    kind="caller",
                    name=f"{within or file.path} uses {match.group(1)}",
                    path=file.path,
                    line=line + 1,
                    end_line=line + 1,
                    shown=shown[:120],
                )
                found.append((match.group(1), item))
    everywhere = [name for name in short if counts[name] > _MOST_LINES_OF_A_NAME]
    return [item for name, item in found if name not in everywhere], [*unsought, *everywhere]
