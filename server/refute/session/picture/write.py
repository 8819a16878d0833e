"""Writes a picture to a file, with the faults that were recorded beside the history."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from refute.history import FaultEvent, History, Landing
from refute.history.event_reader import read_history
from refute.history.faults_log import read_faults, read_landing
from refute.session.errors import SessionError
from refute.session.files import write_text
from refute.session.picture.conflict import Conflict
from refute.session.picture.page import MARK, timeline_page


def refuse_other_files(path: Path) -> None:
    """Raises SessionError for a path that is no .html file, or that holds something else than a picture."""
    if path.suffix.lower() != ".html":
        raise SessionError("a picture is an HTML page", where=path, hint="name a file that ends with .html")
    if not path.exists():
        return
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            first = stream.readline(200)
    except OSError as error:
        raise SessionError(f"cannot write: {error.strerror}", where=path) from None
    if MARK not in first:
        raise SessionError(
            "there is a file already, which is no picture of refute's", where=path, hint="name another one"
        )


def write_picture(
    path: Path, source: Path, history: History, conflicts: Sequence[Conflict], *, answer: str
) -> None:
    """Writes the page of a history. Of an attempt of a session, `history.jsonl`, the faults are shown too.

    Raises SessionError for a path that a picture may not be written to, HistoryError where the faults
    beside the history are damaged.
    """
    refuse_other_files(path)
    faults, landings = _faults_beside(source) if source.name == "history.jsonl" else (history.faults, None)
    write_text(
        path,
        timeline_page(history, conflicts, faults=faults, landings=landings, title=source.name, answer=answer),
    )


def attempt_page(folder: Path, conflicts: Sequence[Conflict], *, title: str, answer: str) -> str:
    """The page of one attempt, from what was recorded in its folder. Raises HistoryError."""
    faults, landings = _faults_beside(folder / "history.jsonl")
    history = read_history(folder / "history.jsonl")
    return timeline_page(history, conflicts, faults=faults, landings=landings, title=title, answer=answer)


def _faults_beside(history: Path) -> tuple[tuple[FaultEvent, ...], tuple[Landing, ...] | None]:
    faults, landing = history.with_name("faults.jsonl"), history.with_name("landing.json")
    return (
        read_faults(faults) if faults.is_file() else (),
        read_landing(landing) if landing.is_file() else None,
    )
