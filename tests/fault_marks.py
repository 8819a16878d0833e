"""What a test that is marked `fault(plane, kind, shows=...)` claims, and whether it keeps its word while it runs.

The table in docs/fault-tests.md is made of these marks. A mark is believed only as far as the test goes: one
that shows a landing has to have read a `Landing` of that fault that landed, one that shows a fault that did
not land has to have read one that did not, and nothing else of that kind after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from refute.history.fault import Landing

LANDING, NOT_LANDING, NOTHING_LEFT = "landing", "not landing", "nothing left"
SHOWS = (LANDING, NOT_LANDING, NOTHING_LEFT)


@dataclass(frozen=True)
class Claim:
    """One thing that a test shows of one fault."""

    plane: str
    kind: str
    shows: str


def claims_of(item: pytest.Item) -> list[Claim]:
    """What the marks of a test claim. Raises ValueError for a mark that is written wrongly."""
    found = []
    for mark in item.iter_markers("fault"):
        shows = mark.kwargs.get("shows", ())
        shown = (shows,) if isinstance(shows, str) else tuple(shows)
        if len(mark.args) != 2 or set(mark.kwargs) != {"shows"} or not shown or set(shown) - set(SHOWS):
            raise ValueError(f"{item.nodeid}: write fault(plane, kind, shows=...) with some of {SHOWS}")
        found += [Claim(*mark.args, each) for each in shown]
    # The fixture of the room asserts after every test that no process and no open ledger is left.
    if "open_room" in getattr(item, "fixturenames", ()):
        found += [Claim(each.plane, each.kind, NOTHING_LEFT) for each in found if each.shows == LANDING]
    return list(dict.fromkeys(found))


@contextmanager
def landings_read() -> Iterator[list[tuple[Landing, bool]]]:
    """Every answer that `Landing.landed` gives meanwhile, in order."""
    answers: list[tuple[Landing, bool]] = []
    original = Landing.landed

    def landed(landing: Landing) -> bool:
        answer: bool = original.fget(landing)  # type: ignore[attr-defined]
        answers.append((landing, answer))
        return answer

    Landing.landed = property(landed)  # type: ignore[misc, assignment]
    try:
        yield answers
    finally:
        Landing.landed = original  # type: ignore[misc]


def broken_claims(claims: list[Claim], answers: list[tuple[Landing, bool]]) -> list[Claim]:
    """The claims that the test did not live up to."""
    broken = []
    for claim in claims:
        last: dict[str, bool] = {}
        for landing, landed in answers:
            if (landing.plane, landing.kind) == (claim.plane, claim.kind):
                last[landing.fault] = landed
        wanted = {LANDING: True, NOT_LANDING: False}.get(claim.shows)
        if wanted is not None and wanted not in last.values():
            broken.append(claim)
    return broken
