"""What every means of the resource plane has in common: how a kind of fault is put on nodes and proven."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from refute.history.fault import Signal
from refute.nemesis.plane import Fault, Readings, Snapshot
from refute.nemesis.undo import Undo


class Means(Protocol):
    """The part of a plane that knows some of its kinds."""

    def prepare(self) -> Mapping[str, str]:
        """Before the nodes start; the kinds that cannot be had, with the reason."""
        ...

    def check(self, fault: Fault, node: str) -> None:
        """Whether the fault can be put on this node. Raises FaultInputError, NemesisError."""
        ...

    def undos(self, fault: Fault) -> tuple[Undo, ...]:
        """As of a plane; the same at every call for the same fault."""
        ...

    def apply(self, fault: Fault) -> Mapping[str, Any]:
        """As of a plane."""
        ...

    def measure(self) -> Snapshot:
        """As of a plane."""
        ...

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        """As of a plane."""
        ...

    def healed(self, fault: Fault) -> None:
        """The undo verbs have been called."""
        ...

    def close(self) -> None:
        """As of a plane."""
        ...
