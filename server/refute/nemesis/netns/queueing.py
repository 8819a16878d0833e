"""Delay by a queue in user space, for kernels without netem.

A rule of iptables leads to it: nft's own statement for it is in a module that few kernels have and that an
ordinary user cannot have loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from refute.nemesis.errors import NemesisError
from refute.nemesis.netns.command import run
from refute.nemesis.netns.effects import Rules
from refute.nemesis.netns.kernel import within
from refute.nemesis.netns.packet_queue import PacketQueue
from refute.nemesis.netns.rules import Verdict, counted, table_of

_TABLE = ("iptables", "-t", "mangle")
_CHAIN = "PREROUTING"


@dataclass
class Queueing(Rules):
    """Packets of directed links are counted by a rule, then handed to a queue that lets them go later."""

    verdict: Verdict = field(default_factory=counted)
    delay_s: float = 0.1
    jitter_s: float = 0.0
    queues: list[PacketQueue] = field(default_factory=list)
    diverted: list[tuple[str, list[str]]] = field(default_factory=list)

    def put(self) -> None:
        """The queue first, then the rule that leads to it."""
        for receiver, senders in self.by_receiver():
            number = next(self.ground.numbers)
            with within(self.ground.anchors[receiver]):
                self.queues.append(
                    PacketQueue(self.ground.loop, number, self.delay_s, self.jitter_s, seed=number)
                )
                for sender in senders:
                    words = [*("-s", sender.address, "-m", "comment", "--comment", self._mark)]
                    words += ["-j", "NFQUEUE", "--queue-num", str(number), "--queue-bypass"]
                    self.diverted.append((receiver, words))
                    run([*_TABLE, "-I", _CHAIN, *words], strict=False)
        super().put()
        missing = {receiver for receiver, _ in self.diverted} - set(self._where_diverted())
        if missing:
            raise NemesisError(f"the kernel has no rule of {self.fault} at {', '.join(sorted(missing))}")

    def take(self) -> None:
        """The rules first, then whatever is still held is let go."""
        for receiver, words in list(self.diverted):
            with within(self.ground.anchors[receiver]):
                if self._mark in _listed():
                    run([*_TABLE, "-D", _CHAIN, *words], strict=False)
        super().take()
        for queue in self.queues:
            queue.close()

    def left(self) -> str | None:
        """Rules of both tools."""
        diverted = list(self._where_diverted())
        return super().left() or (
            f"{self.fault} still diverts at {', '.join(diverted)}" if diverted else None
        )

    def readings(self) -> dict[str, int | str]:
        """How many packets were kept."""
        return {"kept": sum(queue.kept for queue in self.queues)}

    @property
    def _mark(self) -> str:
        return table_of(self.ground.run, self.fault)

    def _where_diverted(self) -> Iterator[str]:
        for receiver in sorted({receiver for receiver, _ in self.diverted}):
            with within(self.ground.anchors[receiver]):
                if self._mark in _listed():
                    yield receiver


def _listed() -> str:
    return run([*_TABLE, "-S", _CHAIN], strict=False)
