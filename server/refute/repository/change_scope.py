"""What a commit, a range or a branch touches: files, symbols, surfaces, claims, tests, callers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from refute.repository.claims import claims_of
from refute.repository.facts import FileFacts
from refute.repository.file_kinds import GRAMMARS, PROSE, language_of, role_of
from refute.repository.mirror import RepositorySnapshot, SourceFile
from refute.repository.models import ChangedFile, ChangeScope, Claim, MapItem, Place, RelatedTest
from refute.repository.problems import RepositoryError
from refute.repository.related_tests import strength_of
from refute.repository.repository_map import KINDS
from refute.repository.survey import Survey, survey
from refute.repository.syntax import read_syntax

_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_STATUS = {"A": "added", "D": "deleted", "R": "renamed"}
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_COMMENT_LINE = re.compile(r"^\s*(//|/\*|\*|#(?!include|define|if|endif|else|pragma|\[)|--|%|;|\"\"\"|''')")
_STARTS_COMMENT = re.compile(r"^\s*(?://|/\*|\*|#|[rRbBuU]{0,2}(?:\"\"\"|'''|\"|')|@\w*doc\b)")
# comments that a compiler or an interpreter obeys
_DIRECTIVE = re.compile(
    r"^\s*(?://go:|// ?\+build|#!|#\s*-\*-|//\s*@ts-|#\s*(?:frozen_string_literal|cython:|distutils:)|/\*!\d)"
)
_QUIET_ROLES = frozenset({"entry", "document", "reference", "news", "licence", "translation", "example"})
_MOST_BYTES_OF_DIFF = 40_000_000
_MOST_CALLERS = 40


@dataclass
class _Change:
    path: str
    old_path: str
    status: str
    old_blob: str = ""
    new_blob: str = ""
    added: list[tuple[int, str]] = field(default_factory=list)
    removed: list[tuple[int, str]] = field(default_factory=list)


def scope_change(snapshot: RepositorySnapshot, change: str) -> ChangeScope:
    """What `change` touches: a commit, `A..B`, `A...B`, or a branch (against where it left HEAD).

    The snapshot is the right-hand side: open the repository at that revision for line numbers that agree;
    where it differs, a note says so. Raises RepositoryError where there is no such revision.
    """
    if snapshot.repo is None or snapshot.commit is None:
        raise RepositoryError("a change needs a git repository with commits", where=snapshot.root)
    base, head = _ends(snapshot, change)
    changes, truncated = _diff(snapshot, base, head)
    surveyed = survey(snapshot)
    by_path = {file.path: (file, facts) for file, facts in surveyed.files}
    files = [_changed_file(row, by_path.get(row.path), _only_comments(snapshot, row)) for row in changes]
    symbols = {name for file in files if file.role in ("code", "interface") for name in file.symbols}
    claims = _touched_claims(snapshot, surveyed, changes)
    surfaces = _surfaces(changes, by_path)
    tests = _tests(surveyed, symbols, files)
    callers = _callers(snapshot, surveyed, symbols, {file.path for file in files})
    needed, why = _judge(files, claims, surfaces)
    notes = (
        [
            f"The files were read at {snapshot.label[:12]}, the change ends at {head[:12]}: "
            "line numbers may differ."
        ]
        if head != snapshot.commit
        else []
    )
    if truncated:
        notes.append("The difference is over 40 MB: the rest of it was not read.")
    if snapshot.work_tree.sentence():
        notes.append(snapshot.work_tree.sentence())
    return ChangeScope(
        name=snapshot.name,
        base=base,
        head=head,
        files=tuple(files),
        surfaces=tuple(surfaces),
        claims=tuple(claims),
        tests=tuple(tests),
        callers=tuple(callers),
        needs_distributed_test=needed,
        why=why,
        left_out=surveyed.left_out,
        notes=tuple(notes),
    )


def revision_to_open(change: str) -> str:
    """The revision at which to open a repository so that its lines are those of the end of the change."""
    return re.split(r"\.\.\.?", change)[-1] or "HEAD"


def _ends(snapshot: RepositorySnapshot, change: str) -> tuple[str, str]:
    assert snapshot.repo is not None
    if not change.strip() or change.startswith("-"):
        raise RepositoryError(f"{change!r} names no change", hint="a commit, A..B or a branch")
    if "..." in change:
        left, _, right = change.partition("...")
        return _merge_base(
            snapshot, snapshot.resolve(left or "HEAD"), snapshot.resolve(right or "HEAD")
        ), snapshot.resolve(right or "HEAD")
    if ".." in change:
        left, _, right = change.partition("..")
        return snapshot.resolve(left or "HEAD"), snapshot.resolve(right or "HEAD")
    head = snapshot.resolve(change)
    main = next(
        (
            snapshot.references[name]
            for name in (
                "refs/remotes/origin/HEAD",
                "refs/heads/main",
                "refs/heads/master",
                "refs/remotes/origin/main",
                "refs/remotes/origin/master",
            )
            if name in snapshot.references
        ),
        None,
    )
    if f"refs/heads/{change}" in snapshot.references and main and main != head:
        return _merge_base(snapshot, main, head), head
    parents = snapshot.repo.commit(head).parents
    return (parents[0].hexsha if parents else _EMPTY_TREE), head


def _merge_base(snapshot: RepositorySnapshot, left: str, right: str) -> str:
    assert snapshot.repo is not None
    shared = snapshot.repo.merge_base(left, right)
    return shared[0].hexsha if shared else left


def _diff(snapshot: RepositorySnapshot, base: str, head: str) -> tuple[list[_Change], bool]:
    """The changed files with their lines, and whether the rest of a very large difference was not read."""
    import git

    assert snapshot.repo is not None
    safe = ("--ignore-submodules=all", "--no-ext-diff", "--no-textconv")
    after = snapshot.repo.commit(head)
    ends = ("--root", head) if base == _EMPTY_TREE else (base, head)
    try:
        rows = (
            after.diff(git.NULL_TREE, ignore_submodules="all", no_textconv=True)
            if base == _EMPTY_TREE
            else snapshot.repo.commit(base).diff(after, ignore_submodules="all", no_textconv=True)
        )
        patch = snapshot.repo.git.diff_tree(
            "-r", "-p", "-U0", "-M", "--no-color", "--no-commit-id", *safe, *ends, as_process=True
        )
        text = patch.stdout.read(_MOST_BYTES_OF_DIFF)
        truncated = len(text) == _MOST_BYTES_OF_DIFF
        if not truncated:
            patch.wait()
    except (git.exc.GitError, ValueError) as error:
        raise RepositoryError(
            "the change cannot be read: objects are missing",
            where=f"{base[:12]}..{head[:12]}",
            hint="the clone is shallow or partial: fetch the rest",
        ) from error
    changes = [
        _Change(
            _shown(row.b_rawpath or row.a_rawpath),
            _shown(row.a_rawpath or row.b_rawpath),
            _STATUS.get(row.change_type or "", "modified"),
            row.a_blob.hexsha if row.a_blob else "",
            row.b_blob.hexsha if row.b_blob else "",
        )
        for row in rows
    ]
    # a file that became a link is one row, and a removal and an addition in the patch
    sections = [
        change for change, row in zip(changes, rows, strict=True) for _ in range(1 + (row.change_type == "T"))
    ]
    if _read_hunks(sections, text.decode("utf-8", "replace")) != len(sections) and not truncated:
        raise RepositoryError("git's two accounts of the change differ", where=f"{base[:12]}..{head[:12]}")
    return [row for row in changes if row.path.startswith(snapshot.prefix)], truncated


def _shown(path: bytes | None) -> str:
    return (path or b"").decode("utf-8", "backslashreplace")


def _read_hunks(changes: Sequence[_Change], patch: str) -> int:
    """Gives the changes their lines from a patch without context, in its order; how many it speaks of."""
    at, old, new = -1, 0, 0
    in_hunk = False
    for line in patch.split("\n"):
        if line.startswith("diff --git "):
            at, in_hunk = at + 1, False
        elif not 0 <= at < len(changes):
            continue
        elif found := _HUNK.match(line):
            old, new, in_hunk = int(found.group(1)), int(found.group(3)), True
        elif in_hunk and line.startswith("+"):
            changes[at].added.append((new, line[1:]))
            new += 1
        elif in_hunk and line.startswith("-"):
            changes[at].removed.append((old, line[1:]))
            old += 1
    return at + 1


def _changed_file(
    change: _Change, known: tuple[SourceFile, FileFacts] | None, only_comments: bool
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


def _only_comments(snapshot: RepositorySnapshot, change: _Change) -> bool:
    """Whether nothing but comments, doc strings and white space changed; a rename alone counts."""
    language = language_of(change.path)
    if language in PROSE:
        return False
    added, removed = [text for _, text in change.added], [text for _, text in change.removed]
    if any(_DIRECTIVE.match(text) for text in (*added, *removed)):
        return False
    if "".join("".join(added).split()) == "".join("".join(removed).split()):
        return language not in ("python", "yaml", "make")
    if all(not text.strip() or _COMMENT_LINE.match(text) for text in (*added, *removed)):
        return True
    if language not in GRAMMARS or not change.old_blob or not change.new_blob:
        return False
    sides = ((change.new_blob, change.added), (change.old_blob, change.removed))
    return all(_in_comments(snapshot, blob, language, rows) for blob, rows in sides)


def _in_comments(
    snapshot: RepositorySnapshot, blob: str, language: str, rows: Sequence[tuple[int, str]]
) -> bool:
    """Whether each of these lines is blank or lies whole in a comment or a doc string of the file."""
    wanted = {number for number, text in rows if text.strip()}
    if not wanted:
        return True
    data = next((data for _, data in snapshot.contents([SourceFile("", blob, 0)])), b"")
    try:
        syntax = read_syntax(data, language)
    except (ImportError, OSError, ValueError):
        return False
    if syntax.broken:
        return False
    lines = data.decode("utf-8", "replace").split("\n")
    quiet: set[int] = set()
    for block in syntax.comments:
        alone = _STARTS_COMMENT.match(lines[block.line - 1])
        quiet.update(range(block.line if alone else block.line + 1, block.end_line + 1))
    return wanted <= quiet


def _touched_claims(
    snapshot: RepositorySnapshot, surveyed: Survey, changes: Sequence[_Change]
) -> list[Claim]:
    """Claims with a citation on a changed line, then those bound to a changed symbol's file region."""
    lines: dict[str, set[int]] = {
        row.path: {number for number, _ in row.added} | {number for number, _ in row.removed}
        for row in changes
    }
    whole = claims_of(snapshot, surveyed, top=40, keep=1500)
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


def _surfaces(changes: Sequence[_Change], by_path: dict[str, tuple[SourceFile, FileFacts]]) -> list[MapItem]:
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


def _tests(surveyed: Survey, symbols: set[str], files: Sequence[ChangedFile]) -> list[RelatedTest]:
    """Tests that changed, and tests whose name holds the name of a changed symbol."""
    changed = {file.path: file for file in files if file.role == "test"}
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
                found.append(
                    (not touched, RelatedTest(name=case.name, place=place, strength=strength_of(case)))
                )
    found.sort(key=lambda row: (row[0], row[1].place.path, row[1].place.line))
    return [test for _, test in found[:60]]


def _callers(
    snapshot: RepositorySnapshot, surveyed: Survey, symbols: set[str], changed: set[str]
) -> list[MapItem]:
    """Lines elsewhere that name a changed symbol; names that are everywhere are skipped."""
    short = sorted({name.rsplit(".", 1)[-1] for name in symbols if len(name.rsplit(".", 1)[-1]) > 3})[:60]
    if not short:
        return []
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
        lines = text.split("\n")
        for match in pattern.finditer(text):
            line += text.count("\n", position, match.start())
            position = match.start()
            shown = lines[line].strip()
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
    return [item for name, item in found if counts[name] <= 60][:_MOST_CALLERS]


def _judge(
    files: Sequence[ChangedFile], claims: Sequence[Claim], surfaces: Sequence[MapItem]
) -> tuple[bool, str]:
    if not files:
        return False, "Nothing changed."
    if all(file.role in _QUIET_ROLES for file in files):
        promised = sum(claim.path in {file.path for file in files} for claim in claims)
        return False, "Only documents changed: this needs no distributed test." + (
            f" {promised} claims were reworded: read whether the promise itself moved." if promised else ""
        )
    loud = [
        file
        for file in files
        if file.role not in _QUIET_ROLES
        and not file.only_comments
        and not (file.status == "renamed" and not file.added and not file.removed)
    ]
    if not loud:
        return False, "Only comments, formatting or names of files changed: this needs no distributed test."
    if all(file.role == "test" for file in loud):
        return False, "Only tests changed: run them; the product needs no new distributed test."
    if all(file.role in ("ci", "build", "tooling", "data", "test", "generated", "vendored") for file in loud):
        return (
            False,
            "Only build files, CI or tooling changed: no distributed test, but check what is shipped.",
        )
    kinds = sorted({item.kind for item in surfaces})
    count = sum(file.role in ("code", "interface", "settings") for file in loud)
    because = f"product code changed in {count} files"
    if claims:
        because += f", {len(claims)} claims rest on changed lines"
    if kinds:
        because += f", touching {', '.join(kinds[:6])}"
    return True, because[0].upper() + because[1:] + "."
