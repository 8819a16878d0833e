"""Makes the run of a failure smaller by running smaller scenarios, and keeping those that still fail."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from refute.errors import InputError, RefuteError
from refute.plan.reader import read_plan
from refute.plan.scenario import Scenario
from refute.plan.smaller import only_failing, smaller_scenarios
from refute.plan.writer import replace_block
from refute.run.attempt import run_attempt
from refute.run.progress import Progress, ProgressEvent, silent
from refute.session.attempt_spec import AttemptSpec
from refute.session.files import write_json, write_text
from refute.session.judge import judge_attempt
from refute.session.record import REDUCTIONS, Session, remove_data
from refute.session.reduced import Failure, failure_of


@dataclass(frozen=True, slots=True)
class RunBudget:
    """How much may be run: so many reruns of each candidate, runs in all, and seconds."""

    reruns: int = 3
    most_runs: int = 60
    time_limit_s: float = 900.0


@dataclass(frozen=True, slots=True)
class Tried:
    """One candidate: what was made smaller, how often it was run, how often it failed, whether it is kept."""

    what: str
    runs: int
    failed: int
    kept: bool
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class SmallerRun:
    """The outcome. `scenario` is the smallest that still failed; `finished`: nothing more can be left out."""

    scenario: Scenario
    folder: Path
    rate: tuple[int, int]
    tried: tuple[Tried, ...]
    finished: bool
    reason: str = ""


@dataclass
class _Reduction:
    """One reduction under way."""

    failure: Failure
    folder: Path
    budget: RunBudget
    progress: Progress
    stop: threading.Event
    began: float = field(default_factory=time.monotonic)
    runs: int = 0
    tried: list[Tried] = field(default_factory=list)

    def spent(self) -> str:
        """What ended, or nothing."""
        if self.stop.is_set():
            return "it was cancelled"
        if self.runs >= self.budget.most_runs:
            return f"{self.budget.most_runs} runs were made"
        if time.monotonic() - self.began >= self.budget.time_limit_s:
            return f"the time limit of {self.budget.time_limit_s:g} s is used up"
        return ""

    def try_out(self, scenario: Scenario, what: str) -> Tried:
        """Runs a candidate until it is decided whether most of its reruns fail as before."""
        failed = runs = 0
        trouble = ""
        needed = self.budget.reruns // 2 + 1
        while failed < needed and runs - failed <= self.budget.reruns - needed and not self.spent():
            self.runs += 1
            runs += 1
            try:
                failed += self._fails(scenario)
            except RefuteError as error:  # a form that the system or the plan does not allow
                trouble = str(error)
                break
        tried = Tried(what, runs, failed, failed >= needed, trouble)
        self.tried.append(tried)
        said = f"failed {failed} of {runs}: {'kept' if tried.kept else 'put back'}"
        self.progress(ProgressEvent(scenario.id, f"run {self.runs}", f"{what}: {trouble or said}"))
        return tried

    def _fails(self, scenario: Scenario) -> bool:
        spec = self.failure.spec.model_copy(
            update={
                "attempt": f"run-{self.runs}",
                "order": self.runs,
                "mode": "rerun",  # no violations are planted: nothing here can become a pass
                "reruns_of": self.failure.spec.attempt,
                "arm": "",
                "scenario": scenario.model_dump(mode="json", by_alias=True),
            }
        )
        folder = self.folder / "runs" / spec.attempt
        folder.mkdir(parents=True)
        spec.write(folder / "spec.yaml")
        try:
            run_attempt(spec, folder, say=lambda _text: None, stop=self.stop)
        finally:
            remove_data(folder)
        checks = judge_attempt(folder).evidence.checks
        wanted = set(self.failure.anomalies)
        return any(check.valid is False and wanted & set(check.anomalies) for check in checks)


def reduce_run(
    session: Session,
    scenario: str,
    budget: RunBudget,
    *,
    progress: Progress = silent,
    stop: threading.Event | None = None,
) -> SmallerRun:
    """Looks for a smaller scenario that fails in the same way, and writes it as a plan that can be run.

    First the arm that failed is run alone; then one thing after the other is left out (see
    `smaller_scenarios`), and stays out where most of `budget.reruns` runs with the same seed still show an
    anomaly of the same name. Greedy, so the outcome is a local minimum; whether nothing more can be left out
    is said. All of it lies in `reductions/<id>/` of the session and is no evidence. Raises InputError where
    the failure does not come again in the first runs.
    """
    failure = failure_of(session, scenario)
    folder = _fresh_folder(session, scenario)
    reduction = _Reduction(failure, folder, budget, progress, stop or threading.Event())
    arm = failure.spec.bound_arm()
    check = next(one for one in failure.spec.read_scenario().check if one.checker == failure.checker)
    best = only_failing(failure.spec.read_scenario(), arm.name, arm.parameters, check)
    last = reduction.try_out(best, "the arm that failed, alone")
    if not last.kept:
        said = last.trouble or reduction.spent() or f"it failed {last.failed} of {last.runs} times"
        raise InputError(f"the failure of {scenario} did not come again: {said}", where=failure.folder)
    smaller = True
    while smaller and not reduction.spent():
        smaller = False
        for candidate in smaller_scenarios(best):
            if reduction.spent():
                break
            tried = reduction.try_out(candidate.scenario, candidate.what)
            if tried.kept:
                best, last, smaller = candidate.scenario, tried, True
                break
    reason = reduction.spent()
    outcome = SmallerRun(best, folder, (last.failed, last.runs), tuple(reduction.tried), not reason, reason)
    _write(session, failure.spec, outcome)
    return outcome


def _fresh_folder(session: Session, scenario: str) -> Path:
    parent = session.folder / REDUCTIONS
    for number in range(1, 1000):
        folder = parent / (scenario if number == 1 else f"{scenario}-{number}")
        if not folder.exists():
            folder.mkdir(parents=True)
            return folder
    raise InputError("too many reductions", where=parent)


def _write(session: Session, spec: AttemptSpec, outcome: SmallerRun) -> None:
    plan = read_plan(session.folder / "plan.md")
    written = outcome.scenario.model_dump(
        mode="json", by_alias=True, exclude_defaults=True, exclude_none=True
    )
    block = yaml.safe_dump(written, sort_keys=False, allow_unicode=True, width=110)
    write_text(outcome.folder / "scenario.yaml", block)
    text = replace_block(plan, plan.scenario_blocks[outcome.scenario.id], block)
    # The plan has moved: what it says of its own folder keeps meaning the folder where it was.
    write_text(outcome.folder / f"{plan.slug}.md", text.replace("{plan_dir}", spec.plan_dir))
    write_json(
        outcome.folder / "reduction.json",
        {
            "note": "a smaller scenario helps to find the cause; no verdict is computed from it",
            "scenario": outcome.scenario.id,
            "seed": spec.seed,
            "rate": list(outcome.rate),
            "finished": outcome.finished,
            "reason": outcome.reason,
            "tried": outcome.tried,
        },
    )
