"""What the effects of one run stand on, and the contract that each of them keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

from refute.nemesis.netns.layout import Member
from refute.nemesis.netns.names import NameServer
from refute.nemesis.proxy.loop import Loop

NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Ground:
    """The run's id, the members with their anchors, and the holder's loop.

    `numbers` are for whatever needs one that nobody else has; `shaped` are the classes of each of the
    switch's ports that are in use; `names` is there where names are to be tampered with.
    """

    run: str
    members: Mapping[str, Member]
    anchors: Mapping[str, int]
    loop: Loop
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    shaped: dict[str, set[int]] = field(default_factory=dict)
    names: NameServer | None = None


class Effect(Protocol):
    """One fault that is on. `put` may leave a part where it raises; `take` may be called again."""

    def put(self) -> None:
        """Put it on and read back that it is. Raises NemesisError, OSError."""
        ...

    def take(self) -> None:
        """Take it off. Raises NemesisError, OSError."""
        ...

    def left(self) -> str | None:
        """What of it is still on, asked of the kernel."""
        ...

    def readings(self) -> dict[str, int | str]:
        """What it can tell of itself beside the counters of its rules."""
        ...
