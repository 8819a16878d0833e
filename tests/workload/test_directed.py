"""Claims about the operations of directed scenarios and about final reads."""

from __future__ import annotations

import threading
import time
from itertools import pairwise

import pytest

from refute.history import HistoryWriter, Outcome, Phase
from refute.history.event_reader import read_history
from refute.plan.scenario import FinalReads, Workload
from refute.plan.step_notation import read_step
from refute.plan.system_spec import Client
from refute.workload.directed import StepClients
from refute.workload.error import WorkloadError
from refute.workload.final_reads import final_reads
from refute.workload.load import run_load
from refute.workload.recorder import Recorder
from refute.workload.routing import Router
from tests.workload.loopback import STORE_CLIENT, Store, closed_port, raw_server, read_request, service

STORE = Client.model_validate(STORE_CLIENT)


def step(**written):
    return read_step(written, frozenset({"read", "write", "cas", "export"}))


def endpoints(**ports):
    return {node: {"client": ("127.0.0.1", port)} for node, port in ports.items()}


@pytest.fixture
def recorder(tmp_path):
    with HistoryWriter(tmp_path / "history.jsonl") as log:
        made = Recorder(log)
        made.phase = Phase.MAIN
        yield made


@pytest.fixture
def history(tmp_path):
    return lambda: list(read_history(tmp_path / "history.jsonl").operations)


def test_a_step_sends_so_many_operations_to_each_node_one_after_the_other(recorder, history):
    store = Store()
    with (
        service(store.answer) as a,
        service(store.answer) as b,
        StepClients({"c": STORE}, endpoints(n1=a.port, n2=b.port), recorder) as clients,
    ):
        sent = clients.run_operation(step(write={"key": "k", "value": "unique"}, count=2), ["n1", "n2"])
        read = clients.run_operation(step(read={"key": "k", "expect": "ok"}), ["n1", "n2"])
    assert sent.met and [o.input for o in sent.operations] == [1, 2, 3, 4]
    assert [o.node for o in sent.operations] == ["n1", "n2", "n1", "n2"]
    assert [o.output for o in read.operations] == [4, 4]
    assert list(sent.operations + read.operations) == history()
    ordered = history()
    assert all(x.completed_ns <= y.invoked_ns for x, y in pairwise(ordered))
    assert {o.process for o in ordered} == {"steps"}


def test_values_of_steps_never_meet_those_of_generated_load(recorder, history):
    load = Workload.model_validate({"generator": "register", "operations": 30, "mix": {"write": 1}})
    with service(Store().answer) as server:
        nodes = endpoints(n1=server.port)
        with StepClients({"c": STORE}, nodes, recorder) as clients:
            clients.run_operation(step(write={"key": "k", "value": "unique"}, count=5), ["n1"])
            run_load(load, STORE, nodes, Router(["n1"]), recorder, seed=1, stop=threading.Event())
            clients.run_operation(step(write={"key": "k", "value": "unique"}, count=5), ["n1"])
    values = [o.input for o in history()]
    assert len(values) == len(set(values)) == 40


def test_the_first_operation_that_came_out_otherwise_ends_the_step(recorder):
    with StepClients({"c": STORE}, endpoints(n1=closed_port()), recorder) as clients:
        sent = clients.run_operation(
            step(write={"key": "k", "value": 1}, count=3, expect=["ok", "unknown"]), ["n1"]
        )
        assert not sent.met and len(sent.operations) == 1
        assert "write k at n1 was fail (cannot connect" in sent.reason and "not ok or unknown" in sent.reason
        assert clients.run_operation(step(write={"key": "k", "value": 1}, expect="fail"), ["n1"]).met


def test_after_an_unknown_outcome_the_next_operation_is_of_a_new_process(recorder):
    with raw_server(read_request) as port, StepClients({"c": STORE}, endpoints(n1=port), recorder) as clients:
        first = clients.run_operation(step(read={"key": "k"}, count=2, expect="unknown"), ["n1"])
        other = clients.run_operation(step(read={"key": "k"}, process="p"), ["n1"])
        third = clients.run_operation(step(read={"key": "k"}), ["n1"])
    assert [o.process for o in first.operations] == ["steps", "steps.2"]
    assert other.operations[0].process == "p" and third.operations[0].process == "steps.3"


def test_an_operation_in_the_background_lets_the_sequence_go_on(recorder, history):
    def slow_write(asked):
        if asked.method == "PUT":
            time.sleep(0.3)
        return 200, {"value": 0}

    with (
        service(slow_write) as server,
        StepClients({"c": STORE}, endpoints(n1=server.port), recorder) as clients,
    ):
        future = clients.start_operation(step(write={"key": "k", "value": "unique"}, background=True), ["n1"])
        time.sleep(0.1)
        read = clients.run_operation(step(read={"key": "k"}), ["n1"]).operations[0]
        write = future.result(5).operations[0]
        after = clients.run_operation(step(read={"key": "k"}), ["n1"]).operations[0]
    assert write.invoked_ns < read.invoked_ns < read.completed_ns < write.completed_ns
    assert (write.process, read.process) == ("steps", "steps.2") and after.process != write.process
    assert len(history()) == 3


def test_what_a_step_saved_stands_in_later_steps(recorder):
    answers = {"value": {"token": 7, "path": ["a", "b"]}}
    with (
        service(lambda asked: (200, answers)) as server,
        StepClients({"c": STORE}, endpoints(n1=server.port), recorder) as clients,
    ):
        clients.run_operation(step(read={"key": "k"}, save={"t": "token", "p": "path.1"}), ["n1"])
        sent = clients.run_operation(
            step(
                write={"key": "@p", "value": ["@t", "@@t", "unique"]}, extra={"token": "@t", "id": "unique"}
            ),
            ["n1"],
        )
        (operation,) = sent.operations
        assert (operation.key, operation.input) == ("b", [7, "@t", 1])
        assert operation.extra == {"token": 7, "id": "u2"}
        with pytest.raises(WorkloadError, match="nothing was saved as @x"):
            clients.run_operation(step(write={"key": "@x"}), ["n1"])
        missing = clients.run_operation(step(read={"key": "k"}, save={"t": "nowhere"}), ["n1"])
        assert not missing.met and "nothing at nowhere" in missing.reason


def test_a_step_that_no_client_can_send_says_what_there_is(recorder):
    with StepClients({"c": STORE}, endpoints(n1=1), recorder) as clients:
        with pytest.raises(WorkloadError, match=r"no client of the system knows export.*c: read, write, cas"):
            clients.run_operation(step(export={}), ["n1"])
        with pytest.raises(WorkloadError, match="no client 'd'"):
            clients.run_operation(step(read={}, client="d"), ["n1"])
        with pytest.raises(WorkloadError, match="no node 'n2'"):
            clients.run_operation(step(read={}), ["n2"])


def finals(recorder, ports, used=("a", "b"), client=STORE, **fields):
    spec = FinalReads.model_validate(fields)
    return final_reads(spec, used, list(ports), {"c": client}, endpoints(**ports), recorder)


def test_final_reads_ask_every_node_for_every_key_in_the_final_phase(recorder, history):
    store = Store()
    store.values = {"a": 1}
    with service(store.answer) as a, service(store.answer) as b:
        reading = finals(recorder, {"n1": a.port, "n2": b.port})
    assert reading.complete and len(reading.read) == 4
    assert sorted((o.node, o.key, o.output) for o in history()) == [
        ("n1", "a", 1),
        ("n1", "b", None),
        ("n2", "a", 1),
        ("n2", "b", None),
    ]
    assert {o.phase for o in history()} == {Phase.FINAL}


def test_a_final_read_is_made_again_until_it_is_answered(recorder, history):
    calls = []

    def recovering(asked):
        calls.append(asked.path)
        return (503 if len(calls) < 4 else 200), {"value": 5}

    with service(recovering) as server:
        reading = finals(recorder, {"n1": server.port}, used=["a"])
    assert reading.complete and reading.read["n1", 0].output == 5
    assert [o.outcome for o in history()] == [Outcome.INFO] * 3 + [Outcome.OK]
    assert len({o.process for o in history()}) == 4


def test_a_node_that_stays_silent_is_named_and_does_not_hold_up_the_run(recorder):
    with service(Store().answer) as server:
        start = time.monotonic()
        reading = finals(
            recorder,
            {"n1": server.port, "n2": closed_port()},
            used=[f"k{n}" for n in range(50)],
            retry_for="200ms",
        )
        assert time.monotonic() - start < 5
    assert not reading.complete and len(reading.read) == 50
    assert {node for node, _ in reading.silent + reading.not_asked} == {"n2"}
    assert len(reading.silent) == 3 and len(reading.not_asked) == 47


def test_an_object_without_a_key_is_read_once_and_named_keys_replace_the_used_ones(recorder, history):
    whole = Client.model_validate({"http": {"operations": {"read": {"path": "/all", "output": "."}}}})
    with service(lambda asked: (200, {"value": asked.path})) as server:
        ports = {"n1": server.port}
        finals(recorder, ports, used=["a"], client=whole, keys="none")
        finals(recorder, ports, used=["a"], keys=["y", "z"])
        assert finals(recorder, ports, used=[]).read == {}
    assert [o.key for o in history()] == [None, "y", "z"]


def test_a_queue_is_drained_until_it_is_empty(recorder, history):
    left = [3, 2, 1]
    client = Client.model_validate(
        {"http": {"operations": {"dequeue": {"method": "POST", "path": "/q", "output": "item"}}}}
    )
    with service(lambda asked: (200, {"item": left.pop() if left else None})) as server:
        reading = finals(recorder, {"n1": server.port}, used=["q"], client=client, kind="dequeue")
    assert reading.complete and [o.output for o in history()] == [1, 2, 3, None]
