"""The names by which revisions of a repository can be asked for."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from refute.repository.git_source import find_git_source, why_history_is_unread
from refute.repository.problems import RepositoryError

RECENT = 30


def revisions_of(path: str | Path) -> tuple[str, ...]:
    """`HEAD`, branches, tags and the latest commits of HEAD, in this order; none for a plain folder.

    Raises RepositoryError where there is no folder, or its objects cannot be read.
    """
    root = Path(path).expanduser()
    if not root.is_dir():
        raise RepositoryError("is not a folder", where=root)
    source = find_git_source(root.resolve())
    if source is None or why_history_is_unread(source):
        return ()
    from refute.repository.borrowed import borrow

    with (
        tempfile.TemporaryDirectory(prefix="refute-mirror-") as folder,
        borrow(source, Path(folder) / "mirror.git") as (repo, references),
    ):
        named = [re.sub(r"^refs/(?:heads|tags|remotes)/", "", name) for name in sorted(references)]
        head = references.get("HEAD")
        recent = repo.git.log("--format=%H", f"--max-count={RECENT}", head, "--").split() if head else []
        return tuple(dict.fromkeys(["HEAD", *named, *(commit[:12] for commit in recent)] if head else named))
