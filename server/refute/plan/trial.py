"""A scenario as rules see it: the same facts, whether a yaml block gives them or the words of a reviewer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from refute.plan.document import Block
from refute.plan.families import families_of, family_of, faults_of, planned_faults, steps_of
from refute.plan.scenario import Budget, Scenario
from refute.plan.step import HealStep

Said = tuple[str, int]
"""What the plan says of one part, and the line where it says so."""

_NONE = re.compile(r"\W*(?:none|no(?: faults?)?|nothing|n/?a|not needed|good weather)?\b.{0,20}", re.I)
_NOTHING: Mapping[str, Said] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Trial:
    """One attempt to falsify claims.

    `parts` is what words say of it (`nemesis`, `checker`, `landing evidence`, ...), each with its line.
    `one_way`, `mixed_versions`, `seeds` and `faults` are None where the plan does not say; `faults` are those
    of one run, `seeds` those of the hardening budget. `names` are all by which it is cited.
    """

    id: str
    name: str
    line: int
    section: str
    claims: tuple[str, ...]
    hypotheses: tuple[str, ...]
    families: frozenset[str]
    text: str
    in_words: bool = False
    names: tuple[str, ...] = ()
    parts: Mapping[str, Said] = field(default_factory=lambda: _NOTHING)
    one_way: bool | None = None
    mixed_versions: bool | None = None
    seeds: int | None = None
    faults: int | None = None

    @property
    def fault_is_open(self) -> bool:
        """Whether words speak of a fault by none of the names that are known here."""
        return not self.families and self.in_words and not _NONE.fullmatch(self.said("nemesis"))

    def said(self, *parts: str) -> str:
        """What words say of these parts, in their order."""
        return "\n".join(self.parts[part][0] for part in parts if part in self.parts)

    def line_of(self, part: str) -> int:
        """The line that speaks of a part, or the trial's own."""
        return self.parts[part][1] if part in self.parts else self.line


def trial_of(scenario: Scenario, block: Block, text: str, rigour: Mapping[str, Said]) -> Trial:
    """The facts that a yaml block gives; `rigour` is what its 7.M says."""
    faults = list(faults_of(scenario))
    cuts = any(family_of(fault.plane, fault.kind) == "partition" for fault, _ in faults)
    one_way = any(is_one_way(fault.parameters) for fault, _ in faults)
    hardening = scenario.budget.get("hardening")
    return Trial(
        id=scenario.id,
        name=scenario.name,
        line=block.line,
        section=block.section,
        claims=scenario.falsifies,
        hypotheses=scenario.hypotheses,
        families=frozenset(families_of(scenario)),
        text=text,
        names=(scenario.id, scenario.name),
        parts={
            **rigour,
            "claims": (", ".join(scenario.falsifies), block.line_of("falsifies")),
            "hypotheses": (", ".join(scenario.hypotheses), block.line_of("hypotheses")),
        },
        one_way=one_way if cuts or one_way else None,
        mixed_versions=_mixes_versions(scenario),
        seeds=hardening.seeds if isinstance(hardening, Budget) else None,
        faults=max(planned_faults(scenario)),
    )


def is_one_way(parameters: Mapping[str, object]) -> bool:
    """Whether a cut is one-way, or leaves some nodes with a view of their own."""
    links = str(parameters.get("links", ""))
    return (
        parameters.get("shape") in ("ring", "bridge")
        or parameters.get("direction") in ("in", "out")
        or ("->" in links and "<->" not in links)
    )


def _mixes_versions(scenario: Scenario) -> bool | None:
    """Whether a node is started as another version while others run; None where no version is named."""
    started = [
        step.target
        for step, _ in steps_of(scenario)
        if isinstance(step, HealStep) and step.how == "start" and step.version
    ]
    changed = [fault for fault, _ in faults_of(scenario) if "version" in fault.parameters]
    if not started and not changed:
        return None
    in_turn = any(fault.kind == "rolling-restart" or fault.target != "all" for fault in changed)
    return in_turn or any(target != "all" for target in started)
