"""No acknowledged write is lost: the reads made after everything settled explain what was acknowledged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from typing import Any

from refute.checkers.catalog import CheckerError
from refute.checkers.durability_question import Answers, Question
from refute.checkers.durable_collections import judge_collection, judge_consumed
from refute.checkers.durable_values import judge_counter, judge_register
from refute.checkers.kinds import Kinds, is_collection, is_number, kinds, tally
from refute.checkers.observation import FinalReads, final_reads
from refute.checkers.result import Budget, Result, Validity
from refute.history import History, Operation, Outcome, hashable

NAME = "no-lost-acknowledged-write"


def check(
    history: History,
    *,
    budget: Budget,
    final: str = "phase",
    require: str | int = "every-node",
    initial: Any = None,
    id_field: str | None = None,
    write_kinds: object = (),
    read_kinds: object = (),
) -> Result:
    """Whether the final reads still show, or can explain the absence of, every acknowledged write.

    An object that its reads show as one value is a register: a final read may return what a write
    wrote only if no acknowledged write lies in real time wholly between that write and the read; a
    write of unknown outcome may take effect at any time after its invocation, so that its value is
    always explicable. One that reads show as a collection must hold every element acknowledged
    before the read began, unless a removal that is not surely earlier may have taken it. One that is
    counted up must be at least the sum of what was acknowledged. An element that a queue or a feed
    handed to a consumer counts as kept; each unknown dequeue may have removed one.

    `require` says on how many nodes the last final read must be right: `every-node`, `quorum` (a
    majority of those asked), `any-node` or a number. Runs in time linear in operations and elements
    returned. Raises CheckerError for options that are none.
    """
    if not (require in ("every-node", "quorum", "any-node") or (is_number(require) and int(require) >= 1)):
        raise CheckerError(
            f"require must be every-node, quorum, any-node or a number of nodes, not {require!r}"
        )
    known = kinds(write_kinds, read_kinds)
    question = Question(require, initial, id_field, known)
    reads = final_reads(history, known, final)
    objects = objects_of(history, known, reads)
    answers = Answers()
    acknowledged = 0
    for operations in objects.values():
        writes = [o for o in operations if known.writes(o)]
        acked = sum(o.outcome is Outcome.OK for o in writes)
        acknowledged += acked
        if acked:
            _judge(question, history, writes, operations, reads, answers)
    return _result(history, reads, answers, acknowledged, objects, final)


def objects_of(history: History, known: Kinds, reads: FinalReads) -> dict[Hashable, list[Operation]]:
    """Operations by object: by key, or all in one where only reads without a key return collections."""
    whole_list = any(
        seen.key is None and is_collection(seen.value) for seen in reads.by_key.get(None, {}).values()
    )
    drained = any(o.key is None and o.kind in known.consuming for o in history.operations)
    keyed = {key for key in reads.by_key if key is not None}
    keyed |= {hashable(o.key) for o in history.operations if o.key is not None and o.kind in known.consuming}
    objects: dict[Hashable, list[Operation]] = defaultdict(list)
    for operation in history.operations:
        if known.writes(operation) or known.reads(operation) or operation.kind in known.removing:
            key = hashable(operation.key)
            if key is not None and key not in keyed and (whole_list or drained):
                key = None
            objects[key].append(operation)
    return dict(objects)


def _judge(
    question: Question,
    history: History,
    writes: list[Operation],
    operations: list[Operation],
    reads: FinalReads,
    answers: Answers,
) -> None:
    key = writes[0].key if len({hashable(o.key) for o in writes}) == 1 else None
    seen = reads.of(key)
    if not seen and key is not None and reads.by_key.get(None):
        seen, key = reads.of(None), None
    consuming = [o for o in operations if o.kind in question.kinds.consuming]
    if consuming:
        judge_consumed(question, writes, operations, consuming, seen, answers)
        return
    if not seen:
        answers.unjudged["no final read of the object succeeded"] += 1
        return
    values = [observation.value for observation in seen.values() if observation.value is not None]
    accumulates = any(o.kind in question.kinds.accumulating for o in writes)
    silent = reads.silent_nodes(key)
    if any(map(is_collection, values)) and accumulates:
        judge_collection(question, writes, operations, seen, silent, answers)
    elif accumulates and any(isinstance(value, str) for value in values):
        answers.unjudged["appends to a text: judge it with the linearizable key-value map"] += 1
    elif accumulates and _counts(writes, values):
        judge_counter(question, writes, seen, silent, answers)
    elif accumulates and not values:
        judge_collection(question, writes, operations, seen, silent, answers)
    elif history.clock == "wall":
        answers.unjudged["wall clocks do not say which of two writes came first"] += 1
    else:
        judge_register(question, writes, seen, silent, answers)


def _counts(writes: list[Operation], values: list[Any]) -> bool:
    return bool(values) and all(map(is_number, values)) and all(o.kind in _COUNTING for o in writes)


_COUNTING = frozenset({"add", "increment", "incr"})


def _result(
    history: History,
    reads: FinalReads,
    answers: Answers,
    acknowledged: int,
    objects: dict[Hashable, list[Operation]],
    final: str,
) -> Result:
    used = [o for operations in objects.values() for o in operations]
    ignored = {"other kinds": len(history.operations) - len(used), "superseded final reads": reads.superseded}
    assumptions = ["a write takes effect before its acknowledgement, an unknown one then or ever after"]
    if final == "last":
        assumptions.append("reads that began after the last acknowledged write are the final ones")
    valid: Validity = True
    reason = ""
    if answers.anomalies:
        valid = False
    elif not acknowledged:
        valid, reason = "unknown", "no write was acknowledged, so none could be lost"
    elif answers.unjudged:
        valid = "unknown"
        reason = "; ".join(f"{why} ({count})" for why, count in answers.unjudged.most_common(3))
    return Result(
        NAME,
        valid,
        tally(used, len(objects)),
        tuple(answers.anomalies),
        tuple(assumptions),
        {why: count for why, count in ignored.items() if count},
        reason,
        "final reads against acknowledged writes",
        {
            "acknowledged": acknowledged,
            "explained_by_unknown_dequeues": answers.explained_by_unknown,
            "anomalies": dict(answers.counts),
        },
    )
