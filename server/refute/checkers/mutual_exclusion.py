"""Mutual exclusion: a lock has one holder at a time, and what a former holder writes is fenced off."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from refute.checkers.catalog import CheckerError
from refute.checkers.judgement import Judgement, overlapping
from refute.checkers.kinds import Kinds, effect_end, kinds
from refute.checkers.result import Budget, Result
from refute.history import History, Operation, Outcome, hashable

ACQUIRING = frozenset({"acquire", "lock"})
RELEASING = frozenset({"release", "unlock"})


@dataclass(frozen=True)
class Hold:
    """One holder's tenure: it certainly began by `begin_ns` and certainly lasted until `end_ns`."""

    acquire: Operation
    begin_ns: int
    end_ns: int
    token: int | None
    writes: tuple[Operation, ...]
    last: Operation | None

    @property
    def proof(self) -> tuple[Operation, ...]:
        """The operations that show that the lock was held until `end_ns`."""
        return (self.acquire,) if self.last is None else (self.acquire, self.last)


def check(
    history: History,
    *,
    budget: Budget,
    mode: str = "mutex",
    lease_ms: float | None = None,
    write_kinds: object = (),
) -> Result:
    """Whether holders of each lock exclude one another.

    In mode `mutex` no two tenures overlap. A tenure certainly lasts from the completion of a
    successful acquire to the invocation of the next release by that process, or else to the
    completion of the last thing that the process did before it acquired again; with `lease_ms` no
    longer than that after the acquire was invoked. Writes of two holders must not interleave either.
    In mode `fenced` tenures may overlap (a lease runs out while its holder is paused), but tokens
    (`extra.token`, or the output of the acquire) grow from one acquire to the next, none is given out
    twice, and no write with an older token succeeds after one with a newer token had been acknowledged.

    Anomalies: `two-holders`, `interleaved-writes`, `token-order`, `duplicate-token`,
    `stale-token-accepted`. O(n log n). Raises CheckerError for an unknown mode.
    """
    if mode not in ("mutex", "fenced"):
        raise CheckerError(f"mode must be mutex or fenced, not {mode!r}")
    known = kinds(write_kinds, ())
    judgement = Judgement("mutual-exclusion", "tenures by lock, in order of their beginnings")
    if history.clock == "wall":
        judgement.cannot("wall clocks of several clients do not say whether two tenures overlap")
        return judgement.result(history.operations, nothing="no order in time")
    clash = overlapping(history.operations)
    if clash is not None:
        judgement.cannot(f"process {clash[0].process} has two operations in flight at once")
    used = [
        o
        for o in history.operations
        if o.kind in ACQUIRING or o.kind in RELEASING or known.writes(o) or o.kind == "renew"
    ]
    tenures = tenures_of(history, known, lease_ms)
    for lock, holds in tenures.items():
        holds.sort(key=lambda hold: (hold.begin_ns, -hold.end_ns))
        if len(holds) > 1:
            judgement.judged += len(holds)
        if mode == "mutex":
            _judge_overlap(judgement, lock, holds)
            _judge_interleaving(judgement, holds)
        else:
            _judge_tokens(judgement, holds)
            _judge_fence(judgement, [o for o in used if known.writes(o)], holds)
    if lease_ms is None and mode == "mutex":
        judgement.assumptions.append("a holder that never released held the lock as long as it was active")
    nothing = "no lock was acquired twice"
    return judgement.result(used, nothing=nothing, keys=len(tenures))


def tenures_of(history: History, known: Kinds, lease_ms: float | None) -> dict[Hashable, list[Hold]]:
    """Every tenure by lock, as far as it is certain."""
    locks = {hashable(o.key) for o in history.operations if o.kind in ACQUIRING}
    writes = known.writes
    by_process: dict[int | str, list[Operation]] = defaultdict(list)
    for operation in history.operations:
        by_process[operation.process].append(operation)
    found: dict[Hashable, list[Hold]] = defaultdict(list)
    for operations in by_process.values():
        for place, acquire in enumerate(operations):
            if acquire.kind not in ACQUIRING or acquire.outcome is not Outcome.OK:
                continue
            if acquire.completed_ns is not None and _granted(acquire):
                hold = _tenure(acquire, operations[place + 1 :], writes, locks, lease_ms)
                found[hashable(acquire.key)].append(hold)
    return found


def _granted(acquire: Operation) -> bool:
    return acquire.output is not False


def _tenure(
    acquire: Operation,
    rest: list[Operation],
    writes: Any,
    locks: set[Hashable],
    lease_ms: float | None,
) -> Hold:
    begin = effect_end(acquire)
    end = begin
    last: Operation | None = None
    written: list[Operation] = []
    renewed = acquire.invoked_ns
    for operation in rest:
        same_lock = hashable(operation.key) == hashable(acquire.key)
        if same_lock and operation.kind in ACQUIRING and operation.outcome is Outcome.OK:
            break
        if same_lock and operation.kind in RELEASING and operation.outcome is not Outcome.FAIL:
            end, last = max(end, operation.invoked_ns), operation
            break
        if operation.outcome is Outcome.OK and operation.completed_ns is not None:
            if operation.kind == "renew" and same_lock:
                renewed = operation.invoked_ns
            if writes(operation) and (hashable(operation.key) not in locks or len(locks) == 1):
                written.append(operation)
            end, last = operation.completed_ns, operation
    if lease_ms is not None:
        end = max(begin, min(end, renewed + int(lease_ms * 1e6)))
    token = acquire.extra.get("token", acquire.output)
    number = token if isinstance(token, int) and not isinstance(token, bool) else None
    return Hold(acquire, begin, end, number, tuple(written), last)


def _judge_overlap(judgement: Judgement, lock: Hashable, holds: list[Hold]) -> None:
    longest: Hold | None = None
    for hold in holds:
        held = longest is not None and longest.end_ns > hold.begin_ns
        if held and longest is not None and longest.acquire.process != hold.acquire.process:
            name = "" if lock is None else f" {hold.acquire.key}"
            sentence = (
                f"process {hold.acquire.process} got the lock{name} while process "
                f"{longest.acquire.process} still held it"
            )
            judgement.found("two-holders", sentence, (*longest.proof, hold.acquire), key=lock)
        if longest is None or hold.end_ns > longest.end_ns:
            longest = hold


def _judge_interleaving(judgement: Judgement, holds: list[Hold]) -> None:
    """A write of one holder between two writes that another made in one tenure."""
    written = [(effect_end(write), write, hold) for hold in holds for write in hold.writes]
    written.sort(key=lambda item: item[0])
    ends = [end for end, _, _ in written]
    for hold in holds:
        if len(hold.writes) < 2:
            continue
        first, last = hold.writes[0], hold.writes[-1]
        for end, write, other in written[bisect_right(ends, effect_end(first)) :]:
            if end >= last.invoked_ns:
                break
            if other.acquire.process != hold.acquire.process and write.invoked_ns > effect_end(first):
                sentence = (
                    f"process {other.acquire.process} wrote {write.input!r} between two writes that process "
                    f"{hold.acquire.process} made while it held the lock"
                )
                judgement.found(
                    "interleaved-writes", sentence, (hold.acquire, first, other.acquire, write, last)
                )
                break


def _judge_tokens(judgement: Judgement, holds: list[Hold]) -> None:
    if any(hold.token is None for hold in holds):
        judgement.cannot("an acquire has no fencing token: extra.token or a number as output")
    numbered = [hold for hold in holds if hold.token is not None]
    owner: dict[int, Hold] = {}
    for hold in numbered:
        token = hold.token or 0
        if token in owner:
            sentence = f"the token {token} was given out twice"
            judgement.found("duplicate-token", sentence, (owner[token].acquire, hold.acquire))
        owner[token] = hold
    done = sorted(numbered, key=lambda hold: hold.begin_ns)
    greatest: Hold | None = None
    place = 0
    for hold in sorted(numbered, key=lambda hold: hold.acquire.invoked_ns):
        while place < len(done) and done[place].begin_ns < hold.acquire.invoked_ns:
            if greatest is None or (done[place].token or 0) > (greatest.token or 0):
                greatest = done[place]
            place += 1
        if greatest is not None and (hold.token or 0) < (greatest.token or 0):
            sentence = f"the token {hold.token} was given out after {greatest.token}"
            judgement.found("token-order", sentence, (greatest.acquire, hold.acquire))


def _judge_fence(judgement: Judgement, writes: list[Operation], holds: list[Hold]) -> None:
    tokens = {write.index: hold.token for hold in holds for write in hold.writes}
    fenced = [(write.extra.get("token", tokens.get(write.index)), write) for write in writes]
    known = [(token, w) for token, w in fenced if isinstance(token, int) and w.outcome is Outcome.OK]
    if not known:
        judgement.cannot("no successful write carries a token: extra.token")
    done = sorted(known, key=lambda item: effect_end(item[1]))
    greatest: dict[Hashable, tuple[int, Operation]] = {}
    place = 0
    for token, write in sorted(known, key=lambda item: item[1].invoked_ns):
        while place < len(done) and effect_end(done[place][1]) < write.invoked_ns:
            newer, other = done[place]
            key = hashable(other.key)
            if key not in greatest or newer > greatest[key][0]:
                greatest[key] = (newer, other)
            place += 1
        best = greatest.get(hashable(write.key))
        if best is not None and token < best[0]:
            sentence = f"a write with token {token} succeeded after one with token {best[0]} was acknowledged"
            judgement.found("stale-token-accepted", sentence, (best[1], write))
