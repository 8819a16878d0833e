"""How the checked-out files of a repository differ from a commit of it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from git.exc import GitError

from refute.repository.git_source import GitSource
from refute.repository.snapshot import WorkTreeState
from refute.repository.source_file import shown_path

if TYPE_CHECKING:
    import git


def work_tree_state(source: GitSource, repo: git.Repo, commit: str) -> WorkTreeState:
    """What `git status` would say of the checkout, asked of our own directory with a copy of the index.

    Submodules are not entered: git would start a second git inside them, with their configuration.
    """
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
