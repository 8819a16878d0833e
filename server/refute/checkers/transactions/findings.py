"""What a pass over transactions has found so far: anomalies by name, and what could not be judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from refute.checkers.result import Anomaly
from refute.history import Operation

SHOWN_PER_NAME = 8  # further anomalies of one name are counted, not shown


@dataclass(slots=True)
class Findings:
    """Gathers anomalies (the first few of each name in full), assumptions, and reasons for doubt.

    A doubt is a sentence that says why the absence of an anomaly is no proof: with a doubt and no
    forbidden anomaly the result is `unknown`.
    """

    counts: Counter[str] = field(default_factory=Counter)
    anomalies: list[Anomaly] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    undecided: set[str] = field(default_factory=set)
    assumptions: list[str] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)

    def wants(self, name: str) -> bool:
        """Counts one more anomaly of that name; True where it is still to be shown in full."""
        self.counts[name] += 1
        return self.counts[name] <= SHOWN_PER_NAME

    def show(
        self,
        name: str,
        sentence: str,
        operations: Iterable[Operation],
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Adds an anomaly that `wants` asked for."""
        self.anomalies.append(Anomaly(name, sentence, tuple(operations), dict(details or {})))
