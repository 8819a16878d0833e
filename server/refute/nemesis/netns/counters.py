"""Reading all nft counters of a network namespace over netlink: a hundredth of the cost of running nft.

The messages are those of nf_tables, see linux/netfilter/nf_tables.h (NFT_MSG_GETOBJ).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from refute.nemesis.netns.rules import FAMILY
from refute.system.netlink import ask, attributes, open_netlink

NETFILTER = 12
_GET_OBJECT = (10 << 8) | 19
_INET = {"inet": 1}[FAMILY]
_OF_NETFILTER = struct.Struct("=BBH")
_U64, _U32 = struct.Struct("!Q"), struct.Struct("!I")
_TABLE, _NAME, _TYPE, _DATA = 1, 2, 3, 4
_COUNTER, _BYTES, _PACKETS = 1, 1, 2

Counters = Mapping[tuple[str, str], tuple[int, int]]
"""(packets, bytes) by table and name of the counter."""


class CounterReader:
    """Reads the counters of the network namespace in which it was made, from wherever it is used."""

    def __init__(self) -> None:
        self._netlink = open_netlink(NETFILTER)

    def read(self) -> Counters:
        """All named counters of the family `inet` now. Raises OSError."""
        found: dict[tuple[str, str], tuple[int, int]] = {}
        for body in ask(self._netlink, _GET_OBJECT, _OF_NETFILTER.pack(_INET, 0, 0), dump=True):
            named = dict(attributes(body[_OF_NETFILTER.size :]))
            if _U32.unpack(named[_TYPE])[0] == _COUNTER:
                data = dict(attributes(named[_DATA]))
                numbers = (_U64.unpack(data[_PACKETS])[0], _U64.unpack(data[_BYTES])[0])
                found[_text(named[_TABLE]), _text(named[_NAME])] = numbers
        return found


def _text(data: bytes) -> str:
    return data.rstrip(b"\0").decode()
