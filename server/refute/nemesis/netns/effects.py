"""Faults done by rules of nft, and a link that is down: put on, read, taken off, and looked for."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

from refute.nemesis.errors import NemesisError
from refute.nemesis.netns.command import nft, nft_listed, run
from refute.nemesis.netns.ground import NS, Ground
from refute.nemesis.netns.kernel import interface_is_up, within
from refute.nemesis.netns.layout import INTERFACE, Member
from refute.nemesis.netns.rules import (
    FAMILY,
    Verdict,
    fault_table,
    put_rules,
    remove_table,
    table_of,
    take_rules,
)


@dataclass
class Rules:
    """Packets of directed links meet a rule at their receiver: drop, reject, loss."""

    ground: Ground
    fault: str
    links: Sequence[tuple[str, str]]
    verdict: Verdict

    def put(self) -> None:
        """A table at each receiver, its rules in it, read back."""
        for receiver, senders in self.by_receiver():
            with within(self.ground.anchors[receiver]):
                table = fault_table(self.ground.run, self.fault, senders, self.verdict)
                nft(table + put_rules(self.ground.run, self.fault, senders, self.verdict))
                self._require(receiver, len(senders) * len(self.verdict.cases))

    def take(self) -> None:
        """The tables go, rules and counters with them."""
        for receiver, _ in self.by_receiver():
            with within(self.ground.anchors[receiver]):
                if self._tables():
                    nft(remove_table(self.ground.run, self.fault))

    def left(self) -> str | None:
        """The receivers at which its table still is."""
        left = []
        for receiver, _ in self.by_receiver():
            with within(self.ground.anchors[receiver]):
                left += [receiver] if self._tables() else []
        return f"rules of {self.fault} are still at {', '.join(left)}" if left else None

    def readings(self) -> dict[str, int | str]:
        """Its counters say all."""
        return {}

    def by_receiver(self) -> list[tuple[str, list[Member]]]:
        """Who receives, and the senders whose packets do not reach it as they are."""
        ordered = sorted(self.links, key=itemgetter(1))
        return [
            (receiver, [self.ground.members[sender] for sender, _ in links])
            for receiver, links in groupby(ordered, key=itemgetter(1))
        ]

    def _tables(self) -> list[str]:
        ours = table_of(self.ground.run, self.fault)
        tables = [each["table"] for each in nft_listed("tables", FAMILY)]
        return [table["name"] for table in tables if table["name"] == ours]

    def _require(self, receiver: str, count: int) -> None:
        # An empty ruleset looks just like one that works: nothing but reading it back tells.
        table = table_of(self.ground.run, self.fault)
        there = sum("rule" in each for each in nft_listed("table", FAMILY, table))
        if there != count:
            raise NemesisError(f"{there} of {count} rules of {self.fault} are in the kernel at {receiver}")


@dataclass
class Flapping(Rules):
    """Rules that come and go; their counters stay, and the changes are counted."""

    down_s: float = 0.2
    up_s: float = 0.2
    changes: int = 0
    over: bool = False

    def put(self) -> None:
        """Cut first; the clock does the rest."""
        super().put()
        self.changes = 1
        self._next(self.down_s, cut=False)

    def take(self) -> None:
        """No further change; then as all rules."""
        self.over = True
        super().take()

    def readings(self) -> dict[str, int | str]:
        """How often the link has changed."""
        return {"changes": self.changes}

    def _next(self, after_s: float, *, cut: bool) -> None:
        self.ground.loop.at(time.monotonic_ns() + int(after_s * NS), lambda: self._change(cut=cut))

    def _change(self, *, cut: bool) -> None:
        if self.over:
            return
        run_id, fault = self.ground.run, self.fault
        for receiver, senders in self.by_receiver():
            script = put_rules(run_id, fault, senders, self.verdict) if cut else take_rules(run_id, fault)
            with within(self.ground.anchors[receiver]):
                nft(script)
        self.changes += 1
        self._next(self.down_s if cut else self.up_s, cut=not cut)


@dataclass
class LinkDown:
    """The interface of nodes is taken down."""

    ground: Ground
    nodes: Sequence[str]
    down: list[str] = field(default_factory=list)

    def put(self) -> None:
        """Down, and seen to be."""
        for node in self.nodes:
            self.down.append(node)
            self._set(node, "down")
            if self._is_up(node):
                raise NemesisError(f"the interface of {node} is up although it was taken down")

    def take(self) -> None:
        """Up again; its address is still there."""
        for node in self.down:
            self._set(node, "up")

    def left(self) -> str | None:
        """The nodes whose interface is down."""
        left = [node for node in self.down if not self._is_up(node)]
        return f"the interface of {', '.join(left)} is down" if left else None

    def readings(self) -> dict[str, int | str]:
        """Up or down, of each node."""
        return {f"{node}.interface": "up" if self._is_up(node) else "down" for node in self.nodes}

    def _set(self, node: str, state: str) -> None:
        with within(self.ground.anchors[node]):
            run(["ip", "link", "set", INTERFACE, state])

    def _is_up(self, node: str) -> bool:
        with within(self.ground.anchors[node]):
            return interface_is_up(INTERFACE)
