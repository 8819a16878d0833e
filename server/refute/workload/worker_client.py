"""The client that hands operations to a worker program, one JSON line each, and reads one JSON line back."""

from __future__ import annotations

import json
import logging
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from refute.history.operation import Outcome
from refute.plan.system_spec import WorkerClient
from refute.workload.error import WorkloadError
from refute.workload.request import NOTHING, Completion, Endpoints, Request, short
from refute.workload.template import compile_text, text
from refute.workload.worker_process import WorkerNotSentError, WorkerProcess, WorkerSilentError

_LOG = logging.getLogger("refute.workload.worker")
_ANSWER_FIELDS = frozenset({"id", "outcome", "output", "error", "extra"})


class WorkerOperationClient:
    """One worker program, replaced by a new one whenever it hangs, dies or says what was not asked.

    The first worker is started at once, so that a command that does not exist raises WorkloadError
    before the run. After that, nothing that a worker does raises: it is an `info` operation (a
    `fail` where the worker had ended before it was given the operation) and a line in the log.
    """

    def __init__(
        self,
        worker: WorkerClient,
        endpoints: Endpoints,
        *,
        where: str = "worker",
        words: Mapping[str, Any] | None = None,
        directory: str | Path | None = None,
        log: Callable[[str], None] | None = None,
    ) -> None:
        words = dict(words or {})
        self._where = where
        self._log = log or _LOG.warning
        self._cwd = _working_directory(worker, words, directory, where)
        self._command = [_word(word, words, where) for word in worker.command]
        self._command[0] = _program(self._command[0], self._cwd, where)
        self._env = {name: _word(value, words, where) for name, value in worker.env.items()}
        self._addresses = {
            node: {port: f"{host}:{number}" for port, (host, number) in ports.items()}
            for node, ports in endpoints.items()
        }
        self._deaths = 0
        self._not_before = 0.0
        self._count = 0
        self._process: WorkerProcess | None = None
        try:
            self._process = self._start()
        except WorkerNotSentError as error:
            raise WorkloadError(str(error), where=where) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets the worker end at the end of its input, and kills its whole group after half a second."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def invoke(
        self,
        request: Request,
        node: str,
        timeout_s: float,
        *,
        process: int | str = 0,
        identity: int | None = None,
    ) -> Completion:
        """See `OperationClient.invoke`."""
        if node not in self._addresses:
            known = ", ".join(self._addresses)
            raise WorkloadError(f"there is no node {node!r}", where=self._where, hint=f"there are: {known}")
        self._count += 1
        asked = self._count if identity is None else identity
        line = self._line(request, node, timeout_s, process, asked)
        deadline = time.monotonic() + timeout_s
        try:
            worker = self._ready(deadline)
            worker.send(line, deadline)
            completion = _read(worker.receive(deadline), asked)
        except WorkerNotSentError as error:
            self._replace(str(error), request)
            return Completion(Outcome.FAIL, error=short(str(error)), not_reached=True)
        except WorkerSilentError as error:
            self._replace(str(error), request)
            return Completion(Outcome.INFO, error=short(str(error)))
        except BaseException:
            self._drop()
            raise
        self._deaths = 0
        return completion

    def _line(
        self, request: Request, node: str, timeout_s: float, process: int | str, identity: int
    ) -> bytes:
        ports = self._addresses[node]
        message = {
            "id": identity,
            "process": process,
            "kind": request.kind,
            "key": request.key,
            "input": request.input,
            "node": node,
            "endpoint": ports.get("client") or next(iter(ports.values()), None),
            "endpoints": self._addresses,
            "timeout_ms": round(timeout_s * 1000),
            "extra": dict(request.extra),
        }
        return json.dumps(message, separators=(",", ":")).encode() + b"\n"

    def _start(self) -> WorkerProcess:
        return WorkerProcess(self._command, env=self._env, cwd=self._cwd, log=self._log)

    def _ready(self, deadline: float) -> WorkerProcess:
        if self._process is not None and self._process.has_unread:
            self._log(f"worker {self._process.pid} ended or wrote unasked; replaced")
            self._drop()
        if self._process is None:
            wait_s = self._not_before - time.monotonic()
            if wait_s > 0:  # a worker that dies at once must not be started a thousand times a second
                time.sleep(min(wait_s, max(0.0, deadline - time.monotonic())))
            self._process = self._start()
        return self._process

    def _replace(self, why: str, request: Request) -> None:
        pid = self._process.pid if self._process is not None else "-"
        self._log(f"worker {pid} at {request.kind} {request.key}: {why}; replaced")
        self._drop()

    def _drop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None
        self._deaths += 1
        self._not_before = time.monotonic() + min(1.0, 0.01 * 2 ** min(self._deaths, 7))


def _read(line: bytes, asked: int) -> Completion:
    shown = line[:80].decode("utf-8", "replace")
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        raise WorkerSilentError(f"the worker's line is not JSON: {shown}") from None
    if not isinstance(answer, dict) or answer.get("id") != asked or isinstance(answer.get("id"), bool):
        raise WorkerSilentError(f"the worker answered something else than operation {asked}: {shown}")
    if unknown := sorted(set(answer) - _ANSWER_FIELDS):
        raise WorkerSilentError(f"the worker's answer has an unknown field {unknown[0]!r}")
    try:
        outcome = Outcome(str(answer.get("outcome")))
    except ValueError:
        raise WorkerSilentError(f"outcome must be ok, fail or info: {shown}") from None
    error, extra = answer.get("error"), answer.get("extra") or NOTHING
    if not isinstance(extra, Mapping):
        raise WorkerSilentError("the worker's extra is not an object")
    return Completion(outcome, answer.get("output"), None if error is None else short(text(error)), extra)


def _word(word: str, words: Mapping[str, Any], where: str) -> str:
    return text(compile_text(word, frozenset(words), where=where)(words)) if "{" in word else word


def _working_directory(
    worker: WorkerClient, words: Mapping[str, Any], directory: str | Path | None, where: str
) -> Path | None:
    if worker.cwd is None:
        return None if directory is None else Path(directory)
    cwd = Path(directory or ".") / _word(worker.cwd, words, where)
    if not cwd.is_dir():
        raise WorkloadError(f"the worker's directory {cwd} does not exist", where=where)
    return cwd


def _program(program: str, cwd: Path | None, where: str) -> str:
    """The full path of a program: looked up in PATH, or from the worker's directory where it has a slash."""
    if "/" in program:
        path = (cwd or Path()) / program
        found = shutil.which(str(path.absolute()))
    else:
        found = shutil.which(program)
    if found is None:
        raise WorkloadError(
            f"there is no worker command {program!r}",
            where=where,
            hint="name a program of PATH, or a path to an executable file from the worker's directory",
        )
    return found
