"""How a checker did on copies with planted violations."""

from __future__ import annotations

from dataclasses import dataclass

from refute.checkers.result import Validity
from refute.history import Operation


@dataclass(frozen=True)
class Missed:
    """A planted violation that the checker did not notice, with what it answered instead."""

    operator: str
    sentence: str
    operations: tuple[Operation, ...]
    answer: Validity
    reason: str


@dataclass(frozen=True)
class OperatorReport:
    """What one operator planted: how often, how often it was noticed, or why it found no place."""

    operator: str
    tried: int
    noticed: int
    no_place: str = ""


@dataclass(frozen=True)
class PlantedReport:
    """How much of what was planted a checker noticed.

    `proves_nothing` is set where no violation could be planted at all: the history could not have
    shown one, so that the checker's silence says nothing. `reason` says why. `unfinished` is set
    where the time ran out before every operator had had its turns.
    """

    checker: str
    seed: int
    operators: tuple[OperatorReport, ...]
    missed: tuple[Missed, ...]
    proves_nothing: bool
    reason: str = ""
    unfinished: bool = False

    @property
    def tried(self) -> int:
        """How many violations were planted."""
        return sum(report.tried for report in self.operators)

    @property
    def noticed(self) -> int:
        """How many of them the checker noticed."""
        return sum(report.noticed for report in self.operators)

    @property
    def share(self) -> float | None:
        """The share that was noticed; None where nothing was planted."""
        return self.noticed / self.tried if self.tried else None
