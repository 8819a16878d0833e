"""Tools on a repository: its map, what a change touches, its claims, its toolbox."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import Field

from refute.repository.change_scope import revision_to_open
from refute.repository.change_scope import scope_change as scope
from refute.repository.claims import extract_claims as claims
from refute.repository.mirror import open_repository
from refute.repository.repository_map import map_repository as chart
from refute.repository.toolbox import discover_toolbox as toolbox
from refute.tools.answer import Answer, Request

_MOST_CHARACTERS_OF_ROWS = 5_800
_BRIEF = ("id", "path", "line", "end_line", "category", "sentence", "name", "command", "status")


_START = "lines of the answer to pass over: an answer that was cut says where it goes on"


class RepositoryRequest(Request):
    """A repository or a plain folder, read at a revision."""

    repository: str
    revision: str = "HEAD"
    start: int = Field(default=0, ge=0, description=_START)


class ScopeChangeRequest(Request):
    """A commit, a range `A..B` or a branch."""

    repository: str
    change: str = "HEAD"
    start: int = Field(default=0, ge=0, description=_START)


class ExtractClaimsRequest(RepositoryRequest):
    """How many clusters are wanted, best first; without `top`, those that promise enough: 40 at most."""

    top: int | None = Field(default=None, ge=1, le=600)


class RepositoryFacts(Answer):
    """What was found, as data; `shown` says the same as text, bounded, with what was left out."""

    found: dict[str, Any]
    rows: list[dict[str, Any]]
    shown: str
    start: int = 0

    def text(self) -> str:
        """The bounded text."""
        return self.shown

    def data(self) -> dict[str, Any]:
        """Counts, notes and the first rows in brief, since an agent pays for the data beside the text.

        All of it is what `refute ... --json` and `--jsonl` print.
        """
        counts = {
            name: len(value) if isinstance(value, list) else value
            for name, value in self.found.items()
            if name not in ("diagram", "notes")
        }
        rows: list[dict[str, Any]] = []
        room = _MOST_CHARACTERS_OF_ROWS
        for row in self.rows if not self.start else ():  # the first answer told them
            brief = {name: _brief(row[name]) for name in _BRIEF if row.get(name) not in (None, "")}
            room -= len(json.dumps(brief))
            if room < 0:
                break
            rows.append(brief)
        left_out = len(self.rows) - len(rows)
        said = "The text of this answer says more." + (
            f" {left_out} rows are left out here." * bool(left_out)
        )
        return {"found": counts, "rows": rows, "shown": said, "start": self.start}


def _brief(value: Any) -> Any:
    return value[:240] if isinstance(value, str) else value


def map_repository(request: RepositoryRequest) -> RepositoryFacts:
    """What a repository is made of."""
    with open_repository(Path(request.repository), revision=request.revision) as snapshot:
        return _facts(chart(snapshot), request.start)


def scope_change(request: ScopeChangeRequest) -> RepositoryFacts:
    """What a change touches, and whether it needs a distributed test."""
    with open_repository(Path(request.repository), revision=revision_to_open(request.change)) as snapshot:
        return _facts(scope(snapshot, request.change), request.start)


def extract_claims(request: ExtractClaimsRequest) -> RepositoryFacts:
    """What a product promises, each claim with a citation that was checked."""
    with open_repository(Path(request.repository), revision=request.revision) as snapshot:
        return _facts(claims(snapshot, top=request.top), request.start)


def discover_toolbox(request: RepositoryRequest) -> RepositoryFacts:
    """How its tests are run, and what faults it can already make."""
    with open_repository(Path(request.repository), revision=request.revision) as snapshot:
        return _facts(toolbox(snapshot), request.start)


def _facts(found: Any, start: int) -> RepositoryFacts:
    return RepositoryFacts(
        found=found.to_json(),
        rows=[dict(row) for row in found.rows()],
        shown=found.text(start=start),
        start=start,
    )
