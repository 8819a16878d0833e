"""Durability of many elements: collections that are read whole, queues and feeds that hand elements out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable

from refute.checkers.durability_question import (
    Answers,
    Question,
    needed_nodes,
    no_answer,
    of,
    shown,
)
from refute.checkers.kinds import NEVER, effect_end, is_collection
from refute.checkers.observation import Observation, consumed_elements, element_name, write_name
from refute.history import Operation, Outcome, Phase, hashable


def judge_collection(
    question: Question,
    writes: list[Operation],
    operations: list[Operation],
    seen: dict[str | None, Observation],
    silent: frozenset[str | None],
    answers: Answers,
) -> None:
    """Every element acknowledged before a final read began is in it, or may have been removed."""
    held, rows = _held(seen, question.id_field)
    adds: dict[Hashable, list[Operation]] = defaultdict(list)
    for write in writes:
        if write.kind in question.kinds.accumulating:
            adds[write_name(write, rows, question.id_field)].append(write)
    removals = _Removals(operations, question)
    total = len(seen) + len(silent)
    needed = needed_nodes(question.require, total)
    undecided = 0
    for name, attempts in adds.items():
        acked = [o for o in attempts if o.outcome is Outcome.OK]
        if not acked:
            continue
        good, asked, missing = 0, 0, []
        for node, observation in seen.items():
            read = observation.operation
            before = [o for o in acked if effect_end(o) < read.invoked_ns]
            if not before:
                continue
            asked += 1
            if held[node][name] >= _copies(before) or removals.may_have_taken(name, before, read):
                good += 1
            else:
                missing.append((node, observation, before))
        if not asked:
            answers.unjudged["an element was acknowledged only after the last final read had begun"] += 1
            continue
        bar = needed - (len(seen) - asked)
        if good >= bar:
            continue
        if good + len(silent) >= bar:
            undecided += 1
            continue
        nodes = ", ".join(str(node or "the system") for node, _, _ in missing)
        _, observation, before = missing[0]
        answers.anomaly(
            "lost-write",
            f"{of(before[0].key)}{shown(before[0])!r} was acknowledged; the final read of {nodes} lacks it",
            (before[-1], *(o.operation for _, o, _ in missing)),
            key=observation.key,
            element=shown(before[0]),
        )
    if undecided:
        answers.unjudged[no_answer(silent)] += 1


def _held(
    seen: dict[str | None, Observation], id_field: str | None
) -> tuple[dict[str | None, Counter[Hashable]], bool]:
    held: dict[str | None, Counter[Hashable]] = {}
    rows = False
    for node, observation in seen.items():
        elements = observation.value if is_collection(observation.value) else ()
        rows = rows or any(isinstance(element, dict) for element in elements)
        held[node] = Counter(element_name(element, id_field) for element in elements)
    return held, rows


def _copies(acked: list[Operation]) -> int:
    """How many copies of one element must be there: one in a set, one for each business key in a list."""
    if any(o.kind in ("add", "insert") for o in acked):
        return 1
    return len({hashable(o.extra.get("idempotency_key", ("operation", o.index))) for o in acked})


class _Removals:
    """Which elements an operation may have taken away."""

    def __init__(self, operations: list[Operation], question: Question) -> None:
        self._by_name: dict[Hashable, list[Operation]] = defaultdict(list)
        self._of_all: list[Operation] = []
        for operation in operations:
            if operation.outcome is Outcome.FAIL:
                continue
            if operation.kind in question.kinds.removing and operation.input is not None:
                self._by_name[hashable(operation.input)].append(operation)
            elif operation.kind in question.kinds.removing or operation.kind in question.kinds.replacing:
                self._of_all.append(operation)

    def may_have_taken(self, name: Hashable, adds: list[Operation], read: Operation) -> bool:
        """Whether a removal that is not surely before the last of the adds may have come before the read."""
        last = max(add.invoked_ns for add in adds)
        return any(
            removal.invoked_ns <= (read.completed_ns or NEVER) and not effect_end(removal) < last
            for removal in (*self._by_name.get(name, ()), *self._of_all)
        )


def judge_consumed(
    question: Question,
    writes: list[Operation],
    operations: list[Operation],
    consuming: list[Operation],
    seen: dict[str | None, Observation],
    answers: Answers,
) -> None:
    """A queue: what was acknowledged was handed out, is still there, or an unknown dequeue may have it."""
    elements = [element for _, element in consumed_elements(consuming, question.kinds)]
    handed = Counter(element_name(element, question.id_field) for element in elements)
    rows = any(isinstance(element, dict) for element in elements)
    for observation in seen.values():
        if is_collection(observation.value):
            handed.update(element_name(element, question.id_field) for element in observation.value)
    if not _was_emptied(consuming) and not seen:
        answers.unjudged["the queue was not drained: it ends without an empty dequeue or a drain"] += 1
        return
    unknown = [o for o in consuming if o.outcome is Outcome.INFO]
    swallows_many = any(o.kind in ("drain", "poll") for o in unknown)
    adds: dict[Hashable, list[Operation]] = defaultdict(list)
    for write in writes:
        adds[write_name(write, rows, question.id_field)].append(write)
    removals = _Removals(operations, question)
    missing: list[Operation] = []
    successes = [o for o in consuming if o.outcome is Outcome.OK]
    end = max(successes or [o.operation for o in seen.values()], key=lambda operation: operation.invoked_ns)
    for name, attempts in adds.items():
        acked = [o for o in attempts if o.outcome is Outcome.OK]
        judged = [o for o in acked if effect_end(o) < end.invoked_ns]
        if len(judged) < len(acked) and handed[name] < _copies(acked):
            answers.unjudged["an element was acknowledged only after the queue was last seen empty"] += 1
        acked = judged
        short = _copies(acked) - handed[name] if acked else 0
        if short > 0 and not removals.may_have_taken(name, acked, end):
            missing.extend(acked[:short])
    if missing and swallows_many:
        answers.unjudged["a drain of unknown outcome may have taken what is missing"] += 1
        return
    answers.explained_by_unknown += min(len(missing), len(unknown))
    if len(missing) <= len(unknown):
        return
    for write in missing:
        unless = f"; {len(unknown)} unknown dequeues cannot explain {len(missing)}" if unknown else ""
        answers.anomaly(
            "lost-write",
            f"{shown(write)} was acknowledged, the queue was emptied, and nobody was handed it{unless}",
            (write, *unknown, end),
            key=write.key,
            element=shown(write),
        )


def _was_emptied(consuming: list[Operation]) -> bool:
    """Whether the last consuming read found nothing more; an empty poll says so only at the end."""
    successes = [o for o in consuming if o.outcome is Outcome.OK]
    if not successes:
        return False
    last = max(successes, key=lambda operation: operation.invoked_ns)
    empty = last.output is None or last.output == []
    if last.kind == "poll":
        return empty and last.phase is Phase.FINAL
    return empty or last.kind == "drain"
