"""The errors that reach a person, each with the exit code that its kind has everywhere.

A room derives its own exception from one of these three, so that the faces turn any of them
into one line and an exit code without knowing the room.
"""

from __future__ import annotations

from pathlib import Path


class RefuteError(Exception):
    """Something that a person has to know: what was wrong, where, and what to do about it.

    `where` is `file:line`, a scenario id or a node name; `hint` is the next step to take.
    """

    exit_code = 70

    def __init__(self, what: str, *, where: str | Path | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = str(where) if where is not None else None
        self.hint = hint

    def __str__(self) -> str:
        """One line: `where: what (hint)`."""
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text} ({self.hint})" if self.hint else text


class InputError(RefuteError):
    """The caller's input is at fault (exit code 64)."""

    exit_code = 64


class UnavailableError(RefuteError):
    """Something that is needed is missing or cannot be had on this machine (exit code 69)."""

    exit_code = 69
