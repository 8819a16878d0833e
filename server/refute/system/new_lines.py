"""Lines that nodes log from a moment on: what a wait for a line looks at."""

from __future__ import annotations

import re
from collections.abc import Sequence

from refute.plan.step import LineCondition
from refute.system.cluster import Cluster


class NewLines:
    """The lines that are logged after it was made, whichever run of a node logs them."""

    def __init__(self, cluster: Cluster, conditions: Sequence[LineCondition]) -> None:
        self._cluster = cluster
        self._patterns = [re.compile(condition.matches) for condition in conditions]
        nodes = cluster.spec.everyone if conditions else ()
        self._places = {node: self._size(node) for node in nodes}
        self._partial = dict.fromkeys(nodes, b"")
        self._found: set[tuple[int, str]] = set()

    def look(self) -> None:
        """Take in what was logged since the last look. A file that cannot be read has no new line."""
        for node, place in self._places.items():
            if self._size(node) <= place:
                continue
            with self._cluster.log_path(node).open("rb") as log:
                log.seek(place)
                fresh = log.read()
            self._places[node] = place + len(fresh)
            *lines, self._partial[node] = (self._partial[node] + fresh).split(b"\n")
            for line in lines:
                text = line.decode(errors="replace")
                self._found |= {
                    (number, node) for number, pattern in enumerate(self._patterns) if pattern.search(text)
                }

    def seen(self, number: int, nodes: Sequence[str]) -> bool:
        """Whether one of these nodes has logged a line of the condition of that number."""
        return any((number, node) in self._found for node in nodes)

    def _size(self, node: str) -> int:
        try:
            return self._cluster.log_path(node).stat().st_size
        except OSError:
            return 0
