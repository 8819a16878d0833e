"""Rules on faults: they can produce the threat, they prove that they landed, in more than one shape."""

from __future__ import annotations

import re
from collections.abc import Iterator

from refute.plan.document import PlanError
from refute.plan.families import families_in_words, family_of, faults_of, produces, steps_of
from refute.plan.fault_catalog import CATALOG, read_parameters
from refute.plan.rules.rule import Hit, Review, categories_of, rule, seven_m
from refute.plan.rules.wording import EXIT_CODE
from refute.plan.step import AwaitStep, FaultStep

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


_LOSES_DATA = {"power-loss", "io-error", "disk-full", "corruption"}
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
            if not fault.evidence and not scenario.evidence:
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
            if found := EXIT_CODE.search(said):
                yield line, "7.M", section.scenario, f"{found[0]!r} does not show that the fault landed"
    for table in review.plan.tables:
        places = [at for at, name in enumerate(table.header) if re.search(r"evidence|landing", name, re.I)]
        for row in table.rows if table.section.startswith(("7", "6")) and table.section != "7.M" else ():
            for at in places:
                if found := EXIT_CODE.search(row.cells[at]):
                    what = f"{found[0]!r} does not show that the fault landed"
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


@rule(
    "kill-is-not-power-loss",
    "error",
    why="a killed process leaves its writes in the kernel's page cache: what was never synced is still there",
    mend="use fault: {plane: storage, kind: power-loss}, or say in 7c that power loss stays untested",
)
def kill_is_not_power_loss(review: Review) -> Iterator[Hit]:
    """A claim about power loss or fsync is tested by killing a process."""
    words = re.compile(
        r"power|electricity|unplugged|blackout|fsync"
        r"|\b(?:sync|flush)(?:ed|s|es)? to (?:the )?(?:disk|platter|media)"
        r"|written to (?:the )?disk|stable storage"
        r"|\b(?:acknowledged|surviv|durabl|committed|stored|persist)\w*\b.*\bon (?:the |its )?disks?\b"
        r"|(?:host|machine|server) (?:crash|fail|reboot|outage)|os crash|kernel panic|reboot",
        re.I,
    )
    for claim in review.plan.claims.values():
        trying = review.scenarios_of(claim.id)
        if (
            words.search(claim.text)
            and trying
            and not any(_LOSES_DATA & review.families[each.id] for each in trying)
        ):
            for scenario in trying[:1]:
                block = review.plan.scenario_blocks[scenario.id]
                if not review.names(review.text_of("7c"), claim.id):
                    what = f"{claim.id} speaks of what survives on disk; {scenario.id} cuts no power"
                    yield block.line, block.section, scenario.id, what


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
        trying = review.scenarios_of(claim.id)
        given = set().union(*(review.families[scenario.id] for scenario in trying)) if trying else set()
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
    words = re.compile(
        r"\bGo\b(?! on\b| to\b| through\b)|\bgolang\b|\bgo\.mod\b|\bstatic(?:ally)?[ -]linked|\bmusl\b", re.M
    )
    for scenario, block in review.scenarios:
        system = review.plan.systems.get(scenario.system)
        command = " ".join(system.command) if system else ""
        known = re.search(
            r"\bgo run\b|\b(?:etcd|consul|nats-server|cockroach|tidb|tikv-server|vitess|minio|influxd)\b",
            command,
        )
        for fault, path in faults_of(scenario):
            if family_of(fault.plane, fault.kind) != "clock":
                continue
            said = words.search(review.text_of("0", "2", "6b"))
            if known or said:
                what = f"{(known or said or [''])[0]!r}: a preloaded clock has no effect on such a program"
                yield block.line_of(*path), block.section, scenario.id, what


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
        trying = review.scenarios_of(claim.id)
        spoken = families_in_words(claim.text) & _SPOKEN
        if "restart" in spoken or "crash" in spoken:
            spoken -= {"pause"}
        given = set().union(*(review.families[scenario.id] for scenario in trying)) if trying else set()
        missing = {name for name in spoken if not produces(given, name)}
        if trying and missing == spoken and missing and not review.names(review.text_of("7c"), claim.id):
            what = (
                f"{claim.id} speaks of {', '.join(sorted(missing))}; its scenarios inject "
                f"{', '.join(sorted(given)) or 'no fault'}"
            )
            yield claim.line, "1b", claim.id, what


def _is_asymmetric(parameters: dict[str, object]) -> bool:
    """Whether a cut is one-way, or leaves some nodes with a view of their own."""
    links = str(parameters.get("links", ""))
    return (
        parameters.get("shape") in ("ring", "bridge")
        or parameters.get("direction") in ("in", "out")
        or ("->" in links and "<->" not in links)
    )


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
    cuts = [
        (scenario, block, path, fault)
        for scenario, block in review.scenarios
        for fault, path in faults_of(scenario)
        if family_of(fault.plane, fault.kind) == "partition"
    ]
    elsewhere = re.search(
        r"one.way|asymmetr|partial partition|bridge|\bring\b", review.text_of("7c", "8"), re.I
    )
    if cuts and not elsewhere and not any(_is_asymmetric(fault.parameters) for *_, fault in cuts):
        scenario, block, path, _ = cuts[0]
        yield block.line_of(*path), block.section, scenario.id, f"{len(cuts)} partitions, all symmetric"


@rule(
    "one-way-claim-cut-both-ways",
    "error",
    why="a symmetric cut hides exactly the case that the claim is about",
    mend="cut one direction only",
)
def one_way_claim_cut_both_ways(review: Review) -> Iterator[Hit]:
    """A claim about one-way or partial partitions is tested by symmetric ones only."""
    words = re.compile(
        r"one[ -]way|asymmetr\w+|half[ -]open|partial(?:ly)? (?:partition|connect)|non-transitive", re.I
    )
    for claim in review.plan.claims.values():
        trying = review.scenarios_of(claim.id)
        faults = [fault for scenario in trying for fault, _ in faults_of(scenario)]
        if (
            words.search(claim.text)
            and trying
            and not any(_is_asymmetric(fault.parameters) for fault in faults)
        ):
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
