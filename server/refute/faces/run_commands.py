"""The commands that run plans and look at their sessions."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from refute import resources
from refute.faces.shell import exit_code, pairs, show, value
from refute.tools.problems import ToolError


def demo(given: argparse.Namespace) -> int:
    """The whole job on the bundled store; with `--fixed` 1 where anything fails, else 2 only if cut short."""
    plan = resources.folder("testing-plans") / "quorumkv.md"
    variables = {"release": "--next"} if given.fixed else {}
    session = _running(plan, given, budget="hardening", variables=variables, parallel=2)
    _show_session(given, session)
    verdicts = [entry.verdict for entry in session.index.scenarios.values()]
    if given.fixed:
        return int(any(verdict.startswith("FAIL") for verdict in verdicts))
    return 0 if session.index.state == "complete" else 2


def run(given: argparse.Namespace) -> int:
    """Runs a plan or goes on with a session: 0 all passed, 1 something failed, 2 neither."""
    if (given.plan is None) == (given.resume is None):
        raise ToolError("name a plan, or a session to --resume")
    variables = dict(pairs(given.var))
    session = _running(given.plan, given, given.budget, variables, given.parallel)
    _show_session(given, session)
    if given.plan is not None:
        _show_what_stands_in(given.plan)
    return exit_code([entry.verdict for entry in session.index.scenarios.values()])


def _running(
    plan: Path | None, given: argparse.Namespace, budget: Any, variables: dict[str, str], parallel: int
) -> Any:
    from refute.run.execute import resume_session, run_plan
    from refute.run.progress import ProgressEvent

    stop, began = threading.Event(), time.monotonic()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    stream = sys.stderr if given.json or given.handler is run else sys.stdout

    def tell(event: ProgressEvent) -> None:
        where = f"{event.scenario} {event.attempt}".strip()
        print(f"{time.monotonic() - began:6.1f}s {where}: {event.text}", file=stream, flush=True)

    if plan is None:
        return resume_session(
            given.resume, parallel=parallel, judge_only=given.judge, progress=tell, stop=stop
        )
    return run_plan(
        plan,
        scenarios=getattr(given, "scenario", ()),
        budget=budget,
        seed=getattr(given, "seed", 1),
        session_root=given.session_root,
        variables=variables,
        parallel=parallel,
        progress=tell,
        stop=stop,
    )


def _show_session(given: argparse.Namespace, session: Any) -> None:
    from refute.tools.runs import RunRequest, get_run

    state = get_run(RunRequest(session=str(session.folder)))
    if given.json:
        print(state.model_dump_json(indent=2))
        return
    print()
    for scenario in state.scenarios:
        rate = f" ({scenario.rate} reruns)" if scenario.rate else ""
        print(f"{scenario.id:4} {scenario.verdict + rate:44} {scenario.name}")
        print(f"     {scenario.why}")
    print(f"\nsession {state.state}: {state.session}\nreport: {state.report}")


def _show_what_stands_in(plan: Path) -> None:
    """Says how many findings a plan has that was run: a PASS of a plan that is wrong is worth little."""
    from refute.tools.plans import CheckPlanRequest, check_plan

    checked = check_plan(CheckPlanRequest(plan=str(plan)))
    if checked.errors or checked.warnings:
        print(
            f"the plan has {checked.errors} errors and {checked.warnings} warnings, which say what a verdict "
            f"of it is worth: refute plan check {plan}",
            file=sys.stderr,
        )


def verify_session(given: argparse.Namespace) -> int:
    """Recomputes a session: 0 it is what it says, 2 so but something is undecided, 1 it is not."""
    from refute.tools.runs import RunRequest, verify

    answer = verify(RunRequest(session=given.session))
    show(given, answer)
    if not answer.verified:
        return 1
    # A true record of a failure is accepted; 2 says that something in it is undecided.
    return 0 if all(verdict.startswith(("PASS", "FAIL")) for verdict in answer.verdicts.values()) else 2


def report(given: argparse.Namespace) -> int:
    """Verifies a session and writes its report where only that is missing."""
    from refute.tools.runs import RunRequest, write_report

    answer = write_report(RunRequest(session=given.session))
    show(given, answer)
    return 0 if answer.verified else 1


def reduce(given: argparse.Namespace) -> int:
    """Makes a failure smaller, of a session or of one history; 0 where a smaller one was written."""
    from refute.tools.reductions import ReduceFailureRequest, reduce_failure

    of_session = given.id is not None
    request = ReduceFailureRequest(
        session=given.where if of_session else None,
        id=given.id,
        history=None if of_session else given.where,
        model=given.model,
        options={name: value(text) for name, text in pairs(given.option)},
        time_limit_s=given.time_limit,
    )
    answer = reduce_failure(request)
    if given.rerun:
        answer = answer.model_copy(update={"smaller": _smaller(given)})
    show(given, answer)
    return 0


def _smaller(given: argparse.Namespace) -> Any:
    from refute.run.reduction import RunBudget, reduce_run
    from refute.session.record import Session
    from refute.tools.reduction_jobs import shown_outcome

    if given.id is None:
        raise ToolError("only a scenario of a session can be run again")
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    outcome = reduce_run(
        Session.open(Path(given.where)),
        given.id,
        RunBudget(given.reruns, given.most_runs, given.run_time_limit),
        progress=lambda event: print(f"{event.attempt}: {event.text}", file=sys.stderr, flush=True),
        stop=stop,
    )
    return shown_outcome(outcome.folder)


def status(given: argparse.Namespace) -> int:
    """How far a run is."""
    from refute.tools.runs import RunRequest, get_run

    show(given, get_run(RunRequest(session=given.session)))
    return 0


def cancel(given: argparse.Namespace) -> int:
    """Stops a run in order."""
    from refute.tools.runs import RunRequest, cancel_run

    show(given, cancel_run(RunRequest(session=given.session)))
    return 0
