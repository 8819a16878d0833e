"""Runs the steps of a directed scenario, exactly in order, and says where the sequence was left."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from refute.errors import RefuteError
from refute.plan.step import (
    AwaitStep,
    CommandStep,
    FaultStep,
    HealStep,
    OperationStep,
    SleepStep,
    Step,
)
from refute.run.schedule import apply_fault
from refute.run.stage import Stage
from refute.session.timeline import Timeline
from refute.system.command import CommandResult
from refute.workload.directed import Sent


def run_steps(
    stage: Stage,
    steps: Sequence[Step],
    timeline: Timeline,
    *,
    without_faults: bool = False,
    omitted: frozenset[str | None] = frozenset(),
) -> str:
    """Runs the steps; returns "" or the sentence that says which expectation was not met, and how.

    `without_faults` is the control: faults and their undoing are left out, aliases are bound all the same,
    and so are waits for what only a fault brings about (`leader: not old`). Steps whose label is in
    `omitted` are left out too.
    """
    background: list[tuple[str, Future[Sent]]] = []
    bound_by_faults: set[str] = set()
    for place, step in enumerate(steps):
        title = f"step {place + 1} ({_title(step)})"
        if stage.stop.is_set():
            return f"{title}: stopped"
        if step.label is not None and step.label in omitted:
            timeline.mark("step", title, "left out")
            continue
        if without_faults and _belongs_to_faults(step, bound_by_faults):
            _bind(stage, step, bound_by_faults)
            timeline.mark("step", title, "left out in the control")
            continue
        timeline.mark("step", title)
        try:
            unmet = _run(stage, step, title, background)
        except RefuteError as error:
            unmet = str(error)
        if unmet:
            return f"{title}: {unmet}"
    for title, future in background:
        sent = future.result()
        if not sent.met:
            return f"{title}: {sent.reason}"
    return ""


def _run(stage: Stage, step: Step, title: str, background: list[tuple[str, Future[Sent]]]) -> str:
    match step:
        case AwaitStep():
            seen, missing = stage.wait(step.condition)
            return "" if seen is not None else f"did not come: {missing}"
        case SleepStep():
            stage.stop.wait(step.seconds)
        case FaultStep():
            apply_fault(stage, step.action)
        case HealStep():
            return _heal(stage, step)
        case CommandStep():
            node = stage.resolve(step.node)[0] if step.node else None
            return _command(step, stage.cluster.run_command(step.command, node, step.arguments, step.timeout))
        case OperationStep():
            nodes = stage.resolve(step.via)
            if step.background:
                background.append((title, stage.clients.start_operation(step, nodes, stop=stage.stop)))
                return ""
            sent = stage.clients.run_operation(step, nodes, stop=stage.stop)
            return "" if sent.met else sent.reason
    return ""


def _heal(stage: Stage, step: HealStep) -> str:
    target = step.target
    if target != "all" and target not in stage.system.everyone:
        target = stage.aliases.get(target, target)
        if target in stage.system.states:
            target = stage.resolve(target)[0]
    healed = stage.nemesis.heal(target, version=step.version)
    return "; ".join(f"{fault} was not healed: {left}" for fault, left in healed.failed.items())


def _command(step: CommandStep, result: CommandResult) -> str:
    came_out = "ok" if result.exit_code == 0 else "fail"
    if step.expect in ("any", came_out):
        return ""
    said = (result.errors or result.output).strip()[-200:]
    return f"{step.command} ended with {result.exit_code}: {said}"


def _belongs_to_faults(step: Step, bound: set[str]) -> bool:
    if isinstance(step, FaultStep | HealStep):
        return True
    if isinstance(step, AwaitStep):
        wanted = (word.removeprefix("not ") for word in step.condition.roles.values())
        return any(word in bound for word in wanted)
    return False


def _bind(stage: Stage, step: Step, bound: set[str]) -> None:
    if isinstance(step, FaultStep) and step.action.alias and step.action.target:
        stage.aliases[step.action.alias] = stage.resolve(step.action.target)[0]
        bound.add(step.action.alias)


def _title(step: Step) -> str:
    if isinstance(step, OperationStep):
        return f"{step.kind} via {step.via}"
    if isinstance(step, FaultStep):
        return f"{step.action.kind} {step.action.target or ''}".strip()
    if isinstance(step, HealStep):
        return f"{step.how} {step.target}"
    return step.verb
