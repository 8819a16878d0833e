"""The decision tree: from the evidence of a scenario to one of ten verdicts."""

from __future__ import annotations

from collections.abc import Iterator

from refute.verdict.evidence import AttemptEvidence, CheckEvidence, Demand, ScenarioEvidence
from refute.verdict.names import Decision, Reason, Verdict


def decide(evidence: ScenarioEvidence) -> Decision:
    """The verdict that this evidence supports, with its reasons.

    The questions are asked in this order, and the first that has an answer decides:

    1. Was anything run at all? Else NOT-RUN.
    2. Did a checker find a violation in any history? FAIL, whatever else went wrong: a violation that
       was recorded is evidence even if the fault did not land. How many of the reruns failed says
       whether it is reproducible.
    3. Did every attempt run to its end, by the sequence that was planned? Else INCONCLUSIVE-env.
    4. Did every fault land, and as many as the budget asks for? Else INCONCLUSIVE-fault-not-proven.
    5. Could every checker answer, was there anything to see, and does it notice violations planted in
       these very histories? Else INCONCLUSIVE-oracle-too-weak.
    6. Were all surfaces and all arms exercised? Else PARTIAL-surface, PARTIAL-model.
    7. PASS-hardening where the hardening budget was met with a control beside it, else PASS-smoke.

    A heal that failed is told beside the verdict and changes nothing.
    """
    attempts, demand = evidence.attempts, evidence.demand
    beside = tuple(_beside(attempts))
    if not attempts:
        why = demand.not_provided or "no attempt was made"
        code = "budget-not-provided" if demand.not_provided else "not-run"
        return Decision(Verdict.NOT_RUN, (Reason(code, why),))
    if any(attempt.violated for attempt in attempts):
        return _failure(attempts, beside)
    for verdict, found in (
        (Verdict.INCONCLUSIVE_ENV, _environment(attempts)),
        (Verdict.INCONCLUSIVE_FAULT, _faults(attempts, demand)),
        (Verdict.INCONCLUSIVE_ORACLE, _oracles(attempts, demand)),
        (Verdict.PARTIAL_SURFACE, _surfaces(attempts)),
        (Verdict.PARTIAL_MODEL, _arms(attempts, demand)),
    ):
        if reasons := tuple(found):
            return Decision(verdict, reasons + beside)
    if shortfall := tuple(_short_of_hardening(attempts, demand)):
        return Decision(Verdict.PASS_SMOKE, shortfall + beside)
    return Decision(Verdict.PASS_HARDENING, (_met(attempts, demand), *beside))


def _failure(attempts: tuple[AttemptEvidence, ...], beside: tuple[Reason, ...]) -> Decision:
    first = next(attempt for attempt in attempts if attempt.violated)
    names = sorted({name for check in first.checks if check.valid is False for name in check.anomalies})
    checkers = ", ".join(check.checker for check in first.checks if check.valid is False)
    reasons = [Reason("violation", f"{checkers}: {', '.join(names) or 'violated'} in attempt {first.name}")]
    reruns = [attempt for attempt in attempts if attempt.mode == "rerun" and attempt.reruns_of == first.name]
    judged = [attempt for attempt in reruns if attempt.completed]
    again, tried = sum(attempt.violated for attempt in judged), len(judged)
    controls = [attempt for attempt in attempts if attempt.mode == "control" and attempt.completed]
    if any(attempt.violated for attempt in controls):
        reasons.append(Reason("fails-without-fault", "the control run, without the fault, fails too"))
    elif controls:
        reasons.append(Reason("control-passed", "the control run, without the fault, holds"))
    if not tried:
        reasons.append(Reason("not-rerun", "it was not run again, so its rate is unknown"))
        return Decision(Verdict.FAIL_NONDETERMINISTIC, tuple(reasons) + beside)
    rate = Reason("rerun-rate", f"{again} of {tried} reruns with the same seed failed too")
    # More often than not is what lets somebody debug it; the exact rate stands beside the verdict.
    verdict = Verdict.FAIL_REPRODUCIBLE if 2 * again > tried else Verdict.FAIL_NONDETERMINISTIC
    return Decision(verdict, (reasons[0], rate, *reasons[1:], *beside), rate=(again, tried))


def _environment(attempts: tuple[AttemptEvidence, ...]) -> Iterator[Reason]:
    for attempt in attempts:
        if not attempt.completed:
            yield Reason("incomplete", f"attempt {attempt.name} did not end: {attempt.trouble or 'killed'}")
        elif attempt.diverged:
            yield Reason("sequence-not-followed", f"attempt {attempt.name}: {attempt.diverged}")


def _faults(attempts: tuple[AttemptEvidence, ...], demand: Demand) -> Iterator[Reason]:
    runs = [attempt for attempt in attempts if attempt.mode == "run"]
    for attempt in runs:
        for landing in attempt.landings:
            if not landing.landed:
                what = f"{landing.plane}/{landing.kind} at {', '.join(landing.targets)}"
                yield Reason("not-landed", f"attempt {attempt.name}: {what}: {_few(landing.missing)}")
        if len(attempt.landings) < attempt.planned_faults:
            counted = f"{len(attempt.landings)} of {attempt.planned_faults} planned faults were applied"
            yield Reason("not-applied", f"attempt {attempt.name}: {counted}")
    landed = sum(attempt.landed for attempt in runs)
    if landed < demand.faults:
        yield Reason(
            "too-few-faults", f"{landed} proven faults; the {demand.budget} budget asks for {demand.faults}"
        )


def _oracles(attempts: tuple[AttemptEvidence, ...], demand: Demand) -> Iterator[Reason]:
    for attempt in attempts:
        if not attempt.checks:
            yield Reason("no-check", f"attempt {attempt.name}: no checker ran")
        for check in attempt.checks:
            if check.valid == "unknown":
                why = check.reason or "no reason given"
                yield Reason("unknown", f"attempt {attempt.name}: {check.checker} cannot tell: {why}")
    for attempt in attempts:
        if attempt.mode != "run":
            continue
        for lack in attempt.vacuous:
            yield Reason("vacuous", f"attempt {attempt.name}: {lack}")
        for check in attempt.checks:
            if check.valid != "unknown":
                yield from _planted(attempt, check, demand)


def _planted(attempt: AttemptEvidence, check: CheckEvidence, demand: Demand) -> Iterator[Reason]:
    where = f"attempt {attempt.name}: {check.checker}"
    if check.planted_tried is None or check.planted_noticed is None:
        yield Reason("not-calibrated", f"{where} was not tried on planted violations")
    elif check.proves_nothing or check.planted_tried == 0:
        yield Reason("proves-nothing", f"{where}: no violation could be planted in this history")
    elif check.planted_noticed < demand.planted_share * check.planted_tried:
        counted = f"noticed {check.planted_noticed} of {check.planted_tried} planted violations"
        yield Reason("planted-missed", f"{where} {counted}; missed: {', '.join(check.missed)}")


def _surfaces(attempts: tuple[AttemptEvidence, ...]) -> Iterator[Reason]:
    runs = [attempt for attempt in attempts if attempt.mode == "run"]
    idle = set.intersection(*(set(attempt.idle_surfaces) for attempt in runs)) if runs else set()
    for surface in sorted(idle):
        yield Reason("surface-not-exercised", f"no operation succeeded at surface {surface}")


def _arms(attempts: tuple[AttemptEvidence, ...], demand: Demand) -> Iterator[Reason]:
    done = {attempt.arm for attempt in attempts if attempt.mode == "run"}
    for arm in demand.arms:
        if arm not in done:
            yield Reason("arm-not-run", f"arm {arm or 'main'} was not run")


def _short_of_hardening(attempts: tuple[AttemptEvidence, ...], demand: Demand) -> Iterator[Reason]:
    if demand.budget == "smoke":
        yield Reason("smoke-budget", "the smoke budget was asked for")
    if demand.control and not any(attempt.mode == "control" for attempt in attempts):
        yield Reason("no-control", "there was no control run beside it")
    for arm in demand.arms:
        seeds = {attempt.seed for attempt in attempts if attempt.mode == "run" and attempt.arm == arm}
        if len(seeds) < demand.seeds:
            counted = f"{len(seeds)} of {demand.seeds} seeds were run"
            yield Reason("too-few-seeds", f"arm {arm}: {counted}" if arm else counted)


def _met(attempts: tuple[AttemptEvidence, ...], demand: Demand) -> Reason:
    runs = [attempt for attempt in attempts if attempt.mode == "run"]
    tried = sum(check.planted_tried or 0 for attempt in runs for check in attempt.checks)
    noticed = sum(check.planted_noticed or 0 for attempt in runs for check in attempt.checks)
    landed = sum(attempt.landed for attempt in runs)
    sentence = (
        f"{len(runs)} runs, {landed} faults proven from both sides, "
        f"{noticed} of {tried} planted violations noticed, no violation found"
    )
    return Reason(f"{demand.budget}-budget-met", sentence)


def _beside(attempts: tuple[AttemptEvidence, ...]) -> Iterator[Reason]:
    for attempt in attempts:
        for fault in attempt.heal_failed:
            yield Reason("heal-failed", f"attempt {attempt.name}: fault {fault} could not be undone")


def _few(sentences: tuple[str, ...]) -> str:
    more = f" and {len(sentences) - 3} more" if len(sentences) > 3 else ""
    return "; ".join(sentences[:3]) + more
