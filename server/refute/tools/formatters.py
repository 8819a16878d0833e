"""The formatter that a repository names for a language; running it on a file when a person allowed that."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

FORMAT_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Formatter:
    """One formatter: the command that takes the file's path last, and the file that asks for it."""

    name: str
    command: tuple[str, ...]
    named_by: str

    def run(self, root: Path, path: PurePosixPath) -> str:
        """Formats one file in place and says what came of it. One that fails leaves the file as it was."""
        program = shutil.which(str(root / self.command[0]) if "/" in self.command[0] else self.command[0])
        if program is None:
            return f"not formatted: {self.name} is not installed"
        before = (root / path).read_bytes()
        try:
            done = subprocess.run(
                [program, *self.command[1:], str(path)],
                cwd=root,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=FORMAT_WITHIN_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            (root / path).write_bytes(before)
            return f"not formatted: {self.name}: {error}"
        if done.returncode:
            (root / path).write_bytes(before)
            said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
            why = f": {said[0][:200]}" if said else ""
            return f"not formatted: {self.name} ended with {done.returncode}{why}"
        return f"formatted by {self.name}"


# language -> (name, command, file in the root, words of which one must stand in it), the first that holds
_KNOWN: dict[str, tuple[tuple[str, tuple[str, ...], str, tuple[str, ...]], ...]] = {
    "python": (
        ("ruff format", ("ruff", "format", "--quiet"), "pyproject.toml", ("[tool.ruff",)),
        ("ruff format", ("ruff", "format", "--quiet"), "ruff.toml", ()),
        ("ruff format", ("ruff", "format", "--quiet"), ".ruff.toml", ()),
        ("black", ("black", "--quiet"), "pyproject.toml", ("[tool.black",)),
    ),
    "go": (("gofmt", ("gofmt", "-w"), "go.mod", ()),),
    "rust": (("rustfmt", ("rustfmt", "--edition", "2021"), "Cargo.toml", ()),),
    "java": (),
    "typescript": (
        (
            "prettier",
            ("node_modules/.bin/prettier", "--write", "--log-level", "warn"),
            "package.json",
            ('"prettier"',),
        ),
        ("biome", ("node_modules/.bin/biome", "format", "--write"), "biome.json", ()),
    ),
    "shell": (("shfmt", ("shfmt", "-w"), ".editorconfig", ("[*.sh", "shell_variant")),),
}


def formatter_of(root: Path, language: str) -> Formatter | None:
    """The formatter that the repository's own files name for a language, or None. Runs nothing."""
    return next(_named(root, language), None)


def _named(root: Path, language: str) -> Iterator[Formatter]:
    for name, command, file, words in _KNOWN[language]:
        try:
            text = (root / file).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if not words or any(word in text for word in words):
            yield Formatter(name, command, file)
