"""Which fault and which oracle would show a claim to be false."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re

from refute.repository.models import Falsifier

_BY_CATEGORY = {
    "safety": (
        "partition the leader, or pause it past its lease, while clients write",
        "linearizability of the recorded history",
    ),
    "liveness": ("kill or isolate a node, then heal", "operations succeed again within a stated bound"),
    "durability": (
        "kill every node, or lose unsynced writes, just after an acknowledgement",
        "no acknowledged write is missing",
    ),
    "performance": (
        "offer more load than the bound, with a slow node or disk",
        "the bound is kept and the refusal is explicit",
    ),
    "operational": (
        "restart, upgrade or misconfigure a node under load",
        "service and data come through; a bad setting is refused",
    ),
    "idempotency": (
        "cut the connection after the request and before its answer, then retry",
        "each effect is counted once, or as often as is promised",
    ),
    "isolation": (
        "run concurrent transactions with aborts and a crash between",
        "no dependency cycle and no dirty or partial read",
    ),
    "ordering": (
        "delay and reorder messages, and restart a node in between",
        "the observed order is the promised one",
    ),
    "membership": (
        "add, remove or replace a node while the leader is isolated",
        "one agreed configuration; no quorum outside it",
    ),
    "boundary": ("act as another tenant, or without rights, during failover", "nothing crosses the boundary"),
    "fairness": ("let one client flood the system", "every other client keeps its promised share"),
}
_BY_WORD: tuple[tuple[re.Pattern[str], tuple[str, str]], ...] = (
    (re.compile(r"\bclock|\bdrift|\bskew|wall[- ]time|\blease", re.I),
     ("skew a clock, or pause the holder past its time", "no two holders at once; no stale read")),
    (re.compile(r"\bfsync|\bsync(?:ed)?\b.*\bdisk|power (?:loss|failure)|\bwal\b|write-ahead|\bdurab", re.I),
     ("lose unsynced writes (power loss), or fail fsync", "no acknowledged write is missing after restart")),
    (re.compile(r"acknowledged[ -](?:write|put|delete|update|commit|record|append|transaction)|\b(?:write|put|delete|update|commit|record|append|transaction)s? (?:that|which|once)\b[^.]{0,20}\backnowledged", re.I),
     _BY_CATEGORY["durability"]),
    (re.compile(r"redeliver|at[- ]least[- ]once|exactly[- ]once|acknowledg|\back(?:s|ed)?\b", re.I),
     ("kill the consumer between effect and acknowledgement", "each message is handled as often as is promised; none is lost")),
    (re.compile(r"\bupgrade|\bdowngrade|\bversion|compatib", re.I),
     ("run old and new versions side by side, then roll back", "data can be read and every operation answered")),
    (re.compile(r"corrupt|checksum|\bcrc|torn", re.I),
     ("flip or cut off bytes of a stored file", "the damage is noticed and never served")),
    (re.compile(r"elect|leader|step down|failover", re.I),
     ("isolate the leader from a majority", "one leader a term; a new one within the stated time")),
)  # fmt: skip


def falsifier_of(category: str, text: str) -> Falsifier:
    """The fault and the oracle: from the words of the claim where they tell, else from its category."""
    for pattern, (fault, oracle) in _BY_WORD:
        if pattern.search(text):
            return Falsifier(fault=fault, oracle=oracle)
    fault, oracle = _BY_CATEGORY[category]
    return Falsifier(fault=fault, oracle=oracle)
