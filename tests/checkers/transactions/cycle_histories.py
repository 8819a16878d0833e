"""Histories made from a cycle: one transaction a node, and for each edge the operations that cause it."""

from __future__ import annotations

from typing import Any

from tiny_transactions import transaction

from refute.history import History, Outcome


def history_of(
    kinds: str, *, closed: bool = True, register: bool = False, unknown: bool = False, watched: bool = False
) -> History:
    """Transactions 0 to n-1 with an edge of each kind from one to the next, the last back to the first.

    Each data edge has a key of its own: `ww` both append, `wr` the second reads what the first wrote,
    `rw` the first reads the key unwritten and the second writes it; `process` and `realtime` are in
    time alone, everything else overlaps. Of registers the second of `ww` also reads what the first wrote,
    unless they are `watched`: then a process for each reads first the one and then the other. With `closed` False the last edge goes from the first to the
    last instead, so that there is no cycle. Lists are read whole by an observer at the end. With
    `unknown` the first transaction is unknown, as far as it has no reads.
    """
    edges = kinds.split()
    count = len(edges)
    micro: list[list[Any]] = [[] for _ in range(count)]
    spans = [[0, 1000] for _ in range(count)]
    process: list[Any] = [f"p{number}" for number in range(count)]
    whole: dict[str, list[int]] = {}
    write = "w" if register else "append"
    nothing: Any = None if register else []
    for number, kind in enumerate(edges):
        source, target = number, (number + 1) % count
        if number == count - 1 and not closed:
            source, target = target, source
        key = f"k{number}"
        one: Any = 1 if register else [1]
        if kind == "ww":
            micro[source].append([write, key, 1])
            micro[target] += [["r", key, 1]] if register and not watched else []
            micro[target].append([write, key, 2])
            whole[key] = [1, 2]
        elif kind == "wr":
            micro[source].append([write, key, 1])
            micro[target].append(["r", key, one])
            whole[key] = [1]
        elif kind == "rw":
            micro[source].append(["r", key, nothing])
            micro[target].append([write, key, 1])
            whole[key] = [1]
        else:
            spans[source], spans[target] = [0, 400], [500, 1000]
            if kind == "process":
                process[target] = process[source]
    operations = []
    for number in range(count):
        asked = [[f, k, None if f == "r" else v] for f, k, v in micro[number]]
        reads = any(f == "r" for f, _, _ in micro[number])
        outcome = Outcome.INFO if unknown and number == 0 and not reads else Outcome.OK
        operations.append(
            transaction(
                number, asked, micro[number], outcome,
                process=process[number], start=spans[number][0], end=spans[number][1],
            )
        )  # fmt: skip
    if not register:
        reads_all = [["r", key, values] for key, values in whole.items()]
        asked = [["r", key, None] for key in whole]
        operations.append(
            transaction(count, asked, reads_all, Outcome.OK, process="observer", start=2, end=1003)
        )
    for key in [key for key, values in whole.items() if watched and len(values) == 2]:
        for value, start, end in ((1, 0, 998), (2, 999, 1009)):
            operations.append(
                transaction(
                    len(operations), [["r", key, None]], [["r", key, value]], Outcome.OK,
                    process=f"observer of {key}", start=start, end=end,
                )
            )  # fmt: skip
    operations.sort(key=lambda operation: operation.invoked_ns)
    return History(operations)
