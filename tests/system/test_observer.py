"""States are read from every kind of source, and a wait ends soon after the state is there."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Iterator

import pytest

from refute.plan.step import Await
from refute.system.cluster import Cluster
from refute.system.errors import ClusterError, ClusterInputError
from refute.system.observer import Observer, Seen, TimedOut
from tests.nemesis.peers import become, eventually, peer_spec


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    root = tmp_path_factory.mktemp("cluster")
    spec = peer_spec(
        states={
            **peer_spec().model_dump(exclude_none=True, exclude_defaults=True)["states"],
            "term": {"http": "/status", "value": "term"},
            "says_ok": {
                "command": ["sh", "-c", 'echo \'{"deep": [{"answer": 42}]}\''],
                "value": "deep.0.answer",
            },
            "exits_zero": {"command": ["true"]},
            "exits_one": {"command": ["false"]},
            "lost": {"http": "/status", "value": "no.such"},
        }
    )
    with Cluster(spec, root=root, plan_dir=root) as started:
        started.start()
        started.wait_ready()
        yield started


@pytest.fixture
def observer(cluster: Cluster) -> Iterator[Observer]:
    for term, node in enumerate(("n1", "n2", "n3")):
        become(cluster, node, "follower", term)
    with Observer(cluster.spec, cluster) as watching:
        yield watching


def test_each_kind_of_source_is_read(cluster: Cluster, observer: Observer) -> None:
    become(cluster, "n2", "leader", 7)
    assert observer.read("n2", "leader").holds
    assert not observer.read("n1", "leader").holds
    assert observer.read("n2", "is_leader").value == 1.0
    assert observer.read("n1", "is_leader").holds is False
    assert eventually(lambda: (observer.read("n2", "from_n1").value or 0) > 0)
    assert observer.read("n2", "logged_term").value == "7"
    assert observer.read("n1", "logged_term").error == "no such line in its log yet"
    assert observer.read("n1", "accepts").holds
    assert observer.read("n1", "says_ok").value == 42
    assert observer.read("n1", "exits_zero").holds
    assert not observer.read("n1", "exits_one").holds
    lost = observer.read("n1", "lost")
    assert (lost.holds, lost.error) == (False, "there is no 'no' in the answer")


def test_a_paused_node_says_nothing(cluster: Cluster, observer: Observer) -> None:
    cluster.node("n1").send(signal.SIGSTOP)
    try:
        seen = observer.read("n1", "role")
    finally:
        cluster.node("n1").send(signal.SIGCONT)
    assert (seen.value, seen.holds, seen.error) == (None, False, "no answer in 1 s")


def test_a_wait_ends_when_the_role_is_there(cluster: Cluster, observer: Observer) -> None:
    threading.Timer(0.2, become, (cluster, "n3", "leader", 9)).start()
    seen = observer.wait_for(Await.model_validate({"leader": "known"}))
    assert isinstance(seen, Seen)
    assert seen.roles == {"leader": "n3"}
    assert 0.1 < seen.waited_s < 5
    assert seen.time_ns - seen.read_ns <= seen.time_ns


def test_a_wait_that_is_too_long_says_what_each_node_said_last(observer: Observer) -> None:
    timed_out = observer.wait_for(Await.model_validate({"leader": "known", "timeout": "100ms"}))
    assert isinstance(timed_out, TimedOut)
    assert not timed_out.stopped
    assert timed_out.words == (
        "no node is leader; last seen: n1 leader 'follower'; n2 leader 'follower'; n3 leader 'follower'"
    )


def test_a_wait_can_be_stopped(observer: Observer) -> None:
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    timed_out = observer.wait_for(Await.model_validate({"leader": "known", "timeout": "20s"}), stop=stop)
    assert isinstance(timed_out, TimedOut)
    assert timed_out.stopped
    assert timed_out.waited_s < 5


def test_a_deposed_leader_that_still_claims_does_not_hide_the_new_one(
    cluster: Cluster, observer: Observer
) -> None:
    become(cluster, "n1", "leader", 3)
    become(cluster, "n2", "leader", 4)
    assert observer.resolve("leader") == ("n2",)  # the higher term
    seen = observer.wait_for(Await.model_validate({"leader": "not old"}), {"old": "n1"})
    assert isinstance(seen, Seen)
    assert seen.roles == {"leader": "n2"}
    late = observer.wait_for(Await.model_validate({"leader": "not old", "timeout": "100ms"}), {"old": "n2"})
    assert isinstance(late, TimedOut)
    assert late.words.startswith("leader is n2, awaited: not old")


def test_nobody_leads_is_a_state_too(cluster: Cluster, observer: Observer) -> None:
    assert isinstance(observer.wait_for(Await.model_validate({"leader": "none"})), Seen)
    become(cluster, "n1", "leader", 3)
    late = observer.wait_for(Await.model_validate({"leader": "none", "timeout": "50ms"}))
    assert isinstance(late, TimedOut)
    assert late.words.startswith("n1 is leader")


def test_values_are_compared_at_the_nodes_that_a_reference_names(
    cluster: Cluster, observer: Observer
) -> None:
    become(cluster, "n1", "leader", 5)
    for node in ("n2", "n3"):
        become(cluster, node, "follower", 8)
    at_least = {"values": {"node": "not leader", "state": "term", "at_least": 8}}
    assert isinstance(observer.wait_for(Await.model_validate(at_least)), Seen)
    late = observer.wait_for(
        Await.model_validate({"values": {"node": "all", "state": "term", "at_least": 8}, "timeout": "100ms"})
    )
    assert isinstance(late, TimedOut)
    assert late.words.startswith("term of n1 is 5")


def test_every_and_any_node(cluster: Cluster, observer: Observer) -> None:
    assert isinstance(observer.wait_for(Await.model_validate({"every_node": "accepts"})), Seen)
    late = observer.wait_for(Await.model_validate({"any_node": "is_leader", "timeout": "100ms"}))
    assert isinstance(late, TimedOut)
    assert late.words.startswith("is_leader holds at no node")


def test_a_line_that_is_logged_from_now_on_is_awaited(cluster: Cluster, observer: Observer) -> None:
    become(cluster, "n2", "leader", 400)  # logged before, so it does not count
    wanted = {"lines": {"node": "n2", "matches": "role leader term 4[0-9]+"}}
    waited = observer.wait_for(Await.model_validate({**wanted, "timeout": "200ms"}))
    assert isinstance(waited, TimedOut)
    assert "n2 has logged no line with 'role leader term 4[0-9]+'" in waited.words
    later = threading.Timer(0.1, become, [cluster, "n2", "leader", 401])
    later.start()
    seen = observer.wait_for(Await.model_validate(wanted))
    later.join()
    assert isinstance(seen, Seen)
    assert 0.05 < seen.waited_s < 5


def test_a_line_may_be_of_any_node_of_a_reference_and_of_no_other(
    cluster: Cluster, observer: Observer
) -> None:
    def waits(node: str, logging: str) -> bool:
        wanted = {"lines": [{"node": node, "matches": "term 500"}], "timeout": "700ms"}
        later = threading.Timer(0.1, become, [cluster, logging, "follower", 500])
        later.start()
        seen = observer.wait_for(Await.model_validate(wanted))
        later.join()
        return isinstance(seen, Seen)

    assert waits("all", "n3")
    assert waits("not n1", "n3")
    assert not waits("n1", "n3")


def test_a_pattern_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'\(' is not a regular expression"):
        Await.model_validate({"lines": [{"node": "n1", "matches": "("}]})


def test_a_recorded_operation_can_be_awaited(cluster: Cluster) -> None:
    recorded: list[str] = []

    def seen(wanted: object) -> bool:
        assert wanted == {"kind": "read", "outcome": "ok"}
        return "read" in recorded

    with Observer(cluster.spec, cluster, operation_seen=seen) as observer:
        condition = Await.model_validate({"operation": {"kind": "read", "outcome": "ok"}})

        def record() -> None:
            recorded.append("read")
            observer.poke()

        threading.Timer(0.1, record).start()
        assert isinstance(observer.wait_for(condition), Seen)


def test_references_name_nodes(cluster: Cluster, observer: Observer) -> None:
    become(cluster, "n2", "leader", 6)
    assert observer.resolve("all") == ("n1", "n2", "n3")
    assert observer.resolve("leader") == ("n2",)
    assert observer.resolve("not leader") == ("n1", "n3")
    assert observer.resolve("old", {"old": "n3"}) == ("n3",)
    assert observer.resolve("not old", {"old": "n3"}) == ("n1", "n2")
    assert observer.resolve("client") == ("client",)
    assert observer.resolve("any") == ("n1",)
    picks = {observer.resolve("random", rng=random.Random(seed)) for seed in range(20)}
    assert picks == {("n1",), ("n2",), ("n3",)}
    assert observer.resolve("random", rng=random.Random(4)) == observer.resolve(
        "random", rng=random.Random(4)
    )


def test_a_reference_that_means_nothing_is_refused(observer: Observer) -> None:
    with pytest.raises(ClusterInputError, match="did you mean 'leader'"):
        observer.resolve("laeder")
    with pytest.raises(ClusterError, match="no node is leader now: n1 leader 'follower'"):
        observer.resolve("leader")
    with pytest.raises(ClusterInputError, match="no state 'ledaer'"):
        observer.wait_for(Await.model_validate({"ledaer": "known"}))
