"""Operators on sessions: a read goes back behind what its session wrote, read or was bound to see."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from random import Random

from refute.checkers.kinds import ended, written
from refute.checkers.planted.ground import Ground, shuffled
from refute.checkers.planted.operator import Operator, Planting, always
from refute.checkers.versions import Sight, Version, Versions
from refute.history import Operation, Outcome, hashable

PLACES = 40
"""How many places an operator looks at, as few copies are made of all that is offered."""


class _Told:
    """A history by session, with what is known of the order of versions."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.versions = Versions(ground.history, ground.known, ground.options.get("initial"))
        self.sights = [s for s in self.versions.sights() if s.operation.key is not None or not _maps(s)]
        self.field = ground.options.get("session")
        self.by_session: dict[tuple[Hashable, Hashable], list[tuple[Operation, Version | None]]] = {}
        for write in (o for writes in self.versions.writes.values() for o in writes):
            if write.outcome is Outcome.OK:
                place = (self.session(write), hashable(write.key))
                self.by_session.setdefault(place, []).append((write, self.versions.of_write(write)))

    def session(self, operation: Operation) -> Hashable:
        """The session of an operation."""
        own: Hashable = operation.process
        return operation.extra.get(self.field, own) if self.field else own

    def older(self, key: Hashable, than: Version, rng: Random) -> Operation | None:
        """A write of a value of its own that certainly came before a version."""
        writes = shuffled(self.versions.writes.get(key, ()), rng)
        for write in writes:
            alone = len(self.versions.writers(key, written(write))) == 1
            if (
                write.outcome is not Outcome.OK
                or not alone
                or hashable(written(write)) == self.versions.initial
            ):
                continue
            if self.versions.of_write(write).older_than(than):
                return write
        return None

    def set_back(self, sight: Sight, old: Operation, others: tuple[Operation, ...], words: str) -> Planting:
        """The read with an older value (and its version number, where there are such)."""
        read = replace(sight.operation, output=written(old))
        if sight.key in self.versions.numbered:
            read = replace(read, extra={**read.extra, "version": old.extra["version"]})
        return Planting(self.ground.with_changed(read), (old, *others, read), words)


def _maps(sight: Sight) -> bool:
    return sight.operation.output is not sight.value


def _over(first: Operation, second: Operation) -> bool:
    return first.completed_ns is not None and first.completed_ns < second.invoked_ns


def own_writes_forgotten(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A session reads what its own acknowledged write had replaced."""
    told = _Told(ground)
    for sight in shuffled(told.sights, rng)[:PLACES]:
        own = told.by_session.get((told.session(sight.operation), sight.key), [])
        before = [(write, version) for write, version in own if _over(write, sight.operation)]
        for write, version in before[-1:]:
            old = None if version is None else told.older(sight.key, version, rng)
            if old is not None:
                words = f"a session wrote {written(write)!r} and then reads {written(old)!r}, which is older"
                yield told.set_back(sight, old, (write,), words)


def reads_going_back(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A session reads what is older than what it had read before."""
    told = _Told(ground)
    last: dict[tuple[Hashable, Hashable], Sight] = {}
    pairs: list[tuple[Sight, Sight]] = []
    for sight in told.sights:
        place = (told.session(sight.operation), sight.key)
        if place in last and _over(last[place].operation, sight.operation):
            pairs.append((last[place], sight))
        if sight.version is not None:
            last[place] = sight
    for before, sight in shuffled(pairs, rng)[:PLACES]:
        old = None if before.version is None else told.older(sight.key, before.version, rng)
        if old is not None:
            words = f"a session read {before.value!r} and then {written(old)!r}, which is older"
            yield told.set_back(sight, old, (before.operation,), words)


def _bound(ground: Ground, rng: Random, *, reads_bind: bool) -> Iterator[Planting]:
    """A session sees a write, and then, at the same node, not what the writer had written (read) before."""
    told = _Told(ground)
    by_viewer: dict[tuple[Hashable, str | None], list[Sight]] = {}
    by_author: dict[Hashable, list[tuple[Operation, Hashable, Version]]] = {}
    for sight in told.sights:
        by_viewer.setdefault((told.session(sight.operation), sight.operation.node), []).append(sight)
        if reads_bind and sight.version is not None:
            deed = (sight.operation, sight.key, sight.version)
            by_author.setdefault(told.session(sight.operation), []).append(deed)
    if not reads_bind:
        for (session, key), writes in told.by_session.items():
            for write, version in writes:
                if version is not None:
                    by_author.setdefault(session, []).append((write, key, version))
    tried = 0
    for sights in shuffled(by_viewer.values(), rng):
        for place, first in shuffled(enumerate(sights), rng)[:10]:
            seen = None if first.version is None else first.version.writer
            if seen is None:
                continue
            for later in sights[place + 1 : place + 12]:
                deeds = [
                    deed
                    for deed in by_author.get(told.session(seen), ())
                    if deed[1] == later.key and _over(deed[0], seen) and deed[0] is not seen
                ]
                if not deeds or not _over(first.operation, later.operation):
                    continue
                deed = rng.choice(deeds[-3:])
                old = told.older(later.key, deed[2], rng)
                if old is None:
                    continue
                words = f"{first.value!r} is seen and then {written(old)!r}, older than what it rests on"
                yield told.set_back(later, old, (deed[0], seen, first.operation), words)
                tried += 1
                break
            if tried == PLACES:
                return


def writes_out_of_order(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A later write of a session is seen, and then an earlier one is not."""
    return _bound(ground, rng, reads_bind=False)


def writes_without_their_reads(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A write is seen, and then what its session had read before is not."""
    return _bound(ground, rng, reads_bind=True)


def _merging(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A read of one session moves into another that had already read something newer."""
    told = _Told(ground)
    if told.field:
        return
    by_process: dict[int | str, list[Operation]] = {}
    for operation in ground.history.operations:
        by_process.setdefault(operation.process, []).append(operation)
    for newer in shuffled(told.sights, rng)[: 4 * PLACES]:
        if newer.version is None or newer.operation.completed_ns is None:
            continue
        session = by_process[newer.operation.process]
        for sight in shuffled(told.sights, rng)[:200]:
            late = sight.operation
            behind = sight.key == newer.key and sight.version is not None and _over(newer.operation, late)
            if not behind or late.process == newer.operation.process or sight.version is None:
                continue
            end = late.completed_ns
            if not sight.version.older_than(newer.version) or end is None:
                continue
            if any(o.invoked_ns <= end and ended(o) >= late.invoked_ns for o in session):
                continue
            merged = replace(late, process=newer.operation.process)
            yield Planting(
                ground.with_changed(merged),
                (newer.operation, merged),
                f"two sessions are merged: {newer.value!r} is read and then {sight.value!r}, which is older",
            )
            break


def too_stale_reads(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A read lags by more than is allowed."""
    told = _Told(ground)
    max_ms, max_versions = ground.options.get("max_ms"), ground.options.get("max_versions")
    for sight in shuffled(told.sights, rng)[:PLACES]:
        read = sight.operation
        acknowledged = [
            o for o in told.versions.writes.get(sight.key, ()) if o.outcome is Outcome.OK and _over(o, read)
        ]
        acknowledged.sort(key=lambda o: told.versions.of_write(o).begin)
        for place in shuffled(range(len(acknowledged)), rng)[:10]:
            old = acknowledged[place]
            if len(told.versions.writers(sight.key, written(old))) > 1:
                continue
            version = told.versions.of_write(old)
            newer = [o for o in acknowledged[place:] if version.older_than(told.versions.of_write(o))]
            if not newer:
                continue
            since = min(ended(o) for o in newer)
            too_old = max_ms is not None and (read.invoked_ns - since) / 1e6 > max_ms
            too_many = max_versions is not None and len(newer) > max_versions
            if too_old and ground.history.clock != "monotonic":
                continue
            if too_old or too_many:
                words = f"a read returns {written(old)!r}, {len(newer)} acknowledged versions behind"
                yield told.set_back(sight, old, tuple(newer[-3:]), words)
                break


_RYW = {"read-your-writes": always}
_MR = {"monotonic-reads": always}


OPERATORS = (
    Operator(
        "own-write-forgotten",
        "return an older value than the session wrote",
        "a session that writes an object and later reads it, and an older acknowledged write",
        _RYW,
        own_writes_forgotten,
    ),
    Operator(
        "read-going-back",
        "return an older value than the session read",
        "a session that reads an object twice, and an acknowledged write older than what it read first",
        _MR,
        reads_going_back,
    ),
    Operator(
        "sessions-merged",
        "merge two sessions",
        "two sessions of which one reads, later, something older than the other",
        _MR,
        _merging,
    ),
    Operator(
        "writes-out-of-order",
        "show a session's writes in the wrong order",
        "a session that sees another's second write and then reads at the same node what the first one wrote",
        {"monotonic-writes": always},
        writes_out_of_order,
    ),
    Operator(
        "write-without-its-reads",
        "show a write without what it rests on",
        "a session that sees a write and then reads at the same node what the writer had read before",
        {"writes-follow-reads": always},
        writes_without_their_reads,
    ),
    Operator(
        "too-stale-read",
        "return a value that is older than allowed",
        "a read that began later than the bound after an object's write had been replaced",
        {"bounded-staleness": always},
        too_stale_reads,
    ),
)
