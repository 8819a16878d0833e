"""The steps of a directed scenario and the faults of a schedule, as a plan writes them."""

from __future__ import annotations

import re
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from refute.plan.system_spec import Strict
from refute.plan.units import Seconds

FAULT_VERBS: dict[str, tuple[str, str]] = {
    # verb in a plan -> (plane, kind); every other mechanism is written `fault: {plane: …, kind: …, …}`
    "pause": ("process", "pause"),
    "kill": ("process", "kill"),
    "terminate": ("process", "terminate"),
    "restart": ("process", "restart"),
    "isolate": ("proxy", "partition"),
    "partition": ("proxy", "partition"),
    "delay": ("proxy", "delay"),
    "throttle": ("proxy", "throttle"),
    "reset": ("proxy", "reset"),
    "fault": ("", ""),
}
ON_ANOTHER_PLANE: dict[tuple[str, str], str] = {
    # What a short form means where it is asked for on another plane than its own.
    ("netns", "isolate"): "drop",
    ("netns", "partition"): "drop",
    ("netns", "reset"): "reject",
    ("netns", "throttle"): "rate",
}
UNDO_VERBS = ("resume", "start", "heal")
MODIFIERS = (
    *("label", "plane", "for", "repeat", "when", "after", "every", "evidence", "in_flight", "version"),
    *("count", "expect", "via", "client", "process", "timeout", "background", "save", "extra", "note"),
)

NodeRef = str
"""A node as a plan names it: `n1`, a role (the name of a state: `leader`), `not REF`, `any`, `random`, `all`,
or an alias that an earlier step bound with `REF as ALIAS`."""


class Await(Strict):
    """Wait until the system is in a state; the run is inconclusive where it does not get there in time.

    `roles`: for each state, `known` (some node), `none`, `not REF` (some node, and none of REF) or a node.
    `every_node` and `any_node` name states; `values` compare the value of a state at a node;
    `lines` wait for a line that a node logs from now on: `[{node: leader, matches: "sent snapshot"}]`;
    `operation` waits for a recorded operation: `{kind: read, outcome: ok, key: k, count: 1}`.
    """

    roles: dict[str, NodeRef] = Field(default_factory=dict)
    every_node: tuple[str, ...] = ()
    any_node: tuple[str, ...] = ()
    values: tuple[ValueCondition, ...] = ()
    lines: tuple[LineCondition, ...] = ()
    operation: dict[str, Any] | None = None
    timeout: Seconds = 15.0

    @model_validator(mode="before")
    @classmethod
    def _roles_in_place(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            raise ValueError("write what is awaited as a mapping, for example {leader: known}")
        known = set(cls.model_fields)
        roles = {key: value for key, value in data.items() if key not in known}
        kept = {key: value for key, value in data.items() if key in known}
        for name in ("every_node", "any_node"):
            if isinstance(kept.get(name), str):
                kept[name] = [kept[name]]
        for name in ("values", "lines"):
            if isinstance(kept.get(name), dict):
                kept[name] = [kept[name]]
        return kept | {"roles": kept.get("roles", {}) | roles}


class ValueCondition(Strict):
    """The value of a state at a node, or at every node of a reference such as `all` or `not old`."""

    node: NodeRef
    state: str
    equals: Any = None
    not_equals: Any = None
    at_least: float | None = None
    at_most: float | None = None


class LineCondition(Strict):
    """A line of a node's log, or of that of any node of a reference such as `all`: a regular expression."""

    node: NodeRef
    matches: str

    @field_validator("matches")
    @classmethod
    def _is_a_pattern(cls, written: str) -> str:
        try:
            re.compile(written)
        except re.error as error:
            raise ValueError(f"{written!r} is not a regular expression: {error}") from error
        return written


class VictimSignal(Strict):
    """A signal of the system itself that must move for a fault to count as landed.

    `node` is where it is read, `state` what is read, `rule` which change counts (see history.Signal). Where
    `node` stands for several, one of them has to show it.
    """

    node: NodeRef
    state: str
    rule: Literal["increases", "stops", "becomes", "changes"] = "changes"
    expected: bool | int | float | str | None = None

    @model_validator(mode="after")
    def _can_move(self) -> Self:
        if self.rule == "becomes" and self.expected is None:
            raise ValueError(f"{self.state} becomes what? Write it as expected, or take the rule changes")
        return self


class FaultAction(Strict):
    """One fault: which mechanism, at whom, with what parameters, when and for how long.

    `target` is a node reference, or None where `parameters` name links or groups. `alias` binds the node
    that the reference stood for. `for_s` None means until healed (by a step, or at the end of the scenario).
    """

    plane: str
    kind: str
    target: NodeRef | None = None
    alias: str | None = None
    label: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    evidence: tuple[VictimSignal, ...] = ()
    for_s: float | None = None
    when: Await | None = None
    after_s: float = 0.0
    every_s: float | None = None
    repeat: int = 1


class FaultStep(Strict):
    """Apply a fault."""

    verb: Literal["fault"] = "fault"
    label: str | None = None
    action: FaultAction


class HealStep(Strict):
    """Undo faults: `all`, those at a node, or the one with a label; `start` can start another version."""

    verb: Literal["heal"] = "heal"
    label: str | None = None
    how: Literal["resume", "start", "heal"]
    target: NodeRef = "all"
    version: str | None = None


class AwaitStep(Strict):
    """Wait for a state."""

    verb: Literal["await"] = "await"
    label: str | None = None
    condition: Await


class SleepStep(Strict):
    """Let time pass. A state to wait for is nearly always better."""

    verb: Literal["sleep"] = "sleep"
    label: str | None = None
    seconds: float


class CommandStep(Strict):
    """Run one of the system's own commands, by its name in section 6b."""

    verb: Literal["run"] = "run"
    label: str | None = None
    command: str
    node: NodeRef | None = None
    arguments: tuple[str, ...] = ()
    expect: Literal["ok", "fail", "any"] = "ok"
    timeout: float = 30.0


class OperationStep(Strict):
    """Send operations to a node through a client.

    `value` may be `unique`. `expect` lists the outcomes with which the sequence goes on; any other means
    that the sequence was not followed. `via` may be `all`: one operation at every node. `background` does
    not wait for the answer. `save` keeps parts of the output for later steps: name to dotted path, used as
    `@name`.
    """

    verb: Literal["operation"] = "operation"
    label: str | None = None
    kind: str
    key: Any = None
    value: Any = None
    via: NodeRef = "any"
    count: int = Field(default=1, ge=0)
    expect: tuple[Literal["ok", "fail", "unknown", "any"], ...] = ("any",)
    client: str | None = None
    process: str | None = None
    timeout: float | None = None
    background: bool = False
    save: dict[str, str] = Field(default_factory=dict)
    extra: dict[str, Any] = Field(default_factory=dict)


Step = FaultStep | HealStep | AwaitStep | SleepStep | CommandStep | OperationStep
