"""Whether a program goes through the C library: read from its file, before it is started.

Only what is certain is refused. A wrapper (`sh -c`, `setpriv`) may start anything: what that is shows by
itself, as the shim then counts nothing.
"""

from __future__ import annotations

import shlex
import shutil
import stat
import struct
import sys
from collections.abc import Mapping
from pathlib import Path

from refute.nemesis.preload.elf import read_elf

_LONGEST_CHAIN = 4
_GO_SECTIONS = (b".go.buildinfo", b".gopclntab", b".note.go.buildid")


def refusal(words: list[str], env: Mapping[str, str], cwd: Path) -> str | None:
    """Why the preload shim can have no effect on this command; None where nothing speaks against it.

    A script is followed to its interpreter, and `env NAME` to the program of that name.
    """
    for _ in range(_LONGEST_CHAIN):
        path = shutil.which(words[0] if "/" not in words[0] else str(cwd / words[0]), path=env.get("PATH"))
        if path is None:
            return None  # the start says so, better than we could
        file = Path(path).resolve()
        try:
            with file.open("rb") as opened:
                first = opened.readline(256)
            if not first.startswith(b"#!"):
                return _refusal_of_binary(file)
        except OSError:
            return None  # it may be run and not be read
        words = shlex.split(first[2:].decode(errors="replace")) or ["/bin/sh"]
        if Path(words[0]).name == "env":
            words = [word for word in words[1:] if not word.startswith("-") and "=" not in word] or ["env"]
    return None


def _refusal_of_binary(file: Path) -> str | None:
    try:
        program, own = read_elf(file), read_elf(Path(sys.executable).resolve())
    except (OSError, struct.error, IndexError):
        return None
    if program is None:
        return None
    if any(name in program.sections for name in _GO_SECTIONS):
        return f"{file.name} is a Go program: it calls the kernel itself, not the C library"
    if program.loader is None:
        return f"{file.name} is linked statically: no library can be put before its own"
    if "musl" in program.loader:
        return f"{file.name} is linked to musl; the shim is built for the C library of this machine"
    if own is not None and program.machine != own.machine:
        return f"{file.name} is built for another kind of machine than the shim"
    if file.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
        return f"{file.name} is set-user-id: the loader takes no library from its environment"
    return None
