"""Operators on queues, stacks, priority queues and locks that must behave as one object in real time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from random import Random

from refute.checkers.kinds import NEVER, effect_end, written
from refute.checkers.mutual_exclusion import ACQUIRING, RELEASING
from refute.checkers.planted.ground import NEW_PROCESS, Ground, Plot, shuffled
from refute.checkers.planted.operator import Operator, Planting, model_in
from refute.history import Operation, Outcome, hashable

PLACES = 8
"""How many places an operator looks at, as few copies are made of all that is offered."""


def _passages(ground: Ground, rng: Random) -> list[tuple[Operation, Operation]]:
    """Acknowledged puts of elements put once, with the take that alone returned them; shuffled."""
    puts: dict[tuple[Hashable, Hashable], list[Operation]] = defaultdict(list)
    takes: dict[tuple[Hashable, Hashable], list[Operation]] = defaultdict(list)
    for operation in ground.history.operations:
        key = hashable(operation.key)
        if operation.kind in ground.known.accumulating:
            puts[key, hashable(operation.input)].append(operation)
        elif operation.kind in ground.known.consuming and operation.outcome is Outcome.OK:
            takes[key, hashable(operation.output)].append(operation)
    found = [
        (put[0], takes[name][0])
        for name, put in puts.items()
        if len(put) == 1 and effect_end(put[0]) != NEVER and len(takes.get(name, ())) == 1
    ]
    return shuffled(found, rng)


def _swaps(
    ground: Ground,
    rng: Random,
    wrong: Callable[[Operation, Operation, Operation], bool],
    words: str,
) -> Iterator[Planting]:
    """Two takes, one after the other, exchange what they returned, where that is wrong.

    `wrong` is asked with the put and the take of the first, and the put of the second.
    """
    passages = _passages(ground, rng)
    by_take = sorted(passages, key=lambda passage: passage[1].invoked_ns)
    place = {passage[1].index: n for n, passage in enumerate(by_take)}
    for put, take in passages[: 20 * PLACES]:
        near = by_take[place[take.index] + 1 : place[take.index] + 40]
        for later_put, later_take in near:
            apart = effect_end(take) < later_take.invoked_ns and hashable(put.key) == hashable(later_put.key)
            if apart and wrong(put, take, later_put):
                first, second = (
                    replace(take, output=later_take.output),
                    replace(later_take, output=take.output),
                )
                yield Planting(
                    ground.with_changed(first, second),
                    (put, later_put, first, second),
                    f"{later_put.input!r} is taken before {put.input!r}, {words}",
                )
                break


def swapped_dequeues(ground: Ground, rng: Random) -> Iterator[Planting]:
    """An element leaves a queue before one that was put before it."""
    return _swaps(
        ground,
        rng,
        lambda put, _take, later_put: effect_end(put) < later_put.invoked_ns,
        "which was put before it",
    )


def swapped_pops(ground: Ground, rng: Random) -> Iterator[Planting]:
    """An element leaves a stack while one lies on it."""
    return _swaps(
        ground,
        rng,
        lambda put, take, later_put: (
            effect_end(later_put) < put.invoked_ns and effect_end(put) < take.invoked_ns
        ),
        "which lies on it",
    )


def swapped_minima(ground: Ground, rng: Random) -> Iterator[Planting]:
    """An element leaves a priority queue while a smaller one is there."""

    def wrong(put: Operation, take: Operation, later_put: Operation) -> bool:
        comparable = type(put.input) is type(later_put.input) and isinstance(put.input, int | float | str)
        both_there = max(effect_end(put), effect_end(later_put)) < take.invoked_ns
        return comparable and both_there and bool(put.input < later_put.input)

    return _swaps(ground, rng, wrong, "which is smaller and there")


def taken_puts_called_failures(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A put of unknown outcome whose element was taken is said to have failed."""
    puts: dict[tuple[Hashable, Hashable], list[Operation]] = defaultdict(list)
    for operation in ground.history.operations:
        if operation.kind in ground.known.accumulating:
            puts[hashable(operation.key), hashable(operation.input)].append(operation)
    for take in shuffled(ground.history.operations, rng):
        if take.kind not in ground.known.consuming or take.outcome is not Outcome.OK or take.output is None:
            continue
        found = puts.get((hashable(take.key), hashable(take.output)), [])
        if len(found) == 1 and found[0].outcome is Outcome.INFO:
            failed = replace(found[0], outcome=Outcome.FAIL)
            words = f"the unknown put of {take.output!r} is called failed, although it was taken"
            yield Planting(ground.with_changed(failed), (failed, take), words)


def releases_by_strangers(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A process that never acquired a lock releases it."""
    acquires = [o for o in ground.history.operations if o.kind in ACQUIRING and o.outcome is Outcome.OK]
    releases = [o for o in ground.history.operations if o.kind in RELEASING]
    for acquire in shuffled(acquires if releases else [], rng)[:PLACES]:
        start = effect_end(acquire)
        stranger = replace(
            acquire,
            index=ground.next_index,
            process=NEW_PROCESS,
            kind=releases[0].kind,
            invoked_ns=start,
            completed_ns=start + 1,
            input=None,
            output=None,
        )
        words = "a process that never held the lock releases it"
        yield Planting(ground.with_added(stranger), (acquire, stranger), words)


def _registers(ground: Ground, rng: Random) -> list[Plot]:
    return shuffled((p for p in ground.plots.values() if p.only_replaced and p.reads), rng)


def own_order_broken(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A process reads the first of two values that it wrote, after it had written the second."""
    for plot in _registers(ground, rng):
        own: dict[int | str, list[Operation]] = defaultdict(list)
        for write in plot.acknowledged:
            own[write.process].append(write)
        for read in shuffled(plot.reads, rng)[: 4 * PLACES]:
            before = [w for w in own[read.process] if effect_end(w) <= read.invoked_ns]
            sole = [w for w in before[:-1] if plot.writer_of(written(w)) is w]
            if sole and hashable(written(before[-1])) != hashable(written(sole[-1])):
                old = rng.choice(sole)
                back = replace(read, output=written(old))
                words = f"a process reads its own {written(old)!r} after it wrote {written(before[-1])!r}"
                yield Planting(ground.with_changed(back, within=plot), (old, before[-1], back), words)


def others_order_broken(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A process sees two writes of another one in the wrong order."""
    for plot in _registers(ground, rng):
        own: dict[int | str, list[Operation]] = defaultdict(list)
        for write in plot.acknowledged:
            own[write.process].append(write)
        last: dict[int | str, Operation] = {}
        pairs = []
        for read in plot.reads:
            before = last.get(read.process)
            if before is not None and effect_end(before) <= read.invoked_ns:
                pairs.append((before, read))
            last[read.process] = read
        for first, read in shuffled(pairs, rng)[: 4 * PLACES]:
            new = plot.writer_of(first.output)
            if new is None:
                continue
            older = [
                w
                for w in own[new.process]
                if effect_end(w) <= new.invoked_ns and plot.writer_of(written(w)) is w
            ]
            if older:
                old = rng.choice(older[-3:])
                back = replace(read, output=written(old))
                words = f"a process reads {first.output!r} and then {written(old)!r}, which came before it"
                yield Planting(ground.with_changed(back, within=plot), (old, new, first, back), words)


_PASSAGES = "two elements that passed through, one after the other"

OPERATORS = (
    Operator(
        "swapped-dequeues",
        "swap two dequeues",
        _PASSAGES,
        {"linearizable": model_in("queue")},
        swapped_dequeues,
    ),
    Operator(
        "swapped-pops",
        "swap two pops",
        "two elements that lay on each other and were popped one after the other",
        {"linearizable": model_in("stack")},
        swapped_pops,
    ),
    Operator(
        "swapped-minima",
        "swap two minima",
        "two elements that were in the queue together and were taken one after the other",
        {"linearizable": model_in("priority-queue")},
        swapped_minima,
    ),
    Operator(
        "taken-put-called-failure",
        "swallow a timeout whose effect was seen",
        "a put of unknown outcome whose element was taken",
        {
            "linearizable": model_in("queue", "stack", "priority-queue"),
            "exactly-once": lambda _: True,
            "no-phantom": lambda _: True,
        },
        taken_puts_called_failures,
    ),
    Operator(
        "release-by-a-stranger",
        "release a lock that one does not hold",
        "a lock that is acquired and released",
        {"linearizable": model_in("lock")},
        releases_by_strangers,
    ),
    Operator(
        "own-order-broken",
        "return a session's older value to it",
        "a process that writes an object twice, distinct values, and reads it later",
        {"sequential": model_in("register", "cas-register", "kv")},
        own_order_broken,
    ),
    Operator(
        "others-order-broken",
        "show another session's writes in the wrong order",
        "a process that reads twice, and first the second of two values of one writer",
        {"sequential": model_in("register", "cas-register", "kv")},
        others_order_broken,
    ),
)
