"""Finds where a repository keeps its things, and what its references say, by reading plain files."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

_OBJECT_ID = re.compile(r"[0-9a-f]{40}\Z")
_REF_NAME = re.compile(r"refs/[^\x00-\x20\x7f~^:?*\[\\]+\Z")
_MOST_REFS = 50_000


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
            text = marker.read_text(encoding="utf-8", errors="replace").strip()
            if text.startswith("gitdir:"):
                git_dir = (folder / text.removeprefix("gitdir:").strip()).resolve()
                if (git_dir / "HEAD").exists():
                    return GitSource(git_dir, _common_dir(git_dir), folder)
        if folder == path and all((folder / name).exists() for name in ("HEAD", "objects", "refs")):
            return GitSource(folder, _common_dir(folder), None)
    return None


def _common_dir(git_dir: Path) -> Path:
    pointer = git_dir / "commondir"
    if pointer.is_file():
        return (git_dir / pointer.read_text(encoding="utf-8", errors="replace").strip()).resolve()
    return git_dir


def names_objects_by_sha256(source: GitSource) -> bool:
    """Whether HEAD is a digest of 64 digits; GitPython reads only those of 40."""
    name = _first_line(source.git_dir / "HEAD")
    if name.startswith("ref:"):
        name = _first_line(source.common_dir / name.removeprefix("ref:").strip())
    return bool(re.fullmatch(r"[0-9a-f]{64}", name))


def read_references(source: GitSource) -> dict[str, str]:
    """Every reference by its full name, `HEAD` included where it resolves, read as plain files."""
    found: dict[str, str] = {}
    packed = source.common_dir / "packed-refs"
    if packed.is_file() and not packed.is_symlink():
        for line in packed.read_text(encoding="utf-8", errors="replace").splitlines()[:_MOST_REFS]:
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


def _first_line(place: Path) -> str:
    try:
        with place.open(encoding="utf-8", errors="replace") as lines:
            return lines.readline(4096).strip()
    except OSError:
        return ""


def shallow_ends(source: GitSource) -> list[str]:
    """The commits at which the history of a shallow clone is cut off."""
    shallow = source.common_dir / "shallow"
    if not shallow.is_file() or shallow.is_symlink():
        return []
    return [line for line in shallow.read_text(errors="replace").splitlines() if _OBJECT_ID.match(line)]
