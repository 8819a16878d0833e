"""Rules on landing evidence: a fault shows by signals that its mechanism can give, and the system felt it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from refute.plan.families import faults_of
from refute.plan.rules.outcomes import only_went_well
from refute.plan.rules.rule import Hit, Review, rule, seven_m

# Words for a landing signal, and the planes whose mechanisms can give it.
_SIGNALS: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = tuple(
    (re.compile(words, re.I), frozenset(planes.split()))
    for words, planes in (
        (r"\bnft\b|nftables|iptables|packet counters?|rule counters?|packets? dropped", "netns"),
        (r"toxi(?:c|proxy)", "toxiproxy"),
        (
            r"bytes (?:held|dropped|blocked)|connections? (?:cut|held|reset) by the proxy",
            "proxy netns toxiproxy",
        ),
        (r"\bstrace\b|\bINJECTED\b|\bDELAYED\b", "storage"),
        (r"\bEIO\b|\bENOSPC\b|probe file|unsynced file", "storage"),
        (r"state `?T`?\b|no CPU[- ]time", "process resource"),
        (r"exit status|exit code of the (?:node|process|server)|process is gone", "process storage"),
        (r"nr_throttled|oom_kill", "resource"),
        (r"shim|LD_PRELOAD|clock offset|shifted clock", "clock storage"),
    )
)


@rule(
    "fault-without-landing-evidence",
    "error",
    why="a fault that did not land makes every oracle pass",
    mend=(
        "add evidence: {node, state, rule} at a victim to the fault or the scenario, and a row 'landing "
        "evidence' in 7.M"
    ),
)
def fault_without_landing_evidence(review: Review) -> Iterator[Hit]:
    """A scenario injects a fault and says by no signal that it landed."""
    for scenario, block in review.scenarios:
        said = (seven_m(review.plan, scenario.id) or {}).get("landing evidence", ("", 0))[0]
        for fault, path in faults_of(scenario):
            if not fault.evidence and not scenario.evidence and not said:
                what = f"{fault.plane}/{fault.kind} names no signal that it landed"
                yield block.line_of(*path), block.section, scenario.id, what
    for trial in review.told:
        if trial.families and "landing evidence" not in trial.parts and not _LANDED.search(trial.text):
            what = f"{', '.join(sorted(trial.families))}: no words say by which signal it landed"
            yield trial.line_of("nemesis"), trial.section, trial.id, what


_LANDED = re.compile(
    r"\blanded\b|\bevidence\b|\b(?:shows?|proves?|proof|confirms?) that (?:the |a |it )?(?:\w+ )?"
    r"(?:fault|kill|cut|partition|pause|crash|delay|happened|took effect|landed)",
    re.I,
)


# Planes whose second signal is read within the process that was hit: the clock that it was told, the time for
# which the kernel kept it waiting. A starved or frozen node can hardly be asked for one of its own.
_FELT_WITHIN = frozenset({"clock", "resource"})


@rule(
    "fault-without-system-signal",
    "warning",
    why="the mechanism's own counters show that it acted, not that the system felt it",
    mend="add evidence: {node, state, rule} to the fault or the scenario: a state that must move",
)
def fault_without_system_signal(review: Review) -> Iterator[Hit]:
    """No signal of the system itself shows in the block that a fault was felt."""
    for scenario, block in review.scenarios:
        for fault, path in faults_of(scenario):
            if not fault.evidence and not scenario.evidence and fault.plane not in _FELT_WITHIN:
                what = f"{fault.plane}/{fault.kind} names no signal of the system"
                yield block.line_of(*path), block.section, scenario.id, what


@rule(
    "exit-code-as-evidence",
    "error",
    why=(
        "the command that applies a fault can succeed while nothing happens: a ruleset with a typing error "
        "did"
    ),
    mend="name a signal at the injector (a counter, a process state) and one at a victim",
)
def exit_code_as_evidence(review: Review) -> Iterator[Hit]:
    """Landing evidence is the success of the command that applied the fault."""
    for section in review.plan.sections:
        if section.number == "7.M":
            said, line = (seven_m(review.plan, section.scenario) or {}).get("landing evidence", ("", 0))
            if found := only_went_well(said):
                yield line, "7.M", section.scenario, f"{found!r} does not show that the fault landed"
    in_tables = {row.line for table in review.plan.tables for row in table.rows}
    for trial in review.told:
        said, line = trial.parts.get("landing evidence", ("", 0))
        if line not in in_tables and (found := only_went_well(said)):
            yield line, trial.section, trial.id, f"{found!r} does not show that the fault landed"
    for table in review.plan.tables:
        places = [at for at, name in enumerate(table.header) if re.search(r"evidence|landing", name, re.I)]
        for row in table.rows if table.section.startswith(("7", "6")) and table.section != "7.M" else ():
            for at in places:
                if found := only_went_well(row.cells[at]):
                    what = f"{found!r} does not show that the fault landed"
                    yield row.line, table.section, table.scenario, what


@rule(
    "evidence-of-another-mechanism",
    "error",
    why="a signal that the mechanism cannot give never moves, and the run stays inconclusive",
    mend="name a signal of this mechanism; `refute faults` lists what each can give",
)
def evidence_of_another_mechanism(review: Review) -> Iterator[Hit]:
    """Landing evidence is of a kind that none of the scenario's mechanisms gives."""
    for scenario, block in review.scenarios:
        planes = {fault.plane for fault, _ in faults_of(scenario)}
        said, line = (seven_m(review.plan, scenario.id) or {}).get("landing evidence", ("", block.line))
        for words, able in _SIGNALS if planes else ():
            if (found := words.search(said)) and not planes & able:
                what = (
                    f"{found[0]!r} is evidence of {'/'.join(sorted(able))}, not of {'/'.join(sorted(planes))}"
                )
                yield line, "7.M", scenario.id, what
    for trial in review.told:
        said, line = trial.parts.get("landing evidence", ("", 0))
        planes = {plane for family in trial.families for plane in _PLANES.get(family, ("",))}
        for words, able in _SIGNALS if planes and "" not in planes else ():
            if (found := words.search(said)) and not planes & able:
                what = f"{found[0]!r} is no evidence of {', '.join(sorted(trial.families))}"
                yield line, trial.section, trial.id, what


# The planes that can produce a fault which words name by its family alone; families that many can are absent.
_PLANES = {
    "crash": ("process", "storage"),
    "restart": ("process", "storage"),
    "pause": ("process", "resource"),
    "partition": ("proxy", "netns", "toxiproxy"),
    "delay": ("proxy", "netns", "toxiproxy"),
    "clock": ("clock", "storage"),
    "power-loss": ("storage", "process"),
    "disk-full": ("storage",),
    "io-error": ("storage",),
    "resource": ("resource",),
}
