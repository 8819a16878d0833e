"""How many operations a second the recorder holds, and how soon an operation's return is heard."""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from pathlib import Path

from refute.history import HistoryWriter, Outcome
from refute.history.event_reader import read_history
from refute.workload import Completion, OperationTrigger, Recorder, Request

OPERATIONS = 39_600  # a multiple of all numbers of threads
GOAL = 20_000


def plain_writes(path: Path) -> float:
    """Seconds for the same number of bytes, written line by line with nothing else done: the reference."""
    line = b'{"event":"invoke","id":12345,"process":3,"kind":"write","key":"k3","input":123456,"time_ns":1}\n'
    start = time.perf_counter()
    with path.open("wb", buffering=0) as file:
        for _ in range(2 * OPERATIONS):
            file.write(line)
    return time.perf_counter() - start


def recorded(path: Path, threads: int) -> float:
    """Seconds to record all operations from that many threads."""
    with HistoryWriter(path) as log:
        recorder = Recorder(log)

        def client(process: int) -> None:
            extra = {"scheduled_ns": 123_456_789}
            for number in range(OPERATIONS // threads):
                request = Request("write", f"k{number % 5}", number * threads + process)
                invocation = recorder.invoke(process, request, "n1", extra=extra)
                recorder.complete(invocation, Completion(Outcome.OK))

        workers = [threading.Thread(target=client, args=(process,)) for process in range(threads)]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        spent = time.perf_counter() - start
    assert len(read_history(path)) == OPERATIONS
    return spent


def wake_up_delays(path: Path) -> list[float]:
    """Milliseconds from an operation's completion to the waiting thread's first instruction after it."""
    delays = []
    with HistoryWriter(path) as log:
        recorder = Recorder(log)
        for _ in range(300):
            woken: list[int] = []
            with OperationTrigger(recorder, {"kind": "write", "outcome": "ok"}) as trigger:

                def wait(trigger: OperationTrigger = trigger, woken: list[int] = woken) -> None:
                    trigger.wait(5)
                    woken.append(time.monotonic_ns())

                waiting = threading.Thread(target=wait)
                waiting.start()
                time.sleep(0.001)
                invocation = recorder.invoke(0, Request("write", "k", 1), "n1")
                operation = recorder.complete(invocation, Completion(Outcome.OK))
                waiting.join()
            assert operation.completed_ns is not None
            delays.append((woken[0] - operation.completed_ns) / 1e6)
    return sorted(delays)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        reference = min(plain_writes(root / f"plain{number}") for number in range(3))
        print(f"reference: {2 * OPERATIONS} plain writes of a line in {reference:.2f} s")
        for threads in (1, 8, 30):
            spent = min(recorded(root / f"history-{threads}-{number}.jsonl", threads) for number in range(3))
            rate = OPERATIONS / spent
            print(
                f"{threads:3} threads: {rate:9,.0f} operations/s"
                f" ({rate / GOAL:.1f} times the goal, {spent / reference:.1f} times the plain writes)"
            )
        delays = wake_up_delays(root / "waiting.jsonl")
        print(
            f"an operation's return wakes its waiter after {statistics.median(delays):.3f} ms (median),"
            f" {delays[int(len(delays) * 0.99)]:.3f} ms (99 %)"
        )


if __name__ == "__main__":
    main()
