"""Families of faults: which mechanism belongs to which, and by which words people name the threat."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass

from refute.plan.scenario import Scenario
from refute.plan.step import FaultAction, FaultStep, HealStep, Step


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
            r"member(?:ship)? chang|members? (?:joins?|leaves?)\b|reconfigur"
            r"|nodes? (?:is |are )?(?:added|removed|replaced|join|leav)",
        ),
        _family(
            "client",
            r"retry|^duplicate$|^reorder$|slow.reader",
            r"client retr|retried|duplicated? requests?|slow (?:client|reader|consumer)",
        ),
        _family(
            "partition",
            r"partition|^drop$|reject|flapping|link.down|blackhole|^down$|^timeout$|disconnect",
            r"partition|split.brain|isolat|unreachab|asymmetric reachab|cut off|network (?:loss|cut)"
            r"|lose sight of each",
        ),
        _family(
            "packet-loss",
            r"packet|^loss$|dns",
            r"packet loss|lossy|reorder|drop\w* packets|packets? (?:is|are) dropped",
            "partition",
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
            r"delay|latency|jitter|slow (?:network|link)|(?:network|links?) (?:is|are|becomes?|gets?) slow",
            "throttle",
        ),
        _family(
            "throttle", r"throttle|bandwidth|^rate$", r"throttl|bandwidth|congest|saturat\w+ link", "delay"
        ),
        _family(
            "power-loss",
            r"power",
            r"power|electricity|blackout|machine (?:crash|loss)|os crash|kernel panic|unsynced",
        ),
        _family(
            "disk-full",
            r"full|enospc",
            r"disks? (?:is |are )?full|disks? (?:fills?|runs?) (?:up|full)|full disk"
            r"|out of (?:disk|space)|no space|enospc",
        ),
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


Path = tuple[str | int, ...]


def steps_of(scenario: Scenario) -> Iterator[tuple[Step, Path]]:
    """The steps of all arms, each with its path in the block; one that several arms share comes once."""
    once = _Once()
    own = [place for place, arm in enumerate(scenario.arms_) if arm.steps]
    # Arms come in the order of the sweep, and within it in that of the arms that have steps.
    for number, arm in enumerate(scenario.every_arm()):
        which = own[number % len(own)] if own else 0
        for place, step in enumerate(arm.steps):
            later = place - len(scenario.steps)
            path: Path = ("steps", place) if later < 0 else ("arms", which, "steps", later)
            written = scenario.steps[place] if later < 0 else scenario.arms_[which].steps[later]
            if once.is_new(path, written, step):
                yield step, path


def faults_of(scenario: Scenario) -> Iterator[tuple[FaultAction, Path]]:
    """The faults of all arms, each with its path in the block; one that several arms share comes once."""
    once = _Once()
    for arm in scenario.every_arm():
        for place, fault in enumerate(arm.nemesis):
            if once.is_new(("nemesis", place), scenario.nemesis[place], fault):
                yield fault, ("nemesis", place)
    for step, path in steps_of(scenario):
        if isinstance(step, FaultStep):
            yield step.action, path


class _Once:
    """Which steps were seen already; one that names no swept parameter is the same in every arm."""

    def __init__(self) -> None:
        self._same: set[Path] = set()
        self._varying: set[Path] = set()
        self._seen: set[tuple[Path, str]] = set()

    def is_new(self, path: Path, written: object, read: object) -> bool:
        if path in self._same:
            return False
        if path not in self._varying:
            (self._varying if "$" in repr(written) else self._same).add(path)
            if path in self._same:
                return True
        key = (path, repr(read))
        new = key not in self._seen
        self._seen.add(key)
        return new


def planned_faults(scenario: Scenario) -> list[int]:
    """How many faults each arm injects in one run."""
    return [
        sum(fault.repeat for fault in arm.nemesis)
        + sum(step.action.repeat for step in arm.steps if isinstance(step, FaultStep))
        for arm in scenario.every_arm()
    ]


def families_of(scenario: Scenario) -> set[str]:
    """The families that a scenario injects in any arm; a node started as another version is an upgrade."""
    found = {family_of(fault.plane, fault.kind) for fault, _ in faults_of(scenario)}
    if any("version" in fault.parameters for fault, _ in faults_of(scenario)) or any(
        isinstance(step, HealStep) and step.version for step, _ in steps_of(scenario)
    ):
        found.add("upgrade")
    return found


def produces(families: Set[str], threat: str) -> bool:
    """Whether faults of these families produce a threat of that family."""
    family = FAMILIES.get(threat)
    return threat in families or bool(family and not families.isdisjoint(family.stands_in))
