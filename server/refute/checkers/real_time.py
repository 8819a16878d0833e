"""The order of operations in real time, as few pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def interval_reduction(intervals: Sequence[tuple[int, int | None, int]]) -> Iterator[tuple[int, int]]:
    """Real-time order between (invoked, completed, who), without what follows by transitivity.

    An interval comes before another where it completed before that was invoked. The frontier of
    completed intervals that none of them precedes is all that a new one must be linked with, so that
    there are at most n times the width of the order edges.
    """
    began = sorted(intervals, key=lambda one: one[0])
    ended = sorted(((done, start, who) for start, done, who in intervals if done is not None))
    frontier: list[tuple[int, int, int]] = []
    at = 0
    for invoked, _, who in began:
        while at < len(ended) and ended[at][0] < invoked:
            newest = ended[at]
            frontier = [old for old in frontier if old[0] >= newest[1]]
            frontier.append(newest)
            at += 1
        for _, _, earlier in frontier:
            yield earlier, who
