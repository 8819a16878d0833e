"""The reduced history of a failure: found from what was recorded, kept as a note beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.checkers import Budget, Result
from refute.checkers.reduction import Reduction, in_words, reduce_history
from refute.history import History
from refute.history.event_reader import read_history
from refute.history.formats.write import write_jsonl
from refute.session.attempt_spec import AttemptSpec
from refute.session.errors import SessionError
from refute.session.files import read_json, write_json
from refute.session.judge import check_options
from refute.session.picture.conflict import conflicts_of
from refute.session.picture.write import write_picture
from refute.session.record import Session


@dataclass(frozen=True, slots=True)
class Failure:
    """The first attempt of a scenario that a checker rejected, and by which checker."""

    folder: Path
    spec: AttemptSpec
    checker: str
    options: Mapping[str, Any]
    anomalies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReducedNote:
    """What was written: `reduced.jsonl`, a picture of it, and `reduced.json` with the sentence."""

    history: Path
    picture: Path
    sentence: str
    total: int
    reduction: Reduction


def failure_of(session: Session, scenario: str) -> Failure:
    """The failing attempt of a scenario. Raises SessionError where there is none, or no such scenario."""
    if scenario not in session.index.scenarios:
        known = ", ".join(session.index.scenarios) or "none"
        raise SessionError(
            f"the session has no scenario {scenario!r}", where=session.folder, hint=f"it has: {known}"
        )
    for folder in session.attempts(scenario):
        if not (folder / "check.json").is_file():
            continue
        spec = AttemptSpec.read(folder / "spec.yaml")
        results = read_json(folder / "check.json")["results"]
        for check, result in zip(spec.read_scenario().check, results, strict=True):
            if result["valid"] is False and spec.mode != "control":
                names = tuple(sorted({anomaly["name"] for anomaly in result["anomalies"]}))
                return Failure(folder, spec, check.checker, check.options, names)
    raise SessionError(
        f"no attempt of {scenario} violated anything, so there is nothing to reduce", where=session.folder
    )


def reduce_failure(failure: Failure, budget: Budget) -> ReducedNote | Result:
    """Reduces the history of a failing attempt and writes the notes beside it.

    The checker's answer where it does not find the violation again: the record then says otherwise, and
    `refute verify` tells where.
    """
    path = failure.folder / "history.jsonl"
    history = read_history(path)
    options = check_options(failure.checker, failure.options, history)
    return reduce_and_write(path, history, failure.checker, options, budget)


def reduce_and_write(
    path: Path, history: History, checker: str, options: Mapping[str, Any], budget: Budget
) -> ReducedNote | Result:
    """Reduces a history; writes the part, its picture and the sentence beside the file that it came from."""
    found = reduce_history(history, checker, options, budget=budget)
    if isinstance(found, Result):
        return found
    stem = "reduced" if path.name == "history.jsonl" else f"{path.name.partition('.')[0]}.reduced"
    note = ReducedNote(
        path.with_name(f"{stem}.jsonl"),
        path.with_name(f"{stem}.html"),
        in_words(found, len(history)),
        len(history),
        found,
    )
    write_jsonl(found.history, note.history)
    # The picture shows the part in the whole: what was left out stays visible, and the conflict is lit.
    write_picture(note.picture, path, history, conflicts_of([found.result]), answer=note.sentence)
    write_json(
        path.with_name(f"{stem}.json"),
        {
            "note": "a reduction explains a failure; no verdict is computed from it",
            "sentence": note.sentence,
            "checker": checker,
            "options": {name: str(value) for name, value in options.items()},
            "anomaly": found.anomaly.name,
            "operations_in_the_whole": [operation.index for operation in found.history.operations],
            "of": len(history),
            "minimal": found.minimal,
            "reason": found.reason,
            "checks": found.tests,
        },
    )
    return note
