"""Every name in a plan that must mean something: claims, hypotheses, systems, states, clients, commands."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator

from refute.plan.defect import Defect
from refute.plan.document import Block, Plan
from refute.plan.scenario import BoundArm, Scenario
from refute.plan.step import (
    Await,
    AwaitStep,
    CommandStep,
    FaultAction,
    FaultStep,
    HealStep,
    OperationStep,
)
from refute.plan.step_notation import read_step, split_alias
from refute.plan.system_spec import FIRST, SystemSpec

EVERYWHERE = frozenset({"any", "random", "all", "spread", "client"})


def reference_defects(plan: Plan, unread_systems: Collection[str] = ()) -> list[Defect]:
    """One defect for each name that nothing in the plan defines.

    `unread_systems` are described but could not be read: that is another defect already.
    """
    defects: list[Defect] = []
    for scenario in plan.scenarios.values():
        block = plan.scenario_blocks[scenario.id]
        defects += _plan_names(plan, scenario, block, unread_systems)
        if system := plan.systems.get(scenario.system):
            defects += _SystemNames(system, scenario, block).defects()
    for hypothesis in plan.hypotheses.values():
        for name in hypothesis.claims:
            if name not in plan.claims and plan.claims:
                what = f"hypothesis {hypothesis.id} names the claim {name}, which is not in section 1b"
                defects.append(
                    Defect(
                        "unknown-claim", hypothesis.line, "4", what, near(name, plan.claims), hypothesis.id
                    )
                )
    return defects


def near(name: str, known: Collection[str]) -> str:
    """What might have been meant: `did you mean 'C4'?`, or what there is."""
    found = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if found:
        return f"did you mean {found[0]!r}?"
    listed = ", ".join(sorted(known)[:12])
    return f"there is: {listed}{', …' if len(known) > 12 else ''}" if listed else "there is none"


def operation_kinds(system: SystemSpec) -> frozenset[str]:
    """The kinds of operation that a system's clients are known to take; empty where a worker takes any."""
    kinds: set[str] = set()
    for client in system.clients.values():
        if client.http is None:
            return frozenset()
        kinds |= set(client.http.operations)
    return frozenset(kinds)


def _plan_names(
    plan: Plan, scenario: Scenario, block: Block, unread_systems: Collection[str]
) -> Iterator[Defect]:
    for place, name in enumerate(scenario.falsifies):
        if name not in plan.claims:
            what = f"{scenario.id} tries to falsify {name}, which is no claim of section 1b"
            yield _at(
                block, "unknown-claim", ("falsifies", place), what, near(name, plan.claims), scenario.id
            )
    for place, name in enumerate(scenario.hypotheses):
        if name not in plan.hypotheses:
            what = f"{scenario.id} names the hypothesis {name}, which is not in section 4"
            yield _at(
                block,
                "unknown-hypothesis",
                ("hypotheses", place),
                what,
                near(name, plan.hypotheses),
                scenario.id,
            )
    if scenario.system not in plan.systems and scenario.system not in unread_systems:
        what = f"{scenario.id} runs on the system {scenario.system!r}, which section 6b does not describe"
        yield _at(
            block, "unknown-system", ("system",), what, near(scenario.system, plan.systems), scenario.id
        )


def _at(block: Block, rule: str, path: tuple[str | int, ...], what: str, mend: str, subject: str) -> Defect:
    return Defect(rule, block.line_of(*path), block.section, what, mend, subject)


class _SystemNames:
    """The names in one scenario that its system must define."""

    def __init__(self, system: SystemSpec, scenario: Scenario, block: Block) -> None:
        self.system, self.scenario, self.block = system, scenario, block
        self.kinds = operation_kinds(system)
        self.found: dict[tuple[str, int, str], Defect] = {}

    def defects(self) -> list[Defect]:
        try:
            arms = list(self.scenario.arms(self.kinds))
        except ValueError as error:
            self._add("unknown-operation", ("steps",), str(error).splitlines()[0], "", self._bad_step())
            return list(self.found.values())
        for arm in arms:
            self._arm(arm)
        return list(self.found.values())

    def _bad_step(self) -> int:
        for place, step in enumerate(self.scenario.steps):
            try:
                read_step(step, self.kinds)
            except ValueError:
                return self.block.line_of("steps", place)
        return self.block.line_of("steps")

    def _arm(self, arm: BoundArm) -> None:
        aliases: set[str] = set()
        for place, fault in enumerate(arm.nemesis):
            self._fault(fault, ("nemesis", place), aliases)
        for place, step in enumerate(arm.steps):
            path = ("steps", place)
            if isinstance(step, FaultStep):
                self._fault(step.action, path, aliases)
            elif isinstance(step, HealStep):
                labels = {step.label for step in arm.steps} | {fault.label for fault in arm.nemesis}
                if step.target not in labels:
                    self._node(step.target, path, aliases)
                self._version(step.version, path)
            elif isinstance(step, AwaitStep):
                self._await(step.condition, path, aliases)
            elif isinstance(step, CommandStep):
                self._one_of("unknown-command", "command", step.command, self.system.commands, path)
                self._node(step.node, path, aliases)
            elif isinstance(step, OperationStep):
                self._node(step.via, path, aliases)
                self._client(step.client, path)
                self._kind(step.kind, path)
        self._rest(arm, aliases)

    def _rest(self, arm: BoundArm, aliases: set[str]) -> None:
        scenario = self.scenario
        if load := arm.workload:
            self._client(load.client, ("workload", "client"))
            for kind in load.mix:
                self._kind(kind, ("workload", "mix", kind))
            for via in load.via.values() if isinstance(load.via, dict) else [load.via]:
                self._node(via, ("workload", "via"), aliases)
        if scenario.quiesce:
            self._await(scenario.quiesce, ("quiesce",), aliases)
        if scenario.final:
            self._client(scenario.final.client, ("final", "client"))
            self._kind(scenario.final.kind, ("final",))
            self._node(scenario.final.via, ("final", "via"), aliases)
        for name in ("before", "during", "after"):
            for kind in getattr(scenario.requires, name) or ():
                self._kind(kind, ("requires", name))
        for place, signal in enumerate(scenario.evidence):
            self._state(signal.state, ("evidence", place))
            self._node(signal.node, ("evidence", place), aliases)

    def _fault(self, fault: FaultAction, path: tuple[str | int, ...], aliases: set[str]) -> None:
        if fault.when:
            self._await(fault.when, (*path, "when"), aliases)
        self._node(fault.target, path, aliases)
        if fault.alias:
            aliases.add(fault.alias)
        for signal in fault.evidence:
            self._state(signal.state, (*path, "evidence"))
            self._node(signal.node, (*path, "evidence"), aliases)
        version = fault.parameters.get("version")
        self._version(version if isinstance(version, str) else None, path)
        if fault.plane == "membership":
            self._membership(fault, path)

    def _membership(self, fault: FaultAction, path: tuple[str | int, ...]) -> None:
        for name in ("command", "undo", "members"):
            if isinstance(written := fault.parameters.get(name), str):
                self._one_of("unknown-command", "command", written, self.system.commands, path)
        if fault.kind == "add" and fault.target is not None and fault.target not in self.system.spares:
            what = f"{self.scenario.id} adds {fault.target!r}, which is no spare of {self.system.system}"
            spares = self.system.spares
            mend = near(fault.target, spares) if spares else "name it in the system's spares: [n4]"
            self._add("not-a-spare", path, what, mend)

    def _await(self, wanted: Await, path: tuple[str | int, ...], aliases: set[str]) -> None:
        for state, node in wanted.roles.items():
            self._state(state, path)
            if node not in ("known", "none"):
                self._node(node, path, aliases)
        for state in (*wanted.every_node, *wanted.any_node):
            self._state(state, path)
        for line in wanted.lines:
            self._node(line.node, path, aliases)
        for condition in wanted.values:
            self._state(condition.state, path)
            self._node(condition.node, path, aliases)
        if wanted.operation and isinstance(wanted.operation.get("kind"), str):
            self._kind(wanted.operation["kind"], path)

    def _node(self, reference: str | None, path: tuple[str | int, ...], aliases: set[str]) -> None:
        if reference is None:
            return
        name, alias = split_alias(reference)
        name = name.removeprefix("not ").strip()
        if alias:
            aliases.add(alias)
        known = {*self.system.everyone, *self.system.states, *EVERYWHERE, *aliases}
        if name not in known:
            what = (
                f"{self.scenario.id} names the node {name!r}: neither a node nor a state of "
                f"{self.system.system}, nor an alias bound before"
            )
            self._add("unknown-node", path, what, near(name, known - EVERYWHERE))

    def _state(self, name: str, path: tuple[str | int, ...]) -> None:
        self._one_of("unknown-state", "state", name, self.system.states, path)

    def _client(self, name: str | None, path: tuple[str | int, ...]) -> None:
        if name is not None:
            self._one_of("unknown-client", "client", name, self.system.clients, path)

    def _version(self, name: str | None, path: tuple[str | int, ...]) -> None:
        if name is not None:
            self._one_of("unknown-version", "version", name, (FIRST, *self.system.versions), path)

    def _kind(self, kind: str, path: tuple[str | int, ...]) -> None:
        if self.kinds:
            self._one_of("unknown-operation", "operation", kind, self.kinds, path)

    def _one_of(
        self, rule: str, noun: str, name: str, known: Collection[str], path: tuple[str | int, ...]
    ) -> None:
        if name not in known:
            what = f"{self.scenario.id} names the {noun} {name!r}, which {self.system.system} does not have"
            self._add(rule, path, what, near(name, known))

    def _add(
        self, rule: str, path: tuple[str | int, ...], what: str, mend: str, line: int | None = None
    ) -> None:
        line = self.block.line_of(*path) if line is None else line
        defect = Defect(rule, line, self.block.section, what, mend, self.scenario.id)
        self.found.setdefault((rule, line, what), defect)
