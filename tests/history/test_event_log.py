"""The event log of a run: what is written is what is read, also after a kill."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from refute.history import HistoryError, HistoryWriter, Outcome, Phase
from refute.history.event_reader import read_history

HEADER = '{"refute":"history","version":1,"clock":"monotonic"}\n'


def written(path: Path, *lines: str, end: str = "\n") -> Path:
    path.write_text(HEADER + "\n".join(lines) + end)
    return path


def invoke(number: int, process: object = 0, time: int = 0, **more: object) -> str:
    import json

    event = {"event": "invoke", "id": number, "process": process, "kind": "write", "time_ns": time, **more}
    return json.dumps(event)


def ok(number: int, time: int = 10, output: object = None, event: str = "ok") -> str:
    import json

    return json.dumps({"event": event, "id": number, "time_ns": time, "output": output})


def test_what_was_recorded_reads_back_field_by_field(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    with HistoryWriter(path) as writer:
        first = writer.invoke(
            3,
            "write",
            key="x",
            input=5,
            node="n1",
            epoch=2,
            phase=Phase.FINAL,
            extra={"tenant": "a"},
            time_ns=7,
        )
        second = writer.invoke("c4", "read", key="x", time_ns=8)
        writer.complete(second, Outcome.OK, output=5, time_ns=9)
        writer.complete(first, Outcome.FAIL, error="refused", time_ns=11)
        third = writer.invoke(3, "cas", key=["a", 1], input=[1, 2], time_ns=12)
        writer.complete(third, Outcome.INFO, error="timeout", time_ns=13)
        writer.invoke(3, "read", time_ns=14)
    write, read, cas, unanswered = read_history(path).operations
    assert (write.process, write.kind, write.key, write.input, write.node) == (3, "write", "x", 5, "n1")
    assert (write.epoch, write.phase, dict(write.extra)) == (2, Phase.FINAL, {"tenant": "a"})
    assert (write.outcome, write.error, write.invoked_ns, write.completed_ns) == (
        Outcome.FAIL,
        "refused",
        7,
        11,
    )
    assert (read.process, read.output, read.outcome, read.node) == ("c4", 5, Outcome.OK, None)
    assert (cas.key, cas.outcome, cas.completed_ns) == (["a", 1], Outcome.INFO, 13)
    assert (unanswered.outcome, unanswered.completed_ns, unanswered.index) == (Outcome.INFO, None, 3)


def test_a_partial_last_line_is_dropped_and_said(tmp_path: Path) -> None:
    path = written(tmp_path / "h.jsonl", invoke(0), '{"event":"ok","id":0,"ti', end="")
    history = read_history(path)
    assert history.completeness.dropped_partial_line
    assert history.completeness.open_operations == 1
    assert history.operations[0].outcome is Outcome.INFO


def test_a_partial_line_elsewhere_is_an_error_with_its_number(tmp_path: Path) -> None:
    path = written(tmp_path / "h.jsonl", invoke(0), '{"event":"ok","id":0,"ti', invoke(1, 1))
    with pytest.raises(HistoryError) as caught:
        read_history(path)
    assert caught.value.where == f"{path}:3"
    counted = read_history(path, on_bad_line="count")
    assert counted.completeness.unreadable_lines == 1
    assert len(counted) == 2


@pytest.mark.parametrize(
    ("lines", "line", "what"),
    [
        ([invoke(0), ok(1)], 3, "unmatched completion"),
        ([ok(0), invoke(0)], 2, "unmatched completion"),
        ([invoke(0), ok(0), invoke(0, 1)], 4, "duplicate id"),
        ([invoke(0), ok(0), ok(0)], 4, "completed twice"),
        ([invoke(0), invoke(1)], 3, "two operations in flight"),
        ([invoke(0), invoke(1, 1), invoke(2, 1)], 4, "two operations in flight"),
        ([invoke(0, time=20), ok(0, 10)], 3, "time runs backwards"),
        ([invoke("a")], 2, "id must be int"),
        ([invoke(0, process=[1])], 2, "process must be"),
        ([invoke(0, phase="middle")], 2, "phase must be"),
        (['{"event":"invoke","id":0,"process":1,"time_ns":0}'], 2, "missing field: 'kind'"),
        (['{"event":"invoked"}'], 2, "event must be"),
        (["[1,2]"], 2, "bad field"),
        (["\x00\x01"], 2, "not JSON"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, lines: list[str], line: int, what: str) -> None:
    path = written(tmp_path / "h.jsonl", *lines)
    with pytest.raises(HistoryError) as caught:
        read_history(path)
    assert caught.value.where == f"{path}:{line}"
    assert what in caught.value.what
    assert read_history(path, on_bad_line="count").completeness.unreadable_lines == 1


def test_a_file_without_the_header_is_not_a_history(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    path.write_text(invoke(0) + "\n")
    with pytest.raises(HistoryError, match="header"):
        read_history(path)
    path.write_text("")
    with pytest.raises(HistoryError, match="empty"):
        read_history(path)
    with pytest.raises(HistoryError, match="cannot read"):
        read_history(tmp_path / "none.jsonl")


def test_the_writer_refuses_a_second_operation_of_one_process(tmp_path: Path) -> None:
    with HistoryWriter(tmp_path / "h.jsonl") as writer:
        identity = writer.invoke(1, "read")
        with pytest.raises(HistoryError, match="in flight"):
            writer.invoke(1, "read")
        writer.complete(identity, Outcome.OK)
        with pytest.raises(HistoryError, match="not open"):
            writer.complete(identity, Outcome.OK)
        writer.invoke(1, "read")
    with pytest.raises(HistoryError, match="exists"):
        HistoryWriter(tmp_path / "h.jsonl")


def test_many_threads_may_record_at_once(tmp_path: Path) -> None:
    with HistoryWriter(tmp_path / "h.jsonl") as writer:

        def client(process: int) -> None:
            for value in range(300):
                writer.complete(writer.invoke(process, "write", input=value), Outcome.OK)

        threads = [threading.Thread(target=client, args=(process,)) for process in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    operations = read_history(tmp_path / "h.jsonl").operations
    assert len(operations) == 2400
    for process in range(8):
        assert [op.input for op in operations if op.process == process] == list(range(300))


def test_a_killed_process_leaves_a_history_that_reads(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    program = (
        "import sys\nfrom refute.history import HistoryWriter, Outcome\n"
        f"with HistoryWriter({str(path)!r}) as writer:\n"
        "    for number in range(10**9):\n"
        "        identity = writer.invoke(0, 'write', input=number)\n"
        "        if number == 2000: print('go', flush=True)\n"
        "        writer.complete(identity, Outcome.OK)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"go\n"
        os.kill(child.pid, signal.SIGKILL)
    history = read_history(path)
    assert len(history) > 2000
    assert history.completeness.open_operations <= 1
    assert [op.input for op in history.operations] == list(range(len(history)))


def test_an_integer_past_64_bits_survives(tmp_path: Path) -> None:
    with HistoryWriter(tmp_path / "h.jsonl") as writer:
        writer.complete(writer.invoke(0, "write", input=2**70 + 1), Outcome.OK)
        writer.complete(writer.invoke(0, "write", input={1: 2}), Outcome.OK)
    first, second = read_history(tmp_path / "h.jsonl").operations
    assert first.input == 2**70 + 1
    assert second.input == {"1": 2}
