"""Where skills, prompts, examples and plans are, in a checkout and in a wheel alike; where caches are."""

from __future__ import annotations

import os
from pathlib import Path

from refute.errors import UnavailableError

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parents[1]
_PLACES = {
    "skills": "skills",
    "prompts": "prompts",
    "examples": "examples",
    "testing-plans": "docs/testing-plans",
}


def folder(name: str) -> Path:
    """The folder of that name (`skills`, `prompts`, `examples` or `testing-plans`).

    Raises UnavailableError where the installation is not whole.
    """
    bundled = _PACKAGE / "bundled" / name
    if bundled.is_dir():
        return bundled
    checkout = _CHECKOUT / _PLACES[name]
    if checkout.is_dir() and (_CHECKOUT / "pyproject.toml").is_file():
        return checkout
    raise UnavailableError(f"the bundled folder {name!r} is missing", where=_PACKAGE, hint="reinstall refute")


def cache_folder() -> Path:
    """Where what can be made again is kept: `REFUTE_CACHE`, else `refute` in the user's cache folder."""
    if chosen := os.environ.get("REFUTE_CACHE"):
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "refute"
