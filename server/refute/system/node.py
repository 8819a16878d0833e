"""One process of the system under test: started in its own session, logged, signalled, reaped."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from refute.system.errors import ClusterError, ClusterInputError
from refute.system.process_table import ProcessId, family, identify, is_alive

_GONE_WITHIN_S = 5.0
_POLL_S = 0.005
_TO_ALL = (signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Exit:
    """How a node process ended, and when it was seen (monotonic ns). `code` is negative for a signal."""

    code: int
    time_ns: int

    def __str__(self) -> str:
        """`exit 1` or `SIGKILL`."""
        if self.code < 0:
            with suppress(ValueError):
                return signal.Signals(-self.code).name
            return f"signal {-self.code}"
        return f"exit {self.code}"


class NodeProcess:
    """One run of a node, from start to exit; a restart is another one.

    The process leads a session of its own, so that whatever it starts is found again and ends with it.
    """

    def __init__(
        self,
        node: str,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        log: Path,
        version: str | None,
    ) -> None:
        self.node = node
        self.argv = tuple(argv)
        self.version = version
        self.log = log
        self.exit: Exit | None = None
        self._known: list[ProcessId] = []
        self._lock = threading.Lock()
        self._exited = threading.Event()
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        mark = f"--- refute: {node} starts, {now}, version {version or 'first'}\n"
        try:
            with log.open("ab") as output:
                output.write(mark.encode())
                output.flush()
                self.log_offset = output.tell()
                self._process = subprocess.Popen(
                    self.argv,
                    cwd=cwd,
                    env=dict(env),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            raise _cannot_start(node, self.argv, cwd, log, error) from error
        self.started_ns = time.monotonic_ns()
        self.pid = self._process.pid
        # Its start time cannot be read once it is reaped, which only our own watcher does.
        self.identity = identify(self.pid) or ProcessId(self.pid, 0.0)
        self._watcher = threading.Thread(target=self._watch, name=f"watch-{node}", daemon=True)
        self._watcher.start()

    @property
    def running(self) -> bool:
        """Whether the process has not exited yet; a stopped (paused) one runs."""
        return self.exit is None

    def members(self) -> list[ProcessId]:
        """The living processes of the node: the one that was started and what it started."""
        known = [*family(self.pid), *self._known]
        self._known = [process for process in dict.fromkeys(known) if is_alive(process)]
        return list(self._known)

    def send(self, number: signal.Signals) -> bool:
        """Send a signal to the processes of the node. False where the node has exited and left none.

        One that stops, continues or kills goes to all of them, any other to those of its session: what has
        left that hears of it from its parent.
        """
        members = self.members()  # before it: the child of one that has ended is no longer found
        reached = set(members)
        with self._lock:  # not reaped before we are done, so that the group is still ours
            running = self.exit is None
            if running:
                with suppress(ProcessLookupError):
                    os.killpg(self.pid, number)
        sent = running
        while members:
            for member in members:
                with suppress(ProcessLookupError):
                    apart = os.getpgid(member.pid) != self.pid or not running
                    if apart and (number in _TO_ALL or os.getsid(member.pid) == self.pid):
                        os.kill(member.pid, number)
                        sent = True
            # what one of them has started before it was hit itself
            members = [each for each in self.members() if each not in reached]
            reached.update(members)
        return sent

    def wait(self, timeout_s: float | None = None) -> Exit | None:
        """How the process ended; None where it has not within the time."""
        self._exited.wait(timeout_s)
        return self.exit

    def kill(self) -> Exit:
        """SIGKILL to all of it; returns when the exit is complete and nothing of the node is left.

        Raises ClusterError where something survives.
        """
        self.send(signal.SIGKILL)
        ended = self.wait(_GONE_WITHIN_S)
        self._finish_off()
        if ended is None:
            raise ClusterError(f"pid {self.pid} survives SIGKILL", where=self.node)
        return ended

    def terminate(self, number: signal.Signals = signal.SIGTERM, grace_s: float = 5.0) -> Exit:
        """Ask it to stop, wait for `grace_s` seconds, then kill it. Returns how it ended.

        A node that is paused could not obey: it is continued after the signal was sent.
        """
        if number == signal.SIGKILL:
            return self.kill()
        self.send(number)
        self.send(signal.SIGCONT)
        ended = self.wait(grace_s)
        if ended is None:
            return self.kill()
        self._finish_off()
        return ended

    def tail(self, lines: int = 15) -> str:
        """The last lines that this run of the node has logged."""
        with suppress(OSError), self.log.open("rb") as file:
            file.seek(self.log_offset)
            text = file.read()[-20_000:].decode(errors="replace")
            return "\n".join(text.splitlines()[-lines:])
        return ""

    def _watch(self) -> None:
        if hasattr(os, "waitid"):
            # Wait without reaping: the pid stays taken until nobody is about to signal its group.
            with suppress(ChildProcessError):
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        else:
            self._process.wait()
        with self._lock:
            self.exit = Exit(self._process.wait(), time.monotonic_ns())
        self._exited.set()

    def _finish_off(self) -> None:
        # What the node has started itself may outlive it.
        deadline = time.monotonic() + _GONE_WITHIN_S
        while left := self.members():
            for member in left:
                if is_alive(member):
                    with suppress(ProcessLookupError):
                        os.kill(member.pid, signal.SIGKILL)
            if time.monotonic() > deadline:
                raise ClusterError(f"processes of {self.node} survive SIGKILL: {left}", where=self.node)
            time.sleep(_POLL_S)


def _cannot_start(node: str, argv: Sequence[str], cwd: Path, log: Path, error: OSError) -> Exception:
    if not cwd.is_dir():
        return ClusterInputError(f"its working directory {cwd} does not exist", where=node)
    if not os.access(log.parent, os.W_OK):
        return ClusterError(f"its log {log} cannot be written: {error.strerror}", where=node)
    if isinstance(error, FileNotFoundError):
        return ClusterInputError(
            f"the command {argv[0]!r} does not exist",
            where=node,
            hint="install it, or name it by its full path",
        )
    if isinstance(error, PermissionError):
        return ClusterInputError(f"the command {argv[0]!r} may not be executed", where=node)
    return ClusterError(f"cannot start {argv[0]!r}: {error.strerror or error}", where=node)
