"""Judges an attempt from what is on disk: checks, audits, landing, vacuity, each recomputed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.checkers import Budget, Result, run_check
from refute.checkers.planted import PlantedReport, plant
from refute.history import FaultEvent, FaultPhase, History, Landing, Outcome, Phase
from refute.history.event_reader import read_history
from refute.history.faults_log import read_faults, read_landing
from refute.plan.scenario import Check, Scenario
from refute.plan.step import FaultStep, OperationStep
from refute.session.attempt_spec import AttemptSpec
from refute.session.timeline import Mark, read_timeline
from refute.verdict import ANY, AttemptEvidence, CheckEvidence, Required, lacking

CHECK_BUDGET = Budget(time_limit_s=60.0)
_KINDS_TO_MODEL = (
    (frozenset({"read", "write"}), "register"),
    (frozenset({"read", "write", "cas"}), "cas-register"),
    (frozenset({"get", "put", "append", "delete", "cas"}), "kv"),
    (frozenset({"enqueue", "dequeue"}), "queue"),
    (frozenset({"acquire", "release"}), "lock"),
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The evidence of an attempt, with the full answers of its checkers behind it."""

    evidence: AttemptEvidence
    results: tuple[Result, ...]
    audits: tuple[PlantedReport | None, ...]


def judge_attempt(folder: Path) -> Judgement:
    """Everything that the recorded files of one attempt prove.

    Reads `spec.yaml`, `history.jsonl`, `faults.jsonl`, `landing.json` and `run.jsonl`, and nothing that
    an earlier judgement wrote. An attempt that was killed is judged by what it left: its history may
    still hold a violation. Raises SessionError or HistoryError where a file is damaged.
    """
    spec = AttemptSpec.read(folder / "spec.yaml")
    scenario = spec.read_scenario()
    marks = read_timeline(folder / "run.jsonl")
    history = read_history(folder / "history.jsonl") if (folder / "history.jsonl").is_file() else History(())
    events = read_faults(folder / "faults.jsonl") if (folder / "faults.jsonl").is_file() else ()
    landings = _landings(folder / "landing.json", events)
    answers = [_checked(spec, check, history) for check in scenario.check]
    trouble = next((mark.text for mark in marks if mark.what == "trouble"), "")
    ended = any(mark.what == "phase" and mark.name == "end" for mark in marks)
    evidence = AttemptEvidence(
        name=spec.attempt,
        mode=spec.mode,
        arm=spec.arm,
        seed=spec.seed,
        completed=ended and not trouble,
        trouble=trouble or ("" if ended else f"it ended in phase {_last_phase(marks)}"),
        diverged=next((mark.text for mark in marks if mark.what == "diverged"), ""),
        checks=tuple(_check_evidence(result, audit) for result, audit in answers),
        landings=landings,
        planned_faults=spec.planned_faults(),
        vacuous=lacking(history.operations, events, _required(spec, scenario, history, events)),
        idle_surfaces=_idle_surfaces(scenario, history),
        heal_failed=tuple(event.fault for event in events if event.phase is FaultPhase.HEAL_FAILED),
        reruns_of=spec.reruns_of,
    )
    results, audits = zip(*answers, strict=True) if answers else ((), ())
    return Judgement(evidence, results, audits)


def _checked(spec: AttemptSpec, check: Check, history: History) -> tuple[Result, PlantedReport | None]:
    # Only what holds is tried on planted violations: a checker that has found one needs no proof that it can.
    options = check_options(check.checker, check.options, history)
    result = run_check(check.checker, history, options, budget=CHECK_BUDGET)
    if spec.mode != "run" or result.valid is not True:
        return result, None
    audit = plant(history, check.checker, options, seed=spec.seed, per_operator=3, time_limit_s=None)
    return result, audit


def check_options(checker: str, options: Mapping[str, Any], history: History) -> dict[str, Any]:
    """The options; for `linearizable` and `sequential` with the model that the kinds in the history need."""
    if checker not in ("linearizable", "sequential") or "model" in options:
        return dict(options)
    kinds = {operation.kind for operation in history.operations}
    model = next((model for known, model in _KINDS_TO_MODEL if kinds <= known), "register")
    return {**options, "model": model}


def _landings(path: Path, events: tuple[FaultEvent, ...]) -> tuple[Landing, ...]:
    recorded = read_landing(path) if path.is_file() else ()
    known = {landing.fault for landing in recorded}
    # A fault whose evidence was never written (the run was killed first) did not land, as far as we know.
    silent = (
        Landing(event.fault, event.plane, event.kind, event.targets, ())
        for event in events
        if event.phase is FaultPhase.APPLIED and event.fault not in known
    )
    return recorded + tuple(silent)


def _check_evidence(result: Result, audit: PlantedReport | None) -> CheckEvidence:
    names = tuple(sorted({anomaly.name for anomaly in result.anomalies}))
    if audit is None:
        return CheckEvidence(result.checker, result.valid, result.reason, names)
    return CheckEvidence(
        result.checker,
        result.valid,
        result.reason,
        names,
        planted_tried=audit.tried,
        planted_noticed=audit.noticed,
        proves_nothing=audit.proves_nothing,
        missed=tuple(sorted({missed.operator for missed in audit.missed})),
    )


def _required(
    spec: AttemptSpec, scenario: Scenario, history: History, events: tuple[FaultEvent, ...]
) -> Required:
    arm, asked = spec.bound_arm(), scenario.requires
    loaded = tuple(
        sorted(
            {op.kind for op in history.operations if op.phase is not Phase.FINAL and "step" not in op.extra}
        )
    )
    if arm.workload:
        usual = Required(before=loaded, after=loaded, during_any=bool(events))
    else:
        first_fault = next(
            (place for place, step in enumerate(arm.steps) if isinstance(step, FaultStep)), None
        )
        early = [isinstance(step, OperationStep) for step in arm.steps[:first_fault]]
        usual = Required(before=(ANY,) if any(early) else (), since=(ANY,), during_any=False)
    if spec.mode == "control":
        return Required(before=usual.before, during_any=False)
    return Required(
        before=usual.before if asked.before is None else asked.before,
        during=usual.during if asked.during is None else asked.during,
        after=usual.after if asked.after is None else asked.after,
        since=usual.since,
        during_any=usual.during_any,
    )


def _idle_surfaces(scenario: Scenario, history: History) -> tuple[str, ...]:
    used = {
        str(operation.extra["surface"])
        for operation in history.operations
        if operation.outcome is Outcome.OK and "surface" in operation.extra
    }
    return tuple(surface for surface in scenario.surfaces if surface not in used)


def _last_phase(marks: tuple[Mark, ...]) -> str:
    return next((mark.name for mark in reversed(marks) if mark.what == "phase"), "none")
