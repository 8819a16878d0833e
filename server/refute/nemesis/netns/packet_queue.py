"""A queue in user space: the kernel hands packets over, and they are let go when their time has come.

For kernels without netem. The messages are those of nfnetlink_queue, see linux/netfilter/nfnetlink_queue.h;
the bindings that there are for it have to be compiled.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from random import Random

from refute.nemesis.netns.counters import NETFILTER
from refute.nemesis.proxy.loop import READ, Loop
from refute.system.netlink import REQUEST, attribute, attributes, message, messages, open_netlink

_PACKET, _VERDICT, _CONFIGURE = 3 << 8, 3 << 8 | 1, 3 << 8 | 2
_HEADER_OF_PACKET, _HEADER_OF_VERDICT = 1, 2
_COMMAND, _PARAMETERS, _LENGTH = 1, 2, 3
_BIND, _METADATA_ONLY, _ACCEPT = 1, 1, 1
_MOST = 20_000
_ROOM_BYTES = 4 << 20
_NS = 1_000_000_000
_FORCE_BUFFER = 33  # SO_RCVBUFFORCE


class PacketQueue:
    """One queue of the network namespace in which it is made; packets leave after the time that is drawn.

    `loop` calls it; `closed` it lets go all that it holds.
    """

    def __init__(self, loop: Loop, number: int, delay_s: float, jitter_s: float, seed: int) -> None:
        self.kept = 0
        self._loop = loop
        self._number = number
        self._delay_s, self._jitter_s = delay_s, jitter_s
        self._draw: Callable[[float, float], float] = Random(seed).uniform
        self._held: set[int] = set()
        self._netlink = open_netlink(NETFILTER)
        with suppress(OSError):  # the larger buffer needs a right that not everybody has
            self._netlink.setsockopt(socket.SOL_SOCKET, _FORCE_BUFFER, _ROOM_BYTES)
        self._configure(attribute(_COMMAND, struct.pack("!BxH", _BIND, 0)))
        self._configure(attribute(_PARAMETERS, struct.pack("!IB", 0, _METADATA_ONLY)))
        self._configure(attribute(_LENGTH, struct.pack("!I", _MOST)))
        self._netlink.setblocking(False)
        loop.watch(self._netlink, READ, 0, self._take_in)

    def close(self) -> None:
        """Let go what is held, and leave."""
        if self._netlink.fileno() >= 0:
            self._loop.watch(self._netlink, 0, READ, self._take_in)
            self._take_in(READ)
            self._let_go(list(self._held))
            self._netlink.close()

    def _configure(self, attributes_of_it: bytes) -> None:
        acknowledge = 4
        head = struct.pack("!BBH", socket.AF_UNSPEC, 0, self._number)
        self._netlink.send(message(_CONFIGURE, REQUEST | acknowledge, head + attributes_of_it))
        for _, body in messages(self._netlink.recv(4096)):
            number = -struct.unpack_from("=i", body)[0]
            if number:
                raise OSError(number, "the kernel refuses a queue in user space")

    def _take_in(self, _: int) -> None:
        with suppress(BlockingIOError):
            while True:
                try:
                    received = self._netlink.recv(1 << 17)
                except OSError as error:
                    if isinstance(error, BlockingIOError):
                        raise
                    return  # the kernel had to drop some; TCP sends them again
                for kind, body in messages(received):
                    if kind == _PACKET:
                        header = dict(attributes(body[4:]))[_HEADER_OF_PACKET]
                        self._keep(struct.unpack_from("!I", header)[0])

    def _keep(self, packet: int) -> None:
        self.kept += 1
        self._held.add(packet)
        wait_s = max(0.0, self._delay_s + self._draw(-self._jitter_s, self._jitter_s))
        self._loop.at(time.monotonic_ns() + int(wait_s * _NS), lambda: self._let_go([packet]))

    def _let_go(self, packets: list[int]) -> None:
        if self._netlink.fileno() < 0:
            return
        head = struct.pack("!BBH", socket.AF_UNSPEC, 0, self._number)
        for packet in packets:
            if packet in self._held:
                self._held.discard(packet)
                verdict = attribute(_HEADER_OF_VERDICT, struct.pack("!II", _ACCEPT, packet))
                with suppress(OSError):
                    self._netlink.send(message(_VERDICT, REQUEST, head + verdict))
