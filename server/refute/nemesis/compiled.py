"""Builds a C source of the package with this machine's compiler, once for each content."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from refute.nemesis.errors import FaultUnavailableError
from refute.resources import cache_folder

_FLAGS = ("-O2", "-fPIC", "-shared", "-fno-delete-null-pointer-checks")
_TIMEOUT_S = 60.0


def built_library(source: Path, what: str, *libraries: str) -> Path:
    """The source as a shared library in the user's cache folder, built where it is not there yet.

    `what` is its name for people; `libraries` are what it is linked with, as `-ldl`. Headers that it includes
    lie beside it. Raises FaultUnavailableError where there is no compiler, or where it fails.
    """
    made_of = (_FLAGS, libraries, platform.machine(), platform.libc_ver())
    texts = [source.read_bytes(), *(header.read_bytes() for header in sorted(source.parent.glob("*.h")))]
    key = hashlib.sha256(b"".join(texts) + repr(made_of).encode())
    try:
        library = cache_folder() / source.parent.name / f"{source.stem}-{key.hexdigest()[:16]}.so"
        there = library.is_file()
    except (OSError, RuntimeError) as error:  # somebody else's, or there is no home folder
        raise FaultUnavailableError(
            f"{what} cannot be built, as there is no cache folder: {error}", hint="name one in REFUTE_CACHE"
        ) from error
    if not there:
        _build(source, library, what, libraries)
    return library


def _build(source: Path, library: Path, what: str, libraries: tuple[str, ...]) -> None:
    compiler = shutil.which(os.environ.get("CC") or "cc") or shutil.which("gcc")
    if compiler is None:
        raise FaultUnavailableError(
            f"{what} has to be built, and there is no C compiler",
            hint="install one (Debian: gcc and libc6-dev), or name it in CC",
        )
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent) as folder:
            made = Path(folder) / library.name
            done = subprocess.run(
                [compiler, *_FLAGS, "-o", str(made), str(source), *libraries],
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_S,
                check=False,
            )
            if done.returncode != 0:
                said = (done.stderr or done.stdout).strip()[-500:]
                raise FaultUnavailableError(f"{what} cannot be built with {compiler}: {said}")
            made.chmod(0o755)
            made.replace(library)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FaultUnavailableError(f"{what} cannot be built: {error}", where=library.parent) from error
