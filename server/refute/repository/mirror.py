"""Opens a repository, or a plain folder, as a snapshot that can be read and nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from refute.repository.git_source import find_git_source, why_history_is_unread
from refute.repository.plain_folder import files_of_folder
from refute.repository.problems import RepositoryError
from refute.repository.snapshot import RepositorySnapshot
from refute.resources import cache_folder


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
    from refute.repository.git_snapshot import open_commit  # GitPython only where there is a history

    with open_commit(root, source, kept, revision) as snapshot:
        yield snapshot


def _plain_snapshot(root: Path, cache: Path) -> RepositorySnapshot:
    files, left_out = files_of_folder(root)
    rows = "\n".join(f"{file.blob} {file.path}" for file in files)
    tree = hashlib.sha256(rows.encode("utf-8", "replace")).hexdigest()
    return RepositorySnapshot(root, root.name, None, tree, tuple(files), left_out, cache=cache)
