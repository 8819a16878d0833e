"""Runs `git` on a bare directory of our own, in an environment that no repository can influence.

A repository is data from a stranger. Its configuration can name programs (hooks, filters, fsmonitor,
text conversion, external diff, ssh, alternates), so git is never started *in* it. `borrowed_repository`
writes a bare directory of our own (our configuration, the stranger's references as data) whose only link
to the other is `objects/info/alternates`: git then reads objects, which are content-addressed bytes,
and never sees the other's configuration, hooks, attributes, grafts or replacements.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from refute.repository.problems import GitUnavailableError, RepositoryError

_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_REF_NAME = re.compile(r"refs/[^\x00-\x20\x7f~^:?*\[\\]+\Z")
_MOST_REFS = 50_000

# Given on every command line, so that even our own mirror's file need not be trusted.
SAFE_SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.commitGraph=false",
    "core.multiPackIndex=false",
    "core.untrackedCache=false",
    "core.pager=cat",
    "core.sshCommand=false",
    "core.alternateRefsCommand=true",
    "protocol.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
    "safe.directory=*",
)


def safe_environment(git_dir: Path) -> dict[str, str]:
    """The whole environment of a git process: nothing of the caller's but PATH gets in."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(git_dir),
        "LC_ALL": "C",
        "GIT_DIR": str(git_dir),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
    }


def command(*arguments: str) -> list[str]:
    """The argument vector of one git call with every setting pinned."""
    git = shutil.which("git")
    if git is None:
        raise GitUnavailableError("git is not installed", hint="install git, or pass a plain folder")
    pinned = [part for setting in SAFE_SETTINGS for part in ("-c", setting)]
    return [git, "--no-pager", *pinned, *arguments]


def run_git(
    git_dir: Path, *arguments: str, environment: dict[str, str] | None = None, timeout_s: float = 60.0
) -> subprocess.CompletedProcess[bytes]:
    """One finished git call on our own directory `git_dir`; the exit code is the caller's to judge."""
    return subprocess.run(
        command(*arguments),
        env={**safe_environment(git_dir), **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=timeout_s,
        check=False,
    )


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


def borrowed_repository(source: GitSource, folder: Path) -> dict[str, str]:
    """Make `folder` a bare repository of ours that borrows the source's objects; its references come back."""
    if (source.common_dir / "reftable").is_dir():
        raise RepositoryError(
            "references are kept in a reftable, which cannot be read without the repository's own settings",
            where=source.common_dir,
            hint="git refs migrate --ref-format=files",
        )
    objects = (source.common_dir / "objects").resolve()
    if "\n" in str(objects):
        raise RepositoryError("the path of the repository holds a line break", where=repr(str(objects)))
    references = read_references(source)
    wide = any(len(value) == 64 for value in references.values())
    (folder / "refs").mkdir(parents=True)
    (folder / "objects" / "info").mkdir(parents=True)
    (folder / "objects" / "info" / "alternates").write_text(f"{objects}\n", encoding="utf-8")
    (folder / "HEAD").write_text("ref: refs/heads/none\n", encoding="utf-8")
    extension = "[extensions]\n\tobjectFormat = sha256\n" if wide else ""
    version = 1 if wide else 0
    (folder / "config").write_text(
        f"[core]\n\tbare = true\n\trepositoryformatversion = {version}\n{extension}", encoding="utf-8"
    )
    rows = sorted((name, value) for name, value in references.items() if name != "HEAD")
    packed = "# pack-refs with: sorted \n" + "".join(f"{value} {name}\n" for name, value in rows)
    (folder / "packed-refs").write_text(packed, encoding="utf-8")
    shallow = source.common_dir / "shallow"
    if shallow.is_file() and not shallow.is_symlink():
        ends = [line for line in shallow.read_text(errors="replace").splitlines() if _OBJECT_ID.match(line)]
        (folder / "shallow").write_text("".join(f"{end}\n" for end in ends), encoding="utf-8")
    return references


def read_objects(git_dir: Path, ids: Sequence[str]) -> Iterator[tuple[str, str, bytes]]:
    """`(id, type, bytes)` of each object in the order asked; a missing or broken one is left out.

    One `git cat-file --batch` reads them all. Where a corrupt object ends that process, it is started
    again behind the culprit.
    """
    left = list(ids)
    while left:
        done = 0
        for name, kind, content in _one_batch(git_dir, left):
            done += 1
            if kind:
                yield name, kind, content
        left = left[done + 1 :] if done < len(left) else []


def _one_batch(git_dir: Path, ids: Sequence[str]) -> Iterator[tuple[str, str, bytes]]:
    process = subprocess.Popen(
        command("cat-file", "--batch", "--buffer"),
        env=safe_environment(git_dir),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None and process.stdout is not None
    feeder = threading.Thread(target=_feed, args=(process.stdin, ids), daemon=True)
    feeder.start()
    try:
        for _ in ids:
            header = process.stdout.readline().decode("ascii", "replace").split()
            if len(header) == 2:
                yield header[0], "", b""
                continue
            if len(header) != 3:
                return
            size = int(header[2])
            content = process.stdout.read(size + 1)
            if len(content) != size + 1:
                return
            yield header[0], header[1], content[:-1]
    finally:
        process.stdout.close()
        process.kill()
        process.wait()
        feeder.join(timeout=5)


def _feed(pipe: object, ids: Iterable[str]) -> None:
    try:
        pipe.write("".join(f"{name}\n" for name in ids).encode("ascii"))  # type: ignore[attr-defined]
        pipe.close()  # type: ignore[attr-defined]
    except OSError:
        return


def object_sizes(git_dir: Path, ids: Sequence[str]) -> dict[str, int]:
    """The size in bytes of each object that is present; those that are missing have no entry."""
    asked = "".join(f"{name}\n" for name in ids).encode("ascii")
    shown = subprocess.run(
        command("cat-file", "--batch-check", "--buffer"),
        env=safe_environment(git_dir),
        input=asked,
        capture_output=True,
        timeout=120,
        check=False,
    )
    rows = (line.split() for line in shown.stdout.decode("ascii", "replace").splitlines())
    return {row[0]: int(row[2]) for row in rows if len(row) == 3}
