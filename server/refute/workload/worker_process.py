"""One worker program: started in a process group of its own, asked line by line, and killed whole."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

MAX_LINE_BYTES = 4 * 1024 * 1024
MAX_STDERR_LOG_BYTES = 64 * 1024
_END_GRACE_S = 0.5


class WorkerNotSentError(Exception):
    """The worker could not be started or took none of the line: the operation was not begun."""


class WorkerSilentError(Exception):
    """The worker may have begun the operation and gave no usable answer."""


class WorkerProcess:
    """A running worker. What it writes to stderr goes to the log, up to a bound, and is then discarded."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | Path | None,
        log: Callable[[str], None],
    ) -> None:
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **env},
                cwd=cwd,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise WorkerNotSentError(f"cannot start {command[0]}: {error.strerror}") from None
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self.pid = self._process.pid
        self._input = self._process.stdin.fileno()
        self._output = self._process.stdout.fileno()
        os.set_blocking(self._input, False)
        os.set_blocking(self._output, False)
        self._buffer = bytearray()
        self._stderr = threading.Thread(
            target=_drain,
            args=(self._process.stderr, self.pid, log),
            name=f"worker-{self.pid}-stderr",
            daemon=True,
        )
        self._stderr.start()

    def send(self, line: bytes, deadline: float) -> None:
        """Writes one line. Raises WorkerNotSentError where not one byte was taken, else WorkerSilentError."""
        view = memoryview(line)
        while view:
            try:
                view = view[os.write(self._input, view) :]
            except BlockingIOError:
                if not _wait(self._input, select.POLLOUT, deadline):
                    raise WorkerSilentError("the worker does not read its input") from None
            except OSError:
                if len(view) == len(line):
                    raise WorkerNotSentError("the worker has ended") from None
                raise WorkerSilentError("the worker ended while it was given the operation") from None

    def receive(self, deadline: float) -> bytes:
        """The next line that the worker writes. Raises WorkerSilentError."""
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > MAX_LINE_BYTES:
                raise WorkerSilentError(f"the worker wrote {len(self._buffer)} bytes and no end of line")
            if not _wait(self._output, select.POLLIN, deadline):
                raise WorkerSilentError("timed out")
            try:
                part = os.read(self._output, 65536)
            except BlockingIOError:
                continue
            if not part:
                raise WorkerSilentError("the worker ended without an answer")
            self._buffer += part
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    @property
    def has_unread(self) -> bool:
        """Whether it wrote something, or closed its output, though nothing was asked."""
        return bool(self._buffer) or _wait(self._output, select.POLLIN, 0.0)

    def end(self) -> None:
        """Closes its input, gives it half a second to end by itself, then kills what is left."""
        with contextlib.suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]  # opened with a pipe
        limit = time.monotonic() + _END_GRACE_S
        while time.monotonic() < limit and _wait(self._output, select.POLLIN, limit):
            try:
                if not os.read(self._output, 65536):
                    break
            except OSError:
                break
        self.kill()

    def kill(self) -> None:
        """Kills the whole process group and reaps its leader.

        The group is signalled before the leader is reaped: until then nobody else can have its number.
        """
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._stderr.join(timeout=1.0)


def _wait(descriptor: int, event: int, deadline: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, event)
    return bool(poll.poll(max(0.0, deadline - time.monotonic()) * 1000))


def _drain(stream: object, pid: int, log: Callable[[str], None]) -> None:
    left = MAX_STDERR_LOG_BYTES
    with contextlib.closing(stream):  # type: ignore[type-var]
        descriptor = stream.fileno()  # type: ignore[attr-defined]
        while part := os.read(descriptor, 65536):
            if left > 0:
                kept = part[:left].decode("utf-8", "replace").rstrip("\n")
                left -= len(part)
                log(f"worker {pid} stderr: {kept}")
                if left <= 0:
                    log(f"worker {pid} stderr: more than {MAX_STDERR_LOG_BYTES} bytes; the rest is dropped")
