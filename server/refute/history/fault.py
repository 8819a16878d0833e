"""What was done to the system and the evidence that it landed."""

from __future__ import annotations

import math
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


def finite(reading: Reading) -> Reading:
    """The reading; None for NaN and infinities, which say nothing of how much there was.

    >>> [finite(reading) for reading in (1.5, float("nan"), float("-inf"), "NaN", True)]
    [1.5, None, None, 'NaN', True]
    """
    return None if isinstance(reading, float) and not math.isfinite(reading) else reading


Side = Literal["injector", "victim", "traffic"]
Rule = Literal["increases", "stops", "becomes", "changes", "reaches"]


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal as it was read before, during and after a fault.

    `side` is where it was read: at the mechanism that injects, or at a node that suffers; `traffic` is what
    there was for a fault to hit, and proves nothing. `target` is the node or directed link that it speaks
    of, empty where it speaks of the whole system. `rule` says which change counts: `increases` (a counter
    of dropped bytes), `stops` (`before` and `during` are rates or deltas: work that was there before and is
    not there any more), `becomes` (`during` equals `expected`), `changes` (any difference), `reaches`
    (`during` is at least `expected`, `before` was not). A fault whose signal is `needed` has not landed where
    this one did not move, whatever the others did. `declared` are the words of the plan's own evidence for
    which this reading stands: one of those with the same words has to move.
    """

    side: Side
    name: str
    source: str
    rule: Rule
    before: Reading
    during: Reading
    after: Reading = None
    expected: Reading = None
    target: str = ""
    needed: bool = field(default=False, kw_only=True)
    declared: str = field(default="", kw_only=True)

    @property
    def moved(self) -> bool:
        """Whether the signal changed between before and during in the way that its rule asks for.

        A reading that could not be taken is no evidence, so None never counts as a change; nor does what a
        metric without a value is read as, NaN, which differs even from itself.
        """
        before, during = finite(self.before), finite(self.during)
        if during is None or self.side == "traffic":
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
        if self.rule == "reaches":
            return isinstance(self.expected, int | float) and before < self.expected <= during
        return before > 0 and during == 0

    @property
    def contradicts(self) -> bool:
        """Whether it shows that the fault is not on: work goes on that should have stopped, a state is not
        what it should have become."""
        if finite(self.during) is None or finite(self.before) is None or self.moved or self.side == "traffic":
            return False
        if self.rule == "becomes":
            return self.during != self.expected
        return self.rule == "stops" and not isinstance(self.during, str) and self.during != 0


@dataclass(frozen=True, slots=True)
class Landing:
    """The evidence for one injection; `landed` is computed from the signals, never stored as a claim.

    Where signals name their target, each target is judged by its own: one cut link that is proven says
    nothing of the next, nor of the way back. A target that had nothing to lose is idle: it is named, and
    counts neither way. So it is with the answers of a node that hears no questions any more: they are not
    held because they are never sent. What is sent, and arrives, is never idle.

    What the plan itself declares as evidence has to be seen as well, at one at least of the nodes that each
    declaration stands for: a plan that says by what a fault is felt has not been followed where it was not.
    """

    fault: str
    plane: str
    kind: str
    targets: tuple[str, ...]
    signals: tuple[Signal, ...]
    note: str = ""

    @property
    def landed(self) -> bool:
        """True where a signal at the injector and one at a victim both moved, at every target that was not
        idle, and at one at least."""
        return not self.missing

    @property
    def proven(self) -> tuple[str, ...]:
        """The targets that show the fault from both sides."""
        return tuple(target for target in self._judged if not self._lacks(target))

    @property
    def idle(self) -> tuple[str, ...]:
        """The targets at which there was nothing to hit: no traffic before, or none was sent meanwhile."""
        return tuple(target for target in self._judged if self._was_idle(target))

    @property
    def missing(self) -> tuple[str, ...]:
        """What keeps the fault from being proven, a sentence each; empty where it has landed.

        >>> Landing("f1", "proxy", "partition", ("a->b",), ()).missing
        ('no signal moved at the injector and victim',)
        """
        needed = [f"{s.name} did not move" for s in self.signals if s.needed and not s.moved]
        needed += [f"the plan's evidence did not hold: {words}" for words in self._not_held]
        if not any(signal.target for signal in self.signals):
            sides = {signal.side for signal in self.signals if signal.moved}
            silent = [side for side in ("injector", "victim") if side not in sides]
            return (*needed, *([f"no signal moved at the {' and '.join(silent)}"] if silent else []))
        proven, idle = self.proven, self.idle
        found = [f"{t}: {self._lacks(t)}" for t in self._judged if t not in proven and t not in idle]
        if not proven and not found:
            found = [f"nothing went over {', '.join(idle)}"]
        return (*needed, *found)

    @property
    def _not_held(self) -> list[str]:
        held = {signal.declared for signal in self.signals if signal.moved}
        declared = dict.fromkeys(signal.declared for signal in self.signals if signal.declared)
        return [words for words in declared if words not in held]

    @property
    def _judged(self) -> tuple[str, ...]:
        named = [signal.target for signal in self.signals if signal.target]
        return tuple(dict.fromkeys((*self.targets, *named))) if named else ()

    def _lacks(self, target: str) -> str:
        own = [signal for signal in self.signals if signal.target == target]
        against = next((signal for signal in own if signal.contradicts), None)
        if against:
            return f"{against.name} was {against.during} while it was on"
        sides = {signal.side for signal in own if signal.moved}
        unread = not any(s.side == "victim" and s.during is not None and s.before is not None for s in own)
        if unread and any(s.side == "victim" and not s.target and s.moved for s in self.signals):
            sides.add("victim")  # a state of the system that the plan declares stands in
        silent = [side for side in ("injector", "victim") if side not in sides]
        return f"no signal moved at the {' and '.join(silent)}" if silent else ""

    def _was_idle(self, target: str) -> bool:
        own = [signal for signal in self.signals if signal.target == target]
        if any((s.side == "injector" and s.moved) or (s.side == "victim" and s.contradicts) for s in own):
            return False
        return any(s.side == "traffic" and (s.before == 0 or s.during == 0) for s in own)
