"""Undoing a fault from what the ledger holds alone, so that any process can do it after the injector is gone.

Each plane has a module of undo verbs. This one imports them when they are needed, and nothing that is slow
to import: the guard depends on it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Handle = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UndoVerb:
    """One way of undoing. `undo` may be called again and again; `left` says in words what is still on."""

    undo: Callable[[Handle], None]
    left: Callable[[Handle], str | None]


@dataclass(frozen=True, slots=True)
class Undo:
    """One thing to undo: the verb's name and an exact handle, both plain JSON."""

    verb: str
    handle: Handle

    def as_json(self) -> dict[str, Any]:
        """As it stands in the ledger."""
        return {"verb": self.verb, "handle": dict(self.handle)}


_MODULES = {
    "continue": "refute.nemesis.process.undo",
    "end": "refute.nemesis.process.undo",
    "lift": "refute.nemesis.proxy.undo",
    "remove-socket": "refute.nemesis.proxy.undo",
    "remove-toxic": "refute.nemesis.toxiproxy.undo",
    "enable-proxy": "refute.nemesis.toxiproxy.undo",
    "remove-proxy": "refute.nemesis.toxiproxy.undo",
    "unpause-container": "refute.nemesis.containers.undo",
    "connect-container": "refute.nemesis.containers.undo",
    "remove-container": "refute.nemesis.containers.undo",
    "true-time": "refute.nemesis.clock.undo",
    "detach": "refute.nemesis.storage.undo",
    "empty": "refute.nemesis.storage.undo",
    "let-through": "refute.nemesis.storage.undo",
    "remount": "refute.nemesis.storage.undo",
    "remove-copies": "refute.nemesis.storage.undo",
    "remove-image": "refute.nemesis.storage.undo",
    "lift-limit": "refute.nemesis.resource.undo",
    "dissolve-group": "refute.nemesis.resource.undo",
    "restore-descriptors": "refute.nemesis.resource.undo",
    "end-marked": "refute.nemesis.marked",
    "remove-flag": "refute.nemesis.client.undo",
    "rejoin": "refute.nemesis.membership.undo",
    "take-off": "refute.nemesis.netns.undo",
}


def verb(name: str) -> UndoVerb:
    """The verb of that name. Raises KeyError for one that this version does not know."""
    found: UndoVerb = importlib.import_module(_MODULES[name]).VERBS[name]
    return found


def undo_each(undos: Iterable[Undo]) -> None:
    """Undo them, in their order. Raises what their verbs raise."""
    for each in undos:
        verb(each.verb).undo(each.handle)


def still_on(undos: Iterable[Undo]) -> str | None:
    """What of them is on, in words; None where nothing is. Raises what their verbs raise."""
    left = [verb(each.verb).left(each.handle) for each in undos]
    return "; ".join(filter(None, left)) or None


def left_after(undo: Mapping[str, Any]) -> str | None:
    """Undo one entry of the ledger and say in words what is still on; None where nothing is. Never raises."""
    try:
        found = verb(undo["verb"])
        found.undo(undo["handle"])
        return found.left(undo["handle"])
    except Exception as error:  # noqa: BLE001 (whatever it is, the fault has to be reported as not healed)
        return f"{undo.get('verb')}: {type(error).__name__}: {error}"
