"""Which operations a scenario does, and which fields of theirs are recorded."""

from __future__ import annotations

from refute.plan.references import operation_kinds
from refute.plan.scenario import Scenario
from refute.plan.step import OperationStep
from refute.plan.system_spec import SystemSpec

GENERATED: dict[str, frozenset[str]] = {
    "register": frozenset({"read", "write"}),
    "cas-register": frozenset({"read", "write", "cas"}),
    "kv": frozenset({"read", "write"}),
    "append": frozenset({"txn", "append", "read"}),
}
"""The kinds of operation that each of our own generators makes."""


def kinds_of(scenario: Scenario, system: SystemSpec | None) -> set[str]:
    """The kinds of operation that a scenario does; empty where nobody can know."""
    kinds = {
        step.kind for arm in scenario.every_arm() for step in arm.steps if isinstance(step, OperationStep)
    }
    if load := scenario.workload:
        if load.mix:
            kinds |= set(load.mix)
        elif load.generator in GENERATED:
            generated = GENERATED[load.generator]
            offered = operation_kinds(system) if system else frozenset()
            kinds |= generated & offered or generated
        else:
            return set()
    if scenario.final and scenario.final.keys != "none":
        kinds.add(scenario.final.kind)
    return kinds


def fields_of(scenario: Scenario, system: SystemSpec | None) -> set[str]:
    """The names under `extra` that a scenario or its system's clients put into the history."""
    names: set[str] = set(scenario.workload.extra) if scenario.workload else set()
    for arm in scenario.every_arm():
        for step in arm.steps:
            if isinstance(step, OperationStep):
                names |= set(step.extra)
    for client in system.clients.values() if system else ():
        for operation in client.http.operations.values() if client.http else ():
            names |= set(operation.extra)
    return names
