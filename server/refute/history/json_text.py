"""JSON as fast as it can be read, with integers of any length."""

from __future__ import annotations

import json
from typing import Any

import orjson

_DIGITS_ALIKE = bytes(0x30 if 0x30 <= byte <= 0x39 else byte for byte in range(256))


def has_long_integer(text: bytes) -> bool:
    """Whether a number may not fit in 64 bits, so that orjson would round it to a float. Linear."""
    alike = text.translate(_DIGITS_ALIKE)
    return b"0" * 20 in alike or b"-" + b"0" * 19 in alike


def loads(text: bytes) -> Any:
    """The value in a text. Raises json.JSONDecodeError."""
    return json.loads(text) if has_long_integer(text) else orjson.loads(text)
