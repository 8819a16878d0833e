"""What a generator asks for, what a client learns, and the interface between the two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType
from typing import Any, Protocol, Self

from refute.history.operation import Outcome

NOTHING: Mapping[str, Any] = MappingProxyType({})

Endpoints = Mapping[str, Mapping[str, tuple[str, int]]]
"""Where clients reach each node: node to port name to (host, port)."""


@dataclass(frozen=True, slots=True)
class Request:
    """One operation to be sent: what an `Operation` says of its invocation.

    `only_after_ok` names a kind: the request is sent only where this client's last operation of that
    kind was `ok`, and takes over what that answer put into `extra` (a lock is released by who holds
    it, with the token that was given).
    """

    kind: str
    key: Any = None
    input: Any = None
    extra: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    only_after_ok: str | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What the client learned of one request.

    `not_reached` says that nothing was sent, since no connection could be made; such a completion is
    a `fail`, and whoever sends should not try again at once.
    """

    outcome: Outcome
    output: Any = None
    error: str | None = None
    extra: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    not_reached: bool = False


class OperationClient(Protocol):
    """A way to the system for one thread at a time."""

    def invoke(
        self,
        request: Request,
        node: str,
        timeout_s: float,
        *,
        process: int | str = 0,
        identity: int | None = None,
    ) -> Completion:
        """Sends one request and waits at most `timeout_s` for the answer.

        `identity` is the operation's id in the history. Whatever the system or a worker does comes
        back as a completion; only a plan that cannot be carried out raises WorkloadError.
        """
        ...

    def close(self) -> None:
        """Releases connections and processes."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


ERROR_LENGTH = 200


def short(text: str) -> str:
    """An error as one line that fits into a history: at most 200 characters."""
    line = " ".join(text.split())
    return line if len(line) <= ERROR_LENGTH else line[: ERROR_LENGTH - 1] + "…"
