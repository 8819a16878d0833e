"""The preload shim as a library, built by this machine's C compiler."""

from __future__ import annotations

from pathlib import Path

from refute.nemesis.compiled import built_library

SOURCE = Path(__file__).with_name("shim.c")


def built_shim() -> Path:
    """The shim as a shared library. Raises FaultUnavailableError where it cannot be built."""
    return built_library(SOURCE, "the preload shim", "-ldl", "-lpthread")
