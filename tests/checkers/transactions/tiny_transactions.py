"""Small histories of transactions in a short notation, and random ones.

One transaction a line, `[?|!][@process][start-end] micro-operations`: `?` is unknown, `!` failed;
`x+1` appends 1 to x, `x=1,2` reads [1 2] of x (`x=` the empty list), `x:=1` writes 1 to register x,
`x->1` reads 1 of it (`x->` nothing). Without times all transactions overlap, without a process each
has its own.
"""

from __future__ import annotations

import re
from random import Random
from typing import Any

from refute.history import History, Operation, Outcome

_HEAD = re.compile(r"([?!]?)(?:@([a-z]+))?(?:(\d+)-(\d+))?$")


def history(*lines: str, clock: Any = "monotonic") -> History:
    """The history that the lines describe, in the order of invocation."""
    operations = []
    for place, line in enumerate(lines):
        head, _, rest = line.partition(" ") if _HEAD.match(line.partition(" ")[0]) else ("", "", line)
        mark, process, start, end = _HEAD.match(head).groups()
        outcome = {"": Outcome.OK, "?": Outcome.INFO, "!": Outcome.FAIL}[mark]
        asked, answered = [], []
        for token in rest.split():
            if "+" in token:
                key, value = token.split("+")
                micro = ["append", key, int(value)]
            elif ":=" in token:
                key, value = token.split(":=")
                micro = ["w", key, int(value)]
            elif "->" in token:
                key, value = token.split("->")
                micro = ["r", key, int(value) if value else None]
            else:
                key, value = token.split("=")
                micro = ["r", key, [int(item) for item in value.split(",") if item]]
            answered.append(micro)
            asked.append([micro[0], micro[1], None if micro[0] == "r" else micro[2]])
        operations.append(
            transaction(
                place,
                asked,
                answered,
                outcome,
                process=process if process is not None else f"p{place}",
                start=int(start) if start else place,
                end=int(end) if end else 1000 + place,
            )
        )
    operations.sort(key=lambda operation: operation.invoked_ns)
    return History(operations, clock=clock)


def transaction(
    index: int,
    asked: list[Any],
    answered: list[Any],
    outcome: Outcome,
    *,
    process: int | str,
    start: int,
    end: int | None,
) -> Operation:
    """One operation of kind `txn`; only an acknowledged one has an answer."""
    return Operation(
        index=index,
        process=process,
        kind="txn",
        key=None,
        input=asked,
        output=answered if outcome is Outcome.OK else None,
        outcome=outcome,
        invoked_ns=start,
        completed_ns=end,
    )


def random_history(random: Random, *, register: bool = False, most: int = 5, keys: int = 2) -> History:
    """A few transactions against a store that is serial, snapshot isolated, careless or broken."""
    count = random.randint(2, most)
    names = "xyz"[:keys]
    fresh = iter(range(1, 1000))
    plans = [
        [(random.choice("ra"), random.choice(names)) for _ in range(random.choice((1, 2, 2, 3)))]
        for _ in range(count)
    ]
    values = [[next(fresh) for _ in plan] for plan in plans]
    outcomes = random.choices((Outcome.OK, Outcome.INFO, Outcome.FAIL), (8, 2, 1), k=count)
    effect = [
        outcome is Outcome.OK or random.random() < (0.5 if outcome is Outcome.INFO else 0.15)
        for outcome in outcomes
    ]
    style = random.choice(("serial", "snapshot", "careless", "careless"))
    store: dict[str, list[int]] = {name: [] for name in names}
    answers: list[list[Any]] = [[] for _ in range(count)]
    schedule = [txn for txn in range(count) for _ in plans[txn]]
    if style == "serial":
        random.shuffle(order := list(range(count)))
        schedule = [txn for txn in order for _ in plans[txn]]
    else:
        random.shuffle(schedule)
    snapshots: dict[int, dict[str, list[int]]] = {}
    done = [0] * count
    for txn in schedule:
        place = done[txn]
        function, key = plans[txn][place]
        done[txn] += 1
        view = store
        if style == "snapshot":
            view = snapshots.setdefault(txn, {name: list(items) for name, items in store.items()})
        if function == "r":
            seen = list(view[key])
            if random.random() < 0.06 and seen:
                seen = seen[:-1] if random.random() < 0.7 else random.sample(seen, len(seen))
            if random.random() < 0.02:  # what the transaction is going to write itself
                seen = [*seen, values[txn][-1]]
            answer: Any = seen if not register else (seen[-1] if seen else None)
            answers[txn].append(["r", key, answer])
        else:
            value = values[txn][place]
            answers[txn].append(["w" if register else "append", key, value])
            if style == "snapshot":
                view[key].append(value)
            elif effect[txn]:
                store[key].append(value)
        if style == "snapshot" and done[txn] == len(plans[txn]) and effect[txn]:
            for (function, key), value in zip(plans[txn], values[txn], strict=True):
                if function != "r":
                    store[key].append(value)
    operations, busy = [], {}
    for txn in range(count):
        process = random.randrange(3)
        start = max(busy.get(process, 0), random.randrange(6)) + random.randrange(1, 3)
        end = start + random.randrange(1, 6)
        busy[process] = end + 1
        asked = [[f, k, None if f == "r" else v] for f, k, v in answers[txn]]
        operations.append(
            transaction(txn, asked, answers[txn], outcomes[txn], process=process, start=start, end=end)
        )
    operations.sort(key=lambda operation: operation.invoked_ns)
    return History(operations)
