"""Counters of one node and their plain-text form."""

from __future__ import annotations

from collections import Counter

COUNTERS = (
    "elections_started_total",
    "elections_won_total",
    "leader_changes_total",
    "entries_appended_total",
    "entries_applied_total",
    "snapshots_taken_total",
    "snapshots_sent_total",
    "snapshots_installed_total",
    "http_requests_total",
    "writes_acknowledged_total",
    "write_timeouts_total",
    "writes_replayed_total",
    "reads_total",
    "stalls_total",
)
PEER_COUNTERS = ("peer_messages_sent_total", "peer_messages_received_total", "peer_send_failures_total")


class Metrics:
    """`add` counts; `render` gives a line a counter, zeros included."""

    def __init__(self, peers: list[str]) -> None:
        self._peers = peers
        self._counts: Counter[tuple[str, str | None]] = Counter()

    def add(self, name: str, amount: int = 1, *, peer: str | None = None) -> None:
        self._counts[(name, peer)] += amount

    def value(self, name: str, *, peer: str | None = None) -> int:
        return self._counts[(name, peer)]

    def render(self, gauges: dict[str, int]) -> str:
        lines = [f"quorumkv_{name} {self.value(name)}" for name in COUNTERS]
        lines += [
            f'quorumkv_{name}{{peer="{peer}"}} {self.value(name, peer=peer)}'
            for name in PEER_COUNTERS
            for peer in self._peers
        ]
        lines += [f"quorumkv_{name} {value}" for name, value in gauges.items()]
        return "\n".join(lines) + "\n"
