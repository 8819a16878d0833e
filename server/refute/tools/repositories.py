"""Tools on a repository: its map, what a change touches, its claims, its toolbox."""

from __future__ import annotations

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


class RepositoryRequest(Request):
    """A repository or a plain folder, read at a revision."""

    repository: str
    revision: str = "HEAD"


class ScopeChangeRequest(Request):
    """A commit, a range `A..B` or a branch."""

    repository: str
    change: str = "HEAD"


class ExtractClaimsRequest(RepositoryRequest):
    """How many clusters are wanted, best first."""

    top: int = Field(default=40, ge=1, le=600)


class RepositoryFacts(Answer):
    """What was found, as data; `shown` says the same as text, bounded, with what was left out."""

    found: dict[str, Any]
    rows: list[dict[str, Any]]
    shown: str

    def text(self) -> str:
        """The bounded text."""
        return self.shown


def map_repository(request: RepositoryRequest) -> RepositoryFacts:
    """What a repository is made of."""
    with open_repository(Path(request.repository), revision=request.revision) as snapshot:
        return _facts(chart(snapshot))


def scope_change(request: ScopeChangeRequest) -> RepositoryFacts:
    """What a change touches, and whether it needs a distributed test."""
    with open_repository(Path(request.repository), revision=revision_to_open(request.change)) as snapshot:
        return _facts(scope(snapshot, request.change))


def extract_claims(request: ExtractClaimsRequest) -> RepositoryFacts:
    """What a product promises, each claim with a citation that was checked."""
    with open_repository(Path(request.repository), revision=request.revision) as snapshot:
        return _facts(claims(snapshot, top=request.top))


def discover_toolbox(request: RepositoryRequest) -> RepositoryFacts:
    """How its tests are run, and what faults it can already make."""
    with open_repository(Path(request.repository), revision=request.revision) as snapshot:
        return _facts(toolbox(snapshot))


def _facts(found: Any) -> RepositoryFacts:
    return RepositoryFacts(
        found=found.to_json(), rows=[dict(row) for row in found.rows()], shown=found.text()
    )
