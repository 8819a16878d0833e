"""Control groups of our own: one for each node and hierarchy, with exact names, and removed again."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from refute.nemesis.errors import NemesisError

_REMOVED_WITHIN_S = 2.0
_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A mounted tree of control groups that has a controller; `own` is the group that we are in."""

    version: int
    root: Path
    own: Path


@dataclass(frozen=True, slots=True)
class Group:
    """One control group; `version` tells which files it has."""

    version: int
    path: Path

    def create(self) -> None:
        """Make it. Raises NemesisError."""
        try:
            self.path.mkdir()
        except OSError as error:
            raise NemesisError(f"no control group can be made: {error.strerror}", where=self.path) from error

    def add(self, pid: int) -> None:
        """Move a process with all its threads into it; one that is gone is left alone."""
        with suppress(ProcessLookupError):
            self.write("cgroup.procs", str(pid))

    def members(self) -> list[int]:
        """The processes in it."""
        return [int(line) for line in self.read("cgroup.procs").split()]

    def read(self, name: str) -> str:
        """The text of one of its files. Raises OSError."""
        return (self.path / name).read_text()

    def write(self, name: str, value: str) -> None:
        """Write one of its files, in one call. Raises OSError."""
        file = os.open(self.path / name, os.O_WRONLY)
        try:
            os.write(file, value.encode())
        finally:
            os.close(file)

    def field(self, name: str, key: str) -> int | None:
        """A number of one of its files of lines `key value`; None where it is not there."""
        with suppress(OSError):
            for line in self.read(name).splitlines():
                words = line.split()
                if len(words) == 2 and words[0] == key:
                    return int(words[1])
        return None

    def number(self, name: str) -> int | None:
        """The number that one of its files holds; None where it holds another word or is not there."""
        with suppress(OSError, ValueError):
            return int(self.read(name))
        return None

    def dissolve(self, back: Path) -> None:
        """Move whoever is in it back to where they came from, and remove it. Raises OSError."""
        if not self.path.is_dir():
            return
        deadline = time.monotonic() + _REMOVED_WITHIN_S
        while True:
            for pid in self.members():
                Group(self.version, back).add(pid)
            try:
                self.path.rmdir()
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)  # a process that ends is in it for a moment longer


def hierarchy(controllers: Mapping[int, str]) -> Hierarchy:
    """Where a controller, named for each version, is mounted; 2 goes first. Raises NemesisError."""
    mounts = [_mount(line) for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    own = _own_groups()
    for kind, place, _ in mounts:
        if kind == "cgroup2" and _has(place, controllers[2]):
            return Hierarchy(2, place, _inside(place, own.get("", "/")))
    for kind, place, options in mounts:
        if kind == "cgroup" and controllers[1] in options:
            return Hierarchy(1, place, _inside(place, own.get(controllers[1], "/")))
    raise NemesisError(f"no hierarchy of control groups has the controller {controllers[2]!r}")


def _inside(place: Path, group: str) -> Path:
    # In a namespace of groups the path may be one of outside, which is not mounted.
    found = place / group.lstrip("/")
    return found if found.is_dir() else place


def _mount(line: str) -> tuple[str, Path, list[str]]:
    head, _, tail = line.partition(" - ")
    kind, _, options = tail.split(" ", 2)
    return kind, Path(head.split()[4]), options.split(",")


def _own_groups() -> dict[str, str]:
    found: dict[str, str] = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        found |= dict.fromkeys(controllers.split(","), path)
    return found


def _has(place: Path, controller: str) -> bool:
    # A child of the root has what the root hands down; to hand down more would be a change of the machine.
    if controller == "freezer":
        return True
    with suppress(OSError):
        return controller in (place / "cgroup.subtree_control").read_text().split()
    return False
