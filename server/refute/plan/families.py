"""Families of faults: which mechanism belongs to which, and by which words people name the threat."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from refute.plan.scenario import Scenario
from refute.plan.step import FaultAction, FaultStep, HealStep


@dataclass(frozen=True, slots=True)
class Family:
    """One family: words in a mechanism's kind that put it here, words by which a person means it.

    `stands_in` names families whose faults produce this threat too.
    """

    name: str
    kinds: re.Pattern[str]
    words: re.Pattern[str]
    stands_in: tuple[str, ...] = ()


def _family(name: str, kinds: str, words: str, *stands_in: str) -> Family:
    return Family(name, re.compile(kinds), re.compile(rf"\b(?:{words})", re.I), stands_in)


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        _family(
            "upgrade", r"version|upgrade", r"upgrad|downgrad|rollback|rolling back|mixed.version|version"
        ),
        _family("restart", r"restart", r"restart|reboot|bounce", "crash", "power-loss", "upgrade"),
        _family(
            "crash",
            r"kill|terminate|crash|^stop$",
            r"crash|kill|process death|dies|node loss|fail-?over",
            "power-loss",
            "restart",
        ),
        _family("pause", r"pause|freezer", r"paus|stall|gc\b|garbage|freez|stopped world|vm migration"),
        _family(
            "membership",
            r"^add$|^remove$|^replace$",
            r"member(?:ship)? chang|nodes? (?:is |are )?(?:added|removed|replaced|join|leav)|reconfigur",
        ),
        _family(
            "client",
            r"retry|^duplicate$|^reorder$|slow.reader",
            r"client retr|retried|duplicated? requests?|slow (?:client|reader|consumer)",
        ),
        _family(
            "partition",
            r"partition|^drop$|reject|flapping|link.down|blackhole|^down$|^timeout$|disconnect",
            r"partition|split.brain|isolat|unreachab|cut off|network (?:loss|cut)",
        ),
        _family(
            "packet-loss", r"packet|^loss$|dns", r"packet loss|lossy|reorder|dropped packets", "partition"
        ),
        _family(
            "reset",
            r"reset|half.open|close$",
            r"reset|dropped connection|connection loss|broken connection|half.open",
            "partition",
            "crash",
        ),
        _family(
            "delay",
            r"delay|latency|jitter|slow.link",
            r"delay|latency|slow network|jitter|slow link",
            "throttle",
        ),
        _family(
            "throttle", r"throttle|bandwidth|^rate$", r"throttl|bandwidth|congest|saturat\w+ link", "delay"
        ),
        _family("power-loss", r"power", r"power|machine (?:crash|loss)|os crash|kernel panic|unsynced"),
        _family("disk-full", r"full|enospc", r"disk full|out of (?:disk|space)|no space|enospc|full disk"),
        _family(
            "io-error", r"eio|fsync|io.error|slow.io|read.only", r"fsync|i/?o error|eio|slow disk|disk error"
        ),
        _family(
            "corruption",
            r"torn|flip|truncat|corrupt|lost.file|swapped.file",
            r"corrupt|bit.?(?:rot|flip)|torn|truncat|(?:lost|missing|swapped) files?",
        ),
        _family("clock", r"clock|skew|jump|drift", r"clock|skew|time jump|drift|ntp|leap"),
        _family(
            "resource",
            r"cpu|memory|^io$|limit|oom|descriptors|noisy|storm",
            r"cpu|memory pressure|oom|starv|noisy|overload|exhaust|connection storm",
        ),
    )
}


def family_of(plane: str, kind: str) -> str:
    """The family of a mechanism; its own name where it belongs to none."""
    if plane == "clock":
        return "clock"
    if kind in FAMILIES:
        return kind
    for family in FAMILIES.values():
        if family.kinds.search(kind):
            return family.name
    return kind


def families_in_words(text: str) -> set[str]:
    """The families that a text speaks of."""
    return {family.name for family in FAMILIES.values() if family.words.search(text)}


def faults_of(scenario: Scenario) -> Iterator[tuple[FaultAction, tuple[str | int, ...]]]:
    """The faults of a scenario's first arm, each with its path in the block."""
    arm = next(scenario.arms())
    for place, fault in enumerate(arm.nemesis):
        yield fault, ("nemesis", place)
    for place, step in enumerate(arm.steps):
        if isinstance(step, FaultStep):
            yield step.action, ("steps", place)


def families_of(scenario: Scenario) -> set[str]:
    """The families that a scenario injects; a node started as another version is an upgrade."""
    found = {family_of(fault.plane, fault.kind) for fault, _ in faults_of(scenario)}
    arm = next(scenario.arms())
    if any("version" in fault.parameters for fault, _ in faults_of(scenario)) or any(
        isinstance(step, HealStep) and step.version for step in arm.steps
    ):
        found.add("upgrade")
    return found


def produces(families: set[str], threat: str) -> bool:
    """Whether faults of these families produce a threat of that family."""
    family = FAMILIES.get(threat)
    return threat in families or bool(family and families & set(family.stands_in))
