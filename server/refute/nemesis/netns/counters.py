"""Reading all nft counters of a network namespace over netlink: a hundredth of the cost of running nft.

The messages are those of nf_tables, see linux/netfilter/nf_tables.h (NFT_MSG_GETOBJ).
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Mapping

from refute.nemesis.netns.rules import FAMILY

_NETFILTER = 12
_NFTABLES = 10 << 8
_GET_OBJECT = _NFTABLES | 19
_INET = {"inet": 1}[FAMILY]
_REQUEST_DUMP = 0x301
_DONE, _ERROR = 3, 2
_HEADER = struct.Struct("=IHHII")
_OF_NETFILTER = struct.Struct("=BBH")
_ATTRIBUTE = struct.Struct("=HH")
_U64, _U32 = struct.Struct("!Q"), struct.Struct("!I")
_KIND = 0x3FFF
_TABLE, _NAME, _TYPE, _DATA = 1, 2, 3, 4
_COUNTER, _BYTES, _PACKETS = 1, 1, 2

Counters = Mapping[tuple[str, str], tuple[int, int]]
"""(packets, bytes) by table and name of the counter."""


class CounterReader:
    """A socket of the network namespace in which it was opened; it stays that one's wherever it is used."""

    def __init__(self) -> None:
        flags = socket.SOCK_RAW | socket.SOCK_CLOEXEC
        self._socket = socket.socket(socket.AF_NETLINK, flags, _NETFILTER)
        self._socket.settimeout(2.0)

    def read(self) -> Counters:
        """All named counters of the family `inet` now. Raises OSError."""
        body = _OF_NETFILTER.pack(_INET, 0, 0)
        self._socket.send(_HEADER.pack(_HEADER.size + len(body), _GET_OBJECT, _REQUEST_DUMP, 1, 0) + body)
        found: dict[tuple[str, str], tuple[int, int]] = {}
        while True:
            received = self._socket.recv(1 << 17)
            while received:
                length, kind, _, _, _ = _HEADER.unpack_from(received)
                message, received = received[_HEADER.size : length], received[(length + 3) & ~3 :]
                if kind == _DONE:
                    return found
                if kind == _ERROR:
                    raise OSError(-struct.unpack_from("=i", message)[0], "nf_tables does not answer")
                named = dict(_attributes(message[_OF_NETFILTER.size :]))
                if _U32.unpack(named[_TYPE])[0] == _COUNTER:
                    data = dict(_attributes(named[_DATA]))
                    numbers = (_U64.unpack(data[_PACKETS])[0], _U64.unpack(data[_BYTES])[0])
                    found[_text(named[_TABLE]), _text(named[_NAME])] = numbers

    def close(self) -> None:
        """Give the socket up."""
        self._socket.close()


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        yield kind & _KIND, data[_ATTRIBUTE.size : length]
        data = data[(length + 3) & ~3 :]


def _text(data: bytes) -> str:
    return data.rstrip(b"\0").decode()
