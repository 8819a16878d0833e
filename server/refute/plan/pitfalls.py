"""Pitfalls: ways in which systems with the same promises broke, and whether one applies to these claims."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from refute.plan.catalogs import read_catalog
from refute.plan.document import Claim


@dataclass(frozen=True, slots=True)
class Pitfall:
    """One entry of the catalog; `seen` are pairs of where and URL, `severity` is 3 (data) to 1 (service)."""

    id: str
    symptom: str
    mechanism: str
    seen: tuple[tuple[str, str], ...]
    families: tuple[str, ...]
    oracle: str
    hypothesis: str
    sequence: str
    severity: int
    categories: tuple[str, ...]
    words: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Relevance:
    """Whether a pitfall applies, to which claims, and why."""

    verdict: Literal["applies", "maybe", "not"]
    reason: str
    claims: tuple[str, ...] = ()


@cache
def pitfalls() -> tuple[Pitfall, ...]:
    """The catalog, in its order."""
    return tuple(
        Pitfall(
            id=entry["id"],
            symptom=entry["symptom"],
            mechanism=entry["mechanism"],
            seen=tuple((place["where"], place["url"]) for place in entry["seen"]),
            families=tuple(entry["families"]),
            oracle=entry["oracle"],
            hypothesis=entry["hypothesis"],
            sequence=entry["sequence"],
            severity=entry["severity"],
            categories=tuple(entry["applies"]["categories"]),
            words=re.compile(rf"\b(?:{entry['applies']['words']})", re.I),
        )
        for entry in read_catalog("pitfalls")
    )


def relevance(pitfall: Pitfall, claims: Iterable[Claim], described: str = "") -> Relevance:
    """Whether a pitfall applies to these claims, or to a system described so.

    It applies where a claim of its categories speaks of it; maybe, where a claim is of its categories and the
    description or another claim speaks of it, or where that category is a narrow one (boundary, isolation);
    else not, with what was looked for.
    """
    claims = list(claims)
    fitting = [
        claim for claim in claims if set(re.split(r"[\s,/;&+]+", claim.category)) & set(pitfall.categories)
    ]
    spoken = [(claim, found) for claim in fitting if (found := pitfall.words.search(claim.text))]
    if spoken:
        named = tuple(claim.id for claim, _ in spoken)
        word = spoken[0][1][0].lower()
        return Relevance(
            "applies", f"{', '.join(named[:5])}: {spoken[0][0].category}, speaks of {word!r}", named
        )
    named = tuple(claim.id for claim in fitting)
    if not fitting:
        return Relevance("not", f"no claim is about {' or '.join(pitfall.categories)}")
    if found := pitfall.words.search(described):
        return Relevance("maybe", f"the description speaks of {found[0].lower()!r}, no claim does", named)
    for claim in claims:
        if found := pitfall.words.search(claim.text):
            return Relevance(
                "maybe", f"{claim.id} speaks of {found[0].lower()!r} and is about {claim.category}", named
            )
    if not _BROAD.issuperset(pitfall.categories):
        return Relevance("maybe", f"{fitting[0].id} is about {fitting[0].category}, in other words", named)
    return Relevance("not", "neither a claim nor the description speaks of such a thing")


_BROAD = frozenset(
    {"safety", "durability", "liveness", "performance", "operational", "ordering", "membership"}
)
"""Categories that nearly every system promises something of: by themselves they say too little."""
