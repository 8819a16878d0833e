"""Every checker by name: what it proves, what it needs of a history, and where its function lives."""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from refute.checkers.result import Budget, Result
from refute.errors import InputError
from refute.history import History, Outcome
from refute.history.columns import OperationTable


class CheckerError(InputError):
    """A checker was asked for that does not exist, or with options that it does not take."""


@dataclass(frozen=True, slots=True)
class CheckerEntry:
    """One row of the catalog.

    `function` is `module:name` below `refute.checkers`, imported on first use; it has the signature
    `(history: History, *, budget: Budget, **options) -> Result`. `properties` are the claim
    categories that it can falsify; `kinds` the kinds of operation that it consumes; `fields` what
    operations must carry beyond the usual (`extra.token`); `options` the accepted option names
    with a word on each.
    """

    name: str
    summary: str
    function: str
    properties: tuple[str, ...]
    kinds: tuple[str, ...]
    fields: tuple[str, ...] = ()
    options: Mapping[str, str] | None = None


CATALOG: dict[str, CheckerEntry] = {}


def register(*entries: CheckerEntry) -> None:
    """Adds rows to the catalog; a name that is there already is a programming error."""
    for entry in entries:
        if entry.name in CATALOG:
            raise ValueError(f"checker {entry.name} registered twice")
        CATALOG[entry.name] = entry


def entry_for(name: str) -> CheckerEntry:
    """The row of that name. Raises CheckerError with the nearest names."""
    try:
        return CATALOG[name]
    except KeyError:
        near = difflib.get_close_matches(name, CATALOG, n=3, cutoff=0.4)
        hint = f"did you mean {', '.join(near)}?" if near else f"there are: {', '.join(sorted(CATALOG))}"
        raise CheckerError(f"there is no checker {name!r}", hint=hint) from None


def run_check(
    name: str, history: History, options: Mapping[str, Any] | None = None, *, budget: Budget | None = None
) -> Result:
    """Runs one checker; whatever goes wrong inside it is an `unknown` result with the reason.

    Zero consumed operations are unknown too: a checker that saw nothing proves nothing.
    Raises CheckerError for an unknown name or option.
    """
    entry = entry_for(name)
    options = dict(options or {})
    unknown = sorted(set(options) - set(entry.options or {}))
    if unknown:
        known = ", ".join(entry.options or {}) or "none"
        raise CheckerError(f"checker {name} takes no option {unknown[0]!r}", hint=f"it takes: {known}")
    backwards = _backwards(history)
    if backwards:
        return Result(name, "unknown", reason=backwards)
    module, _, attribute = entry.function.partition(":")
    check: Callable[..., Result] = getattr(importlib.import_module(f"refute.checkers.{module}"), attribute)
    try:
        result = check(history, budget=budget or Budget(), **options)
    except CheckerError:
        raise
    except MemoryError:
        return Result(name, "unknown", reason="out of memory")
    except Exception as error:  # noqa: BLE001 - an oracle that crashed has no opinion; it must not pass or fail
        where = inspect.trace()[-1]
        return Result(
            name, "unknown", reason=f"{type(error).__name__}: {error} ({where.function}:{where.lineno})"
        )
    if result.valid is True and not any(result.consumed.values()):
        return Result(name, "unknown", reason="the history holds no operation that this checker consumes")
    return result


def _backwards(history: History) -> str:
    """Why the times of a history in memory can be no evidence, in words; readers of files see to theirs."""
    if isinstance(history.operations, OperationTable):
        return ""
    for operation in history.operations:
        end = operation.completed_ns
        if end is not None and end < operation.invoked_ns:
            return (
                f"operation {operation.index} completed at {end} ns, before it was invoked at "
                f"{operation.invoked_ns} ns: the times can be no evidence"
            )
        if end is None and operation.outcome is Outcome.OK:
            return (
                f"operation {operation.index} is ok without a time of completion: what it came before is "
                "not known"
            )
    return ""
