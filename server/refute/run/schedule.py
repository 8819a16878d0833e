"""Runs the fault schedule of a scenario: each fault when the system is in the state that it asks for."""

from __future__ import annotations

import time

from refute.errors import RefuteError
from refute.plan.step import FaultAction
from refute.run.stage import Stage
from refute.session.timeline import Timeline

SETTLE_S = 0.5
HEAL_S = 60.0


def run_schedule(stage: Stage, actions: tuple[FaultAction, ...], timeline: Timeline) -> None:
    """Applies the faults one after the other, each as often as it asks for, until `stage.stop` is set.

    A fault with a duration is waited out before the next; one without stays on and the next is added
    to it. A state that does not come, or a fault that cannot be applied, ends the schedule with a mark:
    the evidence then holds fewer injections than planned, and the verdict says so.
    """
    for action in actions:
        for turn in range(action.repeat):
            _pause(stage, action.after_s if turn == 0 else action.every_s or SETTLE_S)
            if stage.stop.is_set():
                return
            try:
                missing = _once(stage, action)
            except RefuteError as error:
                missing = str(error)
            if missing:
                timeline.mark("step", f"{action.plane}/{action.kind}", f"not applied: {missing}")
                stage.say(f"{action.plane}/{action.kind} not applied: {missing}")
                return


def _once(stage: Stage, action: FaultAction) -> str:
    trigger = None
    if action.when is not None:
        trigger, missing = stage.wait(action.when)
        if trigger is None:
            return missing
    fault = apply_fault(stage, action, trigger)
    if action.for_s is not None:
        # One that cannot be healed stays active; its HEAL_FAILED is on record, and the schedule goes on.
        limit = time.monotonic() + action.for_s + HEAL_S
        while fault in stage.nemesis.active() and time.monotonic() < limit and not stage.stop.is_set():
            time.sleep(0.01)
    return ""


def apply_fault(stage: Stage, action: FaultAction, trigger: object = None) -> str:
    """Resolves the target, binds its alias and applies the fault; returns its id. Raises RefuteError."""
    targets = stage.resolve(action.target) if action.target is not None else ()
    if action.alias and targets:
        stage.aliases[action.alias] = targets[0]
    return stage.nemesis.apply(action, targets, aliases=stage.aliases, trigger=trigger)  # type: ignore[arg-type]


def _pause(stage: Stage, seconds: float) -> None:
    if seconds > 0:
        stage.stop.wait(seconds)
