"""In which sense a sentence is a claim."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from refute.repository.polarity import Polarity, polarity_of

GOLD = Path(__file__).with_name("gold") / "polarity"


@pytest.mark.parametrize(
    "text",
    [
        "Independent crash could lead to committed transactions are not reflected on all the members.",
        "The drive may not write it to the persistent media for quite some time.",
        "A disruptive election has to happen, thus affecting cluster availabilities.",
        "If etcd crashed before that, it would lead to data inconsistency.",
        "Unflushed data may be lost.",
        "There is no ordering guarantee during initial sync.",
        "It does not imply exactly once.",
        "Raft doesn't guarentee that the commit index is persisted.",
        "There might be two primary leaders at the same time.",
        "An acknowledged write is lost if the disk fails.",
    ],
)
def test_what_may_be_harmed_is_a_negative_guarantee(text: str) -> None:
    assert polarity_of(text, "document") == "negative guarantee"


@pytest.mark.parametrize(
    "text",
    [
        "An acknowledged write is never lost.",
        "An acknowledged write must never be lost, unless the disk fails.",
        "No data loss on failover.",
        "The data is not lost when a node crashes.",
        "The lock prevents duplicate processing when a worker stops.",
        "Acknowledged messages survive a crash without loss or duplicates.",
        "Queries are rejected to avoid stale reads.",
    ],
)
def test_a_harm_that_is_averted_is_a_guarantee(text: str) -> None:
    assert polarity_of(text, "document") == "guarantee"


@pytest.mark.parametrize(
    ("text", "channel"),
    [
        ("We shouldn't revoke any leases if current member isn't a leader.", "code-comment"),
        ("We must not adjust the pointer: this could result in a stuck consumer.", "code-comment"),
        ("the term must not decrease", "assertion"),
        ("We force the limit to 0 to ensure that only the leader applies early.", "doc-comment"),
    ],
)
def test_what_maintainers_tell_each_other_is_an_internal_invariant(text: str, channel: str) -> None:
    assert polarity_of(text, channel) == "internal invariant"


@pytest.mark.parametrize(
    ("text", "channel"),
    [
        ("Clients must retry a request that timed out.", "document"),
        ("The election tick must be greater than the heartbeat tick.", "doc-comment"),
        ("It is recommended to wait until every peer has left.", "doc-comment"),
        ("Jobs should be idempotent.", "document"),
        ("The caller must hold the lease when this is called.", "code-comment"),
    ],
)
def test_what_is_asked_of_callers_is_their_obligation(text: str, channel: str) -> None:
    assert polarity_of(text, channel) == "caller's obligation"


def test_theory_is_background() -> None:
    assert polarity_of("Consensus cannot be achieved in an asynchronous system.", "document") == "background"


@pytest.mark.parametrize("half", ["fitted", "held-out"])
def test_the_lists_name_each_place_once_at_one_commit(half: str) -> None:
    lists = [[json.loads(line) for line in path.read_text().splitlines()] for path in (GOLD / half).glob("*")]
    assert len(lists) == 10
    for rows in lists:
        assert len({row["commit"] for row in rows}) == 1
        assert max(Counter((row["path"], row["line"], row["end_line"]) for row in rows).values()) == 1
        assert {row["polarity"] for row in rows} <= set(get_args(Polarity))
