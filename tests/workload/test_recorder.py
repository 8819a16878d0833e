"""Claims about the recorder: what it writes, what it counts, whom it tells."""

from __future__ import annotations

import threading
import time

import pytest

from refute.history import HistoryWriter, Outcome, Phase
from refute.history.event_reader import read_history
from refute.workload.error import WorkloadError
from refute.workload.recorder import Recorder
from refute.workload.request import Completion, Request
from refute.workload.trigger import OperationTrigger


@pytest.fixture
def path(tmp_path):
    return tmp_path / "history.jsonl"


def done(recorder, process=0, kind="write", key="x", value=1, outcome=Outcome.OK, node="n1", **completion):
    invocation = recorder.invoke(process, Request(kind, key, value), node)
    return recorder.complete(invocation, Completion(outcome, **completion))


def test_what_was_recorded_is_what_is_read_back(path):
    with HistoryWriter(path) as log:
        recorder = Recorder(log)
        recorder.phase, recorder.epoch = Phase.MAIN, 3
        request = Request("write", "x", [1, {"a": None}], {"tenant": "t"})
        invocation = recorder.invoke(7, request, "n2", extra={"scheduled_ns": 5})
        told = recorder.complete(
            invocation, Completion(Outcome.OK, {"v": 1}, None, {"token": 9, "tenant": "u"})
        )
        open_one = recorder.invoke(8, Request("read"), None, phase=Phase.FINAL)
    first, second = read_history(path).operations
    assert first == told
    assert (first.process, first.node, first.epoch, first.phase) == (7, "n2", 3, Phase.MAIN)
    assert first.extra == {"tenant": "u", "scheduled_ns": 5, "token": 9}
    assert (second.index, second.outcome, second.phase) == (open_one.identity, Outcome.INFO, Phase.FINAL)


def test_an_invocation_is_in_the_file_before_the_request_is_sent(path):
    with HistoryWriter(path) as log:
        recorder = Recorder(log)
        recorder.invoke(0, Request("write", "x", 41), "n1")
        assert '"input":41' in path.read_text()


def test_a_listener_is_told_of_a_completion_once_it_is_in_the_file(path):
    seen = []
    with HistoryWriter(path) as log:
        recorder = Recorder(log)
        with recorder.listening(
            lambda operation: seen.append((operation.kind, path.read_text().count("\n")))
        ):
            done(recorder)
        done(recorder)
    assert seen == [("write", 3)]


def test_counts_are_by_kind_and_outcome_of_a_phase_or_of_epochs(path):
    with HistoryWriter(path) as log:
        recorder = Recorder(log)
        done(recorder)
        recorder.phase, recorder.epoch = Phase.MAIN, 1
        done(recorder, outcome=Outcome.FAIL)
        done(recorder, kind="read")
        recorder.invoke(1, Request("read"), "n1")
        assert recorder.in_flight == 1
        assert recorder.counts() == {
            ("write", Outcome.OK): 1,
            ("write", Outcome.FAIL): 1,
            ("read", Outcome.OK): 1,
        }
        assert recorder.counts(phase=Phase.BASELINE) == {("write", Outcome.OK): 1}
        assert recorder.counts(epochs=lambda epoch: epoch > 0).keys() == {
            ("write", Outcome.FAIL),
            ("read", Outcome.OK),
        }


def test_rates_are_of_whole_seconds_that_are_over(path, monkeypatch):
    now = 100_000_000_000
    with HistoryWriter(path) as log:
        recorder = Recorder(log)
        monkeypatch.setattr(time, "monotonic_ns", lambda: now)
        for _ in range(6):
            done(recorder)
        assert recorder.rates(2)[Outcome.OK] == 0
        now += 1_000_000_000
        done(recorder, outcome=Outcome.INFO)
        assert recorder.rates(2)[Outcome.OK] == 3 and recorder.rates(1)[Outcome.INFO] == 0


def test_used_keys_are_told_apart_by_their_type_and_found_in_transactions(path):
    with HistoryWriter(path) as log:
        recorder = Recorder(log)
        assert recorder.used_keys() == []
        done(recorder, kind="transfer", key=None)
        assert recorder.used_keys() == [None]
        for key in ("1", 1, True, [1], "1", 1.0):
            done(recorder, key=key)
        done(recorder, kind="txn", key=None, value=[["r", "k9", None], ["append", "1", 2]])
        assert recorder.used_keys() == ["1", 1, True, [1], 1.0, "k9"]


def test_operations_of_many_threads_all_arrive(path):
    with HistoryWriter(path) as log:
        recorder = Recorder(log)
        threads = [
            threading.Thread(target=lambda p=p: [done(recorder, process=p) for _ in range(200)])
            for p in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert recorder.counts() == {("write", Outcome.OK): 1600} and recorder.in_flight == 0
    assert len(read_history(path)) == 1600


def test_values_and_processes_of_two_loads_never_meet(path):
    with HistoryWriter(path) as log:
        recorder = Recorder(log)
        assert [recorder.take_values() for _ in range(2)] == [0, 10_000_000]
        assert [recorder.take_processes() for _ in range(2)] == [0, 1_000_000]


def test_a_trigger_fires_at_the_operation_that_completes_its_count(path):
    with HistoryWriter(path) as log:
        recorder = Recorder(log)
        done(recorder)
        with OperationTrigger(
            recorder, {"kind": "write", "outcome": "ok", "key": "x", "count": 2}
        ) as trigger:
            done(recorder, key="y")
            done(recorder, outcome=Outcome.INFO)
            done(recorder)
            assert trigger.wait(0) is None
            second = done(recorder)
            done(recorder)
            assert trigger.wait(0) == second


def test_a_trigger_wakes_the_one_who_waits(path):
    with HistoryWriter(path) as log:
        recorder = Recorder(log)
        with OperationTrigger(recorder, {"outcome": "unknown", "extra": {"group": "a"}}) as trigger:

            def later():
                time.sleep(0.05)
                done(recorder, outcome=Outcome.INFO)
                done(recorder, process=1, outcome=Outcome.INFO, extra={"group": "a"})

            thread = threading.Thread(target=later)
            thread.start()
            assert trigger.wait(5).process == 1
            thread.join()


def test_a_trigger_stops_waiting_when_told_to(path):
    stop = threading.Event()
    stop.set()
    with HistoryWriter(path) as log, OperationTrigger(Recorder(log), {}) as trigger:
        assert trigger.wait(60, stop=stop) is None


@pytest.mark.parametrize("pattern", [{"knd": "read"}, {"outcome": "maybe"}, {"count": 0}, {"count": True}])
def test_a_pattern_that_can_never_match_is_refused(path, pattern):
    with HistoryWriter(path) as log, pytest.raises(WorkloadError):
        OperationTrigger(Recorder(log), pattern)
