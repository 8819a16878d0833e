"""One attempt, from preparing the planes to stopping the nodes; a phase is on disk before the next begins."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from refute.errors import InputError, RefuteError, UnavailableError
from refute.history import Operation, Outcome, Phase
from refute.nemesis.errors import FaultUnavailableError, NemesisError
from refute.plan.scenario import BoundArm, Budget, Scenario, Workload
from refute.plan.step import FaultAction, FaultStep
from refute.run.directed import run_steps
from refute.run.schedule import run_schedule
from refute.run.stage import Say, Stage
from refute.session.attempt_spec import AttemptSpec
from refute.session.timeline import Timeline
from refute.system.observer import TimedOut
from refute.workload.client import choose_client
from refute.workload.final_reads import final_reads
from refute.workload.generators import kinds_of
from refute.workload.load import run_load
from refute.workload.routing import Router

BASELINE_S = 15.0
RECOVERY_S = 15.0
_LONGEST_S = 3600.0


def run_attempt(spec: AttemptSpec, folder: Path, *, say: Say, stop: threading.Event) -> None:
    """Runs the attempt and leaves its evidence in the folder; nothing of it runs or is on afterwards.

    Trouble that belongs to this attempt (no baseline, an aborted sequence, a failed heal) is written to
    the timeline and judged later. Raises InputError or UnavailableError where the system cannot even be
    started as the plan says, since no further attempt would fare better.
    """
    scenario, system, arm = spec.read_scenario(), spec.read_system(), spec.bound_arm()
    with Timeline(folder / "run.jsonl") as timeline:
        timeline.mark("phase", "prepare")
        performed = False
        try:
            with Stage(
                system,
                folder,
                plan_dir=Path(spec.plan_dir),
                variables=spec.variables,
                seed=spec.seed,
                say=say,
                stop=stop,
                wanted=arm.faults,
                file_system=arm.file_system,
                calls_through=arm.calls_through,
            ) as stage:
                timeline.mark("phase", "start")
                stage.start()
                timeline.mark("phase", "ready")
                _perform(stage, spec, scenario, arm, timeline)
                performed = True
                timeline.mark("phase", "stop")
        except FaultUnavailableError as error:  # the scenario cannot be judged here; others can
            timeline.mark("trouble", type(error).__name__, str(error))
            say(str(error))
            return
        except (InputError, UnavailableError, NemesisError) as error:
            if (
                performed
            ):  # stopping failed: everything was recorded by then, so it is told beside the verdict
                timeline.mark("step", "stop", str(error))
                timeline.mark("phase", "end")
                say(str(error))
                return
            timeline.mark("trouble", type(error).__name__, str(error))
            raise
        except RefuteError as error:
            timeline.mark("trouble", type(error).__name__, str(error))
            say(str(error))
            return
        except BaseException as error:
            timeline.mark("trouble", type(error).__name__, f"{type(error).__name__}: {error}")
            raise
        if stop.is_set():
            timeline.mark("trouble", "cancelled", "the run was cancelled")
        timeline.mark("phase", "end")


def _perform(stage: Stage, spec: AttemptSpec, scenario: Scenario, arm: BoundArm, timeline: Timeline) -> None:
    control = spec.mode == "control" and not scenario.control.omit
    stage.nemesis.watch(scenario.evidence)
    nemesis = () if control else tuple(_with_evidence(action, scenario) for action in arm.nemesis)
    if arm.workload is None:
        stage.recorder.phase = Phase.MAIN
        timeline.mark("phase", "workload")
        _follow(stage, spec, scenario, arm, timeline, control)
    else:
        timeline.mark("phase", "baseline")
        with _Load(stage, arm.workload, spec.seed) as load:
            load.wait_for_each_kind(BASELINE_S, since_ns=0)
            if not load.anything():
                raise RefuteError(f"no operation succeeded in {BASELINE_S:g} s before any fault")
            stage.recorder.phase = Phase.MAIN
            timeline.mark("phase", "workload")
            began = time.monotonic()
            if arm.steps:
                _follow(stage, spec, scenario, arm, timeline, control)
            run_schedule(stage, nemesis, timeline)
            timeline.mark("phase", "heal")
            _heal(stage, timeline)
            load.wait_for_each_kind(RECOVERY_S, since_ns=time.monotonic_ns())
            stage.stop.wait(max(0.0, began + _duration(spec, scenario, arm.workload) - time.monotonic()))
    if stage.stop.is_set():
        return
    timeline.mark("phase", "heal")
    _heal(stage, timeline)
    timeline.mark("phase", "quiesce")
    _quiesce(stage, scenario)
    if scenario.final is not None:
        timeline.mark("phase", "final")
        stage.recorder.phase = Phase.FINAL
        reading = final_reads(
            scenario.final,
            stage.recorder.used_keys(),
            stage.resolve(scenario.final.via),
            stage.system.clients,
            stage.endpoints(),
            stage.recorder,
            stop=stage.stop,
            words=stage.words,
            directory=Path(spec.plan_dir),
        )
        if not reading.complete:
            missing = ", ".join(f"{key} at {node}" for node, key in (*reading.silent, *reading.not_asked)[:5])
            timeline.mark("step", "final reads", f"not answered: {missing}")
            stage.say(f"final reads not answered: {missing}")


def _follow(
    stage: Stage,
    spec: AttemptSpec,
    scenario: Scenario,
    arm: BoundArm,
    timeline: Timeline,
    control: bool,
) -> None:
    steps = tuple(
        step.model_copy(update={"action": _with_evidence(step.action, scenario)})
        if isinstance(step, FaultStep)
        else step
        for step in arm.steps
    )
    unmet = run_steps(stage, steps, timeline, without_faults=control, omitted=spec.omitted())
    if unmet:
        timeline.mark("diverged", "steps", unmet)
        stage.say(unmet)


def _with_evidence(action: FaultAction, scenario: Scenario) -> FaultAction:
    return action if action.evidence else action.model_copy(update={"evidence": scenario.evidence})


def _duration(spec: AttemptSpec, scenario: Scenario, workload: Workload) -> float:
    budget = scenario.budget.get(spec.budget)
    asked = budget.duration if isinstance(budget, Budget) else None
    return workload.duration if asked is None else asked


def _heal(stage: Stage, timeline: Timeline) -> None:
    healed = stage.nemesis.heal("all")
    for fault, left in healed.failed.items():
        timeline.mark("step", "heal", f"{fault} was not healed: {left}")
        stage.say(f"{fault} was not healed: {left}")


def _quiesce(stage: Stage, scenario: Scenario) -> None:
    if scenario.quiesce is not None:
        seen = stage.observer.wait_for(scenario.quiesce, stage.aliases, stop=stage.stop)
        if isinstance(seen, TimedOut):
            raise RefuteError(f"the system did not come to rest: {seen.words}")
    else:
        stage.cluster.wait_ready()


class _Load:
    """Generated load in the background, from its first operation until the context is left."""

    def __init__(self, stage: Stage, workload: Workload, seed: int) -> None:
        self._stage, self._workload, self._seed = stage, workload, seed
        self._over = threading.Event()
        self._succeeded: dict[str, int] = {}
        self._failure: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)

    def __enter__(self) -> _Load:
        self._listening = self._stage.recorder.listening(self._heard)
        self._listening.__enter__()
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._thread.join()
        self._listening.__exit__(None, None, None)
        if self._failure and exception[0] is None:
            raise self._failure[0]

    def wait_for_each_kind(self, timeout_s: float, *, since_ns: int) -> None:
        """Until an operation of each kind, invoked after that time, succeeded; or the time is up."""
        kinds = kinds_of(self._workload)
        limit = time.monotonic() + timeout_s
        while time.monotonic() < limit and self._thread.is_alive() and not self._stage.stop.is_set():
            if all(self._succeeded.get(kind, -1) >= since_ns for kind in kinds):
                return
            time.sleep(0.01)

    def anything(self) -> bool:
        """Whether any operation succeeded so far."""
        return bool(self._succeeded)

    def _heard(self, operation: Operation) -> None:
        if operation.outcome is Outcome.OK:
            self._succeeded[operation.kind] = operation.invoked_ns

    def _run(self) -> None:
        stage, workload = self._stage, self._workload
        try:
            name, client = choose_client(stage.system.clients, workload.client, kinds_of(workload))
            run_load(
                workload,
                client,
                stage.endpoints(),
                Router(stage.system.nodes, seed=self._seed, roles=stage.role),
                stage.recorder,
                seed=self._seed,
                stop=self._over,
                duration_s=_LONGEST_S,
                where=name,
                words=stage.words,
                directory=stage.words["plan_dir"],
                rules=stage.rules,
            )
        except BaseException as error:  # noqa: BLE001 - raised again where the context is left
            self._failure.append(error)
