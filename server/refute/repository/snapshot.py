"""A snapshot of a repository: the files of one commit or of a plain folder, to be read and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from refute.repository.plain_folder import read_plainly
from refute.repository.problems import RepositoryError
from refute.repository.source_file import SourceFile

if TYPE_CHECKING:
    import git


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
                data = read_plainly(self.root / (file.on_disk or file.path))
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
