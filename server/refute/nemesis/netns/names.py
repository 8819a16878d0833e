"""The names of a run's nodes: a small server of DNS at the switch, which can answer wrongly or not at all.

It knows the nodes and `client`, and nothing else. Nodes find it in a resolv.conf of ours.
"""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.nemesis.errors import FaultUnavailableError
from refute.nemesis.netns.layout import FORMER_ADDRESS, NAMES_ADDRESS, Member
from refute.nemesis.proxy.loop import READ, Loop

_PORT = 53
_RESOLVER = Path("/etc/resolv.conf")
_BIND_MOUNT = 0x1000


class NameServer:
    """Answers over UDP for as long as its loop runs. `altered` counts by fault and node."""

    def __init__(self, loop: Loop, members: Mapping[str, Member]) -> None:
        self._dns = _library()
        self._places = {member.name: member.address for member in members.values()}
        self._askers = {member.address: member.name for member in members.values()}
        self.questions = dict.fromkeys(members, 0)
        self.faults: dict[str, tuple[frozenset[str], str]] = {}
        self.altered: dict[tuple[str, str], int] = {}
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((NAMES_ADDRESS, _PORT))
        self._socket.setblocking(False)
        loop.watch(self._socket, READ, 0, self._serve)

    def _serve(self, _: int) -> None:
        with suppress(BlockingIOError):
            while True:
                asked, (address, port) = self._socket.recvfrom(4096)
                with suppress(self._dns.DNSError, OSError):
                    if answer := self._answer(asked, self._askers.get(address, "")):
                        self._socket.sendto(answer, (address, port))

    def _answer(self, asked: bytes, asker: str) -> bytes | None:
        question = self._dns.DNSRecord.parse(asked)
        reply = question.reply()
        name, kind = question.q.qname, question.q.qtype
        if asker in self.questions:
            self.questions[asker] += 1
        how = self._how(asker)
        if how == "nothing":
            return None
        place = self._places.get(str(name).rstrip("."))
        if how == "failure":
            reply.header.rcode = self._dns.RCODE.SERVFAIL
        elif place is None:
            reply.header.rcode = self._dns.RCODE.NXDOMAIN
        elif kind == self._dns.QTYPE.A:
            told = FORMER_ADDRESS if how == "stale" else place
            reply.add_answer(self._dns.RR(name, kind, rdata=self._dns.A(told), ttl=0))
        packed: bytes = reply.pack()
        return packed

    def _how(self, asker: str) -> str:
        for fault, (nodes, answer) in self.faults.items():
            if asker in nodes:
                self.altered[fault, asker] = self.altered.get((fault, asker), 0) + 1
                return answer
        return ""


@dataclass
class WrongNames:
    """Names are answered wrongly, or not at all, for some nodes."""

    names: NameServer
    fault: str
    nodes: Sequence[str]
    answer: str

    def put(self) -> None:
        """From the next question on."""
        self.names.faults[self.fault] = (frozenset(self.nodes), self.answer)

    def take(self) -> None:
        """Every question is answered as it should be."""
        self.names.faults.pop(self.fault, None)

    def left(self) -> str | None:
        """Whether the server still answers wrongly for it."""
        return (
            f"names are still answered wrongly for {self.fault}" if self.fault in self.names.faults else None
        )

    def readings(self) -> dict[str, int | str]:
        """Of each node how many of its questions were answered so."""
        return {f"{node}.altered": self.names.altered.get((self.fault, node), 0) for node in self.nodes}


def use_our_names(folder: Path) -> None:
    """Lay a resolv.conf of ours over the machine's, in our own mount namespace only.

    Raises FaultUnavailableError where there is none to lay it over.
    """
    if not _RESOLVER.exists():
        raise FaultUnavailableError(f"there is no {_RESOLVER} here, so that nodes ask nobody for names")
    ours = folder / "resolv.conf"
    ours.write_text(f"nameserver {NAMES_ADDRESS}\noptions ndots:0 timeout:1 attempts:1\n")
    ours.chmod(0o644)
    target = str(_RESOLVER.resolve()).encode()
    try:
        if ctypes.CDLL(None, use_errno=True).mount(str(ours).encode(), target, None, _BIND_MOUNT, None):
            raise FaultUnavailableError(
                f"{_RESOLVER} cannot be replaced in a mount namespace: {os.strerror(ctypes.get_errno())}"
            )
    finally:
        ours.unlink()  # what is mounted stays


def _library() -> Any:
    try:
        import dnslib
    except ImportError as error:
        raise FaultUnavailableError("dnslib is not installed", hint="pip install 'refute[dns]'") from error
    return dnslib
