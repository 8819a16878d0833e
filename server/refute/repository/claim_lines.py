"""Renders claims as lines of text that carry what their data carry, less what the quotation says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from refute.repository.models import Claim, RelatedTest

QUOTATION_CHARACTERS = 320
_MOST_JOBS = 6
IN_CI = {"yes": "in CI", "no": "not in CI", "unknown": "CI unknown"}


@dataclass(frozen=True, slots=True)
class Width:
    """How much of a claim its lines tell: characters of each text, and how many places and tests."""

    quotation: int = QUOTATION_CHARACTERS
    heading: int = 70
    condition: int = 60
    also: int = 3
    tests: int = 2
    test_name: int = 60
    test_place: bool = True
    commit: bool = True


_WIDEST = Width()
_MODERATE = Width(quotation=240, heading=50, condition=40, also=1, tests=1, test_place=False)
# where claims do not fit: first without the places of their tests, then with less of everything
_WIDTHS = (
    _WIDEST,
    Width(test_place=False),
    _MODERATE,
    Width(
        quotation=180, heading=40, condition=30, also=1, tests=1, test_name=40, test_place=False, commit=False
    ),
)


def quoted(text: str, most: int = QUOTATION_CHARACTERS) -> str:
    """Text of the repository as a quotation on one line: it is material, whatever it says."""
    shown = " ".join(text.split()).replace("»", "›").replace("«", "‹")
    return f"«{shown[:most]}{'…' if len(shown) > most else ''}»"


def claims_as_lines(claims: Sequence[Claim], room: int) -> list[str]:
    """Two lines a claim, as wide as lets all of them stand in `room` characters.

    Where that cannot be, the answer goes on at another start, and a moderate width shows many on each page.
    """
    for width in _WIDTHS:
        lines = [line for claim in claims for line in claim_lines(claim, width)]
        if sum(len(line) + 1 for line in lines) <= room:
            return lines
    return [line for claim in claims for line in claim_lines(claim, _MODERATE)]


def claim_lines(claim: Claim, width: Width = _WIDEST) -> list[str]:
    """The quotation, then where it stands and what else is known of it."""
    quotation = quoted(claim.sentence, width.quotation)
    about = ", ".join([claim.category, *claim.secondary])
    facts = [claim.citation if width.commit else claim.citation.partition("@")[0]]
    if claim.symbol:
        facts.append(f"in {claim.symbol}")
    if claim.heading:
        facts.append(f"under {_ended(claim.heading, width.heading)}")
    facts += _unsaid(claim, quotation, width)
    if claim.also_at:
        facts.append(f"also {first_of(map(str, claim.also_at), width.also)}")
    if not claim.explicit:
        facts.append(f"inferred: {claim.rule}")
    if claim.related_tests:
        tests = (_test(test, width) for test in claim.related_tests)
        facts.append(f"tests {first_of(tests, width.tests)}")
    facts.append(f"conf {claim.confidence:.2f} as {claim.channel}")
    head = f"{claim.rank}. {claim.id} [{about}; {claim.polarity}] {quotation}"
    return [head, "   " + "; ".join(facts)]


def _unsaid(claim: Claim, quotation: str, width: Width) -> Iterator[str]:
    """Conditions, threshold and default, where the quotation ends before them or spells them otherwise."""
    for condition in claim.conditions:
        spelled = " ".join(condition.split())
        if spelled not in quotation:
            yield _ended(spelled, width.condition)
    threshold = claim.threshold
    if threshold and not re.search(rf"{re.escape(threshold.value)}\s*{re.escape(threshold.unit)}", quotation):
        yield f"{threshold.value} {threshold.unit}"
    if claim.default and not _states_default(claim.default, quotation):
        yield f"default {claim.default}"


def _states_default(default: str, quotation: str) -> bool:
    if not re.search(r"\bdefault", quotation, re.I):
        return False
    return default == "stated" or bool(re.search(rf"(?<!\w){re.escape(default)}(?!\w)", quotation))


def _test(test: RelatedTest, width: Width) -> str:
    where = f"{test.place.path}:{test.place.line}, " if width.test_place else ""
    return f"{test.name[: width.test_name]} ({where}{test.strength}, {IN_CI[test.in_ci]})"


def ci_lines(shown: Iterable[Claim]) -> list[str]:
    """What runs the tests that are named, or why that cannot be told, by the ranks of their claims."""
    ranks: dict[str, dict[int, None]] = {}
    for claim in shown:
        for test in claim.related_tests[: _WIDEST.tests]:
            if test.ci:
                said = test.ci if test.in_ci == "yes" else f"cannot be told ({test.ci})"
                ranks.setdefault(said, {})[claim.rank] = None
    rows = [f"  {', '.join(map(str, numbers))}: {by}" for by, numbers in ranks.items()]
    kept = rows[:_MOST_JOBS] + (
        [f"  {len(rows) - _MOST_JOBS} more in the JSON"] if len(rows) > _MOST_JOBS else []
    )
    return ["run in CI (by rank):", *kept] if rows else []


def falsifier_lines(shown: Iterable[Claim]) -> list[str]:
    """Each fault and oracle once, with the claims that they would show to be false."""
    ranks: dict[str, list[int]] = {}
    for claim in shown:
        way = f"{claim.falsified_by.fault}; oracle: {claim.falsified_by.oracle}"
        ranks.setdefault(way, []).append(claim.rank)
    rows = [f"  {', '.join(map(str, numbers))}: {way}" for way, numbers in ranks.items()]
    return ["to falsify (by rank):", *rows] if rows else []


def first_of(texts: Iterable[str], most: int) -> str:
    """The first of them, and how many more there are."""
    rows = list(texts)
    return ", ".join(rows[:most]) + (f" +{len(rows) - most}" if len(rows) > most else "")


def _ended(text: str, most: int) -> str:
    return f"{text[:most]}…" if len(text) > most else text
