"""The attempts of one scenario: seeds, arms, reruns of a failure, the control, what a resumed run owes."""

from __future__ import annotations

import threading
from pathlib import Path

from refute.errors import RefuteError
from refute.plan.document import Plan
from refute.run.attempt import run_attempt
from refute.run.progress import Progress, ProgressEvent
from refute.session.attempt_spec import AttemptSpec, demand_of
from refute.session.judge import Judgement, judge_attempt
from refute.session.record import Session, remove_data
from refute.session.verdicts import judge_scenario, write_judgement, write_verdict
from refute.verdict import Decision, Demand

RERUNS = 3


class Series:
    """Runs the attempts of one scenario until the budget is met, and judges each from disk."""

    def __init__(
        self, session: Session, plan: Plan, scenario: str, *, progress: Progress, stop: threading.Event
    ) -> None:
        self._session = session
        self._plan = plan
        self._scenario = plan.scenarios[scenario]
        self._progress = progress
        self._stop = stop
        self._made: dict[tuple[str, str, int, str | None], tuple[AttemptSpec, Judgement]] = {}
        self._order = 0

    def run(self) -> Decision:
        """Makes the attempts that are still owed and returns the verdict, which is on disk by then.

        Each seed runs every arm. At the first violation the same attempt is run again RERUNS times, the
        other arms of its seed still run (a sweep should show where the failure begins), and no further
        seed does. The control takes the arm that failed, else the first. Raises what starting the system
        raises; what was recorded until then stays.
        """
        for folder in self._session.attempts(self._scenario.id):
            self._take_up(folder)
        demand = demand_of(self._scenario, self._session.index.budget)
        if not demand.not_provided:
            try:
                failed = self._runs(demand)
                if demand.control and not self._stop.is_set():
                    self._attempt("control", failed.arm if failed else demand.arms[0], self._seed(0))
            except RefuteError:
                if self._made:  # a violation that was recorded before must not get lost in a later start
                    self.judge()
                raise
        return self.judge()

    def judge(self) -> Decision:
        """The verdict from what is on disk, without running anything."""
        decision, judged = judge_scenario(self._session, self._scenario.id)
        for folder, judgement in judged:
            write_judgement(folder, judgement)
        write_verdict(self._session, self._scenario.id, decision)
        self._say("", f"{decision.verdict}: {decision.reasons[0].sentence}")
        return decision

    def _runs(self, demand: Demand) -> AttemptSpec | None:
        failed: AttemptSpec | None = None
        for number in range(demand.seeds):
            for arm in demand.arms:
                if self._stop.is_set():
                    return failed
                spec, judgement = self._attempt("run", arm, self._seed(number))
                if judgement.evidence.violated and failed is None:
                    failed = spec
                    for again in range(RERUNS):
                        if not self._stop.is_set():
                            self._attempt("rerun", arm, self._seed(number), f"{spec.attempt}#{again + 1}")
            if failed:
                return failed
        return failed

    def _seed(self, number: int) -> int:
        return self._session.index.seed + number

    def _attempt(
        self, mode: str, arm: str, seed: int, again: str | None = None
    ) -> tuple[AttemptSpec, Judgement]:
        key = (mode, arm, seed, again)
        if key in self._made:
            return self._made[key]
        self._order += 1
        index = self._session.index
        spec = AttemptSpec.model_validate(
            {
                "attempt": f"{mode}-{self._order}",
                "order": self._order,
                "mode": mode,
                "seed": seed,
                "arm": arm,
                "budget": index.budget,
                "reruns_of": again.partition("#")[0] if again else None,
                "plan_dir": str(Path(index.plan_path).parent),
                "variables": index.variables,
                "scenario": self._scenario.model_dump(mode="json", by_alias=True),
                "system": self._plan.systems[self._scenario.system].model_dump(mode="json", by_alias=True),
            }
        )
        folder = self._session.attempt_folder(self._scenario.id, arm, spec.attempt)
        folder.mkdir(parents=True)
        spec.write(folder / "spec.yaml")
        title = f"{mode} seed {seed}" + (f" {arm}" if arm else "")
        self._say(spec.attempt, title)
        try:
            run_attempt(spec, folder, say=lambda text: self._say(spec.attempt, text), stop=self._stop)
        finally:
            remove_data(folder)
        judgement = judge_attempt(folder)
        write_judgement(folder, judgement)
        self._say(spec.attempt, _in_words(judgement))
        self._made[key] = (spec, judgement)
        return spec, judgement

    def _take_up(self, folder: Path) -> None:
        """Counts an attempt that an earlier, interrupted run made.

        One that was cut short without showing a violation is set aside and made again; one that shows a
        violation stays, because it is evidence.
        """
        spec = AttemptSpec.read(folder / "spec.yaml")
        self._order = max(self._order, spec.order)
        judgement = judge_attempt(folder)
        if not judgement.evidence.completed and not judgement.evidence.violated:
            aside = self._session.folder / "set-aside" / folder.relative_to(self._session.folder)
            aside.parent.mkdir(parents=True, exist_ok=True)
            folder.rename(aside)
            return
        again = None
        if spec.reruns_of:
            place = sum(mode == "rerun" for mode, *_ in self._made) + 1
            again = f"{spec.reruns_of}#{place}"
        self._made[(spec.mode, spec.arm, spec.seed, again)] = (spec, judgement)

    def _say(self, attempt: str, text: str) -> None:
        self._progress(ProgressEvent(self._scenario.id, attempt, text))


_ANSWERS: dict[object, str] = {True: "holds", False: "VIOLATED", "unknown": "cannot tell"}


def _in_words(judgement: Judgement) -> str:
    evidence = judgement.evidence
    parts = [evidence.trouble or evidence.diverged]
    parts.append(", ".join(f"{check.checker} {_ANSWERS[check.valid]}" for check in evidence.checks))
    if evidence.planned_faults:
        parts.append(f"{evidence.landed} of {evidence.planned_faults} faults landed")
    if tried := sum(check.planted_tried or 0 for check in evidence.checks):
        noticed = sum(check.planted_noticed or 0 for check in evidence.checks)
        parts.append(f"{noticed} of {tried} planted violations noticed")
    return "; ".join(part for part in parts if part)
