"""The question that durability asks of a history, and what has been answered so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from refute.checkers.judgement import MAX_ANOMALIES
from refute.checkers.kinds import Kinds
from refute.checkers.result import Anomaly
from refute.history import Operation


@dataclass
class Answers:
    """What has been found out so far, object by object."""

    anomalies: list[Anomaly] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    unjudged: Counter[str] = field(default_factory=Counter)
    assumptions: list[str] = field(default_factory=list)
    explained_by_unknown: int = 0

    def anomaly(self, name: str, sentence: str, operations: Iterable[Operation], **details: Any) -> None:
        """A violation; the first MAX_ANOMALIES are kept with their proof, all are counted."""
        self.counts[name] += 1
        if len(self.anomalies) < MAX_ANOMALIES:
            self.anomalies.append(Anomaly(name, sentence, tuple(operations), details))


@dataclass(frozen=True)
class Question:
    """How one history is to be judged."""

    require: str | int
    initial: Any
    id_field: str | None
    kinds: Kinds


def needed_nodes(require: str | int, nodes: int) -> int:
    """On how many of the nodes asked the final read must be right."""
    if require == "every-node":
        return nodes
    if require == "quorum":
        return nodes // 2 + 1
    return 1 if require == "any-node" else int(require)


def no_answer(silent: frozenset[str | None]) -> str:
    """Why an object could not be judged: the nodes whose final reads failed."""
    nodes = ", ".join(sorted(str(node) for node in silent)) or "enough nodes"
    return f"no final read of {nodes} succeeded"


def of(key: Any) -> str:
    """The key as it stands in a sentence, nothing for the single object."""
    return "" if key is None else f"{key} "


def shown(write: Operation) -> Any:
    """What a write added, for a sentence."""
    return write.key if write.input is None else write.input
