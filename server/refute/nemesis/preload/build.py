"""Builds the preload shim with this machine's C compiler, once for each content."""

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

SOURCE = Path(__file__).with_name("shim.c")
_FLAGS = ("-O2", "-fPIC", "-shared", "-fno-delete-null-pointer-checks")
_TIMEOUT_S = 60.0


def built_shim() -> Path:
    """The shim as a shared library in the user's cache folder, built where it is not there yet.

    Raises FaultUnavailableError where there is no compiler, or where it fails.
    """
    source = SOURCE.read_bytes()
    key = hashlib.sha256(source + repr((_FLAGS, platform.machine(), platform.libc_ver())).encode())
    library = cache_folder() / "preload" / f"shim-{key.hexdigest()[:16]}.so"
    if not library.is_file():
        _build(library)
    return library


def _build(library: Path) -> None:
    compiler = shutil.which(os.environ.get("CC") or "cc") or shutil.which("gcc")
    if compiler is None:
        raise FaultUnavailableError(
            "the preload shim has to be built, and there is no C compiler",
            hint="install one (Debian: gcc and libc6-dev), or name it in CC",
        )
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent) as folder:
            made = Path(folder) / "shim.so"
            done = subprocess.run(
                [compiler, *_FLAGS, "-o", str(made), str(SOURCE), "-ldl", "-lpthread"],
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_S,
                check=False,
            )
            if done.returncode != 0:
                said = (done.stderr or done.stdout).strip()[-500:]
                raise FaultUnavailableError(f"the preload shim cannot be built with {compiler}: {said}")
            made.chmod(0o755)
            made.replace(library)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FaultUnavailableError(
            f"the preload shim cannot be built: {error}", where=library.parent
        ) from error
