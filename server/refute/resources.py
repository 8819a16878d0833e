"""Where skills, prompts, examples and bundled plans are, in a checkout and in an installed wheel alike."""

from __future__ import annotations

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
