"""The four session guarantees: what a client did and saw binds what it, and those who see its writes, see.

Terry, Demers, Petersen, Spreitzer, Theimer, Welch, "Session Guarantees for Weakly Consistent
Replicated Data" (1994).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable
from typing import Any, TypedDict, Unpack

from refute.checkers.judgement import Judgement, overlapping
from refute.checkers.kinds import kinds, written
from refute.checkers.result import Budget, Result
from refute.checkers.versions import Sight, Version, Versions
from refute.history import History, Operation, Outcome, hashable

_ALGORITHM = "newest version required of each session and object, one pass"


class SessionOptions(TypedDict, total=False):
    """What each of the four can be told: `session` is the field of `extra` that names the session.

    Without it a process is a session. `initial` is what an object holds before the first write, None
    where nothing is said; `write_kinds` and `read_kinds` are those of `kinds`.
    """

    initial: Any
    session: str | None
    write_kinds: object
    read_kinds: object


class _Sessions:
    """The reads and writes of a history by session, in session order."""

    def __init__(self, name: str, history: History, options: SessionOptions) -> None:
        known = kinds(options.get("write_kinds", ()), options.get("read_kinds", ()))
        self.judgement = Judgement(name, _ALGORITHM)
        self.versions = Versions(history, known, options.get("initial"))
        sights: dict[int, list[Sight]] = defaultdict(list)
        for sight in self.versions.sights():
            sights[sight.operation.index].append(sight)
        self.steps: list[tuple[Hashable, Operation, list[Sight]]] = []
        field = options.get("session")
        for operation in history.operations:
            if known.writes(operation) or operation.index in sights:
                session = operation.extra.get(field, operation.process) if field else operation.process
                self.steps.append((session, operation, sights.get(operation.index, [])))
        self._note(history, known.accumulating)

    def _note(self, history: History, accumulating: frozenset[str]) -> None:
        judgement = self.judgement
        judgement.assumptions += self.versions.assumptions()
        clash = overlapping(operation for _, operation, _ in self.steps)
        if clash is not None:
            judgement.cannot(f"process {clash[0].process} has two operations in flight at once")
        if history.clock == "wall" and set(self.versions.writes) - self.versions.numbered:
            judgement.cannot("wall clocks of several clients do not order the versions")
        adds = sum(operation.kind in accumulating for _, operation, _ in self.steps)
        judgement.ignored["writes that add to what is there"] = adds

    def usable(self, sight: Sight) -> Version | None:
        """The version that a read saw; counts the reads that do not show it."""
        if sight.version is None:
            writers = self.versions.writers(sight.key, sight.value)
            if sum(w.outcome is not Outcome.FAIL for w in writers) > 1:
                self.judgement.cannot("a value was read that several writes wrote: which one is unknown")
            elif writers:
                self.judgement.ignored["reads of values of failed writes: see no-phantom"] += 1
            else:
                self.judgement.ignored["reads of values that nobody wrote: see no-phantom"] += 1
        return sight.version

    def result(self, nothing: str) -> Result:
        """The Result over all steps."""
        return self.judgement.result(
            [operation for _, operation, _ in self.steps],
            nothing=nothing,
            keys=len(self.versions.writes),
        )


def _before(first: Operation, second: Operation) -> bool:
    """Whether one operation of a session was over when the other began."""
    return first.completed_ns is not None and first.completed_ns <= second.invoked_ns


def _shown(version: Version) -> str:
    """A version in words: its value where the write is known, else its number."""
    if version.writer is not None:
        return repr(written(version.writer))
    return "the initial value" if version.begin < 0 else f"version {version.begin // 2}"


def check_read_your_writes(history: History, *, budget: Budget, **options: Unpack[SessionOptions]) -> Result:
    """Whether no session reads a version older than one that it had itself written before; O(n).

    Only acknowledged writes bind: one that timed out may be missing.
    """
    sessions = _Sessions("read-your-writes", history, options)
    newest: dict[tuple[Hashable, Hashable], tuple[Version, Operation]] = {}
    for owner, operation, sights in sessions.steps:
        for sight in sights:
            seen = sessions.usable(sight)
            if seen is None or (owner, sight.key) not in newest:
                continue
            own, write = newest[owner, sight.key]
            if not _before(write, operation):
                continue
            sessions.judgement.judged += 1
            if seen.older_than(own):
                sessions.judgement.found(
                    "read-your-writes",
                    f"session {owner} wrote {_shown(own)} to {operation.key} and then read {_shown(seen)}, "
                    "which is older",
                    _unique((seen.writer, write, operation)),
                    key=sight.key,
                )
        if operation.kind in sessions.versions.known.replacing and operation.outcome is Outcome.OK:
            version = sessions.versions.of_write(operation)
            place = (owner, hashable(operation.key))
            if place not in newest or newest[place][0].begin < version.begin:
                newest[place] = (version, operation)
    return sessions.result("no session read what it had written before")


def check_monotonic_reads(history: History, *, budget: Budget, **options: Unpack[SessionOptions]) -> Result:
    """Whether no session reads a version older than one that it had read before; O(n)."""
    sessions = _Sessions("monotonic-reads", history, options)
    newest: dict[tuple[Hashable, Hashable], tuple[Version, Operation]] = {}
    for owner, operation, sights in sessions.steps:
        for sight in sights:
            seen = sessions.usable(sight)
            if seen is None:
                continue
            before = newest.get((owner, sight.key))
            if before is not None and _before(before[1], operation):
                sessions.judgement.judged += 1
                if seen.older_than(before[0]):
                    sessions.judgement.found(
                        "monotonic-reads",
                        f"session {owner} read {_shown(before[0])} of {operation.key} and then "
                        f"{_shown(seen)}, which is older",
                        _unique((seen.writer, before[0].writer, before[1], operation)),
                        key=sight.key,
                    )
            if before is None or before[0].begin < seen.begin:
                newest[owner, sight.key] = (seen, operation)
    return sessions.result("no session read one object twice")


def check_monotonic_writes(history: History, *, budget: Budget, **options: Unpack[SessionOptions]) -> Result:
    """Whether whoever sees a write of a session also sees that session's earlier acknowledged writes.

    A node that showed a session what another one wrote must not afterwards show it, of any object, a
    version older than one that the other had written before. O(n times the sessions seen by one).
    """
    return _seen_in_order("monotonic-writes", history, options, reads_bind=False)


def check_writes_follow_reads(
    history: History, *, budget: Budget, **options: Unpack[SessionOptions]
) -> Result:
    """Whether whoever sees a write also sees what its session had read before it wrote.

    Judged like monotonic writes, session by session and node by node. O(n times the sessions seen by one).
    """
    return _seen_in_order("writes-follow-reads", history, options, reads_bind=True)


class _Past:
    """What one session had written, or read, of each object up to each of its steps."""

    def __init__(self) -> None:
        self._steps: dict[Hashable, list[int]] = defaultdict(list)
        self._newest: dict[Hashable, list[tuple[Version, Operation]]] = defaultdict(list)

    def add(self, step: int, key: Hashable, version: Version, operation: Operation) -> None:
        """One more version; what is kept at a step is the newest until then."""
        before = self._newest[key]
        newest = (version, operation)
        if before and before[-1][0].begin >= version.begin:
            newest = before[-1]
        self._steps[key].append(step)
        before.append(newest)

    def before(self, step: int, key: Hashable) -> tuple[Version, Operation] | None:
        """The newest version of an object before a step."""
        place = bisect_left(self._steps.get(key, ()), step)
        return self._newest[key][place - 1] if place else None


def _seen_in_order(name: str, history: History, options: SessionOptions, *, reads_bind: bool) -> Result:
    sessions = _Sessions(name, history, options)
    pasts: dict[Hashable, _Past] = defaultdict(_Past)
    written_at: dict[int, tuple[Hashable, int]] = {}
    for step, (owner, operation, sights) in enumerate(sessions.steps):
        if operation.kind in sessions.versions.known.replacing:
            written_at[operation.index] = (owner, step)
            if not reads_bind and operation.outcome is Outcome.OK:
                made = sessions.versions.of_write(operation)
                pasts[owner].add(step, hashable(operation.key), made, operation)
        elif reads_bind:
            for sight in sights:
                if sight.version is not None:
                    pasts[owner].add(step, sight.key, sight.version, operation)
    seen_of: dict[Hashable, dict[Hashable, tuple[int, Operation, Operation]]] = defaultdict(dict)
    sessions.judgement.assumptions.append(
        "what one node shows to one session comes from one copy, which only moves forward"
    )
    verb = "read" if reads_bind else "wrote"
    for owner, operation, sights in sessions.steps:
        for sight in sights:
            version = sessions.usable(sight)
            if version is None:
                continue
            for author, (step, write, sight_of_it) in seen_of[owner, operation.node].items():
                bound = pasts[author].before(step, sight.key)
                if bound is None or not _before(sight_of_it, operation):
                    continue
                sessions.judgement.judged += 1
                if version.older_than(bound[0]):
                    proof = (version.writer, bound[0].writer, bound[1], write, sight_of_it, operation)
                    sessions.judgement.found(
                        name,
                        f"session {author} {verb} {_shown(bound[0])} of {operation.key} before it wrote "
                        f"{written(write)!r}; session {owner} saw that and then {_shown(version)}, "
                        "which is older",
                        _unique(proof),
                        key=sight.key,
                    )
        for sight in sights:
            if sight.version is not None and sight.version.writer is not None:
                origin = written_at.get(sight.version.writer.index)
                if origin is not None:
                    author, step = origin
                    viewer = (owner, operation.node)
                    before = seen_of[viewer].get(author)
                    if before is None or before[0] < step:
                        seen_of[viewer][author] = (step, sight.version.writer, operation)
    return sessions.result("no session read on after it had seen another's later write")


def _unique(operations: tuple[Operation | None, ...]) -> list[Operation]:
    found: dict[int, Operation] = {o.index: o for o in operations if o is not None}
    return list(found.values())
