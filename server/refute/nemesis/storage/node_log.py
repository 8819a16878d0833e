"""What nodes say of a fault: lines of their logs in which an error of storage is named."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from refute.history.fault import Reading, Signal
from refute.nemesis.plane import Readings
from refute.nemesis.storage.family import three
from refute.system.cluster import Cluster

WORDS: Mapping[str, str] = {
    "disk-full": r"no space left|ENOSPC|disk (?:is )?full|out of (?:disk )?space|quota exceeded",
    "read-only": r"read-only file system|EROFS|input/output error|\bEIO\b",
    "io-error": r"input/output error|\bEIO\b|i/o error|(?:sync|write|read)\w* (?:failed|error)",
    "damage": r"corrupt|checksum|\bcrc\b|digest|torn|truncat|damaged|malformed|unexpected (?:eof|end)|"
    r"bad (?:magic|record|header)|mismatch|no such file",
}
_MOST_BYTES = 4 << 20


class NodeLogs:
    """Counts, for one kind of error, the lines in which each node has named it, since its first start."""

    def __init__(self, cluster: Cluster, kind: str) -> None:
        self._cluster = cluster
        self._pattern = re.compile(WORDS[kind], re.IGNORECASE)
        self._read: dict[str, tuple[int, int]] = {}
        self._name = f"{kind}_lines"

    def measure(self) -> Mapping[str, Reading]:
        """`n1.storage.disk-full_lines`, one for each node."""
        return {f"{node}.storage.{self._name}": self._count(node) for node in self._cluster.spec.everyone}

    def signal(self, node: str, readings: Readings, *, until_after: bool = False) -> Signal:
        """That a node names the error more often than before the fault; `until_after` its healing."""
        before, during, after = three(readings, f"{node}.storage.{self._name}")
        counted = after if until_after and after is not None else during
        source = "the node's log"
        return Signal(
            "victim", f"{node}: lines that name the error", source, "increases", before, counted, after
        )

    def _count(self, node: str) -> int:
        place, count = self._read.get(node, (0, 0))
        path: Path = self._cluster.log_path(node)
        with suppress(OSError), path.open("rb") as log:
            log.seek(place)
            fresh = log.read(_MOST_BYTES)
            whole = fresh[: fresh.rfind(b"\n") + 1]
            place += len(whole)
            text = whole.decode(errors="replace")
            count += sum(bool(self._pattern.search(line)) for line in text.splitlines())
        self._read[node] = (place, count)
        return count
