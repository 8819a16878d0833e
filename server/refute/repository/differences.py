"""What git says that a change changed: between which commits, in which files, on which lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from refute.repository.mirror import RepositorySnapshot
from refute.repository.problems import RepositoryError

if TYPE_CHECKING:
    import git

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_STATUS = {"A": "added", "D": "deleted", "R": "renamed", "C": "copied"}
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_MOST_BYTES_OF_DIFF = 40_000_000
_SUBMODULE = "160000"
_MAIN = (
    "refs/remotes/origin/HEAD",
    "refs/heads/main",
    "refs/heads/master",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
)


@dataclass
class Change:
    """One changed file with its lines, counted from 1; `unread` where the lines could not be compared."""

    path: str
    old_path: str
    status: str
    old_blob: str = ""
    new_blob: str = ""
    added: list[tuple[int, str]] = field(default_factory=list)
    removed: list[tuple[int, str]] = field(default_factory=list)
    hunks: list[tuple[list[str], list[str]]] = field(
        default_factory=list
    )  # removed and added, each in its place
    unread: str = ""  # why: "binary", "missing objects", "submodule"; else empty


@dataclass(frozen=True)
class Ends:
    """The two commits of a change. Without a base, `why` says why nothing can be compared."""

    base: str
    head: str
    notes: tuple[str, ...] = ()
    why: str = ""


def ends_of(snapshot: RepositorySnapshot, change: str) -> Ends:
    """The commits that `change` lies between. Raises RepositoryError where a name in it names no commit."""
    if not change.strip() or change.startswith("-"):
        raise RepositoryError(f"{change!r} names no change", hint="a commit, A..B or a branch")
    if "..." in change:
        left, _, right = change.partition("...")
        return _from_where_they_parted(
            snapshot, snapshot.resolve(left or "HEAD"), snapshot.resolve(right or "HEAD")
        )
    if ".." in change:
        left, _, right = change.partition("..")
        return Ends(snapshot.resolve(left or "HEAD"), snapshot.resolve(right or "HEAD"))
    head = snapshot.resolve(change)
    main = next((snapshot.references[name] for name in _MAIN if name in snapshot.references), None)
    if f"refs/heads/{change}" in snapshot.references and main and main != head:
        return _from_where_they_parted(snapshot, main, head)
    return _from_the_parent(snapshot, head)


def _from_the_parent(snapshot: RepositorySnapshot, head: str) -> Ends:
    assert snapshot.repo is not None
    parents = [parent.hexsha for parent in snapshot.repo.commit(head).parents]
    if not parents:
        return Ends(EMPTY_TREE, head, ("The first commit: every file in it is new.",))
    if not _is_here(snapshot, parents[0]):
        where = "this shallow clone" if snapshot.shallow else "this repository"
        return Ends(
            parents[0],
            head,
            why=f"The parent {parents[0][:12]} of this commit is not in {where}, so that what the commit "
            "changed cannot be told; `git fetch --deepen 1` brings it.",
        )
    if len(parents) == 1:
        return Ends(parents[0], head)
    return Ends(
        parents[0], head, (f"A merge of {len(parents)} parents, compared with the first, {parents[0][:12]}.",)
    )


def _from_where_they_parted(snapshot: RepositorySnapshot, left: str, right: str) -> Ends:
    import git

    assert snapshot.repo is not None
    try:
        shared = snapshot.repo.merge_base(left, right)
    except git.exc.GitError:  # a commit on the way is missing
        shared = []
    if shared:
        return Ends(shared[0].hexsha, right)
    cut = " (the clone is shallow)" if snapshot.shallow else ""
    note = (
        f"No common ancestor of {left[:12]} and {right[:12]} is here{cut}: the two were compared as they are."
    )
    return Ends(left, right, (note,))


def _is_here(snapshot: RepositorySnapshot, commit: str) -> bool:
    from refute.repository.borrowed import size_of_object

    return snapshot.repo is not None and size_of_object(snapshot.repo, commit) is not None


def changes_between(snapshot: RepositorySnapshot, base: str, head: str) -> tuple[list[Change], bool]:
    """The changed files with their lines, and whether the rest of a very large difference was not read.

    Where blobs are missing (a partial clone), the files are named without lines or renames. Raises
    RepositoryError where trees are missing, too.
    """
    import git

    try:
        return _with_lines(snapshot, base, head)
    except (git.exc.GitError, ValueError):
        return _by_name(snapshot, base, head), False


def _with_lines(snapshot: RepositorySnapshot, base: str, head: str) -> tuple[list[Change], bool]:
    import git

    assert snapshot.repo is not None
    # of a submodule, the commits that are recorded are compared; it is never entered
    safe = ("--ignore-submodules=dirty", "--submodule=short", "--no-ext-diff", "--no-textconv")
    after = snapshot.repo.commit(head)
    ends = ("--root", head) if base == EMPTY_TREE else (base, head)
    rows = (
        after.diff(git.NULL_TREE, ignore_submodules="dirty", no_textconv=True)
        if base == EMPTY_TREE
        else snapshot.repo.commit(base).diff(after, ignore_submodules="dirty", no_textconv=True)
    )
    patch = snapshot.repo.git.diff_tree(
        "-r", "-p", "-U0", "-M", "--no-color", "--no-commit-id", *safe, *ends, as_process=True
    )
    text = patch.stdout.read(_MOST_BYTES_OF_DIFF)
    truncated = len(text) == _MOST_BYTES_OF_DIFF
    if not truncated:
        patch.wait()
    changes = [
        Change(
            _shown(row.b_rawpath or row.a_rawpath),
            _shown(row.a_rawpath or row.b_rawpath),
            _STATUS.get(row.change_type or "", "modified"),
            row.a_blob.hexsha if row.a_blob else "",
            row.b_blob.hexsha if row.b_blob else "",
            unread="submodule" if _is_submodule(row) else "",
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


def _is_submodule(row: git.Diff) -> bool:
    return any(blob is not None and blob.mode == 0o160000 for blob in (row.a_blob, row.b_blob))


def _by_name(snapshot: RepositorySnapshot, base: str, head: str) -> list[Change]:
    """The changed files by what the trees say of them, without a look at any blob."""
    import git

    assert snapshot.repo is not None
    ends = ("--root", head) if base == EMPTY_TREE else (base, head)
    try:
        text = snapshot.repo.git.diff_tree(
            "-r", "--raw", "-z", "--no-renames", "--no-commit-id", "--no-abbrev",
            "--ignore-submodules=dirty", *ends, strip_newline_in_stdout=False,
        )  # fmt: skip
    except git.exc.GitError as error:
        raise RepositoryError(
            "the change cannot be read: objects are missing",
            where=f"{base[:12]}..{head[:12]}",
            hint="the clone is shallow or partial: fetch the rest",
        ) from error
    fields = text.split("\0")
    changes = []
    for about, name in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, old, new, kind = about.lstrip(":").split(" ")
        path = _shown(name.encode("utf-8", "surrogateescape"))
        status = _STATUS.get(kind[:1], "modified")
        unread = (
            "submodule" if _SUBMODULE in (old_mode, new_mode) else "" if old == new else "missing objects"
        )
        old, new = ("" if not blob.strip("0") else blob for blob in (old, new))
        changes.append(Change(path, path, status, old, new, unread=unread))
    return [row for row in changes if row.path.startswith(snapshot.prefix)]


def _shown(path: bytes | None) -> str:
    return (path or b"").decode("utf-8", "backslashreplace")


def _read_hunks(changes: Sequence[Change], patch: str) -> int:
    """Gives the changes their lines from a patch without context, in its order; how many it speaks of."""
    at, old, new = -1, 0, 0
    in_hunk = False
    for line in patch.split("\n"):
        if line.startswith("diff --git "):
            at, in_hunk = at + 1, False
        elif not 0 <= at < len(changes):
            continue
        elif not in_hunk and line.startswith("Binary files "):
            changes[at].unread = changes[at].unread or "binary"
        elif found := _HUNK.match(line):
            old, new, in_hunk = int(found.group(1)), int(found.group(3)), True
            changes[at].hunks.append(([], []))
        elif in_hunk and line.startswith("+"):
            changes[at].added.append((new, line[1:]))
            changes[at].hunks[-1][1].append(line[1:])
            new += 1
        elif in_hunk and line.startswith("-"):
            changes[at].removed.append((old, line[1:]))
            changes[at].hunks[-1][0].append(line[1:])
            old += 1
    return at + 1
