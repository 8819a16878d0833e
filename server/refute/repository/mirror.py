"""Opens a repository, or a plain folder, as a snapshot that can be read and nothing else."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from refute.repository.git_source import GitSource, find_git_source, why_history_is_unread
from refute.repository.problems import RepositoryError
from refute.resources import cache_folder

if TYPE_CHECKING:
    import git

MOST_BYTES_A_FILE = 1_500_000
MOST_BYTES_IN_ALL = 512 * 1024 * 1024
MOST_FILES = 200_000
_TREE, _LINK, _SUBMODULE = 0o040000, 0o120000, 0o160000
_SKIPPED_FOLDERS = frozenset({".git", ".hg", ".svn", "node_modules", ".venv", "__pycache__"})


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One regular file of a snapshot; `blob` names its content, so equal contents have equal names.

    `on_disk` is the name in a plain folder where `path` could not be shown as it is.
    """

    path: str
    blob: str
    size: int
    executable: bool = False
    on_disk: str = ""


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
    repo: git.Repo | None = None
    work_tree: WorkTreeState = WorkTreeState()
    references: Mapping[str, str] = field(default_factory=dict)
    unread_history: str = ""

    @property
    def label(self) -> str:
        """What citations carry behind the `@`: the commit, or `unversioned` for a plain folder."""
        return self.commit or "unversioned"

    def file(self, path: str) -> SourceFile | None:
        """The file at `path`, or None; O(number of files)."""
        return next((file for file in self.files if file.path == path), None)

    def contents(self, files: Iterable[SourceFile]) -> Iterator[tuple[SourceFile, bytes]]:
        """The bytes of each file in turn; what cannot be read is left out."""
        for file in files:
            if self.repo is None:
                data = _read_plainly(self.root / (file.on_disk or file.path))
            else:
                from refute.repository.borrowed import read_object

                data = read_object(self.repo, file.blob)
            if data is not None:
                yield file, data

    def text(self, path: str) -> str | None:
        """One file as text (invalid UTF-8 becomes U+FFFD), or None where it is not there."""
        file = self.file(path)
        if file is None:
            return None
        return next((data.decode("utf-8", "replace") for _, data in self.contents([file])), None)

    def resolve(self, revision: str) -> str:
        """The full id of the commit that `revision` names. Raises RepositoryError where there is none."""
        if self.repo is None:
            raise RepositoryError("a plain folder has no revisions", where=self.root)
        head = self.references.get("HEAD", "")
        found = re.match(r"(?:HEAD|@)(?![\w/.-])(.*)", revision)
        asked = head + found.group(1) if found and head else revision
        commit = self.repo.git.rev_parse(
            "--verify", "--quiet", "--end-of-options", f"{asked}^{{commit}}", with_exceptions=False
        )
        if not re.fullmatch(r"[0-9a-f]{40}", commit):
            hint = "the clone is shallow: fetch more history" if self.shallow else "see `git log --oneline`"
            raise RepositoryError(f"no commit is called {revision!r}", where=self.root, hint=hint)
        return str(commit)


def shown_path(name: bytes) -> str:
    """A path as text on one line: what is no UTF-8 or cannot be printed is written with a backslash."""
    text = name.decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text
    )


@contextmanager
def open_repository(
    path: str | Path, *, cache: str | Path | None = None, revision: str = "HEAD"
) -> Iterator[RepositorySnapshot]:
    """A snapshot of the commit `revision` of the repository at `path`, or of a plain folder.

    Nothing of the repository is run, its working tree included: git only ever runs in a bare directory of
    ours that borrows the objects (see `borrowed`). Committed content is what is read; `work_tree` says
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
    unread = why_history_is_unread(source) if source else ""
    if source is None or unread:
        if source is not None and source.work_tree is None:
            raise RepositoryError(unread, where=root, hint="pass a checkout: its files are read as they are")
        if revision != "HEAD":
            raise RepositoryError(unread or "a plain folder has no revisions", where=root)
        yield replace(_plain_snapshot(root, kept), unread_history=unread)
        return
    from refute.repository.borrowed import borrow

    with (
        tempfile.TemporaryDirectory(prefix="refute-mirror-") as folder,
        borrow(source, Path(folder) / "mirror.git") as (repo, references),
    ):
        yield _git_snapshot(root, source, repo, references, kept, revision)


def _git_snapshot(
    root: Path, source: GitSource, repo: git.Repo, references: dict[str, str], cache: Path, revision: str
) -> RepositorySnapshot:
    top = source.work_tree or source.git_dir
    prefix = "" if root == top else root.relative_to(top).as_posix() + "/"
    bare = RepositorySnapshot(
        root=root,
        name=_name_of(root, source),
        commit=references.get("HEAD"),
        tree="",
        files=(),
        left_out={},
        shallow=(Path(repo.git_dir) / "shallow").exists(),
        prefix=prefix,
        cache=cache,
        repo=repo,
        references=references,
    )
    commit = bare.commit if revision == "HEAD" else bare.resolve(revision)
    if commit is None:
        return bare
    tree = _tree_of(repo, commit)
    files, submodules, left_out = _walk(repo, tree, prefix) if tree else ([], [], {"missing objects": 1})
    return replace(
        bare,
        commit=commit,
        tree=f"{tree}:{prefix}",
        files=tuple(files),
        left_out=left_out,
        submodules=tuple(submodules),
        work_tree=_work_tree_state(source, repo, commit) if revision == "HEAD" else WorkTreeState(),
    )


def _name_of(root: Path, source: GitSource) -> str:
    name = root.name
    if source.work_tree is None and name in ("repo", "repo.git", "git"):
        return root.parent.name
    return name.removesuffix(".git")


def _tree_of(repo: git.Repo, commit: str) -> str:
    try:
        return repo.commit(commit).tree.hexsha
    except (ValueError, OSError):
        repo.git.clear_cache()
        return ""


def _walk(repo: git.Repo, tree: str, prefix: str) -> tuple[list[SourceFile], list[str], dict[str, int]]:
    """Every regular file below `tree`, the submodules, and what was left out.

    `Tree.traverse` would end at the first missing tree, so trees are asked for one by one.
    """
    from git.objects.fun import tree_entries_from_data

    from refute.repository.borrowed import read_object, size_of_object

    left_out: Counter[str] = Counter()
    entries: list[tuple[str, str, bool]] = []
    submodules: list[str] = []
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
            elif not path.startswith(prefix):
                continue
            elif mode == _LINK:
                left_out["symbolic links"] += 1
            elif mode == _SUBMODULE:
                left_out["submodules"] += 1
                submodules.append(path)
            elif len(entries) < MOST_FILES:
                entries.append((path, child.hex(), bool(mode & 0o100)))
            else:
                left_out["files beyond the limit"] += 1
    files: list[SourceFile] = []
    total = 0
    for path, blob, executable in sorted(entries):
        size = size_of_object(repo, blob)
        if size is None:
            left_out["missing objects"] += 1
        elif size > MOST_BYTES_A_FILE:
            left_out["files over 1.5 MB"] += 1
        elif total + size > MOST_BYTES_IN_ALL:
            left_out["files beyond the limit"] += 1
        else:
            total += size
            files.append(SourceFile(path, blob, size, executable))
    return files, sorted(submodules), dict(left_out)


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
            on_disk = place.relative_to(root).as_posix()
            path = shown_path(os.fsencode(on_disk))
            files.append(SourceFile(path, blob, len(data), on_disk=on_disk if on_disk != path else ""))
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


def _work_tree_state(source: GitSource, repo: git.Repo, commit: str) -> WorkTreeState:
    """What `git status` would say of the checkout, asked of our own directory with a copy of the index.

    Submodules are not entered: git would start a second git inside them, with their configuration.
    """
    from git.exc import GitError

    index = source.git_dir / "index"
    if source.work_tree is None or not index.is_file() or index.is_symlink():
        return WorkTreeState()
    ours = Path(repo.git_dir)
    copied = ours / "index.copy"
    try:
        shutil.copyfile(index, copied)
        for shared in source.git_dir.glob("sharedindex.*"):
            shutil.copyfile(shared, ours / shared.name)
        with repo.git.custom_environment(GIT_INDEX_FILE=str(copied), GIT_WORK_TREE=str(source.work_tree)):
            repo.git.update_index(
                "-q", "--refresh", "--ignore-submodules", with_exceptions=False, kill_after_timeout=10
            )
            changed = repo.git.diff_index(
                "--name-only", "-z", "--ignore-submodules=all", "--no-ext-diff", "--no-textconv", commit,
                kill_after_timeout=10,
            )  # fmt: skip
            others = repo.git.ls_files(
                "--others", "--exclude-standard", "--directory", "--no-empty-directory", "-z",
                kill_after_timeout=10,
            )  # fmt: skip
    except (OSError, GitError):
        return WorkTreeState()
    modified, untracked = (
        [shown_path(name.encode("utf-8", "surrogateescape")) for name in shown.split("\0") if name]
        for shown in (changed, others)
    )
    return WorkTreeState(len(modified), len(untracked), tuple(sorted(modified + untracked)[:5]))
