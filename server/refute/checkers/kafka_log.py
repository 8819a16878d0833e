"""Kafka-style logs: what was sent to a partition is polled once, in the order of its offsets.

The anomalies are those of Jepsen's Kafka workload (Kingsbury, "Redpanda 21.10.1", 2022).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from refute.checkers.catalog import CheckerError
from refute.checkers.judgement import Judgement
from refute.checkers.kafka_records import Polled, Sent, records
from refute.checkers.kinds import effect_end
from refute.checkers.result import Budget, Result
from refute.history import History, Operation, Outcome, hashable, recorded

ANOMALIES = (
    "lost-write",
    "aborted-read",
    "phantom",
    "duplicate",
    "inconsistent-offset",
    "reordered-poll",
    "repeated-poll",
    "skipped-poll",
    "reordered-send",
)


@dataclass
class _Partition:
    """What is known of one partition: which value stands at which offset, and who says so."""

    values: dict[int, tuple[Hashable, Operation]] = field(default_factory=dict)
    offsets: dict[Hashable, tuple[int, Operation]] = field(default_factory=dict)
    polled: dict[Hashable, Operation] = field(default_factory=dict)
    highest_polled: tuple[int, Operation] | None = None


def check(history: History, *, budget: Budget, allow: Iterable[str] = ()) -> Result:
    """Whether polls show each partition's records without loss, repetition, reordering or gaps.

    Sends are `send` operations (key: partition, input: value, offset in `extra.offset`, in the output
    as a number or as `[offset, value]`) or micro-operations `["send", partition, value]` of a
    transaction, answered `["send", partition, [offset, value]]`. Polls return a map from partition to
    `[offset, value]` pairs, as operations `poll` or as micro-operations `["poll", map]`; a poll with a
    key returns the pairs alone. A consumer's position starts anew after `assign`, `subscribe` or a
    poll with `extra.rebalanced`.

    - `lost-write`: an acknowledged or polled record that no poll shows, below the highest offset polled
    - `aborted-read`: a record of a failed send was polled; `phantom`: one that nobody sent
    - `duplicate`: one value at two offsets; `inconsistent-offset`: two values at one offset
    - `reordered-poll`, `repeated-poll`, `skipped-poll`: a consumer's offsets go back, stand still, or
      jump over a record that is known to be there
    - `reordered-send`: the offsets of one producer's successive sends go back

    `allow` names anomalies that are no violation (a group that rebalances may repeat). O(n log n).
    Raises CheckerError for a name that is none.
    """
    allowed = frozenset(allow)
    for name in sorted(allowed - set(ANOMALIES)):
        raise CheckerError(f"{name!r} is no anomaly of a log", hint=f"there are: {', '.join(ANOMALIES)}")
    judgement = Judgement("kafka-log", "offsets by partition, polls by consumer")
    sent, polled, used, odd = records(history)
    if odd:
        judgement.cannot("a poll returned something else than [offset, value] pairs", odd)
    partitions: dict[Hashable, _Partition] = defaultdict(_Partition)
    found = _Found(judgement, allowed)
    _place(found, partitions, sent, polled)
    _judge_values(found, sent, polled)
    _judge_lost(found, partitions, sent)
    _judge_positions(found, partitions, polled)
    _judge_producers(found, sent)
    judgement.judged = sum(record.offset is not None for record in polled)
    details = {"allowed": dict(found.allowed_counts)}
    return judgement.result(used, nothing="no poll returned a record", keys=len(partitions), details=details)


class _Found:
    """Violations go to the judgement, allowed anomalies are counted."""

    def __init__(self, judgement: Judgement, allowed: frozenset[str]) -> None:
        self._judgement = judgement
        self._allowed = allowed
        self.allowed_counts: dict[str, int] = defaultdict(int)

    def __call__(self, name: str, sentence: str, operations: Iterable[Operation]) -> None:
        if name in self._allowed:
            self.allowed_counts[name] += 1
        else:
            unique = {operation.index: operation for operation in operations}
            self._judgement.found(name, sentence, unique.values())


def _place(
    found: _Found, partitions: dict[Hashable, _Partition], sent: list[Sent], polled: list[Polled]
) -> None:
    shown = [(s.partition, s.offset, s.value, s.operation, False) for s in sent if s.acknowledged]
    shown += [(p.partition, p.offset, p.value, p.operation, True) for p in polled]
    for key, offset, value, operation, is_poll in shown:
        partition, name = partitions[key], hashable(value)
        if is_poll:
            partition.polled.setdefault(name, operation)
            if partition.highest_polled is None or (offset or 0) > partition.highest_polled[0]:
                partition.highest_polled = (offset or 0, operation)
        if offset is None:
            continue
        there = partition.values.setdefault(offset, (name, operation))
        if there[0] != name:
            sentence = f"offset {offset} of {recorded(key)} holds {recorded(there[0])!r} and {value!r}"
            found("inconsistent-offset", sentence, (there[1], operation))
        at = partition.offsets.setdefault(name, (offset, operation))
        if at[0] != offset:
            sentence = f"{value!r} stands in {recorded(key)} at the offsets {at[0]} and {offset}"
            found("duplicate", sentence, (at[1], operation))


def _judge_values(found: _Found, sent: list[Sent], polled: list[Polled]) -> None:
    senders: dict[tuple[Hashable, Hashable], list[Operation]] = defaultdict(list)
    for send in sent:
        senders[send.partition, hashable(send.value)].append(send.operation)
    told: set[tuple[Hashable, Hashable]] = set()
    for poll in polled:
        place = (poll.partition, hashable(poll.value))
        operations = senders.get(place, [])
        if place in told or any(o.outcome is not Outcome.FAIL for o in operations):
            continue
        told.add(place)
        if operations:
            sentence = f"{poll.value!r} of {poll.of} was polled; its send is said to have failed"
            found("aborted-read", sentence, (*operations, poll.operation))
        else:
            sentence = f"{poll.value!r} of {poll.of} was polled although nobody sent it"
            found("phantom", sentence, (poll.operation,))


def _judge_lost(found: _Found, partitions: dict[Hashable, _Partition], sent: list[Sent]) -> None:
    """An acknowledged record that no poll shows, though polls went past it."""
    latest_polled: dict[Hashable, Operation] = {}
    for send in sent:
        if hashable(send.value) in partitions[send.partition].polled:
            best = latest_polled.get(send.partition)
            if best is None or send.operation.invoked_ns > best.invoked_ns:
                latest_polled[send.partition] = send.operation
    for send in sent:
        partition = partitions[send.partition]
        if not send.acknowledged or hashable(send.value) in partition.polled:
            continue
        highest = partition.highest_polled
        if send.offset is not None and highest is not None and send.offset < highest[0]:
            sentence = (
                f"{send.value!r} was acknowledged at offset {send.offset} of {send.of}; polls reached "
                f"offset {highest[0]} and none shows it"
            )
            found("lost-write", sentence, (send.operation, highest[1]))
        elif send.offset is None and send.partition in latest_polled:
            later = latest_polled[send.partition]
            if effect_end(send.operation) < later.invoked_ns:
                sentence = f"{send.value!r} was acknowledged and never polled, what was sent later was"
                shown = partition.polled[hashable(_value_of(sent, later))]
                found("lost-write", sentence, (send.operation, later, shown))


def _value_of(sent: list[Sent], operation: Operation) -> Any:
    return next(send.value for send in sent if send.operation is operation)


def _judge_positions(found: _Found, partitions: dict[Hashable, _Partition], polled: list[Polled]) -> None:
    known = {key: sorted(partition.values) for key, partition in partitions.items()}
    rank = {key: {offset: place for place, offset in enumerate(offsets)} for key, offsets in known.items()}
    position: dict[tuple[Hashable, ...], tuple[int, Operation]] = {}
    for poll in polled:
        if poll.offset is None:
            continue
        place = (poll.operation.process, poll.generation, poll.partition)
        before = position.get(place)
        position[place] = (poll.offset, poll.operation)
        if before is None:
            continue
        proof = (before[1], poll.operation)
        who = f"consumer {poll.operation.process} of {poll.of}"
        if poll.offset == before[0]:
            found("repeated-poll", f"{who} was handed offset {poll.offset} twice in a row", proof)
        elif poll.offset < before[0]:
            found("reordered-poll", f"{who} was handed offset {poll.offset} after {before[0]}", proof)
        elif rank[poll.partition][poll.offset] > rank[poll.partition][before[0]] + 1:
            missed = known[poll.partition][rank[poll.partition][before[0]] + 1]
            witness = partitions[poll.partition].values[missed][1]
            sentence = f"{who} went from offset {before[0]} to {poll.offset}; {missed} is there, too"
            found("skipped-poll", sentence, (*proof, witness))


def _judge_producers(found: _Found, sent: list[Sent]) -> None:
    last: dict[tuple[Hashable, ...], Sent] = {}
    for send in sent:
        if not send.acknowledged or send.offset is None:
            continue
        place = (send.operation.process, send.partition)
        before = last.get(place)
        if before is not None and send.offset < (before.offset or 0):
            sentence = (
                f"producer {send.operation.process} sent {before.value!r} to offset {before.offset} of "
                f"{send.of} and then {send.value!r} to {send.offset}"
            )
            found("reordered-send", sentence, (before.operation, send.operation))
        last[place] = send
