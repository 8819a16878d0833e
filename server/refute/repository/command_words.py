"""Splits the words of a command into options, their values and the rest."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence


def joined(folder: str, inner: str) -> str:
    """A folder within a folder; "" is the root."""
    found = posixpath.normpath(posixpath.join(folder or ".", inner))
    return "" if found == "." else found


def values_of(arguments: Sequence[str], *names: str) -> list[str]:
    """The values of options, however they are written."""
    found = [arguments[at + 1] for at, word in enumerate(arguments[:-1]) if word in names]
    return found + [
        word.partition("=")[2] for word in arguments if word.partition("=")[0] in names and "=" in word
    ]


def plain_words(arguments: Sequence[str], valued: Sequence[str] | frozenset[str] = ()) -> list[str]:
    """The words that are no options nor values of those named."""
    return [word for at, word in enumerate(arguments)
            if not word.startswith("-") and not (at and arguments[at - 1] in valued)]  # fmt: skip
