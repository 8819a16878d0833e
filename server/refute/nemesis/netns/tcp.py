"""What the kernel counts in a network namespace, read over /proc of a process that lives there."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from refute.nemesis.netns.layout import INTERFACE


def readings_of(process: int) -> dict[str, int]:
    """Segments sent again, connections opened, those refused or reset, packets received by the interface.

    Empty where the process is gone.
    """
    found: dict[str, int] = {}
    with suppress(OSError, ValueError, KeyError, IndexError):
        tcp = _tcp(Path(f"/proc/{process}/net/snmp").read_text())
        found["sent_again"] = tcp["RetransSegs"]
        found["opened"] = tcp["ActiveOpens"]
        found["broken"] = tcp["AttemptFails"] + tcp["EstabResets"]
        found["received_packets"] = _received(Path(f"/proc/{process}/net/dev").read_text())
    return found


def _tcp(table: str) -> dict[str, int]:
    # Two lines a protocol: names, then values.
    names, values = (line.split()[1:] for line in table.splitlines() if line.startswith("Tcp:"))
    return {name: int(value) for name, value in zip(names, values, strict=True)}


def _received(table: str) -> int:
    for line in table.splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == INTERFACE:
            return int(numbers.split()[1])
    raise KeyError(INTERFACE)
