"""What a node's kernel says of the connections to one of its ports, in the namespace of the node."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_ESTABLISHED, _CLOSE_WAIT = "01", "08"


@dataclass(frozen=True, slots=True)
class AtNode:
    """Connections from certain ports that the node's side holds, and bytes that it could not send on them."""

    connections: int
    unsent_bytes: int


def at_node(pid: int, port: int, callers: Collection[int]) -> AtNode:
    """The connections from these ports to that port, as the kernel of this process has them."""
    held, unsent = set(), 0
    for name in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
                fields = line.split()
                local, remote = (int(fields[place].rpartition(":")[2], 16) for place in (1, 2))
                if local == port and remote in callers and fields[3] in (_ESTABLISHED, _CLOSE_WAIT):
                    held.add(remote)  # the table is read in pieces, and may show one twice
                    unsent += int(fields[4].partition(":")[0], 16)
    return AtNode(len(held), unsent)
