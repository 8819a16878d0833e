"""What was done to the system and the evidence that it landed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal


class FaultPhase(StrEnum):
    """The steps in the life of a fault, in order; `HEAL_FAILED` is loud and never hides a verdict."""

    PLANNED = "planned"
    APPLIED = "applied"
    HEALING = "healing"
    HEALED = "healed"
    HEAL_FAILED = "heal-failed"


@dataclass(frozen=True, slots=True)
class FaultEvent:
    """One line of `faults.jsonl`.

    `fault` names the injection (`f1`); `plane` and `kind` name the mechanism (`process`, `pause`);
    `targets` are nodes or directed links (`n1->n2`). `trigger` says what was waited for and, in
    `delay_ns`, how long after that state was seen the fault was on. `time_ns` is of the same
    monotonic clock as the operations.
    """

    fault: str
    phase: FaultPhase
    time_ns: int
    plane: str
    kind: str
    targets: tuple[str, ...]
    epoch: int
    trigger: Mapping[str, Any] | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


Reading = int | float | str | bool | None


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal as it was read before, during and after a fault.

    `side` is where it was read: at the mechanism that injects, or at a node that suffers. `rule`
    says which change counts: `increases` (a counter of dropped bytes), `stops` (`before` and
    `during` are rates or deltas: work that was there before and is not there any more), `becomes`
    (`during` equals `expected`), `changes` (any difference). A fault whose signal is `needed` has not
    landed where this one did not move, whatever the others did.
    """

    side: Literal["injector", "victim"]
    name: str
    source: str
    rule: Literal["increases", "stops", "becomes", "changes"]
    before: Reading
    during: Reading
    after: Reading = None
    expected: Reading = None
    needed: bool = field(default=False, kw_only=True)

    @property
    def moved(self) -> bool:
        """Whether the signal changed between before and during in the way that its rule asks for.

        A reading that could not be taken is no evidence, so None never counts as a change.
        """
        before, during = self.before, self.during
        if during is None:
            return False
        if self.rule == "becomes":
            return self.expected is not None and during == self.expected and before != during
        if before is None:
            return False
        if self.rule == "changes":
            return before != during
        if isinstance(before, str) or isinstance(during, str):
            return False
        if self.rule == "increases":
            return during > before
        return before > 0 and during == 0


@dataclass(frozen=True, slots=True)
class Landing:
    """The evidence for one injection; `landed` is computed from the signals, never stored as a claim."""

    fault: str
    plane: str
    kind: str
    targets: tuple[str, ...]
    signals: tuple[Signal, ...]
    note: str = ""

    @property
    def landed(self) -> bool:
        """True where a signal at the injector and one at a victim moved, and every one that is needed."""
        sides = {signal.side for signal in self.signals if signal.moved}
        return sides == {"injector", "victim"} and not self.missing

    @property
    def missing(self) -> tuple[str, ...]:
        """The needed signals that did not move, by name."""
        return tuple(signal.name for signal in self.signals if signal.needed and not signal.moved)
