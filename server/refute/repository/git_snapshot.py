"""Opens the snapshot of one commit of a git repository, through a mirror that borrows its objects."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from refute.repository.borrowed import borrow
from refute.repository.git_source import GitSource
from refute.repository.git_tree import TreeFiles, files_of_tree, tree_of
from refute.repository.snapshot import RepositorySnapshot, WorkTreeState
from refute.repository.work_tree import work_tree_state

if TYPE_CHECKING:
    import git


@contextmanager
def open_commit(root: Path, source: GitSource, cache: Path, revision: str) -> Iterator[RepositorySnapshot]:
    """The commit `revision` of `source`, of which `root` is the working tree or a folder in it.

    `cache` is where derived facts are kept. Where nothing was committed yet there are no files. Raises
    RepositoryError where there is no such revision.
    """
    with (
        tempfile.TemporaryDirectory(prefix="refute-mirror-") as folder,
        borrow(source, Path(folder) / "mirror.git") as (repo, references),
    ):
        yield _snapshot(root, source, repo, references, cache, revision)


def _snapshot(
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
    tree = tree_of(repo, commit)
    found = files_of_tree(repo, tree, prefix) if tree else TreeFiles(left_out={"missing objects": 1})
    return replace(
        bare,
        commit=commit,
        tree=f"{tree}:{prefix}",
        files=found.files,
        left_out=found.left_out,
        submodules=found.submodules,
        work_tree=work_tree_state(source, repo, commit) if revision == "HEAD" else WorkTreeState(),
    )


def _name_of(root: Path, source: GitSource) -> str:
    name = root.name
    if source.work_tree is None and name in ("repo", "repo.git", "git"):
        return root.parent.name
    return name.removesuffix(".git")
