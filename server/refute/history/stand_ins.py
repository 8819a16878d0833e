"""Hashable stand-ins for the values of a history, and the values that people read again."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import nan
from typing import Any


def hashable(value: Any) -> Hashable:
    """A hashable stand-in that is equal exactly where the values are equal and of one kind.

    `True` equals `1` in Python and is another answer of a database, so a bool gets its type in
    front. `1.0` stays equal to `1`: JSON does not tell them apart, and a client written in
    JavaScript writes either as `1`.
    """
    kind = type(value)
    if kind is int or kind is str or value is None:
        return value  # type: ignore[no-any-return]
    if kind is bool:
        return ("bool", value)
    if kind is float:
        return value if value == value else ("nan",)
    if isinstance(value, Mapping):
        return ("map", frozenset((hashable(k), hashable(v)) for k, v in value.items()))
    if isinstance(value, (set, frozenset)):
        return ("set", frozenset(hashable(v) for v in value))
    if isinstance(value, (list, tuple)):
        return ("seq", *(hashable(v) for v in value))
    return value if isinstance(value, Hashable) else repr(value)


def recorded(stand_in: Hashable) -> Any:
    """The value that `hashable` made this of, for people to read: lists for tuples and sets, else the same.

    >>> recorded(hashable({"a": [1, True]}))
    {'a': [1, True]}
    """
    if not isinstance(stand_in, tuple) or not stand_in:
        return stand_in
    kind, *parts = stand_in
    match kind:
        case "seq":
            return [recorded(part) for part in parts]
        case "set":
            return sorted(map(recorded, parts[0]), key=repr)
        case "map":
            return {key: recorded(value) for key, value in sorted(parts[0], key=repr)}
        case "bool":
            return parts[0]
        case "nan":
            return nan
    return stand_in
