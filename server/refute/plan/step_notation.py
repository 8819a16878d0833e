"""The short forms in which people write steps and faults (`pause: leader as old`), read into typed data."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from refute.plan.step import (
    FAULT_VERBS,
    MODIFIERS,
    ON_ANOTHER_PLANE,
    UNDO_VERBS,
    Await,
    AwaitStep,
    CommandStep,
    FaultAction,
    FaultStep,
    HealStep,
    OperationStep,
    SleepStep,
    Step,
    VictimSignal,
)
from refute.plan.units import seconds

# Words of a fault's mapping that are about the fault itself; all others are parameters of the mechanism.
_FAULT_WORDS = ("node", "plane", "kind")


def read_step(written: Any, operations: frozenset[str]) -> Step:
    """The typed step of one written step.

    `operations` are the kinds that the system's clients know; with an empty set every further verb is
    taken for an operation. Raises ValueError with what to write instead.

    >>> read_step({"pause": "leader as old"}, frozenset()).action.alias
    'old'
    """
    verb, argument, rest = _split(written, operations)
    label = rest.pop("label", None)
    rest.pop("note", None)
    if verb == "await":
        _nothing_else(verb, rest)
        return AwaitStep(label=label, condition=Await.model_validate(argument))
    if verb == "sleep":
        _nothing_else(verb, rest)
        return SleepStep(label=label, seconds=_sleep_seconds(argument))
    if verb == "run":
        return _command(label, argument, rest)
    if verb in UNDO_VERBS:
        target, version = _undo_target(argument), rest.pop("version", None)
        if isinstance(argument, Mapping):
            version = argument.get("version", version)
        _nothing_else(verb, rest)
        return HealStep.model_validate({"label": label, "how": verb, "target": target, "version": version})
    if verb in FAULT_VERBS:
        return FaultStep(label=label, action=_fault(verb, argument, rest, label))
    return _operation(verb, label, argument, rest)


def read_fault(written: Any) -> FaultAction:
    """The typed fault of one item of a schedule. Raises ValueError."""
    verb, argument, rest = _split(written, frozenset(FAULT_VERBS))
    if verb not in FAULT_VERBS:
        raise ValueError(f"{verb!r} is not a fault; there are {', '.join(sorted(FAULT_VERBS))}")
    label = rest.pop("label", None)
    rest.pop("note", None)
    return _fault(verb, argument, rest, label)


def split_alias(reference: str) -> tuple[str, str | None]:
    """A node reference without its alias, and the alias: `leader as old` is `("leader", "old")`."""
    reference, _, alias = str(reference).partition(" as ")
    return reference.strip(), alias.strip() or None


def _split(written: Any, operations: frozenset[str]) -> tuple[str, Any, dict[str, Any]]:
    if not isinstance(written, Mapping) or not written:
        raise ValueError(f"a step is a mapping such as {{pause: leader}}, not {written!r}")
    control = {"await", "sleep", "run", *UNDO_VERBS, *FAULT_VERBS}
    verbs = [key for key in written if key in control]
    if not verbs:
        verbs = [key for key in written if key in operations]
    if not verbs:
        verbs = [key for key in written if key not in MODIFIERS]
        if operations and verbs:
            near = difflib.get_close_matches(str(verbs[0]), control | operations, n=1)
            known = ", ".join(sorted(control)), ", ".join(sorted(operations))
            hint = f"did you mean {near[0]!r}?" if near else f"steps: {known[0]}; operations: {known[1]}"
            raise ValueError(
                f"{verbs[0]!r} is neither a step nor an operation of the system's clients; {hint}"
            )
    if len(verbs) != 1:
        raise ValueError(f"a step does one thing; this one has {' and '.join(map(str, verbs)) or 'no verb'}")
    verb = verbs[0]
    rest = {key: value for key, value in written.items() if key != verb}
    return str(verb), written[verb], rest


def _nothing_else(verb: str, rest: Mapping[str, Any]) -> None:
    if rest:
        raise ValueError(f"{verb} takes no {next(iter(rest))!r}")


def _sleep_seconds(argument: Any) -> float:
    if isinstance(argument, Mapping) and set(argument) == {"ms"}:
        return float(argument["ms"]) / 1000
    return seconds(argument)


def _command(label: str | None, argument: Any, rest: dict[str, Any]) -> CommandStep:
    named = dict(argument) if isinstance(argument, Mapping) else {"command": argument}
    named |= rest
    if "timeout" in named:
        named["timeout"] = seconds(named["timeout"])
    return CommandStep.model_validate({"label": label, **named})


def _undo_target(argument: Any) -> str:
    if isinstance(argument, Mapping):
        return str(argument.get("node", "all"))
    return "all" if argument is None else str(argument)


def _fault(verb: str, argument: Any, rest: dict[str, Any], label: str | None) -> FaultAction:
    plane, kind = FAULT_VERBS[verb]
    named: dict[str, Any] = dict(argument) if isinstance(argument, Mapping) else {"node": argument}
    plane = named.pop("plane", rest.pop("plane", plane))
    kind = named.pop("kind", ON_ANOTHER_PLANE.get((plane, verb), kind))
    if not plane or not kind:
        raise ValueError(
            "fault: name its plane and its kind, for example {plane: process, kind: pause, node: n1}"
        )
    reference = named.pop("node", None)
    target, alias = split_alias(reference) if reference is not None else (None, None)
    if verb == "isolate":
        named.setdefault("shape", "isolate")
    parameters = named | {key: rest.pop(key) for key in ("in_flight", "version") if key in rest}
    taken = {
        "evidence": tuple(
            VictimSignal.model_validate(signal) for signal in _listed(rest.pop("evidence", ()))
        ),
        "for_s": seconds(rest.pop("for")) if "for" in rest else None,
        "when": Await.model_validate(rest.pop("when")) if "when" in rest else None,
        "after_s": seconds(rest.pop("after")) if "after" in rest else 0.0,
        "every_s": seconds(rest.pop("every")) if "every" in rest else None,
        "repeat": rest.pop("repeat", 1),
    }
    _nothing_else(verb, rest)
    return FaultAction(
        plane=plane, kind=kind, target=target, alias=alias, label=label, parameters=parameters, **taken
    )


def _operation(kind: str, label: str | None, argument: Any, rest: dict[str, Any]) -> OperationStep:
    named = dict(argument) if isinstance(argument, Mapping) else {"value": argument}
    named |= rest
    expect = named.pop("expect", "any")
    if "timeout" in named:
        named["timeout"] = seconds(named["timeout"])
    known = set(OperationStep.model_fields)
    if unknown := [key for key in named if key not in known]:
        raise ValueError(f"operation {kind} takes no {unknown[0]!r}; further fields go under extra")
    return OperationStep.model_validate(
        {"label": label, "kind": kind, "expect": [expect] if isinstance(expect, str) else expect, **named}
    )


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
