"""A program of our own that carries a preloaded library, to try out whether it works on this machine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from refute.interpreter import python
from refute.nemesis.preload.shared_page import SharedPage


@dataclass(frozen=True, slots=True)
class Program:
    """A program that answers each line with a line."""

    process: subprocess.Popen[str]

    def ask(self) -> str:
        """Its next answer; empty once it has ended. Raises OSError where it takes no line any more."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


@contextmanager
def program_with(library: Path, page: SharedPage, source: str, *arguments: str) -> Iterator[Program]:
    """This Python source, run with the library and its page; it ends with the block."""
    with subprocess.Popen(
        python("-c", source, *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "LD_PRELOAD": str(library), **page.environment},
    ) as process:
        try:
            yield Program(process)
        except BaseException:
            process.kill()
            raise
