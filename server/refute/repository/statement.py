"""A statement: a sentence that promises something, where it stands, and what it was judged to be worth."""

from __future__ import annotations

from dataclasses import dataclass

from refute.repository.weighing import Weighed

LEAST_SCORE = 1.6


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that promises something, where it stands, and what it was judged to be worth."""

    text: str
    line: int
    end_line: int
    channel: str
    score: float
    category: int
    secondary: tuple[int, ...] = ()
    promise: float = 0.0
    domain: float = 0.0
    reasons: tuple[str, ...] = ()
    symbol: str = ""
    heading: str = ""
    default: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known of the place of a statement besides its lines; `bonus` is what it adds to the score."""

    channel: str
    bonus: float = 0.0
    symbol: str = ""
    heading: str = ""
    default: str = ""


def judged_statement(text: str, line: int, end_line: int, judged: Weighed, origin: Origin) -> Statement:
    """The statement of a text that was weighed."""
    return Statement(
        text,
        line,
        end_line,
        origin.channel,
        round(judged.score + origin.bonus, 3),
        judged.category,
        judged.secondary,
        judged.promise,
        judged.domain,
        judged.reasons,
        origin.symbol,
        origin.heading,
        origin.default,
    )
