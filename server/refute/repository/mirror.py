"""Opens a repository, or a plain folder, as a snapshot that can be read and nothing else."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from refute.repository.git_objects import (
    GitSource,
    borrowed_repository,
    find_git_source,
    object_sizes,
    read_objects,
    run_git,
)
from refute.repository.problems import RepositoryError

MOST_BYTES_A_FILE = 1_500_000
MOST_BYTES_IN_ALL = 512 * 1024 * 1024
MOST_FILES = 200_000
_SKIPPED_FOLDERS = frozenset({".git", ".hg", ".svn", "node_modules", ".venv", "__pycache__"})


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One regular file of a snapshot; `blob` names its content, so equal contents have equal names."""

    path: str
    blob: str
    size: int
    executable: bool = False


@dataclass(frozen=True, slots=True)
class WorkTreeState:
    """How the checked-out files differ from the commit that was read; None counts mean not known."""

    modified: int | None = None
    untracked: int | None = None
    examples: tuple[str, ...] = ()

    def sentence(self) -> str:
        """What to tell the reader; empty where there is nothing to say."""
        if not self.modified and not self.untracked:
            return ""
        shown = f" ({', '.join(self.examples[:3])}, ...)" if self.examples else ""
        return (
            f"The working tree differs from the commit that was read: {self.modified or 0} changed and "
            f"{self.untracked or 0} untracked files{shown} are not in this answer."
        )


@dataclass(frozen=True)
class RepositorySnapshot:
    """The files of one commit (or of a plain folder), readable while the context is open."""

    root: Path
    name: str
    commit: str | None
    tree: str
    files: tuple[SourceFile, ...]
    left_out: Mapping[str, int]
    shallow: bool = False
    prefix: str = ""
    cache: Path | None = None
    submodules: tuple[str, ...] = ()
    git_dir: Path | None = None
    work_tree: WorkTreeState = WorkTreeState()
    references: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What citations carry behind the `@`: the commit, or `unversioned` for a plain folder."""
        return self.commit or "unversioned"

    def file(self, path: str) -> SourceFile | None:
        """The file at `path`, or None; O(number of files)."""
        return next((file for file in self.files if file.path == path), None)

    def contents(self, files: Iterable[SourceFile]) -> Iterator[tuple[SourceFile, bytes]]:
        """The bytes of each file in turn; what cannot be read is left out."""
        wanted = list(files)
        if self.git_dir is None:
            for file in wanted:
                data = _read_plainly(self.root / file.path)
                if data is not None:
                    yield file, data
            return
        by_blob: dict[str, list[SourceFile]] = {}
        for file in wanted:
            by_blob.setdefault(file.blob, []).append(file)
        for blob, _kind, data in read_objects(self.git_dir, list(by_blob)):
            for file in by_blob[blob]:
                yield file, data

    def text(self, path: str) -> str | None:
        """One file as text (invalid UTF-8 becomes U+FFFD), or None where it is not there."""
        file = self.file(path)
        if file is None:
            return None
        return next((data.decode("utf-8", "replace") for _, data in self.contents([file])), None)

    def resolve(self, revision: str) -> str:
        """The full id of the commit that `revision` names. Raises RepositoryError where there is none."""
        if self.git_dir is None:
            raise RepositoryError("a plain folder has no revisions", where=self.root)
        head = self.references.get("HEAD", "")
        found = re.match(r"(?:HEAD|@)(?![\w/.-])(.*)", revision)
        asked = head + found.group(1) if found and head else revision
        shown = run_git(
            self.git_dir, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{asked}^{{commit}}"
        )
        commit = shown.stdout.decode("ascii", "replace").strip()
        if shown.returncode or not commit:
            hint = "the clone is shallow: fetch more history" if self.shallow else "see `git log --oneline`"
            raise RepositoryError(f"no commit is called {revision!r}", where=self.root, hint=hint)
        return commit


@contextmanager
def open_repository(
    path: str | Path, *, cache: str | Path | None = None, revision: str = "HEAD"
) -> Iterator[RepositorySnapshot]:
    """A snapshot of the commit `revision` of the repository at `path`, or of a plain folder.

    Nothing of the repository is run, its working tree included: git only ever runs in a bare directory of
    ours that borrows the objects (see `git_objects`). Committed content is what is read; `work_tree` says
    how far the checkout has moved on. A folder inside a repository gives the files below that folder.
    `cache` is where derived facts are kept (default `REFUTE_CACHE`, else the user's cache folder).
    Raises RepositoryError where there is no folder, or no such revision.
    """
    root = Path(path).expanduser()
    if not root.is_dir():
        problem = "is not a folder" if root.exists() else "does not exist"
        raise RepositoryError(f"{problem}", where=root, hint="pass a checkout, a bare repository or a folder")
    root = root.resolve()
    kept = Path(cache).expanduser() if cache is not None else cache_folder()
    source = find_git_source(root)
    if source is None:
        if revision != "HEAD":
            raise RepositoryError("a plain folder has no revisions", where=root)
        yield _plain_snapshot(root, kept)
        return
    with tempfile.TemporaryDirectory(prefix="refute-mirror-") as folder:
        git_dir = Path(folder) / "mirror.git"
        references = borrowed_repository(source, git_dir)
        yield _git_snapshot(root, source, git_dir, references, kept, revision)


def cache_folder() -> Path:
    """Where facts about content are kept: `REFUTE_CACHE`, else `refute` in the user's cache folder."""
    chosen = os.environ.get("REFUTE_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "refute"


def _git_snapshot(
    root: Path, source: GitSource, git_dir: Path, references: dict[str, str], cache: Path, revision: str
) -> RepositorySnapshot:
    top = source.work_tree or source.git_dir
    prefix = "" if root == top else root.relative_to(top).as_posix() + "/"
    commit = references.get("HEAD")
    bare = RepositorySnapshot(
        root,
        _name_of(root, source),
        commit,
        "",
        (),
        {},
        git_dir=git_dir,
        shallow=(git_dir / "shallow").exists(),
        references=references,
    )
    if revision != "HEAD":
        commit = bare.resolve(revision)
    left_out: Counter[str] = Counter()
    files: list[SourceFile] = []
    submodules: list[str] = []
    tree = ""
    if commit is not None:
        tree = _tree_of(git_dir, commit)
        if not tree:
            left_out["missing objects"] += 1
        else:
            files, submodules = _walk(git_dir, tree, prefix, left_out)
    state = _work_tree_state(source, git_dir, commit) if revision == "HEAD" else WorkTreeState()
    return RepositorySnapshot(
        root=root,
        name=bare.name,
        commit=commit,
        tree=f"{tree}:{prefix}",
        files=tuple(files),
        left_out=dict(left_out),
        shallow=bare.shallow,
        prefix=prefix,
        cache=cache,
        submodules=tuple(submodules),
        git_dir=git_dir,
        work_tree=state,
        references=references,
    )


def _name_of(root: Path, source: GitSource) -> str:
    name = root.name
    if source.work_tree is None and name in ("repo", "repo.git", "git"):
        return root.parent.name
    return name.removesuffix(".git")


def _tree_of(git_dir: Path, commit: str) -> str:
    for _name, kind, content in read_objects(git_dir, [commit]):
        if kind == "commit" and content.startswith(b"tree "):
            return content[5 : content.index(b"\n")].decode("ascii", "replace")
    return ""


def _walk(
    git_dir: Path, tree: str, prefix: str, left_out: Counter[str]
) -> tuple[list[SourceFile], list[str]]:
    """Every regular file below `tree`; our own walk, because `ls-tree` stops at the first missing tree."""
    entries: list[tuple[str, str, bool]] = []
    submodules: list[str] = []
    level: list[tuple[str, str]] = [("", tree)]
    while level:
        at: dict[str, list[str]] = {}
        for place, name in level:
            at.setdefault(name, []).append(place)
        level, seen = [], 0
        for name, kind, content in read_objects(git_dir, list(at)):
            seen += 1
            for place in at[name] if kind == "tree" else ():
                for mode, label, child in _tree_entries(content, len(tree) // 2):
                    path = place + label
                    if mode == "40000":
                        if not prefix or prefix.startswith(path + "/") or path.startswith(prefix.rstrip("/")):
                            level.append((path + "/", child))
                    elif not path.startswith(prefix):
                        continue
                    elif mode == "120000":
                        left_out["symbolic links"] += 1
                    elif mode == "160000":
                        left_out["submodules"] += 1
                        submodules.append(path)
                    elif len(entries) < MOST_FILES:
                        entries.append((path, child, mode == "100755"))
                    else:
                        left_out["files beyond the limit"] += 1
        left_out["missing objects"] += len(at) - seen
    sizes = object_sizes(git_dir, sorted({blob for _, blob, _ in entries}))
    files: list[SourceFile] = []
    total = 0
    for path, blob, executable in sorted(entries):
        size = sizes.get(blob)
        if size is None:
            left_out["missing objects"] += 1
        elif size > MOST_BYTES_A_FILE:
            left_out["files over 1.5 MB"] += 1
        elif total + size > MOST_BYTES_IN_ALL:
            left_out["files beyond the limit"] += 1
        else:
            total += size
            files.append(SourceFile(path, blob, size, executable))
    for reason in [reason for reason, count in left_out.items() if not count]:
        del left_out[reason]
    return files, submodules


def _tree_entries(content: bytes, width: int) -> Iterator[tuple[str, str, str]]:
    position = 0
    while position < len(content):
        space = content.find(b" ", position)
        end = content.find(b"\0", space)
        if space < 0 or end < 0:
            return
        name = content[space + 1 : end].decode("utf-8", "backslashreplace")
        yield (
            content[position:space].decode("ascii", "replace"),
            name,
            content[end + 1 : end + 1 + width].hex(),
        )
        position = end + 1 + width


def _plain_snapshot(root: Path, cache: Path) -> RepositorySnapshot:
    files: list[SourceFile] = []
    left_out: Counter[str] = Counter()
    total = 0
    for directory, folders, names in os.walk(root, followlinks=False):
        left_out["skipped folders"] += sum(name in _SKIPPED_FOLDERS for name in folders)
        links = [name for name in folders if (Path(directory) / name).is_symlink()]
        left_out["symbolic links"] += len(links)
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS and name not in links)
        for name in sorted(names):
            place = Path(directory) / name
            if place.is_symlink():
                left_out["symbolic links"] += 1
                continue
            if len(files) >= MOST_FILES or total > MOST_BYTES_IN_ALL:
                left_out["files beyond the limit"] += 1
                continue
            data = _read_plainly(place)
            if data is None:
                left_out["unreadable or over 1.5 MB"] += 1
                continue
            total += len(data)
            blob = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
            path = place.relative_to(root).as_posix().encode("utf-8", "surrogateescape")
            files.append(SourceFile(path.decode("utf-8", "backslashreplace"), blob, len(data)))
    rows = "\n".join(f"{file.blob} {file.path}" for file in files)
    tree = hashlib.sha256(rows.encode("utf-8", "replace")).hexdigest()
    counted = {reason: count for reason, count in left_out.items() if count}
    return RepositorySnapshot(root, root.name, None, tree, tuple(files), counted, cache=cache)


def _read_plainly(place: Path) -> bytes | None:
    """The bytes of a regular file of bearable size, without following a link put there meanwhile."""
    try:
        handle = os.open(place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    with os.fdopen(handle, "rb") as opened:
        about = os.fstat(opened.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > MOST_BYTES_A_FILE:
            return None
        return opened.read(MOST_BYTES_A_FILE + 1)


def _work_tree_state(source: GitSource, git_dir: Path, commit: str | None) -> WorkTreeState:
    """What `git status` would say of the checkout, asked of our own directory with a copy of the index.

    Submodules are not entered: git would start a second git inside them, with their configuration.
    """
    index = source.git_dir / "index"
    if source.work_tree is None or commit is None or not index.is_file() or index.is_symlink():
        return WorkTreeState()
    copied = git_dir / "index.copy"
    try:
        shutil.copyfile(index, copied)
        for shared in source.git_dir.glob("sharedindex.*"):
            shutil.copyfile(shared, git_dir / shared.name)
        where = {"GIT_INDEX_FILE": str(copied), "GIT_WORK_TREE": str(source.work_tree)}
        run_git(
            git_dir, "update-index", "-q", "--refresh", "--ignore-submodules", environment=where, timeout_s=10
        )
        changed = run_git(
            git_dir,
            "diff-index",
            "--name-only",
            "-z",
            "--ignore-submodules=all",
            "--no-ext-diff",
            "--no-textconv",
            commit,
            "--",
            environment=where,
            timeout_s=10,
        )
        others = run_git(
            git_dir,
            "ls-files",
            "--others",
            "--exclude-standard",
            "--directory",
            "--no-empty-directory",
            "-z",
            environment=where,
            timeout_s=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return WorkTreeState()
    if changed.returncode or others.returncode:
        return WorkTreeState()
    modified = [name for name in changed.stdout.decode("utf-8", "backslashreplace").split("\0") if name]
    untracked = [name for name in others.stdout.decode("utf-8", "backslashreplace").split("\0") if name]
    return WorkTreeState(len(modified), len(untracked), tuple(sorted(modified + untracked)[:5]))
