"""The catalogs that travel with refute as data: read once, by the tools and by the documents alike."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from refute.errors import RefuteError
from refute.plan.yaml_source import read_yaml

_FOLDER = Path(__file__).with_name("catalogs")


@cache
def read_catalog(name: str) -> tuple[dict[str, Any], ...]:
    """The entries of one catalog (`pitfalls`, `models`, `techniques`, `suspects`), in their order.

    Raises RefuteError where the installation is not whole.
    """
    path = _FOLDER / f"{name}.yaml"
    try:
        source = read_yaml(path.read_text(encoding="utf-8"), line=1, section="")
    except OSError as error:
        raise RefuteError(f"a catalog is missing: {error.strerror}", where=path) from None
    if source.defects or not isinstance(source.data, list):
        raise RefuteError("a catalog is damaged", where=path, hint="; ".join(d.what for d in source.defects))
    return tuple(source.data)
