"""Exactly once by business key: however often a request was sent, its effect is there once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable
from typing import Any

from refute.checkers.durability_question import Answers, Question, of
from refute.checkers.durable_collections import judge_consumed
from refute.checkers.exact_counts import Request, judge_elements, judge_sum, requests
from refute.checkers.kinds import is_collection, is_number, kinds, tally
from refute.checkers.observation import consumed_elements, element_name, final_reads, write_name
from refute.checkers.result import Budget, Result, Validity
from refute.history import History, Operation, Outcome, hashable, recorded

NAME = "exactly-once"


def check(
    history: History,
    *,
    budget: Budget,
    final: str = "phase",
    initial: Any = 0,
    id_field: str | None = None,
    same_answer: bool = False,
    write_kinds: object = (),
    read_kinds: object = (),
) -> Result:
    """Whether each business key took effect exactly once, counted in the last final read of every node.

    The business key is `extra.idempotency_key`; where a write has none and effects are read as rows
    of one table (a read without a key), it is the key of the write; otherwise each write is a request
    of its own. An acknowledged request counts once, however many attempts it took; one whose attempts
    are at best unknown counts 0 or 1; one whose attempts all failed counts 0. Where reads are numbers
    the effects are amounts: the value must be a sum that some choice of unknown requests makes. Where
    reads are collections, elements are counted. Where elements are handed out (dequeue, poll, drain),
    none is handed out twice, and none is missing once the queue was seen empty.

    With `same_answer`, successful attempts of one request must also have had equal outputs. Linear,
    but for the sums of unknown amounts (see `exact_counts`).
    """
    known = kinds(write_kinds, read_kinds)
    reads = final_reads(history, known, final)
    writes = [o for o in history.operations if o.kind in known.accumulating]
    consuming = [o for o in history.operations if o.kind in known.consuming]
    answers = Answers()
    requests_in_all: list[Request] = []
    for key, operations in objects_of(writes, set(reads.by_key), bool(consuming)).items():
        table = key is None
        found = requests(operations, by_key=table)
        requests_in_all += found
        handed = [o for o in consuming if hashable(o.key) == key or table]
        seen = reads.of(None if table else operations[0].key)
        if handed:
            question = Question("every-node", None, id_field, known)
            _judge_handed_out(question, handed, operations, found, answers)
            if any(o.outcome is Outcome.OK for o in operations):
                judge_consumed(question, operations, [*operations, *handed], handed, seen, answers)
            continue
        silent = reads.silent_nodes(None if table else operations[0].key)
        if not seen or silent:
            nodes = ", ".join(sorted(map(str, silent))) or "any node"
            answers.unjudged[f"no final read of {nodes} succeeded"] += 1
        for node, observation in seen.items():
            value = initial if observation.value is None else observation.value
            where = f"the final read of {of(observation.key)}on {node or 'the system'}"
            if is_collection(value) or (observation.value is None and not _amounts(operations)):
                judge_elements(found, observation, where, id_field, answers)
            elif is_number(value) and _amounts(operations):
                judge_sum(found, observation.operation, value, initial, where, answers)
            else:
                answers.unjudged["effects cannot be counted in what the final reads returned"] += 1
    if same_answer:
        _judge_answers(requests_in_all, answers)
    return _result(history, writes, consuming, requests_in_all, answers)


def objects_of(
    writes: list[Operation], read_keys: set[Hashable], handed_out: bool
) -> dict[Hashable, list[Operation]]:
    """Writes by object; None holds those whose effects are read without a key."""
    objects: dict[Hashable, list[Operation]] = defaultdict(list)
    for write in writes:
        key = hashable(write.key)
        in_table = key not in read_keys and (None in read_keys or handed_out)
        objects[None if in_table else key].append(write)
    return dict(objects)


def _amounts(writes: list[Operation]) -> bool:
    return all(o.input is None or is_number(o.input) for o in writes)


def _judge_handed_out(
    question: Question,
    consuming: list[Operation],
    writes: list[Operation],
    found: list[Request],
    answers: Answers,
) -> None:
    elements = consumed_elements(consuming, question.kinds)
    rows = any(isinstance(element, dict) for _, element in elements)
    most: Counter[Hashable] = Counter()
    for request in found:
        name = write_name(request.attempts[0], rows, question.id_field)
        most[name] += request.bounds(0)[1]
    makers: dict[Hashable, list[Operation]] = defaultdict(list)
    for write in writes:
        makers[write_name(write, rows, question.id_field)].append(write)
    takers: dict[Hashable, list[Operation]] = defaultdict(list)
    for operation, element in elements:
        takers[element_name(element, question.id_field)].append(operation)
    for name, operations in takers.items():
        if len(operations) <= most[name]:
            continue
        times = f"{recorded(name)!r} was handed out {len(operations)} times"
        if most[name]:
            answers.anomaly(
                "duplicate-effect",
                f"{times} although it was asked for {most[name]} times",
                (*makers[name], *operations),
            )
        elif makers[name]:
            sentence = f"{times} although the write of it is said to have failed"
            answers.anomaly("effect-of-failed", sentence, (*makers[name], *operations))
        else:
            answers.anomaly("phantom", f"{times} although nobody wrote it", operations)


def _judge_answers(found: list[Request], answers: Answers) -> None:
    for request in found:
        successes = [o for o in request.attempts if o.outcome is Outcome.OK]
        for attempt in successes[1:]:
            if hashable(attempt.output) != hashable(successes[0].output):
                first, second = successes[0].output, attempt.output
                request_name = recorded(request.name)
                sentence = f"two attempts of request {request_name!r} were answered {first!r} and {second!r}"
                answers.anomaly("different-answers", sentence, (successes[0], attempt))
                break


def _result(
    history: History,
    writes: list[Operation],
    consuming: list[Operation],
    found: list[Request],
    answers: Answers,
) -> Result:
    retried = sum(len(request.attempts) > 1 for request in found)
    valid: Validity = True
    reason = ""
    if answers.anomalies:
        valid = False
    elif not any(o.outcome is not Outcome.FAIL for o in writes):
        valid, reason = "unknown", "no write had an effect that could be counted"
    elif answers.unjudged:
        valid = "unknown"
        reason = "; ".join(f"{why} ({count})" for why, count in answers.unjudged.most_common(3))
    assumptions = ["requests with different business keys are different requests"]
    if not any("idempotency_key" in o.extra for o in writes):
        assumptions.append("no write has an idempotency key: writes are told apart by key or one by one")
    assumptions += answers.assumptions
    others = len(history.operations) - len(writes) - len(consuming)
    return Result(
        NAME,
        valid,
        tally([*writes, *consuming]),
        tuple(answers.anomalies),
        tuple(assumptions),
        {"operations that add nothing that can be counted": others} if others else {},
        reason,
        "effects counted by business key",
        {"requests": len(found), "retried": retried, "anomalies": dict(answers.counts)},
    )
