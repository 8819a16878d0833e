"""Nodes, roles and aliases as the parameters and signals of a fault name them, turned into nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from refute.nemesis.errors import FaultInputError
from refute.plan.step import VictimSignal
from refute.system.node_reference import CLIENT
from refute.system.observer import Observer

# A name in a link such as `old-leader->n2`: it may hold a dash, but not begin or end with one.
_NAME = re.compile(r"[^\s<>-]+(?:-[^\s<>-]+)*")


@dataclass(frozen=True, slots=True)
class Names:
    """What names mean at the moment at which a fault is applied."""

    nodes: Sequence[str]
    observer: Observer | None
    aliases: Mapping[str, str]
    rng: Random

    def of_parameter(self, key: str, value: Any) -> Any:
        """The parameter with nodes for all names in it; only `links`, `groups` and `order` hold any."""
        if key == "links":
            texts = [value] if isinstance(value, str) else list(value)
            return [_NAME.sub(lambda found: self._node(found[0]), str(text)) for text in texts]
        if key in ("groups", "order"):
            if isinstance(value, list | tuple):
                return [self.of_parameter(key, each) for each in value]
            return self._node(str(value))
        return value

    def of_signal(self, signal: VictimSignal) -> list[tuple[str, str]]:
        """The (node, state) pairs at which a signal of the system is read. Raises FaultInputError."""
        if self.observer is None:
            raise FaultInputError("signals of the system cannot be read without an observer")
        if signal.state not in self.observer.spec.states:
            known = ", ".join(self.observer.spec.states) or "none"
            raise FaultInputError(f"the system has no state {signal.state!r}; there are: {known}")
        return [(node, signal.state) for node in self.observer.resolve(signal.node, self.aliases, self.rng)]

    def _node(self, reference: str) -> str:
        if reference in self.nodes or reference == CLIENT:
            return reference
        if self.observer is None:
            return self.aliases.get(reference, reference)
        return self.observer.resolve(reference, self.aliases, self.rng)[0]
