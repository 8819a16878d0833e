"""Sends the operations of a directed scenario: exactly these, to exactly these nodes, in this order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from refute.history.operation import Operation, Outcome
from refute.nemesis.client.rules import ClientRules
from refute.plan.step import OperationStep
from refute.plan.system_spec import Client
from refute.workload.answer import look_up
from refute.workload.client import choose_client, open_client
from refute.workload.error import WorkloadError
from refute.workload.recorder import Recorder
from refute.workload.request import Endpoints, OperationClient, Request

_MISSING: Any = object()
_WORDS = {Outcome.OK: "ok", Outcome.FAIL: "fail", Outcome.INFO: "unknown"}


@dataclass(frozen=True, slots=True)
class Sent:
    """The operations of one step, and whether each came out as the step expects.

    After the first that did not, none is sent; `reason` says which it was, in a sentence.
    """

    operations: tuple[Operation, ...]
    met: bool
    reason: str = ""


class StepClients:
    """The clients of a directed scenario: opened when first used, closed at the end.

    Every step without a `process` of its own belongs to the process `steps`. After an unknown outcome,
    or while an operation of a process is still in the background, its next operation is of a new
    process (`steps.2`), since a process has one operation in flight. Unique values come from the
    recorder, so that they never meet those of generated load.
    """

    def __init__(
        self,
        clients: Mapping[str, Client],
        endpoints: Endpoints,
        recorder: Recorder,
        *,
        words: Mapping[str, Any] | None = None,
        directory: str | Path | None = None,
        log: Callable[[str], None] | None = None,
        rules: ClientRules | None = None,
    ) -> None:
        self._clients = clients
        self._endpoints = endpoints
        self._recorder = recorder
        self._words, self._directory, self._log, self._rules = words, directory, log, rules
        self._lock = threading.Lock()
        self._idle: dict[str, list[OperationClient]] = {}
        self._incarnations: dict[str, int] = {}
        self._busy: set[str] = set()
        self._threads: list[threading.Thread] = []
        self._next_value: int | None = None
        self.saved: dict[str, Any] = {}
        """What earlier steps saved, by name; `@name` in a later step stands for it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Waits for what is in the background, as long as its timeouts allow, and closes all clients."""
        for thread in self._threads:
            thread.join()
        for idle in self._idle.values():
            for client in idle:
                client.close()
        self._idle.clear()

    def run_operation(
        self, step: OperationStep, nodes: Sequence[str], *, stop: threading.Event | None = None
    ) -> Sent:
        """Sends `count` operations to each of the nodes, one after the other, and returns what came back.

        One after the other, also to several nodes: what is known of the order of operations is what
        makes a stale read visible. Raises WorkloadError for a kind that no client knows, a node that
        there is not, an `@name` that nothing was saved as.
        """
        return self._send(step, *self._prepared(step, nodes), stop)

    def start_operation(
        self, step: OperationStep, nodes: Sequence[str], *, stop: threading.Event | None = None
    ) -> Future[Sent]:
        """The same in the background; the operations are chosen before it returns, and their values taken."""
        name, requests = self._prepared(step, nodes)
        future: Future[Sent] = Future()

        def work() -> None:
            try:
                future.set_result(self._send(step, name, requests, stop))
            except BaseException as error:  # noqa: BLE001 - handed to whoever asks the future
                future.set_exception(error)

        thread = threading.Thread(target=work, name=f"step-{step.kind}", daemon=True)
        self._threads.append(thread)
        thread.start()
        return future

    def _prepared(self, step: OperationStep, nodes: Sequence[str]) -> tuple[str, list[tuple[str, Request]]]:
        name, _ = choose_client(self._clients, step.client, [step.kind])
        for node in nodes:
            if node not in self._endpoints:
                raise WorkloadError(
                    f"there is no node {node!r}", hint=f"there are: {', '.join(self._endpoints)}"
                )
        requests = [
            (
                node,
                Request(
                    step.kind,
                    self._filled(step.key),
                    self._filled(step.value),
                    {field: self._filled(value, "u") for field, value in step.extra.items()},
                ),
            )
            for _ in range(step.count)
            for node in nodes
        ]
        return name, requests

    def _filled(self, written: Any, prefix: str = "") -> Any:
        """What is written in the plan with `unique` and `@name` put in, inside lists and mappings too."""
        if isinstance(written, list | tuple):
            return [self._filled(item, prefix) for item in written]
        if isinstance(written, Mapping):
            return {key: self._filled(item, prefix) for key, item in written.items()}
        if written == "unique":
            value = self._unique()
            return f"{prefix}{value}" if prefix else value
        if isinstance(written, str) and written.startswith("@@"):
            return written[1:]
        if isinstance(written, str) and written.startswith("@"):
            if written[1:] not in self.saved:
                known = ", ".join(f"@{name}" for name in self.saved) or "nothing yet"
                raise WorkloadError(f"nothing was saved as {written}", hint=f"saved: {known}")
            return self.saved[written[1:]]
        return written

    def _unique(self) -> int:
        with self._lock:
            if self._next_value is None:
                self._next_value = self._recorder.take_values()
            self._next_value += 1
            return self._next_value

    def _send(
        self,
        step: OperationStep,
        name: str,
        requests: Sequence[tuple[str, Request]],
        stop: threading.Event | None,
    ) -> Sent:
        timeout_s = self._clients[name].timeout if step.timeout is None else step.timeout
        sent: list[Operation] = []
        client = self._taken(name)
        try:
            for node, request in requests:
                if stop is not None and stop.is_set():
                    return Sent(tuple(sent), False, "stopped")
                operation = self._one(client, step.process or "steps", request, node, timeout_s)
                sent.append(operation)
                word = _WORDS[operation.outcome]
                if "any" not in step.expect and word not in step.expect:
                    return Sent(tuple(sent), False, _unmet(operation, word, step.expect))
        finally:
            with self._lock:
                self._idle.setdefault(name, []).append(client)
        missing = self._save(step, sent)
        return Sent(tuple(sent), not missing, missing)

    def _one(
        self, client: OperationClient, session: str, request: Request, node: str, timeout_s: float
    ) -> Operation:
        process = self._free_process(session)
        try:
            invocation = self._recorder.invoke(process, request, node)
            completion = client.invoke(
                request, node, timeout_s, process=process, identity=invocation.identity
            )
            operation = self._recorder.complete(invocation, completion)
        except BaseException:
            self._retire(session, process)
            raise
        if operation.outcome is Outcome.INFO:
            self._retire(session, process)
        with self._lock:
            self._busy.discard(process)
        return operation

    def _free_process(self, session: str) -> str:
        with self._lock:
            number = self._incarnations.setdefault(session, 1)
            process = session if number == 1 else f"{session}.{number}"
            while process in self._busy:
                number += 1
                process = f"{session}.{number}"
            self._incarnations[session] = number
            self._busy.add(process)
            return process

    def _retire(self, session: str, process: str) -> None:
        with self._lock:
            number = int(process[len(session) + 1 :] or 1)
            self._incarnations[session] = max(self._incarnations[session], number + 1)

    def _taken(self, name: str) -> OperationClient:
        with self._lock:
            idle = self._idle.get(name)
            if idle:
                return idle.pop()
        return open_client(
            self._clients[name],
            self._endpoints,
            where=name,
            words=self._words,
            directory=self._directory,
            log=self._log,
            rules=self._rules,
        )

    def _save(self, step: OperationStep, sent: Sequence[Operation]) -> str:
        if not step.save:
            return ""
        last = next((each for each in reversed(sent) if each.outcome is Outcome.OK), None)
        if last is None:
            return f"no {step.kind} was ok, so that there is nothing to save"
        for name, path in step.save.items():
            value = look_up(path, last.output, _MISSING)
            if value is _MISSING:
                value = look_up(path, {"extra": last.extra}, _MISSING)
            if value is _MISSING:
                return f"the answer to {step.kind} has nothing at {path}, to be saved as {name}"
            self.saved[name] = value
        return ""


def _unmet(operation: Operation, word: str, expected: Sequence[str]) -> str:
    what = f"{operation.kind} {operation.key}" if operation.key is not None else operation.kind
    error = f" ({operation.error})" if operation.error else ""
    return f"{what} at {operation.node} was {word}{error}, not {' or '.join(expected)}"
