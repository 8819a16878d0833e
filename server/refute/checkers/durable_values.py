"""Durability of one value: a register that is replaced, a counter that is added to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from typing import Any

from refute.checkers.durability_question import Answers, Question, needed_nodes, no_answer, of
from refute.checkers.exact_counts import Request, requests
from refute.checkers.kinds import NEVER, effect_end, is_number, written
from refute.checkers.observation import Observation
from refute.history import Operation, Outcome, hashable


def judge_register(
    question: Question,
    writes: list[Operation],
    seen: dict[str | None, Observation],
    silent: frozenset[str | None],
    answers: Answers,
) -> None:
    """The last final read of each node is a value that no later acknowledged write has replaced."""
    by_value: dict[Hashable, list[Operation]] = defaultdict(list)
    for write in writes:
        by_value[hashable(written(write))].append(write)
    bad: list[tuple[str, str, tuple[Operation, ...]]] = []
    good = 0
    for node, observation in seen.items():
        read = observation.operation
        before = [w for w in writes if effect_end(w) < read.invoked_ns]
        if not before:
            good += 1
            continue
        last = max(before, key=lambda write: write.invoked_ns)
        writers = by_value.get(hashable(observation.value), [])
        if any(
            writer.outcome is not Outcome.FAIL
            and writer.invoked_ns <= (read.completed_ns or NEVER)
            and not effect_end(writer) < last.invoked_ns
            for writer in writers
        ):
            good += 1
            continue
        place = _final_read(observation, node)
        lost = f"{written(last)!r} had been acknowledged"
        succeeded = [writer for writer in writers if writer.outcome is not Outcome.FAIL]
        if succeeded:
            since = f"after the write of {observation.value!r} had completed, {lost} and is gone"
            bad.append(("lost-write", f"{place}; {since}", (*succeeded, last, read)))
        elif writers:
            sentence = f"{place}, which only a write that is said to have failed wrote, although {lost}"
            bad.append(("aborted-read", sentence, (*writers, last, read)))
        elif hashable(observation.value) == hashable(question.initial):
            sentence = f"{place}, as if nothing had been written, although {lost}"
            bad.append(("lost-write", sentence, (last, read)))
        else:
            bad.append(("phantom", f"{place}, which nobody wrote, although {lost}", (last, read)))
    if good >= needed_nodes(question.require, len(seen) + len(silent)):
        return
    if bad and good + len(silent) < needed_nodes(question.require, len(seen) + len(silent)):
        for name, sentence, operations in bad:
            answers.anomaly(name, sentence, operations, key=writes[0].key)
        return
    answers.unjudged[no_answer(silent)] += 1


def judge_counter(
    question: Question,
    writes: list[Operation],
    seen: dict[str | None, Observation],
    silent: frozenset[str | None],
    answers: Answers,
) -> None:
    """The last final read of each node is at least the sum of what was acknowledged before it."""
    start = question.initial if is_number(question.initial) else 0
    found = requests(writes, by_key=False)
    amounts = {request.name: _amount(request) for request in found}
    if not all(map(is_number, amounts.values())):
        answers.unjudged["the amount of an add is no number"] += 1
        return
    mixed = any(amount < 0 for amount in amounts.values())
    good = 0
    bad: list[tuple[str, tuple[Operation, ...]]] = []
    for node, observation in seen.items():
        read = observation.operation
        least = most = start
        for request in found:
            amount = amounts[request.name]
            low, high = request.bounds(read.invoked_ns)
            least += min(amount * low, amount * high)
            most += max(amount * low, amount * high)
        certain = [o for o in writes if effect_end(o) < read.invoked_ns]
        value = observation.value if is_number(observation.value) else start
        if value >= least and not (mixed and value > most):
            good += 1
            continue
        if mixed:
            answers.unjudged["adds of both signs: use exactly-once, which sees losses and repeats"] += 1
            return
        sentence = (
            f"{_final_read(observation, node)}; "
            f"what had been acknowledged before it adds up to at least {least!r}"
        )
        bad.append((sentence, (*certain, read)))
    needed = needed_nodes(question.require, len(seen) + len(silent))
    if good >= needed:
        return
    if good + len(silent) >= needed:
        answers.unjudged[no_answer(silent)] += 1
        return
    for sentence, operations in bad:
        answers.anomaly("lost-write", sentence, operations, key=writes[0].key)


def _amount(request: Request) -> Any:
    first = request.attempts[0].input
    return 1 if first is None else first


def _final_read(observation: Observation, node: str | None) -> str:
    return f"the final read of {of(observation.key)}on {node or 'the system'} returned {observation.value!r}"
