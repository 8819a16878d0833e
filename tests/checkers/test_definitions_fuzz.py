"""Checkers whose definition is a line or two, against that definition on random small histories."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from refute.checkers import run_check
from refute.history import History, Operation, Outcome, Phase
from tests.checkers import brute_force

from .nightly import many
from .scribe import Scribe

OUTCOMES = ["ok", "ok", "ok", "ok", "info", "fail"]


def leases(rng: random.Random) -> tuple[History, dict[str, Any], bool]:
    """Tokens grow, and what is used was granted and is not older than what was used before."""
    write = Scribe()
    clock = [0, 0, 0]
    for _ in range(rng.randint(1, 7)):
        process = rng.randrange(3)
        start = clock[process] + rng.randint(0, 3)
        end = start + rng.randint(0, 5)
        clock[process] = end + 1
        outcome = rng.choice(OUTCOMES)
        if rng.random() < 0.5:
            out = rng.randrange(3) if outcome == "ok" else None
            write(process, "acquire", start, end, key="l", out=out, outcome=outcome)
        else:
            out = rng.choice([None, None, False]) if outcome == "ok" else None
            write(
                process,
                "write",
                start,
                end,
                key="l",
                value=1,
                out=out,
                outcome=outcome,
                token=rng.randrange(3),
            )

    def step(state: Any, o: Operation) -> Sequence[Any]:
        granted, used = state
        ok = o.outcome is Outcome.OK
        if o.kind == "acquire":
            if not ok:
                return [state]
            return [(o.output, used)] if o.output > granted else []
        token = o.extra["token"]
        if ok and o.output is False:
            return [state] if token < used else []
        if not ok and token < used:
            return [state]
        return [(granted, token)] if used <= token <= granted else []

    history = write.history()
    return history, {"model": "lease"}, brute_force.linearizable(history.operations, [(-1, -1)], step)


def banks(rng: random.Random) -> tuple[History, dict[str, Any], bool]:
    """Every read shows all accounts, none below zero, that add up to 6."""
    write = Scribe()(0, "transfer", 0, 1, value={"from": "a", "to": "b", "amount": 1})
    good = True
    for number in range(rng.randint(1, 4)):
        outcome = rng.choice(OUTCOMES)
        balances: dict[str, int] = {}
        left = 6
        for account in "ab":
            balances[account] = rng.randrange(left + 1)
            left -= balances[account]
        balances["c"] = left
        if rng.random() < 0.2:
            balances[rng.choice("abc")] += rng.choice([-1, 1])
        if rng.random() < 0.05:
            del balances["b"]
        write(
            1,
            "read",
            10 * number + 2,
            10 * number + 3,
            out=balances if outcome == "ok" else None,
            outcome=outcome,
        )
        whole = len(balances) == 3 and sum(balances.values()) == 6 and min(balances.values()) >= 0
        good = good and (outcome != "ok" or whole)
    return write.history(), {"total": 6, "accounts": 3}, good


def replicas(rng: random.Random) -> tuple[History, dict[str, Any], bool]:
    """The last final reads of a key on all nodes are equal."""
    write = Scribe()(0, "write", 0, 1, key="x", value=1)(0, "write", 2, 3, key="y", value=2)
    last: dict[tuple[str, str], Any] = {}
    time = 10
    for _ in range(rng.randint(4, 8)):
        node, key, value = rng.choice(["n1", "n2"]), rng.choice("xy"), rng.choice([1, 1, 1, 2])
        outcome = rng.choice(["ok", "ok", "ok", "info"])
        write(
            9,
            "read",
            time,
            time + 1,
            key=key,
            out=value if outcome == "ok" else None,
            node=node,
            final=True,
            outcome=outcome,
        )
        if outcome == "ok":
            last[node, key] = value
        time += 2
    good = all(
        last.get(("n1", key)) == last.get(("n2", key))
        for key in "xy"
        if {("n1", key), ("n2", key)} <= set(last)
    )
    return write.history(), {}, good


def growing_sets(rng: random.Random) -> tuple[History, dict[str, Any], bool]:
    """What a process saw on a node it sees there later; what is acknowledged is in the last final reads."""
    write = Scribe()
    elements = list(range(rng.randint(1, 3)))
    outcomes = {element: rng.choice(OUTCOMES) for element in elements}
    for place, element in enumerate(elements):
        write(0, "add", 2 * place, 2 * place + 1, value=element, outcome=outcomes[element])
    there = [element for element in elements if outcomes[element] != "fail"]
    seen: dict[tuple[int, str], set[int]] = {}
    good = True
    for number in range(rng.randint(2, 6)):
        process, node = rng.randrange(1, 3), rng.choice(["n1", "n2"])
        final = number >= 2
        shown = {element for element in there if rng.random() < (0.9 if final else 0.6)}
        if rng.random() < 0.8:
            shown |= seen.get((process, node), set())
        if rng.random() < 0.05:
            shown.add(rng.choice([*elements, 99]))
        write(process, "read", 100 + 2 * number, 101 + 2 * number, out=sorted(shown), node=node, final=final)
        good = good and seen.get((process, node), set()) <= shown
        good = good and all(outcomes.get(element, "fail") != "fail" for element in shown)
        seen[process, node] = shown
    history = write.history()
    finals = [o for o in history.operations if o.phase is Phase.FINAL]
    for node in ("n1", "n2"):
        of_node = [o for o in finals if o.node == node]
        if of_node:
            good = good and {e for e in elements if outcomes[e] == "ok"} <= set(of_node[-1].output)
    return history, {}, good


def groups(rng: random.Random) -> tuple[History, dict[str, Any], bool]:
    """Nobody is served more than twice as often as another."""
    write = Scribe()
    served: Counter[str] = Counter()
    for number in range(60):
        group = rng.choice("AABBC" if rng.random() < 0.5 else "ABC")
        outcome = rng.choice(["ok", "ok", "fail"])
        write(ord(group), "get", 10 * number, 10 * number + 5, outcome=outcome, group=group)
        served[group] += outcome == "ok"
    ratio = max(served.values()) / max(1e-9, min(served.values()))
    return write.history(), {"max_min_ratio": 2, "min_operations": 1}, ratio <= 2


CASES: list[tuple[str, Callable[[random.Random], tuple[History, dict[str, Any], bool]]]] = [
    ("linearizable", leases),
    ("bank-total", banks),
    ("replica-reconciliation", replicas),
    ("g-set", growing_sets),
    ("fairness", groups),
]


def fuzz(checker: str, make: Callable[..., Any], seeds: range) -> Counter[bool]:
    seen: Counter[bool] = Counter()
    for seed in seeds:
        history, options, truth = make(random.Random(seed))
        result = run_check(checker, history, options)
        if result.valid == "unknown":
            assert truth, (seed, result.reason, list(history.operations))
            continue
        assert result.valid is truth, (seed, result, list(history.operations))
        seen[truth] += 1
    return seen


@pytest.mark.parametrize(("checker", "make"), CASES)
def test_a_checker_agrees_with_its_definition(checker: str, make: Callable[..., Any]) -> None:
    seen = fuzz(checker, make, range(3_000))
    assert min(seen[True], seen[False]) > 200, seen


@many()
@pytest.mark.parametrize(("checker", "make"), CASES)
def test_a_checker_agrees_with_its_definition_at_length(
    checker: str, make: Callable[..., Any], seeds: range
) -> None:
    seen = fuzz(checker, make, seeds)
    assert min(seen[True], seen[False]) > 200, seen
