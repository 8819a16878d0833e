"""Claims about generated load, driven against real servers on loopback."""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest

from refute.history import HistoryWriter, Outcome, Phase
from refute.history.event_reader import read_history
from refute.plan.scenario import Workload
from refute.plan.system_spec import Client
from refute.workload.error import WorkloadError
from refute.workload.load import run_load
from refute.workload.recorder import Recorder
from refute.workload.routing import Router, references
from tests.workload.loopback import STORE_CLIENT, Store, closed_port, raw_server, read_request, service

STORE = Client.model_validate(STORE_CLIENT)


class Run:
    """A recorder with its file, and loads on it."""

    def __init__(self, path):
        self.path = path
        self.log = HistoryWriter(path)
        self.recorder = Recorder(self.log)
        self.recorder.phase = Phase.MAIN
        self.stop = threading.Event()

    def load(self, ports, client=STORE, route=None, seed=1, **fields):
        described = Workload.model_validate({"generator": "register", "duration": "10s", **fields})
        endpoints = {node: {"client": ("127.0.0.1", port)} for node, port in ports.items()}
        return run_load(
            described,
            client,
            endpoints,
            route or Router(list(endpoints), seed=seed),
            self.recorder,
            seed=seed,
            stop=self.stop,
        )

    def operations(self):
        return read_history(self.path).operations


@pytest.fixture
def run(tmp_path):
    made = Run(tmp_path / "history.jsonl")
    yield made
    made.log.close()


def test_a_load_sends_as_many_operations_as_asked_and_records_every_one(run):
    with service(Store().answer) as server:
        summary = run.load(
            {"n1": server.port}, generator="cas-register", clients=3, operations=100, values="small"
        )
    operations = run.operations()
    assert summary.operations == len(operations) == len(server.asked) == 100
    assert Counter((o.kind, o.outcome) for o in operations) == summary.counts
    assert {o.process for o in operations} == {0, 1, 2}


def test_the_same_seed_asks_the_same_of_the_system_client_by_client(run, tmp_path):
    def asked(of):
        return {p: [(o.kind, o.key, o.input, o.node) for o in of if o.process == p] for p in range(3)}

    again = Run(tmp_path / "again.jsonl")
    with service(Store().answer) as server:
        for each in (run, again):
            each.load(
                {"n1": server.port, "n2": server.port}, clients=3, operations=90, keys=4, via="random", seed=5
            )
    assert asked(run.operations()) == asked(again.operations())
    again.log.close()


def test_after_an_unknown_outcome_a_client_goes_on_as_a_new_process(run):
    with raw_server(read_request) as port:
        run.load({"n1": port}, clients=2, operations=6, mix={"read": 1})
    assert sorted(o.process for o in run.operations()) == [0, 1, 2, 3, 4, 5]
    assert all(o.outcome is Outcome.INFO for o in run.operations())


def test_a_second_load_shares_neither_processes_nor_values_with_the_first(run):
    with service(Store().answer) as server:
        for _ in range(2):
            run.load({"n1": server.port}, clients=2, operations=20, mix={"write": 1})
    operations = run.operations()
    assert {o.process for o in operations} == {0, 1, 1_000_000, 1_000_001}
    assert len({o.input for o in operations}) == 40


def test_a_load_keeps_its_rate_and_says_when_each_operation_was_due(run):
    with service(Store().answer) as server:
        summary = run.load({"n1": server.port}, clients=4, rate="200/s", duration="1s")
    assert 100 < summary.operations < 300
    for operation in run.operations():
        assert operation.extra["scheduled_ns"] <= operation.invoked_ns
    assert len(summary.lateness_ns) == summary.operations


def test_a_client_that_was_held_up_catches_up_with_its_schedule(run):
    """Waiting that is not counted is what hides a stall (coordinated omission)."""
    held = threading.Event()

    def stall_once(asked):
        if not held.is_set():
            held.set()
            time.sleep(0.5)
        return 200, {"value": None}

    with service(stall_once) as server:
        run.load({"n1": server.port}, clients=1, rate="50/s", duration="1s")
    late = [o.invoked_ns - o.extra["scheduled_ns"] for o in run.operations()]
    assert max(late) > 300_000_000
    assert len(late) > 25


def test_a_client_that_is_refused_backs_off_instead_of_spinning(run):
    summary = run.load({"n1": closed_port()}, clients=2, duration="400ms")
    assert summary.counts.keys() == {("read", Outcome.FAIL), ("write", Outcome.FAIL)}
    assert 10 < summary.operations <= 2 * 400 / 5


def test_a_load_ends_when_it_is_stopped(run):
    with service(Store().answer) as server:
        threading.Timer(0.2, run.stop.set).start()
        start = time.monotonic()
        run.load({"n1": server.port}, duration="60s", rate="1/m")
        assert time.monotonic() - start < 5


def test_operations_go_where_the_plan_sends_them(run):
    store = Store()
    with service(store.answer) as first, service(store.answer) as second:
        ports = {"n1": first.port, "n2": second.port}
        roles = {"leader": "n2"}.get
        run.load(
            ports, route=Router(list(ports), roles=roles), clients=4, operations=80, via={"write": "leader"}
        )
    by_kind = Counter((o.kind, o.node) for o in run.operations())
    assert by_kind["write", "n1"] == 0 < by_kind["write", "n2"]
    assert by_kind["read", "n1"] > 0 < by_kind["read", "n2"]
    assert {o.process for o in run.operations() if o.kind == "read" and o.node == "n1"} <= {0, 2}


def test_a_client_waits_while_nobody_plays_the_role(run):
    answers = iter([None] * 5 + ["n1"] * 1000)
    with service(Store().answer) as server:
        summary = run.load(
            {"n1": server.port},
            route=lambda ref, client: next(answers),
            clients=1,
            operations=10,
            via="leader",
        )
    assert summary.without_node == 5 and summary.operations == 10


def test_an_unknown_write_is_sent_again_with_the_same_idempotency_key(run):
    seen = Counter()

    def lose_first(asked):
        seen[asked.headers.get("idempotency-key")] += 1
        return (500 if seen[asked.headers["idempotency-key"]] == 1 else 200), {}

    operation = {"method": "PUT", "path": "/x", "headers": {"Idempotency-Key": "{extra.idempotency_key}"}}
    client = Client.model_validate({"http": {"operations": {"write": operation}}})
    with service(lose_first) as server:
        run.load(
            {"n1": server.port},
            client,
            clients=1,
            operations=6,
            mix={"write": 1},
            options={"retry_unknown": True},
        )
    operations = run.operations()
    assert [o.outcome for o in operations] == [Outcome.INFO, Outcome.OK] * 3
    assert [o.extra.get("attempt") for o in operations] == [None, 2] * 3
    assert [o.process for o in operations] == [0, 1, 1, 2, 2, 3]
    for first, second in zip(operations[::2], operations[1::2], strict=True):
        assert first.extra["idempotency_key"] == second.extra["idempotency_key"]
        assert first.input == second.input


def test_a_lock_is_released_by_who_holds_it_and_with_its_token(run):
    holder = []

    def lock(asked):
        if asked.path == "/acquire":
            if holder:
                return 409, {}
            holder.append(len(server.asked))
            return 200, {"token": holder[0]}
        assert asked.json["token"] == holder.pop()
        return 200, {}

    client = Client.model_validate(
        {
            "http": {
                "operations": {
                    "acquire": {
                        "method": "POST",
                        "path": "/acquire",
                        "fail": 409,
                        "extra": {"token": "token"},
                    },
                    "release": {"method": "POST", "path": "/release", "body": {"token": "{extra.token}"}},
                }
            }
        }
    )
    with service(lock) as server:
        summary = run.load({"n1": server.port}, client, generator="lock", clients=3, operations=60)
    assert summary.counts["release", Outcome.OK] > 0
    assert summary.counts["release", Outcome.INFO] == 0
    assert abs(summary.counts["release", Outcome.OK] - summary.counts["acquire", Outcome.OK]) <= 3


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"generator": "kv"}, "knows no operation 'get'"),
        ({"mix": {"cas": 1}}, "makes no 'cas'"),
        ({"via": {"reed": "n1"}}, "does not generate"),
        ({"via": "leader"}, "neither a node"),
    ],
)
def test_a_load_that_cannot_work_says_so_and_leaves_no_thread(run, fields, said):
    with service(Store().answer) as server, pytest.raises(WorkloadError, match=said):
        run.load({"n1": server.port}, **fields)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("client-")]


def test_a_template_that_an_operation_cannot_fill_in_stops_the_load(run):
    client = Client.model_validate({"http": {"operations": {"read": {"path": "/{extra.tenant}"}}}})
    with service(Store().answer) as server, pytest.raises(WorkloadError, match=r"extra\.tenant"):
        run.load({"n1": server.port}, client, clients=4, mix={"read": 1})
    assert run.stop.is_set() is False


def test_any_asks_the_nodes_in_turn_and_spread_stays(run):
    router = Router(["n1", "n2", "n3"])
    assert [router("any", 1) for _ in range(4)] == ["n2", "n3", "n1", "n2"]
    assert [router("spread", client) for client in range(4)] == ["n1", "n2", "n3", "n1"]
    assert router("n3", 0) == "n3"
    drawn = [Router(["n1", "n2", "n3"], seed=4)("random", 2) for _ in range(3)]
    assert len(set(drawn)) == 1


def test_kinds_that_via_does_not_name_go_to_its_default():
    described = Workload.model_validate({"generator": "kv", "via": {"put": "leader", "default": "any"}})
    assert references(described, ["get", "put"]) == {"get": "any", "put": "leader"}
