"""The last reads of a run: every key from every named node, after all is healed and quiet."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from refute.history.operation import Operation, Outcome, Phase
from refute.plan.scenario import FinalReads
from refute.plan.system_spec import Client
from refute.workload.client import choose_client, open_client
from refute.workload.recorder import Recorder
from refute.workload.request import Endpoints, OperationClient, Request

CONSUMING = frozenset({"dequeue", "pop", "receive", "poll"})
_PAUSE_S = (0.02, 0.25)
_HOPELESS = 3


@dataclass(frozen=True, slots=True)
class FinalReading:
    """What came of the final reads.

    `read` has the last successful read of each node and key, `silent` the pairs that were asked and
    never answered, `not_asked` those that were given up because their node had long been silent.
    """

    read: Mapping[tuple[str, int], Operation] = field(default_factory=dict)
    silent: tuple[tuple[str, Any], ...] = ()
    not_asked: tuple[tuple[str, Any], ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every key was read from every node."""
        return not self.silent and not self.not_asked


def final_reads(
    spec: FinalReads,
    keys: Sequence[Any],
    nodes: Sequence[str],
    clients: Mapping[str, Client],
    endpoints: Endpoints,
    recorder: Recorder,
    *,
    stop: threading.Event | None = None,
    words: Mapping[str, Any] | None = None,
    directory: str | Path | None = None,
    log: Callable[[str], None] | None = None,
) -> FinalReading:
    """Reads each key from each node in phase FINAL; nodes at the same time, the keys of a node in turn.

    `keys` are the touched ones (`recorder.used_keys()`), unless the spec names its own; with
    `keys: none` one read without a key is made, which should return everything. A read that is not ok
    is made again until `retry_for` has passed for its node; from then on each further key is asked
    once, and no more after three silent ones. A kind that consumes (`dequeue`) is repeated until an
    answer is empty. For kind `txn` the read is a transaction of one read.
    Raises WorkloadError where no client knows the kind.
    """
    named = {"used": keys, "none": [None]}
    targets = list(named[spec.keys] if isinstance(spec.keys, str) else spec.keys)
    name, client = choose_client(clients, spec.client, [spec.kind])
    stop = stop or threading.Event()
    with ExitStack() as opened:
        readers = [
            _NodeReader(
                spec,
                node,
                targets,
                opened.enter_context(
                    open_client(client, endpoints, where=name, words=words, directory=directory, log=log)
                ),
                recorder,
                stop,
            )
            for node in nodes
        ]
        _run_all(readers)
    return FinalReading(
        {pair: operation for reader in readers for pair, operation in reader.read.items()},
        tuple((reader.node, key) for reader in readers for key in reader.silent),
        tuple((reader.node, key) for reader in readers for key in reader.not_asked),
    )


def _run_all(readers: Sequence[_NodeReader]) -> None:
    failures: list[BaseException] = []

    def work(reader: _NodeReader) -> None:
        try:
            reader.run()
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that called final_reads
            failures.append(error)

    threads = [
        threading.Thread(target=work, args=(reader,), name=f"final-{reader.node}", daemon=True)
        for reader in readers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@dataclass(slots=True)
class _NodeReader:
    """Reads all keys of one node."""

    spec: FinalReads
    node: str
    keys: Sequence[Any]
    client: OperationClient
    recorder: Recorder
    stop: threading.Event
    read: dict[tuple[str, int], Operation] = field(default_factory=dict)
    silent: list[Any] = field(default_factory=list)
    not_asked: list[Any] = field(default_factory=list)
    incarnation: int = 1

    def run(self) -> None:
        limit = time.monotonic() + self.spec.retry_for
        unanswered = 0
        for place, key in enumerate(self.keys):
            if self.stop.is_set() or (unanswered >= _HOPELESS and time.monotonic() >= limit):
                self.not_asked.append(key)
                continue
            operation = self._read_until(key, limit)
            if operation is None:
                unanswered += 1
                self.silent.append(key)
            else:
                unanswered = 0
                self.read[self.node, place] = operation

    def _read_until(self, key: Any, limit: float) -> Operation | None:
        pause_s = _PAUSE_S[0]
        while True:
            operation = self._once(key)
            if operation.outcome is Outcome.OK:
                if self.spec.kind not in CONSUMING or operation.output in (None, [], ""):
                    return operation
                pause_s = 0.0
            if self.stop.is_set() or time.monotonic() >= limit:
                return None
            time.sleep(pause_s)
            pause_s = min(_PAUSE_S[1], max(_PAUSE_S[0], pause_s * 2))

    def _once(self, key: Any) -> Operation:
        request = Request(self.spec.kind, key, extra=self.spec.extra)
        if self.spec.kind == "txn":
            request = Request("txn", None, [["r", key, None]], self.spec.extra)
        process = f"final-{self.node}" + (f".{self.incarnation}" if self.incarnation > 1 else "")
        invocation = self.recorder.invoke(process, request, self.node, phase=Phase.FINAL)
        completion = self.client.invoke(
            request, self.node, self.spec.timeout, process=process, identity=invocation.identity
        )
        if completion.outcome is Outcome.INFO:
            self.incarnation += 1
        return self.recorder.complete(invocation, completion)
