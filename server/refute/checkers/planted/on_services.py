"""Operators on ids, balances, long forks, replicas and locks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

from refute.checkers.identifiers import KINDS
from refute.checkers.kinds import effect_end, is_collection, is_number
from refute.checkers.mutual_exclusion import Hold, tenures_of
from refute.checkers.planted.ground import NEW_PROCESS, Ground, fresh_value, shuffled
from refute.checkers.planted.operator import Operator, Planting, always, model_in, option_in
from refute.history import Operation, Outcome, hashable

PLACES = 12
"""How many places an operator looks at, as few copies are made of all that is offered."""


def _ids(ground: Ground) -> list[Operation]:
    wanted = set(ground.options.get("generate_kinds", KINDS))
    return [
        o
        for o in ground.history.operations
        if o.kind in wanted and o.outcome is Outcome.OK and o.output is not None
    ]


def ids_given_twice(ground: Ground, rng: Random) -> Iterator[Planting]:
    """Two requests are answered with the same id."""
    given = _ids(ground)
    for _ in range(PLACES if len(given) > 1 else 0):
        one, two = rng.sample(given, 2)
        same = replace(two, output=one.output)
        yield Planting(ground.with_changed(same), (one, same), f"the id {one.output!r} is given out twice")


def ids_going_down(ground: Ground, rng: Random) -> Iterator[Planting]:
    """Two requests, one after the other, exchange their ids."""
    given = _ids(ground)
    if ground.history.clock == "wall":
        return
    for one in shuffled(given, rng)[: 4 * PLACES]:
        later = [o for o in given if o.invoked_ns > effect_end(one)]
        if later and type(one.output) is type(later[0].output) and one.output < later[0].output:
            two = rng.choice(later[:5])
            first, second = replace(one, output=two.output), replace(two, output=one.output)
            changed = {first.index: first, second.index: second}
            yield Planting(ground.copy(changed), (first, second), "two requests exchange their ids")


def _statements(ground: Ground, rng: Random) -> list[Operation]:
    reads = [
        o
        for o in ground.history.operations
        if o.kind in ground.known.reading and o.outcome is Outcome.OK and isinstance(o.output, dict)
    ]
    return shuffled((r for r in reads if r.output and all(map(is_number, r.output.values()))), rng)


def wrong_totals(ground: Ground, rng: Random) -> Iterator[Planting]:
    """One balance of a read is off: half of a transfer is seen."""
    statements = _statements(ground, rng)
    if len(statements) < 2 and ground.options.get("total") is None:
        return
    for read in statements[:PLACES]:
        account = rng.choice(list(read.output))
        off = rng.randint(1, 5)
        wrong = replace(read, output={**read.output, account: read.output[account] + off})
        words = f"a read sees {off} on account {account} that no transfer took from another"
        yield Planting(ground.with_changed(wrong), (wrong,), words)


def overdrafts(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A read sees an account overdrawn, the total is right."""
    for read in _statements(ground, rng)[:PLACES]:
        if len(read.output) < 2:
            continue
        one, two = rng.sample(list(read.output), 2)
        amount = read.output[one] + 1
        moved = {**read.output, one: -1, two: read.output[two] + amount}
        drawn = replace(read, output=moved)
        yield Planting(ground.with_changed(drawn), (drawn,), f"account {one} is overdrawn")


def forked_views(ground: Ground, rng: Random) -> Iterator[Planting]:
    """Two reads of one group of keys each see a write that the other does not."""
    groups: dict[frozenset[Hashable], list[Operation]] = defaultdict(list)
    for operation in ground.history.operations:
        if operation.kind != "txn" or operation.outcome is not Outcome.OK:
            continue
        if operation.output and all(step[0] == "r" for step in operation.output):
            groups[frozenset(hashable(step[1]) for step in operation.output)].append(operation)
    for keys, reads in shuffled(groups.items(), rng):
        held = {hashable(s[1]): s[2] for r in reads for s in r.output if s[2] is not None}
        if len(held) < 2 or len(reads) < 2 or len(keys) < 2:
            continue
        one, two = rng.sample(sorted(held, key=repr), 2)
        first, second = rng.sample(reads, 2)
        changed = (_only(first, one, held), _only(second, two, held))
        words = f"one read sees {one} without {two}, another {two} without {one}"
        yield Planting(ground.with_changed(*changed), changed, words)


def _only(read: Operation, key: Hashable, held: dict[Hashable, Any]) -> Operation:
    output = [[f, k, held[key] if hashable(k) == key else None] for f, k, _ in read.output]
    return replace(read, output=output)


def diverged_replicas(ground: Ground, rng: Random) -> Iterator[Planting]:
    """One node's final read of an object is another than the others'."""
    for name in shuffled(ground.final.by_key, rng):
        seen = ground.final.by_key[name]
        if len(seen) < 2:
            continue
        for node in shuffled(seen, rng):
            read, value = seen[node].operation, seen[node].value
            if is_collection(value):
                odd = replace(read, output=[*value, fresh_value(next(iter(value), ""), value)])
            else:
                odd = replace(read, output=fresh_value("" if value is None else value, [value]))
            words = f"{node} ends with {odd.output!r}, the others with {value!r}"
            yield Planting(ground.with_changed(odd), (odd,), words[:200])


def _holds(ground: Ground) -> dict[Hashable, list[Hold]]:
    return tenures_of(ground.history, ground.known, ground.options.get("lease_ms"))


def second_holders(ground: Ground, rng: Random) -> Iterator[Planting]:
    """Somebody gets the lock while another one holds it."""
    for hold in shuffled((h for holds in _holds(ground).values() for h in holds), rng)[: 4 * PLACES]:
        if hold.end_ns - hold.begin_ns < 4:
            continue
        start = hold.begin_ns + 1
        added = replace(
            hold.acquire,
            index=ground.next_index,
            process=NEW_PROCESS,
            invoked_ns=start,
            completed_ns=start + 1,
            output=(hold.token or 0) + 1 if hold.token is not None else hold.acquire.output,
        )
        yield Planting(
            ground.with_added(added),
            (*hold.proof, added),
            f"a second holder gets the lock while process {hold.acquire.process} holds it",
        )


def _retoken(operation: Operation, token: int) -> Operation:
    if "token" in operation.extra:
        return replace(operation, extra={**operation.extra, "token": token})
    return replace(operation, output=token)


def tokens_given_twice(ground: Ground, rng: Random) -> Iterator[Planting]:
    """Two acquires are told the same token."""
    for holds in shuffled(_holds(ground).values(), rng):
        numbered = [hold for hold in holds if hold.token is not None]
        for _ in range(PLACES if len(numbered) > 1 else 0):
            one, two = rng.sample(numbered, 2)
            same = _retoken(two.acquire, one.token or 0)
            words = f"the token {one.token} is given out twice"
            yield Planting(ground.with_changed(same), (one.acquire, same), words)


def stale_tokens_accepted(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A write with an older token succeeds after one with a newer token was acknowledged."""
    writes = [
        o
        for o in ground.history.operations
        if ground.known.writes(o) and o.outcome is Outcome.OK and isinstance(o.extra.get("token"), int)
    ]
    for write in shuffled(writes, rng)[: 4 * PLACES]:
        before = [
            o for o in writes if effect_end(o) < write.invoked_ns and hashable(o.key) == hashable(write.key)
        ]
        if before:
            newest = max(before, key=lambda o: o.extra["token"])
            stale = replace(write, extra={**write.extra, "token": newest.extra["token"] - 1})
            words = f"a write with token {stale.extra['token']} succeeds after {newest.extra['token']}"
            yield Planting(ground.with_changed(stale), (newest, stale), words)


_LOCK = "a lock that was held for some time"

OPERATORS = (
    Operator(
        "id-given-twice",
        "duplicate an id",
        "two successful requests for ids",
        {"unique-ids": always},
        ids_given_twice,
    ),
    Operator(
        "ids-going-down",
        "swap two ids",
        "two successful requests for ids, one after the other",
        {"unique-ids": lambda options: bool(options.get("increasing"))},
        ids_going_down,
    ),
    Operator(
        "wrong-total",
        "show half of a transfer",
        "two reads of all balances",
        {"bank-total": always},
        wrong_totals,
    ),
    Operator(
        "overdraft",
        "overdraw an account",
        "a read of two balances",
        {"bank-total": lambda options: not options.get("negative_balances")},
        overdrafts,
    ),
    Operator(
        "forked-views",
        "show two writes in opposite orders",
        "two reads of one group of keys, two of which are written",
        {"long-fork": always},
        forked_views,
    ),
    Operator(
        "diverged-replica",
        "change a replica's entry",
        "final reads of one object at two nodes",
        {"replica-reconciliation": always},
        diverged_replicas,
    ),
    Operator(
        "second-holder",
        "give a lock to two holders",
        _LOCK,
        {"mutual-exclusion": option_in("mode", "mutex"), "linearizable": model_in("lock")},
        second_holders,
    ),
    Operator(
        "token-given-twice",
        "duplicate a fencing token",
        "two acquires that were told tokens",
        {
            "mutual-exclusion": lambda options: options.get("mode") == "fenced",
            "linearizable": model_in("lease"),
        },
        tokens_given_twice,
    ),
    Operator(
        "stale-token-accepted",
        "let a former holder write",
        "two successful writes with tokens to one object, one after the other",
        {
            "mutual-exclusion": lambda options: options.get("mode") == "fenced",
            "linearizable": model_in("lease"),
        },
        stale_tokens_accepted,
    ),
)
