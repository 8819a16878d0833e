"""A scenario: what it tries to falsify, what it does to the system, and by which checkers it judges."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PrivateAttr, model_validator

from refute.plan.fault_entry import ANY
from refute.plan.step import Await, FaultAction, FaultStep, NodeRef, Step, VictimSignal
from refute.plan.step_notation import read_fault, read_step
from refute.plan.system_spec import Strict
from refute.plan.units import PerSecond, Seconds

MAX_ARMS = 1000
"""How many runs one scenario may be written out into."""

BudgetName = Literal["smoke", "hardening", "release"]


GENERATORS = (
    *("append", "bank", "cas-register", "counter", "kv", "list-append", "lock", "queue", "register"),
    *("rw-register", "set", "unique-ids"),
)
"""What generates load; the workload room has a row for each."""


class Workload(Strict):
    """Generated load.

    `generator` is one of GENERATORS; `options` are for it. `mix` weighs the kinds of operation. `keys` are
    that many keys, chosen by `key_distribution`. `via` is the node that an operation goes to (`spread` pins
    each client to one node in turn), for all kinds or by kind. `rate` is for all clients together; None means
    as fast as they can. `recover_after` reopens a client whose operation stayed unknown as a new process.
    """

    generator: str
    clients: int = Field(default=5, ge=1, le=1000)
    rate: PerSecond | None = None
    keys: int = Field(default=1, ge=1)
    duration: Seconds = 10.0
    operations: int | None = Field(default=None, ge=1)
    mix: dict[str, float] = Field(default_factory=dict)
    key_distribution: Literal["uniform", "zipf", "sequential"] = "uniform"
    values: Literal["unique", "small"] = "unique"
    via: NodeRef | dict[str, NodeRef] = "spread"
    client: str | None = None
    timeout: Seconds | None = None
    extra: dict[str, Any] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)


class Check(Strict):
    """One checker with its options; written as a name, or as `{name: {option: value}}`."""

    checker: str
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"checker": data}
        if isinstance(data, dict) and len(data) == 1 and "checker" not in data:
            ((name, options),) = data.items()
            return {"checker": name, "options": options or {}}
        return data


class Budget(Strict):
    """How much is run: seeds (each a run of its own), faults that must land, how long the load lasts."""

    seeds: int = Field(default=1, ge=1)
    faults: int = Field(default=1, ge=0)
    duration: Seconds | None = None


class NotProvided(Strict):
    """A budget that the plan does not give, why, and when to look at it again."""

    not_provided: str
    revisit: str


class FinalReads(Strict):
    """Reads after heal and quiescence: of which keys (`used`: those that were touched), from which nodes."""

    kind: str = "read"
    keys: Literal["used", "none"] | tuple[Any, ...] = "used"
    via: NodeRef = "all"
    client: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)
    timeout: Seconds = 5.0
    retry_for: Seconds = 10.0


class Control(Strict):
    """The control: the same run with the faults left out, or with the steps of these labels left out."""

    omit: tuple[str, ...] = ()
    none_because: str | None = None


class Requires(Strict):
    """Kinds of operation that must have succeeded in each part of the run; None means the usual ones.

    The usual: every kind of the workload before and after the faults, and some operation invoked during one.
    """

    before: tuple[str, ...] | None = None
    during: tuple[str, ...] | None = None
    after: tuple[str, ...] | None = None


_USUAL_BUDGET: dict[BudgetName, Budget | NotProvided] = {
    "smoke": Budget(),
    "hardening": Budget(seeds=3, faults=3),
}


def _one_or_more(value: Any) -> Any:
    return [value] if isinstance(value, str | dict) else value


class Arm(Strict):
    """One arm of a boundary or fairness scenario: who does what at which surface, what must come of it."""

    arm: str
    control: Literal["positive", "negative"] | None = None
    surface: str | None = None
    subject: str | None = None
    object: str | None = None
    expect: str | None = None
    oracle: str | None = None
    steps: tuple[dict[str, Any], ...] = ()
    note: str | None = None


class Scenario(Strict):
    """One scenario as written. `arms()` gives what is run: one arm for each combination of the sweep.

    Steps and faults are kept as written, since they may hold `$name` for a swept parameter.
    """

    id: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$")
    name: str = Field(min_length=1)
    falsifies: Annotated[tuple[str, ...], BeforeValidator(_one_or_more)] = Field(min_length=1)
    hypotheses: Annotated[tuple[str, ...], BeforeValidator(_one_or_more)] = ()
    system: str
    workload: Workload | None = None
    nemesis: Annotated[tuple[dict[str, Any], ...], BeforeValidator(_one_or_more)] = ()
    sweep: dict[str, tuple[Any, ...]] = Field(default_factory=dict)
    steps: tuple[dict[str, Any], ...] = ()
    arms_: tuple[Arm, ...] = Field(default=(), alias="arms")
    surfaces: tuple[str, ...] = ()
    check: Annotated[tuple[Check, ...], BeforeValidator(_one_or_more)] = Field(min_length=1)
    evidence: Annotated[tuple[VictimSignal, ...], BeforeValidator(_one_or_more)] = ()
    quiesce: Await | None = None
    final: FinalReads | None = None
    control: Control = Control()
    requires: Requires = Requires()
    budget: dict[BudgetName, Budget | NotProvided] = Field(default_factory=lambda: dict(_USUAL_BUDGET))

    _every_arm: tuple[BoundArm, ...] | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _something_happens(self) -> Self:
        if not self.workload and not self.steps and not self._own_steps():
            raise ValueError("a scenario needs a workload, steps, or both")
        named = [_slug(arm.arm) for arm in self.arms_]
        if len(set(named)) < len(named):
            raise ValueError("two arms have the same name")
        for name, values in self.sweep.items():
            if not values:
                raise ValueError(f"sweep {name} has no values")
        runs = math.prod(len(values) for values in self.sweep.values()) * max(1, len(self._own_steps()))
        if runs > MAX_ARMS:
            raise ValueError(
                f"the sweep makes {runs:,} runs; at most {MAX_ARMS} are allowed: sweep fewer values"
            )
        labels = {step.get("label") for step in self.steps}
        for label in self.control.omit:
            if label not in labels:  # else the control would be the very same run
                raise ValueError(f"control leaves out {label!r}, but no step has that label")
        next(self.arms())  # reads every step and fault once, so that a typing error is found here
        return self

    def arms(self, operations: frozenset[str] = frozenset()) -> Iterator[BoundArm]:
        """The runs of the sweep, in the order of its values; one, named "", where nothing is swept.

        Boundary and fairness arms with steps of their own are runs too: the scenario's steps, then theirs.

        `operations` are the kinds that the system's clients know (see step_notation.read_step).
        Raises ValueError naming the step or fault that cannot be read.
        """
        names = list(self.sweep)
        for values in itertools.product(*self.sweep.values()):
            parameters = dict(zip(names, values, strict=True))
            steps = tuple(
                _read(f"steps[{place}]", read_step, substitute(step, parameters), operations)
                for place, step in enumerate(self.steps)
            )
            nemesis = tuple(
                _read(f"nemesis[{place}]", read_fault, substitute(fault, parameters))
                for place, fault in enumerate(self.nemesis)
            )
            workload = self.workload and Workload.model_validate(
                substitute(self.workload.model_dump(), parameters)
            )
            title = "-".join(f"{name}={value}" for name, value in parameters.items())
            own = self._own_steps()
            if not own:
                yield BoundArm(title, parameters, workload, steps, nemesis)
            for arm, written in own.items():
                theirs = tuple(
                    _read(f"arms[{arm}].steps[{place}]", read_step, substitute(step, parameters), operations)
                    for place, step in enumerate(written)
                )
                named = "-".join(part for part in (arm, title) if part)
                yield BoundArm(named, parameters, workload, (*steps, *theirs), nemesis)

    def every_arm(self) -> tuple[BoundArm, ...]:
        """All arms, read once and kept: what rules and matrices look at, again and again."""
        if self._every_arm is None:
            self._every_arm = tuple(self.arms())
        return self._every_arm

    def _own_steps(self) -> dict[str, tuple[dict[str, Any], ...]]:
        """The steps of each arm that has some, by the arm's name as it is used for a folder."""
        return {_slug(arm.arm): arm.steps for arm in self.arms_ if arm.steps}


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]+", "-", name).strip("-.") or "arm"


@dataclass(frozen=True, slots=True)
class BoundArm:
    """One arm of a scenario with its parameters filled in: what the runner executes."""

    name: str
    parameters: dict[str, Any]
    workload: Workload | None
    steps: tuple[Step, ...]
    nemesis: tuple[FaultAction, ...]

    @property
    def faults(self) -> frozenset[tuple[str, str]]:
        """Every fault that it may inject, as (plane, kind)."""
        return frozenset((action.plane, action.kind) for action in self._actions())

    @property
    def file_system(self) -> str | None:
        """On which one the first of its faults that says so wants the nodes' data; None for any."""
        return self._first_asked("file_system")

    @property
    def calls_through(self) -> str | None:
        """What the first of its faults that says so wants failing calls to go through; None for any."""
        return self._first_asked("through")

    def _first_asked(self, parameter: str) -> str | None:
        asked = (action.parameters.get(parameter, ANY) for action in self._actions())
        return next((name for name in asked if name != ANY), None)

    def _actions(self) -> Iterator[FaultAction]:
        yield from self.nemesis
        yield from (step.action for step in self.steps if isinstance(step, FaultStep))


def substitute(written: Any, parameters: dict[str, Any]) -> Any:
    """The same data with every string `$name` replaced by the parameter of that name, keeping its type."""
    if isinstance(written, dict):
        return {key: substitute(value, parameters) for key, value in written.items()}
    if isinstance(written, list | tuple):
        return [substitute(value, parameters) for value in written]
    if isinstance(written, str) and written.startswith("$"):
        if written[1:] not in parameters:
            known = ", ".join(f"${name}" for name in parameters) or "none"
            raise ValueError(f"{written} is not a parameter of the sweep; there are: {known}")
        return parameters[written[1:]]
    return written


def _read(place: str, reader: Any, *arguments: Any) -> Any:
    try:
        return reader(*arguments)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error
