"""The regular files below one tree of git, asked of the object store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from git.objects.fun import tree_entries_from_data

from refute.repository.borrowed import read_object, size_of_object
from refute.repository.source_file import (
    MOST_BYTES_A_FILE,
    MOST_BYTES_IN_ALL,
    MOST_FILES,
    SourceFile,
    shown_path,
)

if TYPE_CHECKING:
    import git

_TREE, _LINK, _SUBMODULE = 0o040000, 0o120000, 0o160000
_EXECUTABLE = 0o100


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    mode: int
    object: str


@dataclass(frozen=True, slots=True)
class TreeFiles:
    """What a tree holds: files and submodules in order of their paths, and counts of what was left out."""

    files: tuple[SourceFile, ...] = ()
    submodules: tuple[str, ...] = ()
    left_out: dict[str, int] = field(default_factory=dict)


def tree_of(repo: git.Repo, commit: str) -> str:
    """The id of a commit's tree; empty where the commit is missing."""
    try:
        return repo.commit(commit).tree.hexsha
    except (ValueError, OSError):
        repo.git.clear_cache()
        return ""


def files_of_tree(repo: git.Repo, tree: str, prefix: str) -> TreeFiles:
    """Every regular file below `tree` whose path begins with `prefix`; no content is read."""
    left_out: Counter[str] = Counter()
    regular: list[_Entry] = []
    submodules: list[str] = []
    for entry in _entries(repo, tree, prefix, left_out):
        if entry.mode == _LINK:
            left_out["symbolic links"] += 1
        elif entry.mode == _SUBMODULE:
            left_out["submodules"] += 1
            submodules.append(entry.path)
        elif len(regular) < MOST_FILES:
            regular.append(entry)
        else:
            left_out["files beyond the limit"] += 1
    in_order = sorted(regular, key=lambda entry: entry.path)
    files = tuple(_of_bearable_size(repo, in_order, left_out))
    return TreeFiles(files, tuple(sorted(submodules)), dict(left_out))


def _entries(repo: git.Repo, tree: str, prefix: str, left_out: Counter[str]) -> Iterator[_Entry]:
    # `Tree.traverse` would end at the first missing tree, so trees are asked for one by one.
    waiting = [("", tree)]
    while waiting:
        place, name = waiting.pop()
        content = read_object(repo, name)
        try:
            rows = None if content is None else tree_entries_from_data(content)
        except (ValueError, IndexError):  # these bytes are no tree
            rows = None
        if rows is None:
            left_out["missing objects"] += 1
            continue
        for child, mode, label in rows:
            path = place + shown_path(label.encode("utf-8", "surrogateescape"))
            if mode == _TREE:
                if not prefix or prefix.startswith(path + "/") or path.startswith(prefix.rstrip("/")):
                    waiting.append((path + "/", child.hex()))
            elif path.startswith(prefix):
                yield _Entry(path, mode, child.hex())


def _of_bearable_size(
    repo: git.Repo, entries: Iterable[_Entry], left_out: Counter[str]
) -> Iterator[SourceFile]:
    total = 0
    for entry in entries:
        size = size_of_object(repo, entry.object)
        if size is None:
            left_out["missing objects"] += 1
        elif size > MOST_BYTES_A_FILE:
            left_out["files over 1.5 MB"] += 1
        elif total + size > MOST_BYTES_IN_ALL:
            left_out["files beyond the limit"] += 1
        else:
            total += size
            yield SourceFile(entry.path, entry.object, size, bool(entry.mode & _EXECUTABLE))
