"""The records of a Kafka-style history: what was sent where, and what each consumer polled, in order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, NamedTuple

from refute.history import History, Operation, Outcome, hashable, recorded


class Sent(NamedTuple):
    """One record that somebody asked to append; `offset` is None where the answer did not say."""

    operation: Operation
    partition: Hashable
    value: Any
    offset: int | None
    acknowledged: bool

    @property
    def of(self) -> Any:
        """The partition as it was recorded, for people."""
        return recorded(self.partition)


class Polled(NamedTuple):
    """One record that a consumer was handed; its position starts anew with each generation."""

    operation: Operation
    partition: Hashable
    offset: int | None
    value: Any
    generation: int

    @property
    def of(self) -> Any:
        """The partition as it was recorded, for people."""
        return recorded(self.partition)


def records(history: History) -> tuple[list[Sent], list[Polled], list[Operation], int]:
    """What was sent, what was polled, the operations used, and how many answers were no records."""
    sent: list[Sent] = []
    polled: list[Polled] = []
    used: list[Operation] = []
    odd = 0
    generation: dict[int | str, int] = defaultdict(int)
    for operation in history.operations:
        if operation.kind in ("assign", "subscribe", "seek") or operation.extra.get("rebalanced"):
            generation[operation.process] += 1
        steps = _steps(operation)
        if not steps:
            continue
        used.append(operation)
        for function, partition, given in steps:
            if function == "send":
                value, offset = _sent(operation, given)
                acknowledged = operation.outcome is Outcome.OK
                sent.append(Sent(operation, hashable(partition), value, offset, acknowledged))
            elif operation.outcome is Outcome.OK:
                if not isinstance(given, list | tuple | None):
                    odd += 1
                    continue
                for pair in given or ():
                    if not isinstance(pair, list | tuple) or len(pair) != 2 or not isinstance(pair[0], int):
                        odd += 1
                        continue
                    number = generation[operation.process]
                    polled.append(Polled(operation, hashable(partition), pair[0], pair[1], number))
    return sent, polled, used, odd


def _steps(operation: Operation) -> list[tuple[str, Any, Any]]:
    if _in_steps(operation):
        done = operation.outcome is Outcome.OK and operation.output is not None
        steps: list[tuple[str, Any, Any]] = []
        for step in (operation.output if done else operation.input) or ():
            if step[0] == "send":
                steps.append(("send", step[1], step[2]))
            elif step[0] == "poll":
                steps += _polls(step[1] if len(step) > 1 else None, None)
        return steps
    if operation.kind == "send":
        return [("send", operation.key, operation.input)]
    if operation.kind == "poll":
        return list(_polls(operation.output, operation.key))
    return []


def _in_steps(operation: Operation) -> bool:
    """Whether it is a list of steps: a transaction, or a send or poll as Maelstrom and Jepsen write them."""
    asked = operation.input
    return operation.kind in ("txn", "transaction") or (
        operation.kind in ("send", "poll")
        and operation.key is None
        and isinstance(asked, list)
        and bool(asked)
        and all(isinstance(step, list) and step[:1] in (["send"], ["poll"]) for step in asked)
    )


def _polls(output: Any, key: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(output, Mapping):
        for partition, pairs in output.items():
            yield "poll", partition, pairs
    else:
        yield "poll", key, output if isinstance(output, list | tuple) else ()


def _sent(operation: Operation, given: Any) -> tuple[Any, int | None]:
    if _in_steps(operation):
        if operation.outcome is Outcome.OK and isinstance(given, list | tuple) and len(given) == 2:
            return given[1], given[0] if isinstance(given[0], int) else None
        return given, None
    offset = operation.extra.get("offset", operation.output)
    if isinstance(offset, list | tuple) and len(offset) == 2:
        offset = offset[0]
    number = isinstance(offset, int) and not isinstance(offset, bool)
    return given, offset if number and operation.outcome is Outcome.OK else None
