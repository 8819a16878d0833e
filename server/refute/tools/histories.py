"""Tools on histories: one history, one answer, with the operations that prove it."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from typing import Any

from pydantic import Field

from refute.checkers import CATALOG, Budget, Result, run_check
from refute.history import History, Operation
from refute.history.formats import load
from refute.tools.answer import Answer, Request
from refute.tools.problems import ToolError

_MODELS = (
    *("register", "cas-register", "kv", "counter", "set", "multiset", "queue", "stack", "priority-queue"),
    *("log", "lock", "lease", "transactions"),
)
_MOST_OPERATIONS = 20


class CheckHistoryRequest(Request):
    """A history and what it is to be checked by.

    `model` is a checker's name, a model of `linearizable` (`register`, `kv`, ...), or None: then it is
    chosen by the kinds of operation. `plot` names an .html file that is to show the history, with what the
    checker found lit.
    """

    history: str
    model: str | None = None
    format: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    time_limit_s: float | None = 40.0
    memory_limit_bytes: int | None = 1_500_000_000
    on_bad_line: str = Field(default="error", pattern="^(error|count)$")
    plot: str | None = None


class ShownOperation(Answer):
    """One operation of a counterexample."""

    index: int
    process: int | str
    node: str | None
    kind: str
    key: Any
    input: Any
    output: Any
    outcome: str
    invoked_ns: int
    completed_ns: int | None


class ShownAnomaly(Answer):
    """One violation, in words, and the operations that prove it; `left_out` counts those not shown."""

    name: str
    sentence: str
    operations: list[ShownOperation]
    left_out: int = 0


class CheckedHistory(Answer):
    """The answer: `valid` is true, false or "unknown", and why."""

    history: str
    checker: str
    options: dict[str, Any]
    valid: bool | str
    reason: str
    algorithm: str
    consumed: dict[str, int]
    ignored: dict[str, int]
    assumptions: list[str]
    anomalies: list[ShownAnomaly]
    anomalies_left_out: int = 0
    notes: list[str] = Field(default_factory=list)
    plot: str | None = None


def check_history(request: CheckHistoryRequest) -> CheckedHistory:
    """Checks one history. Raises HistoryError for an unreadable one, CheckerError for no such checker."""
    began = time.monotonic()
    history = load(Path(request.history), request.format, request.on_bad_line)  # type: ignore[arg-type]
    checker, options = chosen_checker(request, history)
    return _checked(request, history, checker, options, began)


def check_history_by(request: CheckHistoryRequest, user_model: str) -> CheckedHistory:
    """Checks one history by a person's own model, `file.py:Class` with `init` and `step`.

    That file is run, so this is for a person at a shell; no tool of the server reaches it.
    """
    began = time.monotonic()
    history = load(Path(request.history), request.format, request.on_bad_line)  # type: ignore[arg-type]
    options = dict(request.options) | {"model": _user_model(user_model)}
    return _checked(request, history, "linearizable", options, began)


def _checked(
    request: CheckHistoryRequest, history: History, checker: str, options: dict[str, Any], began: float
) -> CheckedHistory:
    """The time limit counts from `began`: who waits for an answer waits for the reading, too."""
    if request.plot:
        from refute.session.picture.write import refuse_other_files

        refuse_other_files(Path(request.plot))  # told before a long check, not after it
    limit_s, read_s = request.time_limit_s, time.monotonic() - began
    if limit_s is None:
        budget = Budget(None, request.memory_limit_bytes)
    else:
        read_s = min(read_s, limit_s)
        budget = Budget(limit_s - read_s, request.memory_limit_bytes, read_s)
    result = run_check(checker, history, options, budget=budget)
    if request.plot:
        _plot(Path(request.plot), Path(request.history), history, result)
    shown = _shown(request.history, checker, options, history, result)
    return shown.model_copy(update={"plot": request.plot})


def _plot(plot: Path, source: Path, history: History, result: Result) -> None:
    from refute.session.picture.conflict import conflicts_of
    from refute.session.picture.write import write_picture

    if result.valid == "unknown":
        words = f"cannot tell: {result.reason}"
    else:
        words = "holds" if result.valid else "is violated"
    write_picture(plot, source, history, conflicts_of([result]), answer=f"{result.checker} {words}")


def chosen_checker(request: CheckHistoryRequest, history: History) -> tuple[str, dict[str, Any]]:
    """The checker that a request names or that follows from the kinds, with its options. Raises ToolError."""
    options: dict[str, Any] = dict(request.options)
    name = request.model or _guess({operation.kind for operation in history.operations})
    if name in CATALOG:
        return name, options
    if name in _MODELS:
        return "linearizable", options | {"model": name}
    raise ToolError(
        f"there is no checker or model {name!r}",
        hint=f"checkers: {', '.join(CATALOG)}; models: {', '.join(_MODELS)}",
    )


def _guess(kinds: set[str]) -> str:
    for known, name in (
        ({"txn"}, "list-append"),
        ({"read", "write"}, "register"),
        ({"read", "write", "cas"}, "cas-register"),
        ({"get", "put", "append", "delete", "cas"}, "kv"),
        ({"enqueue", "dequeue", "drain"}, "queue"),
        ({"acquire", "release"}, "lock"),
    ):
        if kinds and kinds <= known:
            return name
    raise ToolError(
        f"no checker follows from the kinds {', '.join(sorted(kinds)) or 'none'}",
        hint="name one with --model",
    )


def _user_model(named: str) -> Any:
    path, _, attribute = named.rpartition(":")
    spec = importlib.util.spec_from_file_location("refute_user_model", path) if path else None
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise ToolError(f"{named!r} is not file.py:Class with a file that exists")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, attribute):
        raise ToolError(f"it has no {attribute!r}", where=path)
    return getattr(module, attribute)


def _shown(
    source: str, checker: str, options: dict[str, Any], history: History, result: Result
) -> CheckedHistory:
    return CheckedHistory(
        history=source,
        checker=checker,
        options={
            key: value if isinstance(value, str | int | bool) else str(value)
            for key, value in options.items()
        },
        valid=result.valid,
        reason=result.reason,
        algorithm=result.algorithm,
        consumed=dict(result.consumed),
        ignored=dict(result.ignored),
        assumptions=list(result.assumptions),
        anomalies=[
            ShownAnomaly(
                name=anomaly.name,
                sentence=anomaly.sentence,
                operations=[
                    shown_operation(operation) for operation in anomaly.operations[:_MOST_OPERATIONS]
                ],
                left_out=max(0, len(anomaly.operations) - _MOST_OPERATIONS),
            )
            for anomaly in result.anomalies[:10]
        ],
        anomalies_left_out=max(0, len(result.anomalies) - 10),
        notes=list(history.completeness.notes),
    )


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | list | dict | None) else str(value)


def shown_operation(operation: Operation) -> ShownOperation:
    """One operation as answers show it."""
    return ShownOperation(
        index=operation.index,
        process=operation.process,
        node=operation.node,
        kind=operation.kind,
        key=operation.key,
        input=operation.input,
        output=operation.output,
        outcome=operation.outcome.value,
        invoked_ns=operation.invoked_ns,
        completed_ns=operation.completed_ns,
    )
