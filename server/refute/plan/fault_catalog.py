"""The fault catalog: what each fault really does, what it is not, what it can test, and how it is proven.

Pure data. Whether a fault has a mechanism, and whether it works on this machine, is asked of the nemesis.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from refute.plan.document import PlanError
from refute.plan.fault_entries import clients, host, nodes, others, proxy, wire
from refute.plan.fault_entry import ANY, FaultEntry, Parameter
from refute.plan.units import byte_count, bytes_per_second, seconds

CATALOG: Mapping[tuple[str, str], FaultEntry] = {
    (entry.plane, entry.kind): entry
    for entries in (proxy.ENTRIES, nodes.ENTRIES, clients.ENTRIES, wire.ENTRIES, host.ENTRIES, others.ENTRIES)
    for entry in entries
}
PLANES = tuple(dict.fromkeys(plane for plane, _ in CATALOG))


def fault_entry(plane: str, kind: str) -> FaultEntry:
    """The entry of a fault. Raises PlanError with what there is instead.

    >>> fault_entry("process", "kill").is_not
    'power loss: the page cache survives, so that what was written without fsync is still there'
    """
    if (plane, kind) in CATALOG:
        return CATALOG[plane, kind]
    if plane not in PLANES:
        near = difflib.get_close_matches(plane, PLANES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(PLANES)}"
        raise PlanError(f"there is no fault plane {plane!r}", hint=hint)
    kinds = [each for its_plane, each in CATALOG if its_plane == plane]
    near = difflib.get_close_matches(kind, kinds, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(kinds)}"
    raise PlanError(f"the plane {plane} has no fault {kind!r}", hint=hint)


def written_in_full(word: str) -> str | None:
    """How a fault is written whose kind somebody took for a verb; None where no fault has that name.

    >>> written_in_full("power-loss")
    '{"fault": {"plane": "storage", "kind": "power-loss", "node": ...}}'
    """
    whole = []
    for (plane, kind), entry in CATALOG.items():
        aimed_at = {"nodes": ', "node": ...', "links": ', "links": ["n1->n2"]'}.get(entry.targets, "")
        if kind == word:
            whole.append(f'{{"fault": {{"plane": "{plane}", "kind": "{kind}"{aimed_at}}}}}')
    return " or ".join(whole) or None


def read_parameters(plane: str, kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a fault, checked, as they were written. Raises PlanError naming the one in error."""
    entry = fault_entry(plane, kind)
    known = {parameter.name: parameter for parameter in entry.parameters}
    for name, value in given.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            there = ", ".join(known) or "none"
            hint = f"did you mean {near[0]!r}?" if near else f"it takes: {there}"
            raise PlanError(f"{plane} {kind} takes no {name!r}", hint=hint)
        if problem := _problem(known[name], value):
            raise PlanError(f"{plane} {kind}: {name}: {problem}")
    return dict(given)


def shared_choice(faults: Iterable[tuple[str, str]], name: str, choice: str) -> str | None:
    """What all of these faults (plane, kind) that take the parameter are told; None for `any`.

    Raises PlanError where none of them takes it, or one has no such choice.
    """
    if choice == ANY:
        return None
    takers = sorted(pair for pair in faults if _takes(pair, name))
    if not takers:
        those = ", ".join(f"{plane}/{kind}" for plane, kind in CATALOG if _takes((plane, kind), name))
        raise PlanError(f"{name}: no fault that is asked for takes it", hint=f"those that do: {those}")
    for plane, kind in takers:
        read_parameters(plane, kind, {name: choice})
    return choice


def _takes(fault: tuple[str, str], name: str) -> bool:
    return any(parameter.name == name for parameter in CATALOG[fault].parameters)


def _problem(parameter: Parameter, value: Any) -> str | None:
    try:
        match parameter.type:
            case "duration":
                seconds(value)
            case "size":
                byte_count(value)
            case "bandwidth":
                bytes_per_second(value)
            case "count":
                if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                    return f"write a whole number from 1 on, not {value!r}"
            case "share":
                if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
                    return f"write a number above 0 and up to 1, not {value!r}"
            case "number":
                if isinstance(value, bool) or not isinstance(value, int | float):
                    return f"write a number, not {value!r}"
            case "flag":
                if not isinstance(value, bool):
                    return f"write true or false, not {value!r}"
            case "choice":
                if value not in parameter.choices:
                    return f"{value!r} is none of {', '.join(parameter.choices)}"
            case "text":
                if not isinstance(value, str):
                    return f"write text, not {value!r}"
            case "list":
                if not isinstance(value, list | tuple | str):
                    return f"write a list, not {value!r}"
    except ValueError as error:
        return str(error)
    return None
