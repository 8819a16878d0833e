"""The undo verb of rules for clients: without its flag, no client follows a rule."""

from __future__ import annotations

from pathlib import Path

from refute.nemesis.undo import Handle, UndoVerb


def _remove(handle: Handle) -> None:
    Path(handle["file"]).unlink(missing_ok=True)


def _still_there(handle: Handle) -> str | None:
    return f"clients still follow {handle['file']}" if Path(handle["file"]).exists() else None


VERBS = {"remove-flag": UndoVerb(_remove, _still_there)}
