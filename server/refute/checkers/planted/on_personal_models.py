"""Operators for a model that a person wrote: an answer changed, an effect dropped, two answers exchanged.

Nobody but the model knows what it forbids, so it is asked: a copy counts only where following every order
that real time permits, one return after the other, leaves none that the model allows. That is slower and
plainer than what the checker does, and shares nothing with it but the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, islice
from random import Random
from typing import Any

from refute.checkers.linearizable.personal import PersonalModel
from refute.checkers.planted.ground import Ground, shuffled
from refute.checkers.planted.operator import Operator, Options, Planting
from refute.history import Operation, Outcome, hashable

ATTEMPTS = 40
CONFIGURATIONS = 300
_FOREVER = 2**63 - 1


def _is_personal(options: Options) -> bool:
    return not isinstance(options.get("model", "register"), str)


@dataclass(frozen=True, slots=True)
class Followed:
    """How far every order of an object's calls could be followed, and whether one was left at the end."""

    until_ns: int
    refuted: bool = False


def follow(model: PersonalModel, operations: Iterable[Operation]) -> dict[Any, Followed]:
    """Follows all orders of each object's operations, up to where there are too many of them.

    Objects are told apart by key where the model allows that; the key is None where it does not.
    """
    objects: dict[Any, list[Operation]] = {}
    for operation in operations:
        if operation.outcome is not Outcome.FAIL:
            key = hashable(operation.key) if model.by_key else None
            objects.setdefault(key, []).append(_as_seen(operation))
    return {key: _follow(model, calls) for key, calls in objects.items()}


def _as_seen(operation: Operation) -> Operation:
    """The operation as a model is shown it: without an answer where none is known."""
    if operation.outcome is Outcome.OK and operation.completed_ns is not None:
        return operation
    return replace(operation, outcome=Outcome.INFO, output=None, completed_ns=None)


def _follow(model: PersonalModel, calls: list[Operation]) -> Followed:
    """Keeps after each return every pair of a state and the calls that took effect before they returned."""
    returns = sorted((o for o in calls if o.completed_ns is not None), key=_end)
    first = model.init()
    alive: dict[Any, tuple[Any, frozenset[int]]] = {(hashable(first), frozenset()): (first, frozenset())}
    until_ns = -1
    coming = sorted(calls, key=lambda o: o.invoked_ns, reverse=True)
    open_now: list[Operation] = []
    for due in returns:
        open_now = [o for o in open_now if _end(due) <= _end(o)]
        while coming and coming[-1].invoked_ns <= _end(due):
            open_now.append(coming.pop())
        todo = list(alive.values())
        reached = dict(alive)
        while todo:
            state, done = todo.pop()
            for o in open_now:
                if o.index in done:
                    continue
                allowed, after = model.given.step(state, o)
                # What need not happen and changes nothing may as well happen later.
                if not allowed or (o.completed_ns is None and hashable(after) == hashable(state)):
                    continue
                name = (hashable(after), done | {o.index})
                if name not in reached:
                    reached[name] = (after, name[1])
                    todo.append(reached[name])
            if len(reached) > CONFIGURATIONS:
                return Followed(until_ns)
        until_ns = _end(due)
        alive = {}
        for state, done in reached.values():
            if due.index in done:
                rest = done - {due.index}
                alive[hashable(state), rest] = (state, rest)
        if not alive:
            return Followed(until_ns, refuted=True)
    return Followed(_FOREVER)


def _end(operation: Operation) -> int:
    return _FOREVER if operation.completed_ns is None else operation.completed_ns


_Change = tuple[dict[int, Operation | None], tuple[Operation, ...], str]


def _certain(ground: Ground, tries: Iterator[_Change]) -> Iterator[Planting]:
    """Those of the changes that the model certainly forbids."""
    model = PersonalModel(ground.options["model"])
    for changes, who, sentence in islice(tries, ATTEMPTS):
        copy = ground.copy(changes)
        keys = {hashable(o.key) for o in who}
        touched = [o for o in copy.operations if not model.by_key or hashable(o.key) in keys]
        if any(one.refuted for one in follow(model, touched).values()):
            yield Planting(copy, who, sentence)


def _answered(ground: Ground) -> list[Operation]:
    """The operations with an answer that lie where every order can be followed."""
    model = PersonalModel(ground.options["model"])
    followed = follow(model, ground.history.operations)
    return [
        o
        for o in ground.history.operations
        if o.outcome is Outcome.OK
        and o.completed_ns is not None
        and o.completed_ns <= followed[hashable(o.key) if model.by_key else None].until_ns
    ]


def changed_answers(ground: Ground, rng: Random) -> Iterator[Planting]:
    """An operation returned something else, preferably what another of its kind returned."""

    def tries() -> Iterator[_Change]:
        operations = _answered(ground)
        seen: dict[str, dict[Any, Any]] = {}
        for o in operations:
            seen.setdefault(o.kind, {})[hashable(o.output)] = o.output
        for o in shuffled(operations, rng):
            others = [value for name, value in seen[o.kind].items() if name != hashable(o.output)]
            output = rng.choice(others) if others else _another(o.output)
            spoilt = replace(o, output=output)
            yield {o.index: spoilt}, (spoilt,), f"{o.kind} returned {output!r} instead of {o.output!r}"

    return _certain(ground, tries())


def dropped_effects(ground: Ground, rng: Random) -> Iterator[Planting]:
    """An acknowledged operation never happened, and what followed was answered as if it had."""

    def tries() -> Iterator[_Change]:
        for o in shuffled(_answered(ground), rng):
            yield {o.index: None}, (o,), f"the acknowledged {o.kind} {o.input!r} left no trace in the record"

    return _certain(ground, tries())


def swapped_answers(ground: Ground, rng: Random) -> Iterator[Planting]:
    """Two operations of one kind, one after the other, returned what the other should have."""

    def tries() -> Iterator[_Change]:
        by_kind: dict[tuple[str, Any], list[Operation]] = {}
        for o in _answered(ground):
            by_kind.setdefault((o.kind, hashable(o.key)), []).append(o)
        pairs = [
            (one, other)
            for group in by_kind.values()
            for one, other in combinations(group[:60], 2)
            if _end(one) < other.invoked_ns and hashable(one.output) != hashable(other.output)
        ]
        for one, other in shuffled(pairs, rng):
            first, second = replace(one, output=other.output), replace(other, output=one.output)
            words = f"two of {one.kind} exchanged their answers {one.output!r} and {other.output!r}"
            yield {one.index: first, other.index: second}, (first, second), words

    return _certain(ground, tries())


def _another(output: Any) -> Any:
    """Some other value of the kind."""
    if isinstance(output, bool):
        return not output
    if isinstance(output, int | float):
        return output + 1
    if isinstance(output, str):
        return output + "?"
    if isinstance(output, list) and output:
        return output[:-1]
    return 1


_NEEDS = "an answer that the model forbids in every order, among the first operations"

OPERATORS = (
    Operator(
        "changed-answer",
        "an operation returned something that the model forbids there",
        _NEEDS,
        {"linearizable": _is_personal},
        changed_answers,
    ),
    Operator(
        "dropped-effect",
        "an acknowledged operation left no trace, although the model needs it for what followed",
        "an acknowledged operation without which the model forbids what followed",
        {"linearizable": _is_personal},
        dropped_effects,
    ),
    Operator(
        "swapped-answers",
        "two operations of one kind returned what the other should have",
        _NEEDS,
        {"linearizable": _is_personal},
        swapped_answers,
    ),
)
