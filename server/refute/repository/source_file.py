"""What a file of a snapshot is called, and how much of one, and of all, is read at most."""

from __future__ import annotations

from dataclasses import dataclass

MOST_BYTES_A_FILE = 1_500_000
MOST_BYTES_IN_ALL = 512 * 1024 * 1024
MOST_FILES = 200_000


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One regular file of a snapshot; `blob` names its content, so equal contents have equal names.

    `on_disk` is the name in a plain folder where `path` could not be shown as it is.
    """

    path: str
    blob: str
    size: int
    executable: bool = False
    on_disk: str = ""


def shown_path(name: bytes) -> str:
    """A path as text on one line: what is no UTF-8 or cannot be printed is written with a backslash."""
    text = name.decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text
    )
