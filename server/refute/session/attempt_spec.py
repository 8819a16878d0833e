"""What one attempt was asked to do, `spec.yaml`: enough to judge it, and to run the very same again."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, ValidationError

from refute.plan.scenario import BoundArm, Budget, BudgetName, Scenario
from refute.plan.step import FaultStep
from refute.plan.system_spec import Strict, SystemSpec
from refute.session.errors import SessionError
from refute.session.files import write_text
from refute.verdict import Demand


class AttemptSpec(Strict):
    """One attempt: the scenario and the system as the plan has them, and what is particular to this run.

    `order` counts the attempts of the scenario. `mode` is `run`, `control` (faults or the plan's chosen
    steps left out) or `rerun` (the same as the attempt `reruns_of`). `arm` is the name of a combination
    of the sweep.
    """

    attempt: str
    order: int = 0
    mode: Literal["run", "control", "rerun"]
    seed: int
    arm: str = ""
    budget: BudgetName = "smoke"
    reruns_of: str | None = None
    plan_dir: str
    variables: dict[str, str] = Field(default_factory=dict)
    scenario: dict[str, Any]
    system: dict[str, Any]

    def read_scenario(self) -> Scenario:
        """The scenario as data."""
        return Scenario.model_validate(self.scenario)

    def read_system(self) -> SystemSpec:
        """The system as data."""
        return SystemSpec.model_validate(self.system)

    def bound_arm(self) -> BoundArm:
        """The arm that this attempt runs, parameters filled in."""
        operations = known_operations(self.read_system())
        for arm in self.read_scenario().arms(operations):
            if arm.name == self.arm:
                return arm
        raise SessionError(f"the scenario has no arm {self.arm!r}", where=self.attempt)

    def planned_faults(self) -> int:
        """How many injections this attempt is to make."""
        if self.mode == "control" and not self.read_scenario().control.omit:
            return 0
        arm, omitted = self.bound_arm(), self.omitted()
        scheduled = sum(action.repeat for action in arm.nemesis)
        return scheduled + sum(
            isinstance(step, FaultStep) and step.label not in omitted for step in arm.steps
        )

    def omitted(self) -> frozenset[str | None]:
        """Labels of the steps that this attempt leaves out."""
        return frozenset(self.read_scenario().control.omit) if self.mode == "control" else frozenset()

    def write(self, path: Path) -> None:
        """Writes `spec.yaml`."""
        write_text(path, yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True))

    @classmethod
    def read(cls, path: Path) -> AttemptSpec:
        """Reads `spec.yaml`. Raises SessionError where it is missing or damaged."""
        try:
            return cls.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise SessionError(f"cannot read: {error.strerror}", where=path) from None
        except (yaml.YAMLError, ValidationError) as error:
            raise SessionError(f"not the specification of an attempt: {error}", where=path) from None


def known_operations(system: SystemSpec) -> frozenset[str]:
    """The kinds that the system's HTTP clients describe; empty where a worker may know others."""
    if any(client.worker for client in system.clients.values()):
        return frozenset()
    return frozenset(
        kind for client in system.clients.values() if client.http for kind in client.http.operations
    )


def demand_of(scenario: Scenario, budget: BudgetName) -> Demand:
    """What the plan asks of this scenario under that budget."""
    asked = scenario.budget.get(budget)
    arms = tuple(arm.name for arm in scenario.arms())
    control = scenario.control.none_because is None
    if asked is None:
        return Demand(scenario.id, budget, arms=arms, not_provided=f"the plan gives no {budget} budget")
    if not isinstance(asked, Budget):
        why = f"{asked.not_provided} (look again: {asked.revisit})"
        return Demand(scenario.id, budget, arms=arms, not_provided=why)
    faulty = bool(scenario.nemesis) or any(
        isinstance(step, FaultStep) for arm in scenario.arms() for step in arm.steps
    )
    return Demand(
        scenario.id,
        budget,
        seeds=asked.seeds,
        faults=asked.faults if faulty else 0,
        arms=arms,
        control=control and (faulty or bool(scenario.control.omit)),
    )
