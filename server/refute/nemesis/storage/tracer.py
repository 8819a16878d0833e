"""strace at a running node: it makes system calls fail or take longer, and reports each that it changed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from refute.nemesis.errors import NemesisError
from refute.nemesis.storage.holds import HeldThread, held_threads
from refute.system.process_table import ProcessId, is_alive, processes_with_mark

MARK = "REFUTE_TRACER"
"""Environment variable that a tracer carries; its value names run and fault."""

CALLS: Mapping[str, tuple[str, ...]] = {
    "fsync": ("fsync", "fdatasync"),
    "write": ("write", "pwrite64", "writev", "pwritev", "pwritev2"),
    "read": ("read", "pread64", "readv", "preadv", "preadv2"),
}
_ATTACHED_WITHIN_S = 10.0
_GONE_WITHIN_S = 3.0


class Tracer:
    """One strace that is attached to the processes of a node. Raises NemesisError where it cannot attach."""

    def __init__(
        self,
        pids: Sequence[int],
        calls: Sequence[str],
        inject: str,
        *,
        paths: Iterable[str] = (),
        report: Path,
        environment: Mapping[str, str],
    ) -> None:
        self._pids = pids
        self._report = report
        self._seen = (0, 0)
        words = ["strace", "-f", "-qq", "-T", "-o", str(report), "-e", f"trace={','.join(calls)}"]
        words += ["-e", f"inject={','.join(calls)}:{inject}", "-e", "signal=none"]
        for path in paths:
            words += ["-P", path]
        for pid in pids:
            words += ["-p", str(pid)]
        try:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={**os.environ, **environment},
                start_new_session=True,
            )
        except OSError as error:
            raise NemesisError(f"strace: {error.strerror}", hint="it is in the package strace") from error
        deadline = time.monotonic() + _ATTACHED_WITHIN_S
        while not all(_tracer_of(pid) == self._process.pid for pid in pids):
            if self._process.poll() is not None or time.monotonic() > deadline:
                said = self._said()
                self.close()
                raise NemesisError(f"strace cannot attach: {said or 'no word'}")
            time.sleep(0.002)

    def injected(self) -> int:
        """How many calls it has made fail or delayed so far, by its own report."""
        place, counted = self._seen
        with suppress(OSError), self._report.open("rb") as report:
            report.seek(place)
            fresh = report.read()
            whole = fresh[: fresh.rfind(b"\n") + 1]
            place += len(whole)
            counted += whole.count(b"(INJECTED)") + whole.count(b"(DELAYED)")
        self._seen = (place, counted)  # at once: several threads may ask, and none may count a line twice
        return counted

    def traces(self, pid: int) -> bool:
        """Whether it is attached to this process now."""
        return _tracer_of(pid) == self._process.pid

    def stopped_threads(self) -> Iterable[HeldThread]:
        """The threads of the node that are in the tracing stop now."""
        for pid in self._pids:
            with suppress(OSError):
                for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 (called all the time)
                    yield from held_threads([int(thread)], "t")

    def close(self) -> None:
        """Detach; the node goes on."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_GONE_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()

    def _said(self) -> str:
        self._process.terminate()
        errors = self._process.communicate()[1] or b""
        lines = errors.decode(errors="replace").strip().splitlines()
        return lines[0].removeprefix("strace: ") if lines else ""


def detach(value: str) -> None:
    """End the tracers with this mark. A traced process goes on when its tracer is gone, however it went."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        tracers = processes_with_mark(MARK, value)
        for tracer in tracers:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(tracer.pid, number)
        if _gone(tracers):
            return


def still_attached(value: str) -> str | None:
    """The tracers with this mark that still run, in words."""
    left = [str(tracer.pid) for tracer in processes_with_mark(MARK, value)]
    return f"still traced by pid {', '.join(left)}" if left else None


def _gone(processes: Sequence[ProcessId]) -> bool:
    deadline = time.monotonic() + _GONE_WITHIN_S
    while any(is_alive(process) for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def _tracer_of(pid: int) -> int:
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("TracerPid:"):
                return int(line.split()[1])
    return 0
