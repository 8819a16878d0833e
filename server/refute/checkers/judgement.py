"""Collects what a checker finds and turns it into a Result by one rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from refute.checkers.kinds import tally
from refute.checkers.result import Anomaly, Result, Validity
from refute.history import Operation, recorded

MAX_ANOMALIES = 20


class Judgement:
    """What one checker has found so far.

    The rule: a violation makes the result False; where nothing could be judged, or something could
    not, it is unknown with the reasons; else it is True.
    """

    def __init__(self, checker: str, algorithm: str) -> None:
        self._checker = checker
        self._algorithm = algorithm
        self._anomalies: list[Anomaly] = []
        self._counts: Counter[str] = Counter()
        self._cannot: Counter[str] = Counter()
        self.ignored: Counter[str] = Counter()
        self.assumptions: list[str] = []
        self.judged = 0

    def found(self, name: str, sentence: str, operations: Iterable[Operation], **details: Any) -> None:
        """A violation; the first MAX_ANOMALIES are kept with their proof, all are counted."""
        self._counts[name] += 1
        if len(self._anomalies) < MAX_ANOMALIES:
            readable = {what: recorded(value) for what, value in details.items()}
            self._anomalies.append(Anomaly(name, sentence, tuple(operations), readable))

    def cannot(self, reason: str, count: int = 1) -> None:
        """Something that this checker should judge and cannot, and why."""
        self._cannot[reason] += count

    @property
    def anomalies(self) -> Mapping[str, int]:
        """How many violations there are so far, by name."""
        return self._counts

    def result(
        self,
        operations: Iterable[Operation],
        *,
        nothing: str,
        keys: int | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> Result:
        """The Result; `nothing` is the reason where no operation could have shown a violation."""
        valid: Validity = True
        reason = ""
        reasons = [f"{why} ({count})" for why, count in self._cannot.most_common(3)]
        if self._anomalies:
            valid = False
        elif not self.judged:
            valid, reason = "unknown", "; ".join([nothing, *reasons])
        elif reasons:
            valid, reason = "unknown", "; ".join(reasons)
        return Result(
            self._checker,
            valid,
            tally(operations, keys),
            tuple(self._anomalies),
            tuple(self.assumptions),
            {why: count for why, count in self.ignored.items() if count},
            reason,
            self._algorithm,
            {"judged": self.judged, "anomalies": dict(self._counts), **(details or {})},
        )


def overlapping(operations: Iterable[Operation]) -> tuple[Operation, Operation] | None:
    """Two operations of one process in flight at once, which no thread of control can have; O(n)."""
    last: dict[int | str, Operation] = {}
    for operation in operations:
        before = last.get(operation.process)
        if before is not None and (before.completed_ns or 0) > operation.invoked_ns:
            return before, operation
        last[operation.process] = operation
    return None
