"""What nodes say of a fault: lines of their logs in which an error of storage is named."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from refute.history.fault import Reading, Signal
from refute.nemesis.plane import Readings
from refute.nemesis.storage.family import three
from refute.system.cluster import Cluster

WORDS: Mapping[str, str] = {
    "disk-full": r"no space left|ENOSPC|disk (?:is )?full|out of (?:disk )?space|quota exceeded",
    "read-only": r"read-only file system|EROFS|input/output error|\bEIO\b",
    "io-error": r"input/output error|\bEIO\b|i/o error|(?:sync|write|read)\w* (?:failed|error)|"
    r"no space left|ENOSPC",
    "damage": r"corrupt|checksum|\bcrc\b|digest|torn|truncat|damaged|malformed|unexpected (?:eof|end)|"
    r"bad (?:magic|record|header)|mismatch|no such file",
}
_MOST_BYTES = 4 << 20
_AFTER_S = 3.0


class NodeLogs:
    """Counts, for one kind of error, the lines in which nodes name it while such a fault is on or just over.

    At other times a log is only measured: one that grows by megabytes a second would keep everybody waiting,
    and what it said then would be counted for a fault that came later.
    """

    def __init__(self, cluster: Cluster, kind: str) -> None:
        self._cluster = cluster
        self._pattern = re.compile(WORDS[kind].encode(), re.IGNORECASE)
        self._read: dict[str, tuple[int, int]] = {}
        self._until_s: dict[str, float] = {}
        self._name = f"{kind}_lines"

    def follow(self, nodes: Iterable[str]) -> None:
        """Count what these nodes say from now on: a fault is about to come."""
        for node in nodes:
            self._count(node)
            self._until_s[node] = math.inf

    def leave(self, nodes: Iterable[str]) -> None:
        """The fault is healed; what comes of it may be said a moment later."""
        self._until_s |= dict.fromkeys(nodes, time.monotonic() + _AFTER_S)

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
            if time.monotonic() > self._until_s.get(node, 0.0):
                place = log.seek(0, os.SEEK_END)
            else:
                log.seek(place)
                fresh = log.read(_MOST_BYTES)
                whole = fresh[: fresh.rfind(b"\n") + 1]
                place += len(whole)
                count += _lines_with(self._pattern, whole)
        self._read[node] = (place, count)
        return count


def _lines_with(pattern: re.Pattern[bytes], text: bytes) -> int:
    count, found = 0, pattern.search(text)
    while found:
        count += 1
        found = pattern.search(text, text.find(b"\n", found.end()) + 1 or len(text))
    return count
