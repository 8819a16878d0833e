"""The checker `sequential`: registers whose operations have one order that every process would agree to.

Lamport, 1979, "How to Make a Multiprocessor Computer That Correctly Executes Multiprocess Programs".
Only each process's own order counts, not real time, so several clocks do no harm.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from refute.checkers.catalog import CheckerError
from refute.checkers.linearizable.check import chosen_model
from refute.checkers.linearizable.explain import unexplained_anomaly
from refute.checkers.linearizable.model import State
from refute.checkers.linearizable.prepare import objects, tally
from refute.checkers.linearizable.registers import Register
from refute.checkers.linearizable.search import NEVER, Timed
from refute.checkers.linearizable.sequential_order import Thread, closed, refuted, unexplained
from refute.checkers.linearizable.sources import NAMED, Unexplained, observed, produced
from refute.checkers.linearizable.unique_writes import failed_writes
from refute.checkers.minimal import SHRINK, minimise
from refute.checkers.result import Anomaly, Budget, Result
from refute.checkers.spending import BudgetSpentError, Meter
from refute.history import History
from refute.history.columns import OPEN

NAME = "sequential"
_METER_EVERY = 4  # a step copies all places and registers, and tries every write that waits

_Place = tuple[tuple[int, ...], frozenset[int], tuple[tuple[int, State], ...]]
"""How far each process has come, the unknown calls set aside, and what the registers hold."""


def check_sequential(
    history: History,
    *,
    budget: Budget,
    model: Any = "register",
    initial: Any = None,
    unknown_initial: bool = False,
) -> Result:
    """Whether all operations have one order that keeps each process's own and that the registers allow.

    Sequential consistency is not local: all keys are searched together. An unknown write may take
    effect at any time after what its process did before it, or never. The problem is NP-complete
    (Gibbons and Korach, 1997). Where values name their writes, saturation decides most histories; else
    a large one may end in `unknown` when the budget is spent.
    """
    meter = Meter(budget)
    chosen = chosen_model(model, initial, unknown_initial)
    if not isinstance(chosen, Register):
        raise CheckerError(
            f"sequential consistency is for registers, not for {chosen.name}", hint="use register"
        )
    counts, rows = tally(history, chosen)
    base = Result(NAME, "unknown", dict(counts.consumed), ignored=dict(counts.ignored), algorithm="search")
    if counts.strange:
        kinds = ", ".join(map(repr, counts.strange))
        return replace(base, reason=f"operations of kind {kinds} touch the same keys and are not known here")
    if not counts.consumed["ok"] and counts.consumed["info"]:
        return replace(base, reason="no operation was answered, so nothing could be seen")
    overlapping = _overlapping(history, rows)
    if overlapping is not None:
        return replace(
            base,
            reason=f"process {overlapping!r} had two operations in flight, so its own order is not known",
        )
    lost = history.completeness.unreadable_lines
    if lost:
        return replace(base, reason=f"{lost} lines of the history could not be read; they may matter")
    threads = _threads(history, chosen, rows)
    strange = unexplained(chosen, threads)
    if strange is not None:
        failed = failed_writes(history, chosen, strange)
        anomaly = unexplained_anomaly(history, Unexplained("garbage", (strange,)), failed)
        return replace(base, valid=False, anomalies=(anomaly,), algorithm="sources")
    try:
        wrong = refuted(chosen, threads, meter.check)
        if wrong is not None:
            base = replace(base, algorithm="saturation", assumptions=(NAMED,))
            if not wrong:
                return replace(base, valid=True)
            few = _fewest(chosen, threads, wrong)
        elif _ordered(chosen, threads, meter):
            return replace(base, valid=True)
        else:
            few = _smallest(chosen, threads, meter)
    except BudgetSpentError as spent:
        return replace(base, reason=str(spent))
    operations = tuple(history.operations[timed.row] for timed in sorted(few, key=lambda timed: timed.row))
    sentence = f"no order of these {len(few)} operations keeps each process's own and explains all answers"
    return replace(base, valid=False, anomalies=(Anomaly("not sequential", sentence, operations),))


def _overlapping(history: History, rows: Any) -> Any:
    """A process of which two operations ran at once, or None."""
    import numpy as np

    columns = history.columns
    order = rows[np.lexsort((columns.invoked[rows], columns.process[rows]))]
    process, begun, ended = columns.process[order], columns.invoked[order], columns.completed[order]
    known = ended[:-1] != OPEN
    clash = (process[1:] == process[:-1]) & known & (ended[:-1] > begun[1:])
    hit = np.nonzero(clash)[0]
    return columns.processes[process[hit[0]]] if len(hit) else None


def _threads(history: History, model: Register, rows: Any) -> list[Thread]:
    """For each process its calls in order, each with its key."""
    import numpy as np

    columns = history.columns
    threads: dict[int, Thread] = {}
    for _, calls in objects(history, model, np.sort(rows)):
        for timed in calls:
            key = int(columns.key[timed.row])
            threads.setdefault(int(columns.process[timed.row]), []).append((key, timed))
    for thread in threads.values():
        thread.sort(key=lambda pair: pair[1].row)
    return list(threads.values())


def _ordered(model: Register, threads: list[Thread], meter: Meter) -> bool:
    """Depth first over how far each process has come; what was seen before is not tried again.

    A read that fits is taken at once: it changes nothing, so nothing is lost by it. An unknown call
    that its process has passed waits aside: it may still happen, or never.
    """
    initial = model.init()
    unknown = {timed.row: (key, timed) for thread in threads for key, timed in thread if timed.end == NEVER}
    stack: list[_Place] = [((0,) * len(threads), frozenset(), ())]
    seen: set[_Place] = set()
    steps = 0
    while stack:
        steps += 1
        if not steps % _METER_EVERY:
            meter.check()
        at, waiting, registers = stack.pop()
        values = dict(registers)
        at, waiting = _settled(model, threads, at, waiting, values)
        if all(place == len(thread) for place, thread in zip(at, threads, strict=True)):
            return True
        here = (at, waiting, registers)
        if here in seen:
            continue
        seen.add(here)
        heads = [
            (*thread[place], number)
            for number, (thread, place) in enumerate(zip(threads, at, strict=True))
            if place < len(thread)
        ]
        awaited = {(key, observed(timed)) for key, timed, _ in heads if observed(timed) is not None}
        further: list[tuple[bool, _Place]] = []
        for key, timed, number in [*((*unknown[row], -1) for row in waiting), *heads]:
            state = values.get(key, initial)
            allowed, after = model.step(state, timed.call)
            if not allowed or (number < 0 and after == state):
                continue
            left = waiting - {timed.row} if number < 0 else waiting
            moved = at if number < 0 else (*at[:number], at[number] + 1, *at[number + 1 :])
            changed = tuple(sorted({**values, key: after}.items(), key=lambda item: item[0]))
            further.append(((key, produced(timed)) in awaited, (moved, left, changed)))
        further.sort(
            key=lambda option: option[0]
        )  # last in, first out: a write that is waited for goes first
        stack.extend(place for _, place in further)
    return False


def _settled(
    model: Register,
    threads: list[Thread],
    at: tuple[int, ...],
    waiting: frozenset[int],
    values: dict[int, State],
) -> tuple[tuple[int, ...], frozenset[int]]:
    """How far the processes come by reads that fit and by setting unknown calls aside."""
    places, aside = list(at), set(waiting)
    for number, thread in enumerate(threads):
        while places[number] < len(thread):
            key, timed = thread[places[number]]
            if timed.end == NEVER:
                aside.add(timed.row)
            else:
                state = values.get(key, model.init())
                if not model.reads(timed.call) or model.step(state, timed.call) != (True, state):
                    break
            places[number] += 1
    return tuple(places), frozenset(aside)


def _fewest(model: Register, threads: list[Thread], wrong: Sequence[Timed]) -> list[Timed]:
    """Few of the calls that are to blame, with the writes that they saw."""
    meter = Meter(SHRINK)

    def fails(some: Sequence[Timed]) -> bool:
        try:
            return bool(refuted(model, closed(model, threads, some), meter.check))
        except BudgetSpentError:
            return False

    few = minimise(wrong, fails, SHRINK)
    return [timed for thread in closed(model, threads, few) for _, timed in thread]


def _smallest(model: Register, threads: list[Thread], meter: Meter) -> list[Timed]:
    """Few calls that still have no order: without reads, and without values together with their reads.

    A value that is left out with all that wrote and saw it leaves the rest as it was, as long as no
    compare-and-set ties it to others.
    """
    everything = [(number, key, timed) for number, thread in enumerate(threads) for key, timed in thread]
    tied = {key for _, key, timed in everything if timed.call.kind not in ("read", "write")}
    groups: dict[Hashable, list[tuple[int, int, Timed]]] = {}
    for item in everything:
        _, key, timed = item
        free = timed.call.kind == "write" and key not in tied
        name = (key, produced(timed)) if free else ("read", timed.row) if model.reads(timed.call) else ()
        groups.setdefault(name, []).append(item)
    fixed = groups.pop((), [])
    written = {name for name in groups if isinstance(name, tuple) and name[0] != "read"}

    def kept(names: Sequence[Hashable]) -> list[tuple[int, int, Timed]]:
        gone = written - set(names)
        some = [item for name in names for item in groups[name]]
        return sorted(
            (item for item in [*fixed, *some] if (item[1], observed(item[2])) not in gone),
            key=lambda item: item[2].row,
        )

    def fails(names: Sequence[Hashable]) -> bool:
        chosen: list[Thread] = [[] for _ in threads]
        for number, key, timed in kept(names):
            chosen[number].append((key, timed))
        try:
            return not _ordered(model, chosen, meter)
        except BudgetSpentError:
            return False

    names = minimise(list(groups), fails, SHRINK) if groups else ()
    return [timed for _, _, timed in kept(names)]
