"""What a volume is made of: the part of it that differs between an image file, memory and user space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

from refute.nemesis.errors import NemesisError
from refute.nemesis.storage.namespace import Namespace
from refute.nemesis.undo import Undo

MEMORY_BYTES = 256 << 20


class Medium(Protocol):
    """A kind of file system of ours. All raise NemesisError, with what the machine said."""

    name: ClassVar[str]
    needs_root: ClassVar[bool]

    @classmethod
    def at(cls, folder: Path, name: str, mark: str) -> Self:
        """One that keeps what it has to in `folder`; processes that it needs carry the mark."""
        ...

    @classmethod
    def of_handle(cls, handle: Mapping[str, Any]) -> Self: ...

    def handle(self) -> Mapping[str, Any]:
        """As it stands in the ledger."""
        ...

    def undos(self) -> Sequence[Undo]:
        """What removes it, in the order in which it is made."""
        ...

    def make(self) -> None:
        """Make it, empty."""
        ...

    def attach(self, namespace: Namespace, mount: Path) -> None:
        """Mount it; after a loss of power with what is left."""
        ...

    def wait_until_released(self) -> None:
        """Until nothing holds it after it was unmounted."""
        ...

    def shut_down(self, root: Path) -> None:
        """Drop everything that is not on the disk yet, at once; from now on every write fails."""
        ...

    def counts(self, root: Path) -> Mapping[str, int]:
        """What it has counted since it was mounted, where it counts: `dropped_bytes` and others."""
        ...


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory, which needs no right beyond a user namespace, and loses no power by halves."""

    name: ClassVar[str] = "memory"
    needs_root: ClassVar[bool] = False

    @classmethod
    def at(cls, folder: Path, name: str, mark: str) -> Self:  # noqa: ARG003 (a verb of all media)
        """It keeps nothing in a folder."""
        return cls()

    @classmethod
    def of_handle(cls, handle: Mapping[str, Any]) -> Self:  # noqa: ARG003 (a verb of all media)
        """One is as the other."""
        return cls()

    def handle(self) -> Mapping[str, Any]:
        """Nothing is to be known of it."""
        return {}

    def undos(self) -> Sequence[Undo]:
        """With the namespace it is gone."""
        return ()

    def make(self) -> None:
        """It comes with the mount."""

    def attach(self, namespace: Namespace, mount: Path) -> None:
        """Mount it, empty."""
        options = f"size={MEMORY_BYTES},mode=700"
        namespace.run("mount", "-t", "tmpfs", "-o", options, "refute", str(mount))

    def wait_until_released(self) -> None:
        """Nothing holds memory."""

    def shut_down(self, root: Path) -> None:  # noqa: ARG002 (a verb of all media)
        """Always raises NemesisError."""
        raise NemesisError("memory cannot lose its power: nothing of it would be left")

    def counts(self, root: Path) -> Mapping[str, int]:  # noqa: ARG002 (a verb of all media)
        """It counts nothing."""
        return {}
