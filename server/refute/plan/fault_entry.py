"""What the catalog says of one fault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

ParameterType = Literal[
    "duration", "size", "bandwidth", "count", "share", "number", "flag", "choice", "text", "list"
]

ANY = "any"
"""The choice of a parameter that leaves it to what works on this machine."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a fault: how it is written, what it means, and what holds where it is left out."""

    name: str
    type: ParameterType
    meaning: str
    default: Any = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FaultEntry:
    """One fault.

    `does` is what really happens, `is_not` what it is often taken for. `tests` and `cannot_test` are
    categories of claims. `targets` says what it is aimed at. `injector` and `victim` are the two sides of its
    landing evidence, `probe` is how it is found out whether it works here.
    """

    plane: str
    kind: str
    does: str
    is_not: str
    tests: tuple[str, ...]
    cannot_test: tuple[str, ...]
    targets: Literal["nodes", "links", "clients", "system"]
    parameters: tuple[Parameter, ...]
    needs: str
    probe: str
    injector: str
    victim: str
    cleanup: str
    infidelities: tuple[str, ...] = ()
