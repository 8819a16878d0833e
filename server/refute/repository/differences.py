"""What git says that a change changed: between which commits, in which files, on which lines."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from refute.repository.problems import RepositoryError
from refute.repository.snapshot import RepositorySnapshot
from refute.repository.source_file import shown_path

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
    sections: int = 1  # of the patch: a file that became a link is a removal and an addition
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

    ends = ("--root", head) if base == EMPTY_TREE else (base, head)
    truncated = False
    try:
        changes = _named(snapshot, "--find-renames", *ends)
        truncated = _read_lines(snapshot, changes, ends)
    except git.exc.GitError:
        try:
            changes = _named(snapshot, "--no-renames", *ends)
        except git.exc.GitError as error:
            raise RepositoryError(
                "the change cannot be read: objects are missing",
                where=f"{base[:12]}..{head[:12]}",
                hint="the clone is shallow or partial: fetch the rest",
            ) from error
        for change in changes:
            if change.old_blob != change.new_blob:
                change.unread = change.unread or "missing objects"
    return [row for row in changes if row.path.startswith(snapshot.prefix)], truncated


def _named(snapshot: RepositorySnapshot, *asked: str) -> list[Change]:
    """The changed files by name, in git's order; of a submodule, the commits that are recorded."""
    assert snapshot.repo is not None
    shown: bytes = snapshot.repo.git.diff_tree(
        "-r", "--raw", "-z", "--no-commit-id", "--no-abbrev", "--ignore-submodules=dirty", *asked,
        stdout_as_string=False, strip_newline_in_stdout=False,
    )  # fmt: skip
    fields = iter(shown.split(b"\0"))
    changes = []
    for about in fields:
        if not about:
            break
        old_mode, new_mode, old, new, kind = about.decode("ascii").lstrip(":").split(" ")
        before = after = shown_path(next(fields))
        if kind[0] in "RC":
            after = shown_path(next(fields))
        old, new = ("" if not blob.strip("0") else blob for blob in (old, new))
        unread = "submodule" if _SUBMODULE in (old_mode, new_mode) else ""
        changes.append(Change(after, before, _STATUS.get(kind[0], "modified"), old, new, unread=unread))
        changes[-1].sections += kind[0] == "T"
    return changes


def _read_lines(snapshot: RepositorySnapshot, changes: Sequence[Change], ends: tuple[str, str]) -> bool:
    """Gives the changes their lines; whether there were more than are read. Raises GitError."""
    assert snapshot.repo is not None
    patch = snapshot.repo.git.diff_tree(
        "-r", "-p", "-U0", "--find-renames", "--no-color", "--no-commit-id", "--submodule=short",
        "--ignore-submodules=dirty", "--no-ext-diff", "--no-textconv", *ends, as_process=True,
    )  # fmt: skip
    # git warns of each folder whose name is too long: a full pipe of warnings would hold it up for ever
    warnings = threading.Thread(target=patch.stderr.read, daemon=True)
    warnings.start()
    text = patch.stdout.read(_MOST_BYTES_OF_DIFF)
    truncated = len(text) == _MOST_BYTES_OF_DIFF
    if not truncated:
        warnings.join()
        patch.wait()
    sections = [change for change in changes for _ in range(change.sections)]
    if _read_hunks(sections, text.decode("utf-8", "replace")) != len(sections) and not truncated:
        raise RepositoryError("git's two accounts of the change differ", where="..".join(ends))
    return truncated


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
