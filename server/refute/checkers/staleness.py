"""Bounded staleness: a read may lag, but not by more than so many milliseconds or versions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable
from typing import Any

from refute.checkers.catalog import CheckerError
from refute.checkers.judgement import Judgement
from refute.checkers.kinds import effect_end, kinds, written
from refute.checkers.result import Budget, Result
from refute.checkers.versions import Sight, Version, Versions
from refute.history import History, Operation, Outcome


def check(
    history: History,
    *,
    budget: Budget,
    max_ms: float | None = None,
    max_versions: int | None = None,
    initial: Any = None,
    write_kinds: object = (),
    read_kinds: object = (),
) -> Result:
    """Whether each read returns a version that was current not too long, or not too many versions, ago.

    A version's age at a read is certain only from the moment at which some newer write had been
    acknowledged; the versions behind it are the acknowledged writes that certainly lie between. What
    is uncertain counts in favour of the system. `details` has the greatest lag that was seen.
    O(n log n + versions behind). Raises CheckerError where no bound is given.
    """
    if max_ms is None and max_versions is None:
        raise CheckerError("bounded-staleness needs a bound", hint="give max_ms, max_versions or both")
    known = kinds(write_kinds, read_kinds)
    judgement = Judgement("bounded-staleness", "newer acknowledged writes before each read, by bisection")
    versions = Versions(history, known, initial)
    judgement.assumptions += versions.assumptions()
    lines = {key: _Line(versions, key) for key in versions.writes}
    worst = {"ms": 0.0, "versions": 0}
    used = [o for writes in versions.writes.values() for o in writes]
    if history.clock != "monotonic" and max_ms is not None:
        judgement.cannot("times are not of one clock, so that no lag in milliseconds is known")
    for sight in versions.sights():
        used.append(sight.operation)
        if history.clock == "wall":
            judgement.cannot(
                "wall clocks of several clients do not say what had been acknowledged before a read"
            )
            continue
        if sight.version is None:
            writers = versions.writers(sight.key, sight.value)
            if sum(w.outcome is not Outcome.FAIL for w in writers) > 1:
                judgement.cannot("a value was read that several writes wrote: which one is unknown")
            else:
                judgement.ignored["reads of values that no write can have left: see no-phantom"] += 1
            continue
        judgement.judged += 1
        if sight.key in lines:
            _judge(judgement, lines[sight.key], sight, sight.version, (max_ms, max_versions), worst)
    details = {"worst": worst}
    return judgement.result(used, nothing="nothing was read", keys=len(versions.writes), details=details)


class _Line:
    """The acknowledged writes of one object by when they were certainly done."""

    def __init__(self, versions: Versions, key: Hashable) -> None:
        acknowledged = [o for o in versions.writes[key] if o.outcome is Outcome.OK]
        made = [(effect_end(o), versions.of_write(o), o) for o in acknowledged]
        self.numbered = key in versions.numbered
        self.by_begin = sorted(made, key=lambda item: item[1].begin)
        self.begins = [version.begin for _, version, _ in self.by_begin]
        self.first_done: list[tuple[int, Operation]] = []
        for end, _, operation in reversed(self.by_begin):
            last = self.first_done[-1] if self.first_done else None
            self.first_done.append((end, operation) if last is None or end < last[0] else last)
        self.first_done.reverse()

    def replaced(self, version: Version) -> tuple[int, Operation] | None:
        """When a version had certainly been replaced, and by which write."""
        place = bisect_right(self.begins, version.end)
        return self.first_done[place] if place < len(self.first_done) else None

    def newer(self, version: Version, time_ns: int) -> list[Operation]:
        """The acknowledged writes that are certainly newer than a version and were done before a time."""
        found: list[Operation] = []
        for end, made, operation in self.by_begin[bisect_right(self.begins, version.end) :]:
            if not self.numbered and made.begin >= time_ns:
                break
            if end < time_ns:
                found.append(operation)
        return found


def _judge(
    judgement: Judgement,
    line: _Line,
    sight: Sight,
    version: Version,
    bounds: tuple[float | None, int | None],
    worst: dict[str, Any],
) -> None:
    max_ms, max_versions = bounds
    read = sight.operation
    replaced = line.replaced(version)
    if replaced is None or replaced[0] >= read.invoked_ns:
        return
    behind_ms = (read.invoked_ns - replaced[0]) / 1e6
    worst["ms"] = max(worst["ms"], round(behind_ms, 3))
    proof = [o for o in (version.writer, replaced[1], read) if o is not None]
    place = "" if sight.key is None else f" of {read.key if read.key is not None else sight.key}"
    if max_ms is not None and behind_ms > max_ms:
        sentence = (
            f"a read{place} returned {sight.value!r} {behind_ms:.1f} ms after {written(replaced[1])!r}, "
            f"which is newer, had been acknowledged: {max_ms} ms are allowed"
        )
        judgement.found("stale-read", sentence, proof, lag_ms=behind_ms)
    if max_versions is not None:
        newer = line.newer(version, read.invoked_ns)
        worst["versions"] = max(worst["versions"], len(newer))
        if len(newer) > max_versions:
            sentence = (
                f"a read{place} returned {sight.value!r}, {len(newer)} acknowledged versions behind: "
                f"{max_versions} are allowed"
            )
            writer = [] if version.writer is None else [version.writer]
            judgement.found("stale-read", sentence, (*writer, *newer, read), versions=len(newer))
