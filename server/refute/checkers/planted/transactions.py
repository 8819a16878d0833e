"""Transactions laid out for planting: who wrote what, who read what, and how one answer is changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from refute.checkers.planted.ground import Ground, shuffled
from refute.checkers.planted.operator import Options
from refute.history import Operation, Outcome, hashable


@dataclass(frozen=True)
class Micro:
    """One micro-operation of a transaction: its place, function, key and value."""

    operation: Operation
    place: int
    function: str
    key: Hashable
    value: Any


def micros(operation: Operation) -> list[Micro]:
    """The micro-operations, with what was read where the transaction is known to have committed."""
    answered = operation.outcome is Outcome.OK and operation.output is not None
    given = operation.output if answered else operation.input
    return [Micro(operation, n, m[0], hashable(m[1]), m[2]) for n, m in enumerate(given or ())]


class Transactions:
    """All transactions of a history by what they wrote and read."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.reads: list[Micro] = []
        self.reads_by_key: dict[Hashable, list[Micro]] = defaultdict(list)
        self.writes: dict[Operation | int, list[Micro]] = defaultdict(list)
        self.writers: dict[tuple[Hashable, Hashable], list[Micro]] = defaultdict(list)
        self.by_index: dict[int, list[Micro]] = {}
        for operation in ground.history.operations:
            if operation.kind != "txn" and operation.kind != "transaction":
                continue
            self.by_index[operation.index] = micros(operation)
            for micro in self.by_index[operation.index]:
                if micro.function != "r":
                    self.writers[micro.key, hashable(micro.value)].append(micro)
                    self.writes[operation.index].append(micro)
                elif operation.outcome is Outcome.OK:
                    self.reads.append(micro)
                    self.reads_by_key[micro.key].append(micro)

    def writer(self, key: Hashable, value: Any) -> Micro | None:
        """The only micro-operation that writes this value to this key, or None."""
        found = self.writers.get((key, hashable(value)), ())
        return found[0] if len(found) == 1 else None

    def alone(self, micro: Micro) -> bool:
        """Whether the transaction does nothing else with this key."""
        return sum(other.key == micro.key for other in self.by_index[micro.operation.index]) == 1

    def outer_reads(self) -> Iterator[Micro]:
        """Committed reads of keys that their transaction does not otherwise touch."""
        return (read for read in self.reads if self.alone(read))

    @property
    def key_like(self) -> Any:
        """Some key of the history, so that a new one can be made that looks like it."""
        for operation in self.ground.history.operations:
            for micro in operation.input or ():
                return micro[1]
        return "x"


def lists_read(txns: Transactions, rng: Random, least: int = 1) -> list[Micro]:
    """Reads of lists of at least that length, of keys that their transaction does not write; shuffled."""
    found = [r for r in txns.outer_reads() if isinstance(r.value, list | tuple) and len(r.value) >= least]
    return shuffled(found, rng)


def answered(micro: Micro, value: Any) -> Operation:
    """The transaction with another answer at one place."""
    output = [list(given) for given in micro.operation.output]
    output[micro.place][2] = value
    return replace(micro.operation, output=output)


def forbids(*anomalies: str) -> Callable[[Options], bool]:
    """The predicate for an isolation checker whose model forbids one of these anomalies."""

    def applies(options: Options) -> bool:
        from refute.checkers.transactions.answer import model_named
        from refute.checkers.transactions.models import closure

        model = model_named(str(options.get("model", "serializable")))
        return bool(closure(anomalies) & model.forbids)

    return applies


def breaking(checkers: Iterable[str], *anomalies: str) -> dict[str, Callable[[Options], bool]]:
    """Those checkers, each with the predicate that its model forbids one of the anomalies."""
    return {checker: forbids(*anomalies) for checker in checkers}
