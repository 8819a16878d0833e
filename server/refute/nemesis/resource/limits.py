"""What is written to a control group, and read from it, for each kind of limit, in both versions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.resource.cgroups import Group

_PERIOD_US = 100_000
_UNLIMITED = 1 << 60
_BATCH_BYTES = 1 << 20  # a processor takes memory for its group ahead of need
_SETTLED_WITHIN_S = 2.0


class Limit(Protocol):
    """One kind of limit."""

    controllers: ClassVar[Mapping[int, str]]

    def put(self, group: Group, value: str) -> None:
        """Set it. Raises OSError, NemesisError."""
        ...

    def lift(self, group: Group) -> None:
        """Take it off; may be called again. Raises OSError."""
        ...

    def said(self, group: Group) -> str:
        """What the group says of it, in words; `none` without it. Raises OSError."""
        ...

    def counters(self, group: Group) -> Mapping[str, int | None]:
        """What the kernel counted: `enforced` (by the limit) and `suffered` (by the processes)."""
        ...


@dataclass(frozen=True, slots=True)
class Cpu:
    """A share of one core, in thousandths."""

    controllers: ClassVar[Mapping[int, str]] = {1: "cpu", 2: "cpu"}

    def put(self, group: Group, value: str) -> None:
        """A quota for each tenth of a second."""
        quota_us = max(1000, int(value) * _PERIOD_US // 1000)
        if group.version == 2:
            group.write("cpu.max", f"{quota_us} {_PERIOD_US}")
        else:
            group.write("cpu.cfs_period_us", str(_PERIOD_US))
            group.write("cpu.cfs_quota_us", str(quota_us))

    def lift(self, group: Group) -> None:
        """No quota."""
        if group.version == 2:
            group.write("cpu.max", "max")
        else:
            group.write("cpu.cfs_quota_us", "-1")

    def said(self, group: Group) -> str:
        """The share."""
        quota = (
            group.read("cpu.max").split()[0] if group.version == 2 else group.read("cpu.cfs_quota_us").strip()
        )
        return "none" if quota in ("max", "-1") else f"{int(quota) / _PERIOD_US:g} of a core"

    def counters(self, group: Group) -> Mapping[str, int | None]:
        """Periods in which it was throttled, and for how long (version 1: ns, version 2: us)."""
        spent = "throttled_usec" if group.version == 2 else "throttled_time"
        return {
            "enforced": group.field("cpu.stat", "nr_throttled"),
            "suffered": group.field("cpu.stat", spent),
        }


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes, swap included."""

    controllers: ClassVar[Mapping[int, str]] = {1: "memory", 2: "memory"}
    files: ClassVar[Mapping[int, tuple[str, str]]] = {
        1: ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
        2: ("memory.max", "memory.swap.max"),
    }

    def put(self, group: Group, value: str) -> None:
        """Version 1 refuses a limit that is below what is in use and cannot be given up."""
        main, swap = self.files[group.version]
        try:
            group.write(main, value)
            if group.version == 1:
                group.write("memory.max_usage_in_bytes", "0")  # the most is counted from now on
            if (group.path / swap).exists():
                group.write(swap, "0" if group.version == 2 else value)
        except OSError as error:
            used = self.used(group)
            raise NemesisError(
                f"memory cannot be limited to {value} bytes while {used} are in use"
            ) from error

    def lift(self, group: Group) -> None:
        """Without a limit, in the order in which the kernel takes it."""
        main, swap = self.files[group.version]
        no_limit = "max" if group.version == 2 else "-1"
        for name in (swap, main):
            if (group.path / name).exists():
                group.write(name, no_limit)

    def said(self, group: Group) -> str:
        """Bytes."""
        limit = group.read(self.files[group.version][0]).strip()
        return "none" if limit == "max" or int(limit) >= _UNLIMITED else f"{limit} bytes"

    def counters(self, group: Group) -> Mapping[str, int | None]:
        """How often the limit was reached, at least, and how many processes were killed for it."""
        if group.version == 2:
            names = {"enforced": "max", "suffered": "oom_kill"}
            return {name: group.field("memory.events", key) for name, key in names.items()}
        killed = group.field("memory.oom_control", "oom_kill")
        return {"enforced": self._reached(group), "suffered": killed}

    def _reached(self, group: Group) -> int:
        # Not every kernel counts failures in version 1, but all keep the most that was used since `put`.
        failures = (group.number("memory.failcnt") or 0) + (group.number("memory.memsw.failcnt") or 0)
        limit, most = group.number(self.files[1][0]) or 0, group.number("memory.max_usage_in_bytes") or 0
        return failures + (limit < _UNLIMITED and most > limit - _BATCH_BYTES)

    def used(self, group: Group) -> int:
        """Bytes that the group uses now. Raises OSError."""
        return int(group.read("memory.current" if group.version == 2 else "memory.usage_in_bytes"))


@dataclass(frozen=True, slots=True)
class Io:
    """Bytes a second of one device; the value is `major:minor rate`."""

    controllers: ClassVar[Mapping[int, str]] = {1: "blkio", 2: "io"}
    files: ClassVar[tuple[str, str]] = ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device")

    def put(self, group: Group, value: str) -> None:
        """For reads and for writes."""
        device, rate = value.split()
        if group.version == 2:
            group.write("io.max", f"{device} rbps={rate} wbps={rate}")
        else:
            for name in self.files:
                group.write(name, f"{device} {rate}")

    def lift(self, group: Group) -> None:
        """Of every device that has one."""
        if group.version == 2:
            for line in group.read("io.max").splitlines():
                group.write("io.max", f"{line.split()[0]} rbps=max wbps=max")
        else:
            for name in self.files:
                for line in group.read(name).splitlines():
                    group.write(name, f"{line.split()[0]} 0")

    def said(self, group: Group) -> str:
        """What the group says."""
        names = ("io.max",) if group.version == 2 else self.files[1:]
        return "; ".join(group.read(name).strip().replace("\n", ", ") for name in names) or "none"

    def counters(self, group: Group) -> Mapping[str, int | None]:
        """Bytes that went through it."""
        total = 0
        if group.version == 2:
            for line in group.read("io.stat").splitlines():
                pairs = dict(word.split("=") for word in line.split()[1:])
                total += int(pairs.get("rbytes", 0)) + int(pairs.get("wbytes", 0))
        else:
            for line in group.read("blkio.throttle.io_service_bytes").splitlines():
                words = line.split()
                total += int(words[2]) if words[1:2] in (["Read"], ["Write"]) else 0
        return {"enforced": total, "suffered": None}


@dataclass(frozen=True, slots=True)
class Freezer:
    """Frozen or not."""

    controllers: ClassVar[Mapping[int, str]] = {1: "freezer", 2: "freezer"}

    def put(self, group: Group, value: str) -> None:  # noqa: ARG002
        """Returns when all of it stands still. Raises NemesisError where it does not."""
        group.write(*(("cgroup.freeze", "1") if group.version == 2 else ("freezer.state", "FROZEN")))
        deadline = time.monotonic() + _SETTLED_WITHIN_S
        while self.said(group) != "frozen":
            if time.monotonic() > deadline:
                raise NemesisError(f"the control group does not freeze: {self.said(group)}", where=group.path)
            time.sleep(0.001)

    def lift(self, group: Group) -> None:
        """Thaw it."""
        group.write(*(("cgroup.freeze", "0") if group.version == 2 else ("freezer.state", "THAWED")))

    def said(self, group: Group) -> str:
        """`none`, `freezing` or `frozen`."""
        if group.version == 1:
            state = group.read("freezer.state").strip().lower()
            return "none" if state == "thawed" else state
        if group.number("cgroup.freeze") == 0:
            return "none"
        return "frozen" if group.field("cgroup.events", "frozen") else "freezing"

    def counters(self, group: Group) -> Mapping[str, int | None]:  # noqa: ARG002
        """It counts nothing."""
        return {"enforced": None, "suffered": None}


LIMITS: Mapping[str, Limit] = {"cpu": Cpu(), "memory": Memory(), "io": Io(), "freezer": Freezer()}


def share_in_thousandths(share: float) -> str:
    """The value of a CPU limit. Raises FaultInputError.

    >>> share_in_thousandths(0.25)
    '250'
    """
    if not 0.01 <= share <= 1:
        raise FaultInputError("cpu: share: write a share of one core from 0.01 to 1")
    return str(round(share * 1000))
