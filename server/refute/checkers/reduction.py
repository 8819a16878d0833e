"""Reduces a violated history to the fewest operations that the same checker rejects for the same conflict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refute.checkers.catalog import run_check
from refute.checkers.minimal import minimise
from refute.checkers.result import Anomaly, Budget, Result
from refute.checkers.spending import Meter
from refute.history import History, Operation

_MOST_TESTS = 2000
_SHRINK_THEIR_PROOFS = ("linearizable", "sequential")


@dataclass(frozen=True, slots=True)
class Reduction:
    """What is left of a history.

    `history` is the part that is kept; its operations have the indexes that they have in the whole.
    `result` is what the checker answers for that part, `anomaly` the conflict in it. `minimal` says that
    without any one of the operations this conflict, with these operations as its proof, would not be
    reported; where it is False, `reason` says what ended the search. `tests` counts runs of the checker.
    """

    history: History
    result: Result
    anomaly: Anomaly
    minimal: bool
    reason: str
    tests: int


def reduce_history(
    history: History,
    checker: str,
    options: Mapping[str, Any] | None = None,
    *,
    budget: Budget | None = None,
    place: int = 0,
) -> Reduction | Result:
    """The part of a history that still fails in the same way, or the checker's answer where it has none.

    "In the same way" is meant strictly, because leaving out an operation can make a legal history illegal
    (a read whose write is gone reads from nowhere; a lost write whose last read is gone looks lost). So a
    part counts only where the checker reports in it the very conflict that it reports in the whole: the
    same name, the same operations as its proof, the same words for it (see `same_conflict`). Those
    operations are never left out one by one. Checkers that shrink a proof soundly but in limited time
    (linearizable, sequential) may shrink it further once it stands alone. The rest goes by delta
    debugging, O(n^2) runs of the checker at worst, O(log n) where few operations matter. `place` chooses
    among the anomalies.

    Zeller and Hildebrandt, 2002, "Simplifying and Isolating Failure-Inducing Input".
    """
    meter = Meter(budget or Budget())
    search = _Search(history, checker, dict(options or {}), meter)
    whole = run_check(checker, history, options, budget=meter.left)
    search.tests = 1
    if whole.valid is not False or not 0 <= place < len(whole.anomalies):
        return whole
    target = whole.anomalies[place]
    if not target.operations:
        reason = "the checker names no operations as its proof, so none can be told from the others"
        return Reduction(history, whole, target, False, reason, search.tests)
    return search.reduce(whole, target)


def part_of(history: History, operations: Sequence[Operation]) -> History:
    """A history of these operations of another, in their order, with its faults and its clock."""
    ordered = sorted(operations, key=lambda operation: operation.index)
    return History(tuple(ordered), history.faults, history.completeness, history.clock, history.source)


class _Search:
    """One reduction under way: the best part so far, and what has been spent."""

    def __init__(self, history: History, checker: str, options: dict[str, Any], meter: Meter) -> None:
        self._history, self._checker, self._options, self._meter = history, checker, options, meter
        self.tests = 0
        self._spent = ""
        self._found: tuple[Result, Anomaly]

    def reduce(self, whole: Result, target: Anomaly) -> Reduction:
        """Proof alone, where that fails already; else the proof and the fewest others."""
        kept = list(self._history.operations)
        self._found = whole, target
        proof = list(target.operations)
        while len(proof) < len(kept) and self._fails_alone(proof):
            # Standing alone, a proof may turn out to be longer than it need be.
            kept, proof = proof, list(self._found[1].operations)
        pinned = {operation.index for operation in proof}
        rest = [operation for operation in kept if operation.index not in pinned]
        if rest:
            rest = self._fewest(proof, rest)
        result, anomaly = self._found
        part = part_of(self._history, [*proof, *rest])
        return Reduction(part, result, anomaly, not self._spent, self._spent, self.tests)

    def _fewest(self, proof: list[Operation], rest: list[Operation]) -> list[Operation]:
        touched = {str(key) for operation in proof for key in keys_of(operation)}
        near = [op for op in rest if touched & {str(key) for key in keys_of(op)}]
        if len(near) < len(rest) and self._fails([*proof, *near], proof):
            rest = near
        if not rest:
            return []
        kept = minimise(
            rest, lambda some: self._fails([*proof, *some], proof), self._meter.left, max_tests=_MOST_TESTS
        )
        self._note_budget()
        return list(kept)

    def _fails_alone(self, operations: Sequence[Operation]) -> bool:
        """Whether these alone are rejected for the same conflict."""
        exactly = self._checker not in _SHRINK_THEIR_PROOFS
        return self._try(operations, {operation.index for operation in operations}, exactly=exactly)

    def _fails(self, operations: Sequence[Operation], proof: Sequence[Operation]) -> bool:
        return self._try(operations, {operation.index for operation in proof}, exactly=True)

    def _try(self, operations: Sequence[Operation], proof: set[int], *, exactly: bool) -> bool:
        self._note_budget()
        if self._spent:
            return False
        self.tests += 1
        part = part_of(self._history, operations)
        result = run_check(self._checker, part, self._options, budget=self._meter.left)
        for anomaly in result.anomalies if result.valid is False else ():
            within = proof_of(anomaly) <= proof and anomaly.name == self._found[1].name
            if same_conflict(anomaly, self._found[1]) if exactly else within:
                self._found = result, anomaly
                return True
        return False

    def _note_budget(self) -> None:
        limit = self._meter.budget.time_limit_s
        if limit is not None and self._meter.elapsed_s >= limit:
            self._spent = f"the time limit of {limit:g} s is used up"
        elif self.tests >= _MOST_TESTS:
            self._spent = f"{_MOST_TESTS} parts were tried"


def proof_of(anomaly: Anomaly) -> frozenset[int]:
    """The indexes of the operations that prove an anomaly."""
    return frozenset(operation.index for operation in anomaly.operations)


def same_conflict(one: Anomaly, other: Anomaly) -> bool:
    """Whether two anomalies are one conflict: name, operations, and the edges or the words that say why.

    A cycle may be told from any of its edges on, so of one that has edges those are compared.
    """
    edges, others = one.details.get("edges"), other.details.get("edges")
    if edges and others:
        why = sorted(map(str, edges)) == sorted(map(str, others))
    else:
        why = one.sentence == other.sentence
    return why and one.name == other.name and proof_of(one) == proof_of(other)


def keys_of(operation: Operation) -> list[Any]:
    """The keys that an operation touches; those of its micro-operations where it is a transaction."""
    if operation.key is None and isinstance(operation.input, list | tuple):
        return [
            micro[1] for micro in operation.input if isinstance(micro, list | tuple) and len(micro) in (2, 3)
        ] or [None]
    return [operation.key]


def in_words(reduction: Reduction, total: int) -> str:
    """The sentence on a reduction, with what it does not claim."""
    count = len(reduction.history)
    said = f"{count} of {total} operations are enough: {reduction.anomaly.sentence.rstrip('.')}."
    if reduction.minimal:
        return f"{said} None of them can be left out without losing this conflict."
    return f"{said} It may be reducible further: {reduction.reason}."
