"""Clients misbehave: crowds, slow readers, requests sent twice; both sides show it, and the history is truthful."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from refute.history.operation import Outcome
from refute.nemesis.client.rules import ClientRule, ClientRules
from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.ledger import MARK
from refute.nemesis.marked import NAME
from refute.nemesis.plane import Fault, Readings, Timed
from refute.plan.system_spec import HttpClient
from refute.system.process_table import processes_with_mark
from refute.workload.http_client import HttpOperationClient
from refute.workload.request import Completion, Request
from tests.nemesis.conftest import Room
from tests.nemesis.owners import Owner, nothing_left
from tests.nemesis.peers import ask, become, eventually
from tests.nemesis.test_process_plane import moved

CLIENT = HttpClient.model_validate(
    {
        "operations": {
            "promote": {"method": "POST", "path": "/become", "body": {"role": "leader"}, "output": "term"},
            "look": {"path": "/status", "output": "term"},
            "set": {"method": "POST", "path": "/become", "body": {"role": "leader", "term": "{value}"}},
            "nowhere": {"path": "/nowhere", "fail": [404]},
        }
    }
)


@pytest.fixture
def rules() -> ClientRules:
    made = ClientRules(1)
    made.operations = frozenset(CLIENT.operations)
    return made


@pytest.fixture
def served(open_room: Callable[..., Room], rules: ClientRules) -> Room:
    return open_room(1, nemesis={"clients": rules})


@pytest.fixture
def client(served: Room, rules: ClientRules) -> HttpOperationClient:
    host, _, port = served.cluster.address("n1", "client").rpartition(":")
    return HttpOperationClient(CLIENT, {"n1": {"client": (host, int(port))}}, rules=rules)


def client_fault(kind: str, **parameters: Any) -> dict[str, Any]:
    return {"fault": {"plane": "client", "kind": kind, **parameters}}


def descriptors(room: Room, node: str) -> int:
    return len(list(Path(f"/proc/{room.cluster.node(node).pid}/fd").iterdir()))


@pytest.mark.fault("client", "connection-storm", shows="landing")
def test_a_crowd_of_connections_is_held_until_it_is_healed(served: Room) -> None:
    before = descriptors(served, "n1")
    fault = served.apply(client_fault("connection-storm", connections=300), "n1")
    assert served.events[-1].detail["connections"] == {"n1": 300}
    assert eventually(lambda: descriptors(served, "n1") >= before + 290)
    assert ask(served.cluster, "n1")["name"] == "n1"
    time.sleep(0.3)
    assert served.nemesis.heal(fault).failed == {}
    landing = served.nemesis.landing(fault)
    assert landing.landed, landing.missing
    assert [signal.during for signal in landing.signals] == [300, 300]
    assert eventually(lambda: descriptors(served, "n1") < before + 10)
    assert not list(served.cluster.root.glob("crowd-*"))
    assert not processes_with_mark(NAME, f"{served.nemesis.environment[MARK]}/{fault}")


@pytest.mark.fault("client", "connection-storm", shows="not landing")
def test_a_crowd_before_a_closed_door_has_not_landed(served: Room) -> None:
    served.cluster.kill("n1")
    fault = served.apply(client_fault("connection-storm", connections=20), "n1")
    time.sleep(0.3)
    served.nemesis.heal(fault)
    landing = served.nemesis.landing(fault)
    assert not landing.landed
    assert [signal.during for signal in landing.signals] == [0, 0]


@pytest.mark.fault("client", "slow-reader", shows="landing")
def test_slow_readers_leave_the_node_with_what_it_cannot_send(served: Room) -> None:
    fault = served.apply(client_fault("slow-reader", path="/big", connections=3), "n1")
    plane = served.nemesis._planes["client"]
    for name in ("unread", "unsent"):
        assert eventually(lambda name=name: (plane.measure()[f"{fault}.n1.{name}"] or 0) > 0, 10)  # type: ignore[misc]
    served.nemesis.heal(fault)
    landing = served.nemesis.landing(fault)
    assert landing.landed, landing.missing
    assert moved(landing)["victim"] == ["n1: bytes it could not send"]
    assert ask(served.cluster, "n1")["name"] == "n1"


@pytest.mark.fault("client", "slow-reader", shows="not landing")
def test_a_short_answer_is_sent_at_once_however_slowly_it_is_read(served: Room) -> None:
    fault = served.apply(client_fault("slow-reader", path="/nowhere", connections=3, rate="10B/s"), "n1")
    time.sleep(1.0)
    served.nemesis.heal(fault)
    landing = served.nemesis.landing(fault)
    assert not landing.landed
    assert moved(landing)["victim"] == []


@pytest.mark.fault("client", "duplicate", shows="landing")
def test_a_duplicate_is_one_operation_with_two_effects_where_nobody_tells_them_apart(
    served: Room, client: HttpOperationClient
) -> None:
    become(served.cluster, "n1", "leader", 10)
    fault = served.apply(client_fault("duplicate", kinds=["promote"]))
    with client:
        done = client.invoke(Request("promote"), "n1", 5.0)
        looked = client.invoke(Request("look"), "n1", 5.0)
    assert served.nemesis.heal(fault).failed == {}  # returns when the copy has arrived
    assert (done.outcome, done.output, done.extra) == (Outcome.OK, 11, {"sent_again": 1})
    assert looked.extra == {}
    assert ask(served.cluster, "n1")["term"] == 12  # the double effect that a checker has to find
    landing = served.nemesis.landing(fault)
    assert landing.landed
    assert [signal.during for signal in landing.signals] == [1, 1]


@pytest.mark.parametrize("sent_at", [(0, 1, 1), (0, 0, 1)], ids=["sent before", "sent meanwhile"])
def test_a_copy_that_is_answered_while_the_fault_is_healed_is_evidence_too(
    served: Room, sent_at: tuple[int, ...]
) -> None:
    fault = Fault("f1", "client", "duplicate", ("client",), {})
    counts = zip(sent_at, (0, 0, 1), strict=True)
    at = [Timed(moment, {"f1.sent": sent, "f1.answered": back}) for moment, (sent, back) in enumerate(counts)]
    readings = Readings((), None, at[0], at[0], at[1], at[2])
    sent, answered = served.nemesis._planes["client"].signals(fault, readings)
    assert (sent.during, answered.during, answered.after) == (1, 1, 1)


@pytest.mark.fault("client", "duplicate", shows="not landing")
def test_where_nothing_of_that_kind_was_sent_nothing_was_duplicated(
    served: Room, client: HttpOperationClient
) -> None:
    fault = served.apply(client_fault("duplicate", kinds=["promote"]))
    with client:
        client.invoke(Request("look"), "n1", 5.0)
    served.nemesis.heal(fault)
    assert not served.nemesis.landing(fault).landed


def test_what_was_refused_is_not_sent_again(served: Room, client: HttpOperationClient) -> None:
    fault = served.apply(client_fault("duplicate", kinds=["nowhere"]))
    with client:
        assert client.invoke(Request("nowhere"), "n1", 5.0).outcome is Outcome.FAIL
    served.nemesis.heal(fault)
    assert not served.nemesis.landing(fault).landed


def test_after_the_heal_nothing_is_sent_twice(served: Room, client: HttpOperationClient) -> None:
    fault = served.apply(client_fault("duplicate", kinds="promote", after="100ms"))
    become(served.cluster, "n1", "leader", 1)
    with client:
        client.invoke(Request("promote"), "n1", 5.0)
        served.nemesis.heal(fault)
        assert client.invoke(Request("promote"), "n1", 5.0).extra == {}
    assert ask(served.cluster, "n1")["term"] == 4


def test_without_its_flag_a_rule_is_off_so_that_the_guard_can_lift_it(
    rules: ClientRules, tmp_path: Path
) -> None:
    flag = tmp_path / "flag"
    rules.put(ClientRule("f1", "duplicate", frozenset({"promote"}), flag))
    assert rules.rule("duplicate", "promote") is None
    flag.touch()
    assert rules.rule("duplicate", "promote") is not None
    assert rules.rule("retry", "promote") is None
    flag.unlink()
    assert rules.rule("duplicate", "promote") is None


@pytest.mark.fault("client", "retry", shows="landing")
def test_a_request_without_an_answer_is_sent_again_until_there_is_one(
    served: Room, client: HttpOperationClient
) -> None:
    fault = served.apply(client_fault("retry", kinds=["look"], times=200))
    pause = served.apply({"pause": "n1"}, "n1")
    with client:
        resume = threading.Timer(0.4, served.nemesis.heal, [pause])
        resume.start()
        done = client.invoke(Request("look"), "n1", 0.2)
        resume.join()
    assert done.outcome is Outcome.OK
    assert done.extra["sent_again"] >= 1
    served.nemesis.heal(fault)
    assert served.nemesis.landing(fault).landed


@pytest.mark.fault("client", "retry", shows="not landing")
def test_where_every_request_is_answered_nothing_is_retried(
    served: Room, client: HttpOperationClient
) -> None:
    fault = served.apply(client_fault("retry", kinds=["look"], times=5))
    with client:
        assert client.invoke(Request("look"), "n1", 5.0).extra == {}
    served.nemesis.heal(fault)
    assert not served.nemesis.landing(fault).landed


def test_a_retry_that_is_refused_leaves_the_outcome_unknown(
    served: Room, client: HttpOperationClient
) -> None:
    # The first may have been done; that the second was refused does not undo it.
    served.apply(client_fault("retry", kinds=["nowhere"], times=200))
    pause = served.apply({"pause": "n1"}, "n1")
    with client:
        resume = threading.Timer(0.4, served.nemesis.heal, [pause])
        resume.start()
        done = client.invoke(Request("nowhere"), "n1", 0.2)
        resume.join()
    assert done.outcome is Outcome.INFO


def in_the_background(client: HttpOperationClient, key: str, value: int) -> Future[Completion]:
    done: Future[Completion] = Future()
    asked = Request("set", key, value)
    threading.Thread(target=lambda: done.set_result(client.invoke(asked, "n1", 5.0)), daemon=True).start()
    return done


@pytest.fixture
def other_client(client: HttpOperationClient, rules: ClientRules) -> Iterator[HttpOperationClient]:
    with client, HttpOperationClient(CLIENT, client._endpoints, rules=rules) as other:
        yield other


@pytest.mark.fault("client", "reorder", shows="landing")
def test_a_request_arrives_after_one_that_was_issued_later(
    served: Room, rules: ClientRules, client: HttpOperationClient, other_client: HttpOperationClient
) -> None:
    fault = served.apply(client_fault("reorder", kinds=["set"], within="30s"))
    earlier = in_the_background(client, "k", 5)
    assert eventually(lambda: bool(rules._held))
    later = other_client.invoke(Request("set", "k", 6), "n1", 5.0)
    first = earlier.result(10)
    assert (first.outcome, first.extra) == (Outcome.OK, {"overtaken": 1})
    assert (later.outcome, later.extra) == (Outcome.OK, {})
    assert ask(served.cluster, "n1")["term"] == 5  # what was issued first is what is left
    assert served.nemesis.heal(fault).failed == {}
    landing = served.nemesis.landing(fault)
    assert landing.landed, landing.missing
    assert [signal.during for signal in landing.signals] == [1, 1]


@pytest.mark.fault("client", "reorder", shows="not landing")
def test_a_request_that_nobody_overtakes_goes_in_its_turn(
    served: Room, client: HttpOperationClient, other_client: HttpOperationClient
) -> None:
    fault = served.apply(client_fault("reorder", kinds=["set"], within="50ms"))
    for key, value in (("k", 5), ("other", 6)):  # of different keys none is earlier
        assert client.invoke(Request("set", key, value), "n1", 5.0).extra == {}
    assert other_client.invoke(Request("look"), "n1", 5.0).extra == {}
    assert ask(served.cluster, "n1")["term"] == 6
    served.nemesis.heal(fault)
    landing = served.nemesis.landing(fault)
    assert not landing.landed
    assert [signal.during for signal in landing.signals] == [0, 0]


def test_an_overtaking_request_without_an_answer_reorders_nothing(
    served: Room, rules: ClientRules, client: HttpOperationClient, other_client: HttpOperationClient
) -> None:
    fault = served.apply(client_fault("reorder", kinds=["set"], within="30s"))
    earlier = in_the_background(client, "k", 5)
    assert eventually(lambda: bool(rules._held))
    pause = served.apply({"pause": "n1"}, "n1")
    assert other_client.invoke(Request("set", "k", 6), "n1", 0.2).outcome is Outcome.INFO
    served.nemesis.heal(pause)
    assert earlier.result(10).extra == {}
    served.nemesis.heal(fault)
    assert not served.nemesis.landing(fault).landed


def test_a_heal_lets_go_what_is_held_and_waits_for_it(
    served: Room, rules: ClientRules, client: HttpOperationClient
) -> None:
    fault = served.apply(client_fault("reorder", kinds=["set"], within="600s"))
    held = in_the_background(client, "k", 5)
    assert eventually(lambda: bool(rules._held))
    assert served.nemesis.heal(fault).failed == {}
    assert held.result(10).outcome is Outcome.OK
    assert ask(served.cluster, "n1")["term"] == 5
    assert rules._held == {}
    client.close()


def test_without_its_flag_nothing_is_held_so_that_the_guard_can_lift_it(
    rules: ClientRules, tmp_path: Path
) -> None:
    flag = tmp_path / "flag"
    rules.put(ClientRule("f1", "reorder", frozenset({"set"}), flag, within_s=600.0))
    with rules.in_turn("set", "k", "n1") as turn:
        assert not rules._held
    assert not turn.overtaken


@pytest.mark.fault("client", "connection-storm", shows="nothing left")
def test_a_crowd_leaves_when_its_owner_is_killed(own: Callable[..., Owner]) -> None:
    owner = own(also=[["client", "connection-storm", {"connections": 20}, ["n2"]]])
    mark = f"{owner.run}/f3"
    assert len(processes_with_mark(NAME, mark)) == 1
    owner.process.kill()
    assert eventually(lambda: owner.healed_by().get("f3") == "guard")
    assert eventually(lambda: not processes_with_mark(NAME, mark))
    assert eventually(lambda: nothing_left(owner))
    assert not list(owner.root.glob("crowd-*"))


@pytest.mark.parametrize(
    ("written", "nodes", "says"),
    [
        (client_fault("duplicate"), (), "promises to apply once"),
        (client_fault("duplicate", kinds=["promot"]), (), "no client that speaks HTTP knows 'promot'"),
        (client_fault("duplicate", kinds=["promote"]), ("n1",), "name no node"),
        (client_fault("reorder"), (), "whose order is to change"),
        (client_fault("connection-storm"), (), "connection-storm: name a node"),
        (client_fault("slow-reader", path="big"), ("n1",), "a path from / on"),
    ],
)
def test_what_is_no_fault_of_clients_is_refused(
    served: Room, written: dict[str, Any], nodes: tuple[str, ...], says: str
) -> None:
    with pytest.raises(FaultInputError, match=says):
        served.apply(written, *nodes)
    assert served.phases == []


def test_without_clients_nobody_can_send_again(room: Room) -> None:
    with pytest.raises(NemesisError, match="no clients of this run"):
        room.apply(client_fault("retry", kinds=["look"]))
