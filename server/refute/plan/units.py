"""Durations, rates and sizes as people write them in a plan, read into seconds, per second and bytes."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_LONGEST_S = 366 * 24 * 3600.0  # far below what clocks of the kernel and of threads can take
_BYTES = {"b": 1, "kb": 1000, "mb": 1000**2, "gb": 1000**3, "kib": 1024, "mib": 1024**2, "gib": 1024**3}
_QUANTITY = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([A-Za-zµ]+)\s*$")


def seconds(value: Any) -> float:
    """Seconds in `250ms`, `5s`, `2m`, `1h`, up to a year. Raises ValueError; a bare number has no unit."""
    if isinstance(value, str) and (found := _QUANTITY.match(value)) and found[2] in _SECONDS:
        if (read := float(found[1]) * _SECONDS[found[2]]) > _LONGEST_S:
            raise ValueError(f"{value[:40]!r} is longer than a year, which nobody waits for")
        return read
    if value == 0 and not isinstance(value, bool):
        return 0.0
    raise ValueError(f"{value!r} is not a duration: write a number with its unit, such as 250ms, 5s or 2m")


def per_second(value: Any) -> float:
    """Events a second in `500/s`, `30/m`. Raises ValueError."""
    if isinstance(value, str):
        number, slash, unit = value.partition("/")
        if slash and unit.strip() in _SECONDS:
            try:
                return float(number) / _SECONDS[unit.strip()]
            except ValueError:
                pass
    raise ValueError(f"{value!r} is not a rate: write for example 500/s or 30/m")


def byte_count(value: Any) -> int:
    """Bytes in `64kB`, `10MiB`. Raises ValueError."""
    if isinstance(value, str) and (found := _QUANTITY.match(value)) and found[2].lower() in _BYTES:
        return int(float(found[1]) * _BYTES[found[2].lower()])
    raise ValueError(f"{value!r} is not a size: write a number with its unit, such as 64kB or 10MiB")


def bytes_per_second(value: Any) -> float:
    """Bytes a second in `10kB/s`. Raises ValueError."""
    if isinstance(value, str) and value.replace(" ", "").endswith("/s"):
        return float(byte_count(value.replace(" ", "")[:-2]))
    raise ValueError(f"{value!r} is not a bandwidth: write for example 10kB/s")


def _unless_number(read: Any) -> Any:
    # A model that was dumped (to JSON, to another process) comes back with plain numbers in its own unit.
    def validate(value: Any) -> Any:
        return value if isinstance(value, float) else read(value)

    return BeforeValidator(validate)


Seconds = Annotated[float, _unless_number(seconds)]
PerSecond = Annotated[float, _unless_number(per_second)]
