"""Rules on faults: there are such, they can produce the threat, and in more than one shape."""

from __future__ import annotations

import re
from collections.abc import Iterator

from refute.plan.document import PlanError
from refute.plan.families import families_in_words, family_of, faults_of, produces, steps_of
from refute.plan.fault_catalog import CATALOG, read_parameters
from refute.plan.fault_words import ONE_WAY, cuts_one_way, undenied
from refute.plan.rules.rule import Hit, Review, categories_of, rule
from refute.plan.rules.wording import said_in
from refute.plan.step import AwaitStep, FaultStep
from refute.plan.trial import Trial

_LOSES_DATA = {"power-loss", "io-error", "disk-full", "corruption"}
_POWER = re.compile(
    r"\bpower (?:loss|failure|cut|outage)\w*|\bblackouts?\b|\blos\w+ (?:its |the )?power\b", re.I
)
_ENDS_A_NODE = {"crash", "restart", "upgrade", "power-loss"}


@rule(
    "unknown-fault",
    "error",
    why="a fault that no mechanism makes, or a parameter that it does not take, stops the run",
    mend="ask `refute faults` what there is",
)
def unknown_fault(review: Review) -> Iterator[Hit]:
    """A fault or one of its parameters is not in the fault catalog."""
    for scenario, block in review.scenarios:
        for fault, path in faults_of(scenario):
            try:
                read_parameters(fault.plane, fault.kind, fault.parameters)
            except PlanError as error:
                yield block.line_of(*path), block.section, scenario.id, str(error)


@rule(
    "fault-cannot-test-claim",
    "error",
    why="the system may pass because this fault cannot break such a promise",
    mend="choose a fault whose catalog entry tests the category, or move the claim to another scenario",
)
def fault_cannot_test_claim(review: Review) -> Iterator[Hit]:
    """By the fault catalog none of a scenario's faults can test its claim."""
    for scenario, block in review.scenarios:
        faults = {(fault.plane, fault.kind) for fault, _ in faults_of(scenario)} & set(CATALOG)
        for claim in review.claims_of(scenario):
            categories = set(categories_of(claim))
            if faults and categories and all(categories <= set(CATALOG[each].cannot_test) for each in faults):
                names = ", ".join(sorted(f"{plane}/{kind}" for plane, kind in faults))
                what = f"{names} cannot test {claim.id} ({claim.category})"
                yield block.line, block.section, scenario.id, what


@rule(
    "kill-is-not-power-loss",
    "error",
    why="a killed process leaves its writes in the kernel's page cache: what was never synced is still there",
    mend="use fault: {plane: storage, kind: power-loss}, or say in 7c that power loss stays untested",
)
def kill_is_not_power_loss(review: Review) -> Iterator[Hit]:
    """A claim about power loss or fsync, or a scenario named after it, is tested by killing a process."""
    words = re.compile(
        r"power|electricity|unplugged|blackout|fsync"
        r"|\b(?:sync|flush)(?:ed|s|es)? to (?:the )?(?:disk|platter|media)"
        r"|written to (?:the )?disk|stable storage"
        r"|\b(?:acknowledged|surviv|durabl|committed|stored|persist)\w*\b.*\bon (?:the |its )?disks?\b"
        r"|(?:host|machine|server) (?:crash|fail|reboot|outage)|os crash|kernel panic|reboot",
        re.I,
    )
    for claim in review.plan.claims.values():
        trying = review.trials_of(claim.id)
        if (
            words.search(claim.text)
            and trying
            and not any(_LOSES_DATA & each.families or each.fault_is_open for each in trying)
        ):
            for trial in trying[:1]:
                if not review.names(review.text_of("7c"), claim.id):
                    what = f"{claim.id} speaks of what survives on disk; {trial.id} cuts no power"
                    yield trial.line, trial.section, trial.id, what
    for trial in review.trials:
        named = undenied(_POWER, trial.name.replace("_", " "))
        if named and _ENDS_A_NODE & trial.families and not _LOSES_DATA & trial.families:
            what = f"{trial.id} is named after {named[0].lower()!r} and ends processes: it cuts no power"
            yield trial.line, trial.section, trial.id, what


@rule(
    "loss-hidden-by-later-writes",
    "warning",
    why="the final read finds the latest write to its key: that an earlier one was lost does not show there",
    mend="check all reads too, with linearizable, or let a sequence of steps end with the crash",
)
def loss_hidden_by_later_writes(review: Review) -> Iterator[Hit]:
    """A crash or power loss under load that overwrites its keys is judged by the final reads alone."""
    for scenario, block in review.scenarios:
        overwrites = scenario.workload and scenario.workload.generator in ("register", "cas-register", "kv")
        crashes = sorted(_ENDS_A_NODE & review.families[scenario.id])
        checkers = {check.checker for check in scenario.check}
        if overwrites and crashes and checkers == {"no-lost-acknowledged-write"}:
            what = f"only the final reads are checked after {' and '.join(crashes)}"
            yield block.line_of("check"), block.section, scenario.id, what


@rule(
    "durability-without-power-loss",
    "warning",
    why="what was acknowledged from memory survives every kill: only the loss of unsynced data shows it",
    mend="add storage/power-loss, or say in 7c that the claim stays uncertain under it",
)
def durability_without_power_loss(review: Review) -> Iterator[Hit]:
    """A durability claim is tested by faults that keep the page cache, and 7c does not name it."""
    for claim in review.plan.claims.values():
        trying = review.trials_of(claim.id)
        given = frozenset[str]().union(*(trial.families for trial in trying))
        if "durability" not in categories_of(claim) or not given or given & _LOSES_DATA:
            continue
        if not review.names(review.text_of("7c"), claim.id):
            what = f"{claim.id}: its scenarios inject {', '.join(sorted(given))}, which lose nothing unsynced"
            yield claim.line, "1b", claim.id, what


@rule(
    "clock-fault-on-static-program",
    "error",
    why=(
        "a Go or static program asks the kernel for the time itself: a preloaded library sees no call (0 "
        "hits on etcd)"
    ),
    mend="test it on a build that links the C library, or state in 7c that clocks stay untested",
)
def clock_fault_on_static_program(review: Review) -> Iterator[Hit]:
    """A clock is shifted by LD_PRELOAD under a program that never loads the library."""
    go = _go_program(review)
    for scenario, block in review.scenarios:
        system = review.plan.systems.get(scenario.system)
        known = _GO_COMMAND.search(" ".join(system.command)) if system else None
        if not (program := (known or go or [""])[0]):
            continue
        for fault, path in faults_of(scenario):
            if family_of(fault.plane, fault.kind) == "clock":
                what = f"{program!r}: a preloaded clock has no effect on such a program"
                yield block.line_of(*path), block.section, scenario.id, what
    for section in review.plan.sections:
        if section.number not in ("6", "6b") and (section.number[:1] != "7" or section.number == "7c"):
            continue
        # A part of the system may be named where it is tried only.
        if program := (go or _GO.search(section.text) or [""])[0]:
            for line, said in said_in(section, _PRELOADED, denied=True):
                what = f"{said!r} has no effect on a program such as {program!r}"
                yield line, section.number, section.scenario, what


_PRELOADED = re.compile(
    r"\b(?:lib)?faketime\b|\bLD_PRELOAD\b|\bpreload(?:ed|ing)? (?:clock|time|library)", re.I
)
_GO_NAMES = r"etcd|consul|nats-server|cockroach(?:db)?|tidb|tikv-server|vitess|minio|influxd|nomad|dgraph"
_GO_COMMAND = re.compile(rf"\bgo run\b|\b(?:{_GO_NAMES})\b")
_GO = re.compile(
    r"\bGo\b(?! on\b| to\b| through\b| back\b| down\b| up\b| ahead\b)|\b[Gg]olang\b|\bgo\.mod\b"
    r"|\bstatic(?:ally)?[ -]linked|\bmusl\b|\b\w+\.go\b",
    re.M,
)


def _go_program(review: Review) -> re.Match[str] | None:
    """What shows that the system is a Go or static program, by its description or its citations."""
    cited = " ".join(
        [claim.source for claim in review.plan.claims.values()]
        + [hypothesis.suspect for hypothesis in review.plan.hypotheses.values()]
    )
    described = review.text_of("0", "1", "2", "6b")
    return (
        _GO.search(review.text_of("0", "2", "6b"))
        or re.search(r"\b\w+\.go\b", cited)
        or (None if review.plan.systems else re.search(rf"\b(?:{_GO_NAMES})\b", described, re.I))
    )


# Words for these mean the fault. Words for others (clock, latency, retry) often mean the promise itself.
_SPOKEN = {"crash", "restart", "pause", "partition", "reset", "packet-loss", "disk-full", "corruption"}


@rule(
    "claim-about-a-fault-not-injected",
    "error",
    why="the claim is about what happens under a fault, and no scenario makes that fault happen",
    mend="inject it, or say in 7c that the claim stays uncertain under it",
)
def claim_about_a_fault_not_injected(review: Review) -> Iterator[Hit]:
    """A claim speaks of a fault family that none of its scenarios injects."""
    for claim in review.plan.claims.values():
        trying = review.trials_of(claim.id)
        spoken = families_in_words(claim.text) & _SPOKEN
        if "restart" in spoken or "crash" in spoken:
            spoken -= {"pause"}
        given = frozenset[str]().union(*(trial.families for trial in trying))
        missing = {name for name in spoken if not produces(given, name)}
        named = not any(trial.fault_is_open for trial in trying)
        if (
            trying
            and named
            and missing == spoken
            and missing
            and not review.names(review.text_of("7c"), claim.id)
        ):
            what = (
                f"{claim.id} speaks of {', '.join(sorted(missing))}; its scenarios inject "
                f"{', '.join(sorted(given)) or 'no fault'}"
            )
            yield claim.line, "1b", claim.id, what


@rule(
    "symmetric-partitions-only",
    "warning",
    why=(
        "most partition bugs that were found in the field need a partial or one-way cut (Alquraan et al., "
        "OSDI 2018)"
    ),
    mend="add a one-way, bridge or ring partition, or say in 7c or 8 why all cuts are whole",
)
def symmetric_partitions_only(review: Review) -> Iterator[Hit]:
    """Every partition of the plan cuts both ways between whole groups."""
    cuts = [trial for trial in review.trials if "partition" in trial.families]
    elsewhere = ONE_WAY.search(review.text_of("7c", "8"))
    if cuts and not elsewhere and not any(trial.one_way for trial in cuts):
        first = cuts[0]
        names = ", ".join(trial.id for trial in cuts[:5])
        yield _line_of_cut(review, first), first.section, first.id, f"every partition is symmetric: {names}"


def _line_of_cut(review: Review, trial: Trial) -> int:
    block = review.plan.scenario_blocks.get(trial.id)
    for fault, path in faults_of(review.plan.scenarios[trial.id]) if block else ():
        if block and family_of(fault.plane, fault.kind) == "partition":
            return block.line_of(*path)
    return trial.line_of("nemesis")


@rule(
    "one-way-claim-cut-both-ways",
    "error",
    why="a symmetric cut hides exactly the case that the claim is about",
    mend="cut one direction only",
)
def one_way_claim_cut_both_ways(review: Review) -> Iterator[Hit]:
    """A claim about one-way or partial partitions is tested by symmetric ones only."""
    for claim in review.plan.claims.values():
        trying = review.trials_of(claim.id)
        if cuts_one_way(claim.text) and trying and not any(trial.one_way for trial in trying):
            yield claim.line, "1b", claim.id, f"{claim.id}: no scenario cuts one way only"


@rule(
    "fault-on-a-timer",
    "warning",
    why=(
        "a fault applied before the system is in the state that matters tests start-up: trigger on state, "
        "not on time"
    ),
    mend="add when: {…} to the fault, or an await step before it",
)
def fault_on_a_timer(review: Review) -> Iterator[Hit]:
    """A fault is applied without waiting for any state."""
    for scenario, block in review.scenarios:
        for fault, path in faults_of(scenario):
            if path[0] == "nemesis" and fault.when is None:
                yield block.line_of(*path), block.section, scenario.id, f"{fault.kind} waits for no state"
        awaited = False
        for step, path in steps_of(scenario):
            awaited = awaited or isinstance(step, AwaitStep)
            if isinstance(step, FaultStep) and not awaited and step.action.when is None:
                what = f"{step.action.kind} waits for no state"
                yield block.line_of(*path), block.section, scenario.id, what
