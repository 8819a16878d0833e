"""Fractured and non-monotonic views among the shortest cycles: one transaction seen in part by another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from refute.checkers.transactions.anomalies import definition
from refute.checkers.transactions.cycles import Cycles
from refute.checkers.transactions.findings import Findings
from refute.checkers.transactions.graph import RW, WR
from refute.checkers.transactions.words import named, shown
from refute.history import Operation

_UNTOLD = ("fractured-read", "G-monotonic")


def judge_views(
    cycles: Cycles,
    operations: Sequence[Operation],
    misses: Callable[[Any, Operation], bool],
    sees: Callable[[Any, Operation], bool],
    findings: Findings,
) -> None:
    """Looks for fractured reads (Bailis et al. 2014) among the G-single cycles of two transactions.

    `sees(micro, op)` says whether a read saw a write of `op`, `misses(micro, op)` whether it read a
    version that `op` replaced. Where a G-single is there and none of the shown ones is of this kind,
    whether a view is fractured stays undecided: only the shown cycles are looked at.
    """
    for cycle in cycles.found:
        kinds = {kind: (source, target) for source, kind, target in cycle.edges}
        if cycle.name != "G-single" or set(kinds) != {RW, WR} or len(cycle.edges) != 2:
            continue
        reader, writer = (operations[number] for number in kinds[RW])
        reads = [micro for micro in reader.output if micro[0] == "r"]
        saw = [place for place, micro in enumerate(reads) if sees(micro, writer)]
        missed = [place for place, micro in enumerate(reads) if misses(micro, writer)]
        if not saw or not missed:
            continue
        name = "G-monotonic" if min(saw) < max(missed) else "fractured-read"
        if findings.wants(name):
            one, other = reads[min(saw)], reads[max(missed)]
            findings.show(
                name,
                f"{named(reader)} read {shown(one[1])}={shown(one[2])}, which {named(writer)} wrote, and "
                f"{shown(other[1])}={shown(other[2])}, which is older than what {named(writer)} wrote there.",
                [writer, reader],
                {
                    "definition": definition(name),
                    "edges": [
                        [writer.index, reader.index, "wr", f"key {shown(one[1])}"],
                        [reader.index, writer.index, "rw", f"key {shown(other[1])}"],
                    ],
                },
            )
    single = "G-single" in cycles.undecided or any(
        cycle.name in ("G-single", "G0", "G1c") for cycle in cycles.found
    )
    if single:
        findings.undecided.update(name for name in _UNTOLD if not findings.counts[name])
