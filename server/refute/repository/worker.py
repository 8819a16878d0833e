"""A process that turns files into facts: batches come in pickled on standard input, rows go out the same way.

It is a program of its own, so that the caller's main module is never imported a second time.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from refute.interpreter import python

Batch = Sequence[tuple[str, bytes]]
Rows = list[tuple[str, str]]


class WorkerDiedError(RuntimeError):
    """A worker ended before its work was done: the caller does the work itself."""


def facts_in_parallel(batches: Sequence[Batch], workers: int) -> Rows:
    """The facts of all batches, read by that many processes. Raises WorkerDiedError or OSError."""
    waiting: queue.SimpleQueue[Batch] = queue.SimpleQueue()
    for batch in batches:
        waiting.put(batch)
    rows: Rows = []
    failures: list[str] = []
    threads = [threading.Thread(target=_drive, args=(waiting, rows, failures)) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise WorkerDiedError(failures[0])
    return rows


def _drive(waiting: queue.SimpleQueue[Batch], rows: Rows, failures: list[str]) -> None:
    """Feed one process until nothing waits."""
    package = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH", "")])])
    try:
        process = subprocess.Popen(
            python("-m", "refute.repository.worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
    except OSError as error:
        failures.append(str(error))
        return
    assert process.stdin is not None and process.stdout is not None
    with process:
        try:
            while True:
                batch = waiting.get_nowait()
                pickle.dump(batch, process.stdin)
                process.stdin.flush()
                rows += pickle.load(process.stdout)
        except queue.Empty:
            process.stdin.close()
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            failures.append(f"{type(error).__name__}: {error}")
            process.kill()


def _serve(source: Iterable[Batch]) -> None:
    from refute.repository.survey import read_batch

    for batch in source:
        pickle.dump(read_batch(batch), sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _batches() -> Iterable[Batch]:
    while True:
        try:
            yield pickle.load(sys.stdin.buffer)
        except EOFError:
            return


if __name__ == "__main__":
    _serve(_batches())
