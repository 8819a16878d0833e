"""A first plan from facts about a repository: cited claims, hypotheses from pitfalls, ranked candidates.

It states nothing that was not found. Where somebody has to judge, it writes `TODO(judge): …`, which
check_plan refuses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from refute.plan.catalogs import read_catalog
from refute.plan.document import Claim
from refute.plan.pitfalls import Pitfall, Relevance, pitfalls, relevance
from refute.plan.templates import render

Strength = Literal["name only", "asserts", "under fault"]

_GAP = {"none": 3.0, "name only": 2.5, "asserts": 1.5, "under fault": 0.5}
_BY_CATEGORY = {
    "history-checking": {"safety", "durability", "ordering", "idempotency", "liveness", "membership"},
    "transactional-anomalies": {"isolation"},
    "fault-injection": {"safety", "durability", "liveness", "membership", "ordering", "operational"},
    "crash-recovery-and-upgrade": {"durability", "operational"},
    "boundary-and-tenancy": {"boundary"},
    "fairness": {"fairness"},
    "performance": {"performance"},
}


@dataclass(frozen=True, slots=True)
class FoundTest:
    """An existing test: its name, where it is, and how much its text shows that it checks."""

    name: str
    place: str
    strength: Strength = "name only"


@dataclass(frozen=True, slots=True)
class FoundClaim:
    """A promise found in the repository; `citation` is `path:lines@commit`."""

    sentence: str
    category: str
    citation: str
    tests: tuple[FoundTest, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundThing:
    """Anything else that was found: a component, a surface, a tool, a hook, a contradiction."""

    kind: str
    name: str
    place: str
    what: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class FoundChange:
    """What a change touches, and whether it calls for a distributed test."""

    base: str
    head: str
    files: tuple[str, ...]
    needs_distributed_test: bool
    why: str


@dataclass(frozen=True, slots=True)
class Found:
    """All that is known of a repository, as the scaffold needs it; claims in rank order."""

    name: str
    commit: str
    claims: tuple[FoundClaim, ...]
    components: tuple[FoundThing, ...] = ()
    surfaces: tuple[FoundThing, ...] = ()
    toolbox: tuple[FoundThing, ...] = ()
    contradictions: tuple[FoundThing, ...] = ()
    gaps: tuple[str, ...] = ()
    change: FoundChange | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A scenario worth writing: the pitfall that it comes from, its claims, and severity times gap."""

    id: str
    hypothesis: str
    name: str
    pitfall: Pitfall
    claims: tuple[str, ...]
    score: float
    gap: str


@dataclass(frozen=True, slots=True)
class FirstPlan:
    """The text of a first plan; `needed` is False where a change calls for no distributed test."""

    text: str
    needed: bool
    candidates: tuple[Candidate, ...] = ()
    judged: tuple[tuple[Pitfall, Relevance], ...] = field(default=())
    left_out: int = 0


def scaffold_plan(found: Found, slug: str, *, claims: int = 40, scenarios: int = 12) -> FirstPlan:
    """A first plan for a repository, or for a change of it. Pure; O(claims × pitfalls).

    At most `claims` claims and `scenarios` candidates are written out; the text says how many were left out.
    """
    if found.change and not found.change.needs_distributed_test:
        return FirstPlan(render("documents/no-plan.md.j2", found=found, slug=slug), needed=False)
    numbered = {f"C{place}": claim for place, claim in enumerate(found.claims[:claims], 1)}
    read = [Claim(name, claim.sentence, claim.category, claim.citation) for name, claim in numbered.items()]
    described = " ".join(
        f"{thing.name} {thing.what}" for thing in (*found.components, *found.surfaces, *found.toolbox)
    )
    judged = tuple((pitfall, relevance(pitfall, read, described)) for pitfall in pitfalls())
    candidates = _candidates(judged, numbered)
    shown, rest = _choose(candidates, {pitfall.id: judgement for pitfall, judgement in judged}, scenarios)
    tried = {name for candidate in shown for name in candidate.claims}
    text = render(
        "documents/plan.md.j2",
        found=found,
        slug=slug,
        claims=numbered,
        candidates=shown,
        more_candidates=rest,
        not_applying=[(pitfall, judgement) for pitfall, judgement in judged if judgement.verdict == "not"],
        relevance={pitfall.id: judgement for pitfall, judgement in judged},
        untried=[name for name in numbered if name not in tried],
        techniques=_techniques({claim.category for claim in numbered.values()}),
        left_out=len(found.claims) - len(numbered),
    )
    return FirstPlan(text, True, tuple(candidates), judged, len(found.claims) - len(numbered))


def _candidates(
    judged: Iterable[tuple[Pitfall, Relevance]], numbered: dict[str, FoundClaim]
) -> list[Candidate]:
    weighed = []
    for pitfall, judgement in judged:
        if judgement.verdict == "not":
            continue
        gaps = [(_gap(numbered[name].tests), name) for name in judgement.claims]
        weight, first = max(((_GAP[gap], name) for gap, name in gaps), key=lambda pair: pair[0])
        likely = 1.0 if judgement.verdict == "applies" else 0.4
        # The claim that lacks most comes first: the scenario is named after it.
        claims = sorted(judgement.claims, key=lambda name: name != first)[:4]
        weighed.append(
            (pitfall.severity * weight * likely, pitfall, tuple(claims), _gap(numbered[first].tests))
        )
    weighed.sort(key=lambda item: (-item[0], item[1].id))
    return [
        Candidate(
            f"S{place}",
            f"H{place}",
            _scenario_name(numbered[claims[0]].sentence, pitfall),
            pitfall,
            claims,
            round(score, 2),
            gap,
        )
        for place, (score, pitfall, claims, gap) in enumerate(weighed, 1)
    ]


def _choose(
    candidates: list[Candidate], judged: Mapping[str, Relevance], most: int
) -> tuple[list[Candidate], list[Candidate]]:
    """The candidates to write out, numbered anew, and the rest, in rank order.

    The best of each kind of promise to which a pitfall surely applies comes first.
    """
    best: dict[tuple[str, ...], Candidate] = {}
    for candidate in candidates:
        if judged[candidate.pitfall.id].verdict == "applies":
            best.setdefault(candidate.pitfall.categories[:1], candidate)
    preferred = [*best.values(), *(each for each in candidates if each not in best.values())][:most]
    chosen = [each for each in candidates if each in preferred]
    numbered = [replace(each, id=f"S{place}", hypothesis=f"H{place}") for place, each in enumerate(chosen, 1)]
    return numbered, [each for each in candidates if each not in chosen]


def _gap(tests: Sequence[FoundTest]) -> str:
    """How well a claim is tested today: the strongest of its tests, or none."""
    found = {test.strength for test in tests}
    return next(
        (strength for strength in ("under fault", "asserts", "name only") if strength in found), "none"
    )


def _scenario_name(sentence: str, pitfall: Pitfall) -> str:
    words = re.findall(r"[a-z0-9]+", sentence.lower().replace("'s", ""))
    return "_".join(words[:9]) + ("_despite_" + pitfall.id.replace("-", "_") if len(words) < 4 else "")


def _techniques(categories: set[str]) -> list[tuple[str, str]]:
    """The techniques that these categories call for, each with when to reach for it."""
    wanted = [name for name, fitting in _BY_CATEGORY.items() if fitting & categories]
    entries = {entry["id"]: entry for entry in read_catalog("techniques")}
    return [(entries[name]["title"], entries[name]["reach_for"]) for name in wanted]
