"""Finds where a repository keeps its things, and what its references say, by reading plain files."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from refute.repository.problems import RepositoryError

_OBJECT_ID = re.compile(r"[0-9a-f]{40}\Z")
_WIDE_OBJECT_ID = re.compile(r"[0-9a-f]{64}")
_REF_NAME = re.compile(r"refs/[^\x00-\x20\x7f~^:?*\[\\]+\Z")
_MOST_REFS = 50_000
_MOST_STORES = 50  # git follows alternates five deep


@dataclass(frozen=True, slots=True)
class GitSource:
    """Where a repository keeps its things: found by reading files, not by asking git."""

    git_dir: Path  # HEAD and the index live here (a worktree has its own)
    common_dir: Path  # objects, references and `shallow` live here
    work_tree: Path | None


def find_git_source(path: Path) -> GitSource | None:
    """The repository that `path` is, or is inside of; None for a plain folder."""
    for folder in (path, *path.parents):
        marker = folder / ".git"
        if marker.is_dir() and (marker / "HEAD").exists():
            return GitSource(marker, _common_dir(marker), folder)
        if marker.is_file():
            text = _first_line(marker)
            if text.startswith("gitdir:"):
                git_dir = (folder / text.removeprefix("gitdir:").strip()).resolve()
                if (git_dir / "HEAD").exists():
                    return GitSource(git_dir, _common_dir(git_dir), folder)
        if folder == path and all((folder / name).exists() for name in ("HEAD", "objects", "refs")):
            return GitSource(folder, _common_dir(folder), None)
    return None


def _common_dir(git_dir: Path) -> Path:
    pointer = _first_line(git_dir / "commondir")
    return (git_dir / pointer).resolve() if pointer else git_dir


def why_history_is_unread(source: GitSource) -> str:
    """Why the commits of this repository cannot be read, in a sentence; empty where they can be.

    GitPython reads only names of 40 digits, and references only of files.
    """
    if (source.common_dir / "reftable").is_dir():
        return (
            "References are kept in a reftable, so that the history was not read, but the files as they are; "
            "`git refs migrate --ref-format=files` mends that."
        )
    name = _first_line(source.git_dir / "HEAD")
    if name.startswith("ref:"):
        target = name.removeprefix("ref:").strip()
        name = _first_line(source.common_dir / target) if _REF_NAME.match(target) else ""
        if not name:
            name = next((row.split(" ")[0] for row in _packed(source) if row.endswith(f" {target}")), "")
    if _WIDE_OBJECT_ID.fullmatch(name):
        return "Objects are named by SHA-256, so that the history was not read, but the files as they are."
    return ""


def refuse_pipes(source: GitSource) -> None:
    """Raises RepositoryError where an object store holds a pipe or a device: git would wait for it for ever.

    Follows `objects/info/alternates` as git does; one listing for each folder of a store.
    """
    waiting = [(source.common_dir / "objects").resolve()]
    seen: set[Path] = set()
    while waiting and len(seen) < _MOST_STORES:
        store = waiting.pop()
        if store in seen:
            continue
        seen.add(store)
        for folder in (store, *(store / name for name in ("info", "pack")), *store.glob("[0-9a-f][0-9a-f]")):
            for place in _entries(folder):
                if not (
                    place.is_file() or place.is_dir() or (place.is_symlink() and not Path(place).exists())
                ):
                    raise RepositoryError("the object store holds what is no file", where=place.path)
        others = _plain_lines(store / "info" / "alternates", _MOST_STORES)
        waiting += [(store / line.strip('"')).resolve() for line in others if line and line[0] != "#"]


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as rows:
            return list(rows)
    except OSError:
        return []


def read_references(source: GitSource) -> dict[str, str]:
    """Every reference by its full name, `HEAD` included where it resolves, read as plain files."""
    found: dict[str, str] = {}
    for line in _packed(source):
        value, _, name = line.partition(" ")
        if _OBJECT_ID.match(value) and _REF_NAME.match(name):
            found[name] = value
    symbolic: dict[str, str] = {}
    for directory, _folders, names in os.walk(source.common_dir / "refs", followlinks=False):
        for name in names:
            if len(found) >= _MOST_REFS:
                break
            place = Path(directory) / name
            full = place.relative_to(source.common_dir).as_posix()
            if not _REF_NAME.match(full) or place.is_symlink():
                continue
            _note_reference(full, _first_line(place), found, symbolic)
    _note_reference("HEAD", _first_line(source.git_dir / "HEAD"), found, symbolic)
    for name, target in symbolic.items():
        for _ in range(5):
            if target in found:
                found[name] = found[target]
                break
            target = symbolic.get(target, "")
    return found


def _note_reference(name: str, value: str, found: dict[str, str], symbolic: dict[str, str]) -> None:
    if _OBJECT_ID.match(value):
        found[name] = value
    elif value.startswith("ref:"):
        symbolic[name] = value.removeprefix("ref:").strip()


def _packed(source: GitSource) -> Iterator[str]:
    place = source.common_dir / "packed-refs"
    return iter(()) if place.is_symlink() else _plain_lines(place, _MOST_REFS)


def _first_line(place: Path) -> str:
    return next(_plain_lines(place, 1), "").strip()


def _plain_lines(place: Path, most: int) -> Iterator[str]:
    """The first lines of a regular file, each cut at 4,096 characters; none of a pipe."""
    try:
        handle = os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return
    with os.fdopen(handle, encoding="utf-8", errors="replace") as opened:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return
        for _ in range(most):
            line = opened.readline(4096)
            if not line:
                return
            yield line.rstrip("\n")


def shallow_ends(source: GitSource) -> list[str]:
    """The commits at which the history of a shallow clone is cut off."""
    place = source.common_dir / "shallow"
    return (
        []
        if place.is_symlink()
        else [row for row in _plain_lines(place, _MOST_REFS) if _OBJECT_ID.match(row)]
    )
