"""Author mode: a plan's scenarios written out as tests, to the places that it declares and nowhere else."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path, PurePosixPath

from refute.plan.author import PlannedFile, plan_files, targets_of
from refute.plan.check import refuse_unrunnable
from refute.plan.reader import read_plan
from refute.tools.answer import Answer, Request, bounded
from refute.tools.formatters import Formatter, formatter_of
from refute.tools.problems import ToolError


class AuthorPlanRequest(Request):
    """A plan, and what of it to write: all scenarios and places, or the named.

    `repository` is where files are written; by default the one that the plan lies in. A plan that declares no
    place takes `target` and `language` instead. `allow_format` lets the repository's formatter run: it is
    code, or reads configuration that is code, of that repository.
    """

    plan: str
    repository: str | None = None
    scenarios: tuple[str, ...] = ()
    target: str | None = None
    language: str | None = None
    dry_run: bool = False
    allow_format: bool = False


class AuthoredFile(Answer):
    """One test file: its path below the repository, the scenario it runs, and what was done to its format."""

    path: str
    scenario: str
    language: str
    format: str


class AuthoredPlan(Answer):
    """The files, written unless `dry_run`. Nothing was staged or committed."""

    repository: str
    dry_run: bool
    files: list[AuthoredFile]

    def text(self) -> str:
        """One line a file."""
        would = "would write" if self.dry_run else "wrote"
        lines = [f"{would} {len(self.files)} files below {self.repository}; nothing is staged"]
        lines += [f"{file.path}: {file.scenario}, {file.language}, {file.format}" for file in self.files]
        return bounded("\n".join(lines))


def author_plan(request: AuthorPlanRequest) -> AuthoredPlan:
    """Writes the tests of a plan's scenarios: all of them or, where one cannot be written, none.

    Raises PlanError where the plan cannot be run or a file is there already, ToolError where a place leads
    out of the repository.
    """
    path = Path(request.plan)
    plan = read_plan(path)
    refuse_unrunnable(plan)
    root = Path(request.repository).resolve() if request.repository else repository_of(path)
    if not path.resolve().is_relative_to(root):
        raise ToolError("the plan lies outside of the repository", where=path, hint=f"move it below {root}")
    planned = plan_files(
        plan,
        plan_path=path.resolve().relative_to(root).as_posix(),
        exists=lambda place: os.path.lexists(root / place),
        scenarios=request.scenarios,
        targets=targets_of(plan, path=request.target, language=request.language),
    )
    formatters = {file.language: formatter_of(root, file.language) for file in planned}
    if not request.dry_run:
        write_new_files(root, planned)
    written = [
        AuthoredFile(
            path=str(file.path),
            scenario=file.scenario,
            language=file.language,
            format=_format(request, root, file, formatters[file.language]),
        )
        for file in planned
    ]
    return AuthoredPlan(repository=str(root), dry_run=request.dry_run, files=written)


def repository_of(path: Path) -> Path:
    """The nearest folder above a file that holds `.git`. Raises ToolError where there is none."""
    for folder in path.resolve().parents:
        if (folder / ".git").exists():
            return folder
    raise ToolError("the plan lies in no git repository", where=path, hint="name one with --repository")


def _format(request: AuthorPlanRequest, root: Path, file: PlannedFile, formatter: Formatter | None) -> str:
    if formatter is None:
        return "the repository has no formatter for it"
    if not request.allow_format:
        return f"not formatted: {formatter.named_by} asks for {formatter.name} (--allow-format runs it)"
    if request.dry_run:
        return f"{formatter.name} would format it"
    return formatter.run(root, file.path)


def write_new_files(root: Path, files: tuple[PlannedFile, ...]) -> None:
    """Writes files that are not there yet: all, or none and no folder either.

    No symbolic link below `root` is followed and no file replaced, whatever another process does meanwhile.
    Raises ToolError.
    """
    with ExitStack() as undo:
        for file in files:
            try:
                _write(root, file, undo)
            except OSError as error:
                raise ToolError(
                    f"cannot be written: {error.strerror or error}; nothing was written",
                    where=str(file.path),
                    hint="each folder on the way must be a real one, and the file new",
                ) from None
        undo.pop_all()


def _write(root: Path, file: PlannedFile, undo: ExitStack) -> None:
    with ExitStack() as held:
        folder = _opened(held, os.open(root, os.O_RDONLY | os.O_DIRECTORY))
        for place, part in enumerate(file.path.parts[:-1]):
            _make_folder(root, PurePosixPath(*file.path.parts[: place + 1]), folder, undo)
            folder = _opened(held, os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder))
        mode = 0o777 if file.executable else 0o666
        descriptor = os.open(
            file.path.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=folder
        )
        undo.callback((root / file.path).unlink, missing_ok=True)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(file.text)


def _make_folder(root: Path, path: PurePosixPath, parent: int, undo: ExitStack) -> None:
    try:
        os.mkdir(path.name, dir_fd=parent)
    except FileExistsError:
        return
    undo.callback((root / path).rmdir)


def _opened(held: ExitStack, descriptor: int) -> int:
    held.callback(os.close, descriptor)
    return descriptor
