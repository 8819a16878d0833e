"""The tool that makes a failure smaller: the fewest operations of its history, and a smaller scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from refute.checkers import Budget, Result
from refute.history.formats import load
from refute.run.execute import owner_runs
from refute.session.record import Session
from refute.session.reduced import ReducedNote, failure_of, reduce_and_write
from refute.session.reduced import reduce_failure as reduce_recorded
from refute.tools.answer import Answer, Request
from refute.tools.histories import CheckHistoryRequest, ShownOperation, chosen_checker, shown_operation
from refute.tools.problems import ToolError
from refute.tools.reduction_jobs import ReductionState, reduce_by_rerunning

_MOST_OPERATIONS = 20


class ReduceFailureRequest(Request):
    """A scenario of a session that failed (`session`, `id`), or one `history` and the `model` it violates.

    `rerun` also looks for a smaller scenario in the background, by running smaller ones, each up to `reruns`
    times, within `most_runs` and `run_time_limit_s`: call again with the same arguments to see how far it is.
    """

    session: str | None = None
    id: str | None = None
    history: str | None = None
    model: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    time_limit_s: float = Field(default=30.0, gt=0)
    rerun: bool = False
    reruns: int = Field(default=3, ge=1, le=20)
    most_runs: int = Field(default=60, ge=1, le=1000)
    run_time_limit_s: float = Field(default=900.0, gt=0)

    @model_validator(mode="after")
    def _one_of_both(self) -> ReduceFailureRequest:
        if (self.history is None) == (self.session is None) or (self.session is None) != (self.id is None):
            raise ValueError("name a session and the id of a scenario, or a history")
        if self.rerun and self.session is None:
            raise ValueError("only a scenario of a session can be run again")
        return self


class ReducedFailure(Answer):
    """What is left. `minimal`: no operation can be left out without losing this conflict; else `reason`."""

    sentence: str
    checker: str
    anomaly: str
    operations: list[ShownOperation]
    left_out: int = 0
    of: int
    minimal: bool
    reason: str = ""
    history: str
    picture: str
    smaller: ReductionState | None = None


def reduce_failure(request: ReduceFailureRequest) -> ReducedFailure:
    """Finds the fewest operations that still fail in the same way; writes them and a picture as notes.

    They stand beside the history that they come from, as `reduced.jsonl`, `.html` and `.json`. A verdict is
    never computed from them. Raises ToolError where nothing is violated or the run still goes on.
    """
    budget = Budget(time_limit_s=request.time_limit_s)
    if request.history is not None:
        path = Path(request.history)
        history = load(path)
        asked = CheckHistoryRequest(history=request.history, model=request.model, options=request.options)
        checker, options = chosen_checker(asked, history)
        found: ReducedNote | Result = reduce_and_write(path, history, checker, options, budget)
    else:
        assert request.session is not None
        assert request.id is not None
        session = Session.open(Path(request.session))
        if owner_runs(session):
            raise ToolError(
                "the run is still going on", where=request.session, hint="wait for it, or cancel it"
            )
        failure = failure_of(session, request.id)
        path = failure.folder / "history.jsonl"
        found = reduce_recorded(failure, budget)
        checker = failure.checker
    if isinstance(found, Result):
        said = "holds" if found.valid is True else f"cannot tell: {found.reason}"
        raise ToolError(f"{found.checker} {said}: there is nothing to reduce", where=path)
    smaller = _in_the_background(request) if request.rerun else None
    return _shown(found, checker).model_copy(update={"smaller": smaller})


def _in_the_background(request: ReduceFailureRequest) -> ReductionState:
    assert request.session is not None
    assert request.id is not None
    words = ["--reruns", str(request.reruns), "--most-runs", str(request.most_runs)]
    return reduce_by_rerunning(
        Path(request.session), request.id, [*words, "--run-time-limit", str(request.run_time_limit_s)]
    )


def _shown(note: ReducedNote, checker: str) -> ReducedFailure:
    reduction = note.reduction
    operations = reduction.history.operations
    return ReducedFailure(
        sentence=note.sentence,
        checker=checker,
        anomaly=reduction.anomaly.name,
        operations=[shown_operation(operation) for operation in operations[:_MOST_OPERATIONS]],
        left_out=max(0, len(operations) - _MOST_OPERATIONS),
        of=note.total,
        minimal=reduction.minimal,
        reason=reduction.reason,
        history=str(note.history),
        picture=str(note.picture),
    )
