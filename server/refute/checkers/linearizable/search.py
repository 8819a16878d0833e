"""Searches for an order of the operations that a model allows and real time permits."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import isqrt

from refute.checkers.linearizable.model import Call, Model, State
from refute.checkers.spending import BudgetSpentError, Meter
from refute.history import hashable

NEVER = 2**63 - 1
_COUNT_BITS = 24
_COUNT_MASK = (1 << _COUNT_BITS) - 1
_FORGET_AT = (
    1_500_000  # configurations remembered; past it those far behind are tried again where they come up
)
_METER_EVERY = 64  # configurations
_LOOK_UP_EVERY = 2048  # configurations
_PATIENCE = 3000  # configurations without a further return, before a window around it is asked for a proof
_SHELF = [isqrt(number) for number in range(4093)]  # a prime: keys have powers of two in them
"""Configurations are remembered on shelves of different width: a set grows in one leap, and shelves that
leap one by one let a limit be kept."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A call with its interval; `end` is NEVER where it may take effect at any later time or not at all."""

    call: Call
    start: int
    end: int
    row: int


@dataclass(slots=True)
class Finding:
    """What a search found: `stuck` is the position in the order of returns that nothing got past."""

    valid: bool
    stuck: int = 0
    window: int = 0
    expanded: int = 0
    required: list[Timed] = field(default_factory=list)


class _Row(dict[int, int]):
    """From one state the next one by code of the call, or -1; worked out by the model once and remembered."""

    __slots__ = ("_state", "_table")

    def __init__(self, table: _Transitions, state: State) -> None:
        self._table, self._state = table, state

    def __missing__(self, code: int) -> int:
        table = self._table
        allowed, after = table.model.step(self._state, table.calls[code])
        self[code] = result = table.intern(after) if allowed else -1
        return result


class _Transitions:
    """The states by number, each with its row: many small dicts, as one large one doubles in one leap."""

    def __init__(self, model: Model, calls: list[Call], initial: State) -> None:
        self.model = model
        self.calls = calls
        self.rows: list[_Row] = []
        self._number: dict[State, int] = {}
        self.intern(initial)

    def intern(self, state: State) -> int:
        number = self._number.setdefault(hashable(state), len(self.rows))
        if number == len(self.rows):
            self.rows.append(_Row(self, state))
        return number


class Search:
    """A just-in-time search over the returns of one object's calls.

    A configuration is (number of returns passed, state, which of the pending calls have taken
    effect). A call takes effect only when its own return, or another's, forces the question; so all
    that lies before the earliest pending call is forgotten by construction, and the memory of
    configurations that led nowhere can be thinned at will (forgetting costs time, never truth).
    Wing and Gong, 1993, "Testing and Verifying Concurrent Objects"; Lowe, 2017, "Testing for
    Linearizability" (memory of configurations, just-in-time linearization).

    Four reductions, each because one configuration can do whatever the other can:

    - A pending call that changes no state and fits takes effect at once.
    - Of pending calls that are alike the one that must return first goes first; one that never
      has to happen goes after all of those.
    - Calls that never have to happen and are alike are used in the order of their invocations.
    - A call that never has to happen is used only right before a call that needs it: w(1) unknown,
      w(2), r=2 never uses w(1), because w(2) would have covered it.
    """

    def __init__(self, model: Model, calls: Sequence[Timed], meter: Meter) -> None:
        self.model, self.meter = model, meter
        self.required = sorted((timed for timed in calls if timed.end != NEVER), key=lambda timed: timed.end)
        codes: dict[Call, int] = {}
        self.code = [codes.setdefault(timed.call, len(codes)) for timed in self.required]
        classes: dict[int, list[int]] = {}
        for timed in sorted((timed for timed in calls if timed.end == NEVER), key=lambda timed: timed.start):
            classes.setdefault(codes.setdefault(timed.call, len(codes)), []).append(timed.start)
        self.calls = list(codes)
        self.reads = [model.reads(call) for call in self.calls]
        self.table = _Transitions(model, self.calls, model.init())
        self._lay_out()
        self.optional = [
            (code, starts, self.slots + number * _COUNT_BITS)
            for number, (code, starts) in enumerate(classes.items())
        ]

    def _lay_out(self) -> None:
        """For each return the calls pending there, its own first, and a bit for every call."""
        required, size = self.required, len(self.required)
        self.bit = bit = [0] * size
        self.pending_reads: list[tuple[int, ...]] = []
        self.pending_changes: list[tuple[int, ...]] = []
        reads = [self.reads[code] for code in self.code]
        by_start = sorted(range(size), key=lambda number: required[number].start)
        free: list[int] = []
        active_reads: list[int] = []
        active_changes: list[int] = []
        slots = arrived = 0
        for number in range(size):
            end = required[number].end
            while arrived < size and required[by_start[arrived]].start < end:
                call = by_start[arrived]
                if free:
                    bit[call] = free.pop()
                else:
                    bit[call] = 1 << slots
                    slots += 1
                insort(active_reads if reads[call] else active_changes, call)
                arrived += 1
            self.pending_reads.append(tuple(active_reads))
            self.pending_changes.append(tuple(active_changes))
            (active_reads if reads[number] else active_changes).pop(0)
            free.append(bit[number])
        self.slots = slots

    def run(self) -> Finding:
        """Whether there is such an order. Raises BudgetSpentError."""
        return self._explore([(0, 0, 0)], 0, len(self.required), endless=False)

    def _explore(self, stack: list[tuple[int, int, int]], first: int, last: int, *, endless: bool) -> Finding:
        """Depth first from these configurations until return `last` is passed or nothing is left.

        `endless` is the relaxed form for a window: optional calls may be used without counting.
        """
        rows, code, bit = self.table.rows, self.code, self.bit
        memory: list[set[int]] = [set() for _ in range(64)]
        pending_reads, pending_changes, optional = self.pending_reads, self.pending_changes, self.optional
        size = len(self.required) + 1
        furthest, since, patience, expanded, popped = first, 0, _PATIENCE, 0, 0
        while stack:
            popped += 1
            if not popped % _METER_EVERY:
                self.meter.check()
            number, state, done = stack.pop()
            if number < 0:
                number = ~number
                stack.extend(self._alternatives(number, state, done, endless))
                continue
            while True:
                row = rows[state]
                while number < last:
                    for call in pending_reads[number]:
                        if not done & bit[call] and row[code[call]] == state:
                            done |= bit[call]
                    own = bit[number]
                    if not done & own:
                        break
                    done ^= own
                    number += 1
                else:
                    return Finding(True, number, first, expanded, self.required)
                if number > furthest:
                    furthest, since = number, 0
                key = ((done << 32) | state) * size + number
                shelf = memory[_SHELF[key % 4093]]
                if key in shelf:
                    break
                shelf.add(key)
                expanded += 1
                since += 1
                if not expanded % _METER_EVERY:
                    self.meter.check()
                if not expanded % _LOOK_UP_EVERY:
                    if sum(map(len, memory)) > _FORGET_AT:
                        recent = furthest - 200
                        for place, shelf in enumerate(memory):
                            memory[place] = {key for key in shelf if key % size > recent}
                        if sum(map(len, memory)) > _FORGET_AT // 2:
                            memory = [set() for _ in range(64)]
                    if since > patience and not endless:
                        finding = self._window(furthest)
                        if finding is not None:
                            return finding
                        since, patience = 0, patience * 4
                after = row[code[number]]
                if after < 0:
                    stack.extend(self._alternatives(number, state, done, endless))
                    break
                if optional or len(pending_changes[number]) + len(pending_reads[number]) > 1:
                    stack.append((~number, state, done))
                state = after
                number += 1
        return Finding(False, furthest, first, expanded, self.required)

    def _alternatives(self, number: int, state: int, done: int, endless: bool) -> list[tuple[int, int, int]]:
        """Configurations in which some other call took effect first; the likeliest one last."""
        rows, code, bit = self.table.rows, self.code, self.bit
        row, wanted = rows[state], code[number]
        likely: list[tuple[int, int, int]] = []
        others: list[tuple[int, int, int]] = []
        waiting = {wanted}
        for call in self.pending_reads[number] + self.pending_changes[number]:
            mine = code[call]
            if call == number or done & bit[call] or mine in waiting:
                continue
            waiting.add(mine)
            after = row[mine]
            if after >= 0:
                into = likely if rows[after][wanted] >= 0 else others
                into.append((number, after, done | bit[call]))
        if self.optional:
            end = self.required[number].end
            usable = []
            for mine, starts, shift in self.optional:
                count = (done >> shift) & _COUNT_MASK
                if mine in waiting or not (count < bisect_left(starts, end) or (endless and starts[0] < end)):
                    continue
                usable.append((mine, shift))
            consumers = waiting.union(mine for mine, _ in usable)
            for mine, shift in usable:
                after = row[mine]
                if after < 0 or after == state:
                    continue
                then = rows[after]
                if not any(then[other] not in (-1, row[other]) for other in consumers):
                    continue
                into = likely if then[wanted] >= 0 else others
                into.append((number, after, done if endless else done + (1 << shift)))
        return others[::-1] + likely[::-1]

    def _window(self, stuck: int) -> Finding | None:
        """Tries to prove that nothing gets past `stuck` from the last few returns alone.

        Every state and every choice of pending calls is allowed at the window's beginning, which is
        more than any true beginning allows: if even so nothing gets through, the history is not
        linearizable, whatever happened before. (The converse does not hold, hence None.)
        """
        for length in (8, 24, 72, 216):
            first = max(0, stuck - length)
            numbers = range(first, min(stuck + 1, len(self.required)))
            seen = {self.code[call] for number in numbers for call in self._pending(number)}
            seen.update(code for code, _, _ in self.optional)
            states = self.model.window_states([self.calls[code] for code in seen])
            pending = self._pending(first)
            if states is None or len(pending) > 14:
                return None
            quiet = sum(self.bit[call] for call in pending if self.reads[self.code[call]])
            changes = [self.bit[call] for call in pending if not self.reads[self.code[call]]]
            subsets = [sum(some) for many in range(len(changes) + 1) for some in combinations(changes, many)]
            if len(subsets) * len(states) > 40_000:
                return None
            stack = [(first, self.table.intern(state), quiet | some) for state in states for some in subsets]
            finding = self._explore(stack, first, stuck + 1, endless=True)
            if not finding.valid:
                return finding
            if first == 0:
                return None
        return None

    def _pending(self, number: int) -> tuple[int, ...]:
        return self.pending_reads[number] + self.pending_changes[number]


def search(model: Model, calls: Sequence[Timed], meter: Meter) -> Finding:
    """Whether the calls of one object are linearizable; raises BudgetSpentError.

    Exponential in the number of calls pending at once in the worst case, near-linear in the length.
    """
    narrowed = model.narrowed([timed.call for timed in calls])
    if narrowed is None:
        return Search(model, calls, meter).run()
    whole = Search(narrowed, calls, meter).run()
    return whole if whole.valid else _first_failure(model, calls, whole.required, meter)


def _first_failure(model: Model, calls: Sequence[Timed], required: list[Timed], meter: Meter) -> Finding:
    """The first return up to which there is no order, by bisection.

    A narrowed model may have refused an earlier one for what only later calls tell.
    """
    low, high = 0, len(required) - 1
    while low < high:
        middle = (low + high) // 2
        some = until(calls, model, required[middle])
        narrowed = model.narrowed([timed.call for timed in some]) or model
        if Search(narrowed, some, meter).run().valid:
            low = middle + 1
        else:
            high = middle
    return Finding(False, low, 0, 0, required)


def until(calls: Sequence[Timed], model: Model, last: Timed) -> list[Timed]:
    """The calls as they stood when one returned: nobody knows whether those still pending happened."""
    found: list[Timed] = []
    for timed in calls:
        if timed.start >= last.end:
            continue
        if timed.end > last.end and timed is not last:
            if model.reads(timed.call):
                continue
            timed = Timed(timed.call._replace(known=False), timed.start, NEVER, timed.row)
        found.append(timed)
    return found


__all__ = ["NEVER", "BudgetSpentError", "Finding", "Search", "Timed", "search", "until"]
