"""What a verdict is decided from: the evidence of each attempt, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from refute.checkers import Validity
from refute.history import Landing

Mode = Literal["run", "control", "rerun"]


@dataclass(frozen=True, slots=True)
class CheckEvidence:
    """What one checker answered on one history, and how it did on copies with planted violations.

    `planted_tried` and `planted_noticed` count those copies; None means that the audit was not made.
    `proves_nothing` is set where no violation could be planted: a history without reads, say.
    """

    checker: str
    valid: Validity
    reason: str = ""
    anomalies: tuple[str, ...] = ()
    planted_tried: int | None = None
    planted_noticed: int | None = None
    proves_nothing: bool = False
    missed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AttemptEvidence:
    """Everything that one attempt left behind, boiled down to what the decision needs.

    `completed` is False where the run was killed or the environment failed; `trouble` says how.
    `diverged` names the step whose expectation was not met, so that the sequence was not followed.
    `vacuous` lists operations that a run needs and this one lacks ("no read succeeded after the faults").
    `planned_faults` counts the injections that the scenario asked for in this attempt.
    `idle_surfaces` are declared surfaces at which no operation succeeded. `heal_failed` are the faults that
    could not be undone, `reruns_of` is the attempt that this one repeats.
    """

    name: str
    mode: Mode
    arm: str = ""
    seed: int = 0
    completed: bool = True
    trouble: str = ""
    diverged: str = ""
    checks: tuple[CheckEvidence, ...] = ()
    landings: tuple[Landing, ...] = ()
    planned_faults: int = 0
    vacuous: tuple[str, ...] = ()
    idle_surfaces: tuple[str, ...] = ()
    heal_failed: tuple[str, ...] = ()
    reruns_of: str | None = None

    @property
    def violated(self) -> bool:
        """Whether a checker found a violation in this attempt's history."""
        return any(check.valid is False for check in self.checks)

    @property
    def landed(self) -> int:
        """How many injections are proven from both sides."""
        return sum(landing.landed for landing in self.landings)


@dataclass(frozen=True, slots=True)
class Demand:
    """What the plan asks of a scenario before it may pass.

    `seeds` runs of each of `arms`, `faults` proven injections in all, a control unless `control` is
    False, and planted violations noticed in at least `planted_share` of the copies. `not_provided` says why
    the plan gives no such budget, where it gives none.
    """

    scenario: str
    budget: Literal["smoke", "hardening", "release"] = "smoke"
    seeds: int = 1
    faults: int = 0
    arms: tuple[str, ...] = ("",)
    control: bool = True
    planted_share: float = 0.95
    not_provided: str = ""


@dataclass(frozen=True, slots=True)
class ScenarioEvidence:
    """A scenario's demand and its attempts, in the order in which they were made."""

    demand: Demand
    attempts: tuple[AttemptEvidence, ...] = field(default=())
