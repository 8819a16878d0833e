"""Tries each kind of the resource plane on a process of our own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from refute.interpreter import python
from refute.nemesis.ledger import state_directory
from refute.nemesis.plane import Probe
from refute.nemesis.resource.cgroups import Group, hierarchy
from refute.nemesis.resource.descriptors import handle_of, limit_of, restore, set_soft_limit
from refute.nemesis.resource.device import device_of
from refute.nemesis.resource.limits import LIMITS
from refute.system.cpu_time import cpu_ns
from refute.system.process_table import identify

_WITHIN_S = 5.0
_BUSY = "while True: pass"
_HUNGRY = "import sys\nsys.stdin.readline()\nhoard = [bytearray(b'1') * (1 << 20) for _ in range(512)]"
_OPENS = "import sys\nsys.stdin.readline()\nkept = [open('/dev/null') for _ in '12345']"
_WRITES = (
    "import os, sys\nfile = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
    "while True: os.pwrite(file, b'1' * 65536, 0); os.fsync(file)"
)
_TRIED = {
    "cpu": (_BUSY, "50"),
    "freezer": (_BUSY, "on"),
    "memory": (_HUNGRY, str(64 << 20)),
    "io": (_WRITES, ""),
}


def try_resource(kind: str) -> Probe:
    """Whether the limit is enforced on a process of our own and can be taken off.

    Raises NemesisError and OSError with the reason where it cannot be tried.
    """
    if sys.platform != "linux":
        return Probe(False, "control groups and prlimit are Linux's")
    if kind == "noisy-neighbour":
        return _tried(_BUSY, lambda pid: (cpu_ns([pid]) or 0) > 0, "a process of our own uses no CPU")
    if kind == "descriptors":
        return _try_descriptors()
    state_directory().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="probe-", dir=state_directory()) as folder:
        return _try_limit(kind, Path(folder))


def _try_limit(kind: str, folder: Path) -> Probe:
    limit, (program, value) = LIMITS[kind], _TRIED[kind]
    value = value or f"{device_of(folder)} 1000000"
    place = hierarchy(limit.controllers)
    group = Group(place.version, place.root / f"refute-probe-{os.getpid()}-{uuid.uuid4().hex[:8]}")

    def begin(pid: int) -> None:
        group.add(pid)
        limit.put(group, value)

    def enforced(pid: int) -> bool:
        if kind != "freezer":
            return bool(limit.counters(group)["enforced"])
        used = cpu_ns([pid])
        time.sleep(0.05)
        return limit.said(group) == "frozen" and cpu_ns([pid]) == used

    group.create()
    try:
        found = _tried(program, enforced, "the limit has no effect", begin, lambda: limit.lift(group), folder)
        return found if limit.said(group) == "none" else Probe(False, "the limit cannot be taken off")
    finally:
        group.dissolve(place.own)


def _tried(
    program: str,
    holds: Callable[[int], bool],
    otherwise: str,
    begin: Callable[[int], None] = lambda _: None,
    end: Callable[[], None] = lambda: None,
    folder: Path = Path(),
) -> Probe:
    with subprocess.Popen(
        python("-c", program, str(folder / "file")),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            begin(process.pid)
            assert process.stdin is not None
            process.stdin.write(b"go\n")
            process.stdin.flush()
            deadline = time.monotonic() + _WITHIN_S
            while time.monotonic() < deadline:
                if holds(process.pid):
                    return Probe(True)
                time.sleep(0.02)
            return Probe(False, otherwise)
        finally:
            end()
            process.kill()


def _try_descriptors() -> Probe:
    with subprocess.Popen(
        python("-c", _OPENS),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        me = identify(process.pid)
        assert me is not None
        before, handle = limit_of(process.pid), handle_of([me], 2)
        lowered = handle["limits"][0][3]
        set_soft_limit(process.pid, lowered)
        restore(handle)
        restored = limit_of(process.pid)
        set_soft_limit(process.pid, lowered)
        _, said = process.communicate(b"go\n")
    if restored != before:
        return Probe(False, "the limit of a process of our own cannot be set back")
    works = b"Too many open files" in said
    return Probe(works, "" if works else "a process of our own went on opening files")
