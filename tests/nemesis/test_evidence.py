"""Signals that the plan declares, triggers and their delays, and the epoch of each operation."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from refute.errors import RefuteError
from refute.history.fault import FaultPhase
from refute.nemesis.declared import Declared, Span, VictimSeries, declared_signals
from refute.nemesis.plane import Readings, Timed, rate, rate_before
from refute.plan.step import Await, VictimSignal
from refute.system.observer import Seen
from tests.nemesis.conftest import Room
from tests.nemesis.peers import become, eventually


def test_a_signal_of_the_system_counts_as_a_victim_s(room: Room) -> None:
    signal = VictimSignal(node="n2", state="from_n1", rule="stops")
    room.nemesis.watch([signal])
    time.sleep(1.0)
    written = {"partition": {"links": ["n1->n2"]}, "evidence": [signal.model_dump()]}
    fault = room.apply(written)
    time.sleep(1.0)
    room.nemesis.heal(fault)
    (found,) = [s for s in room.nemesis.landing(fault).signals if s.name == "n2: from_n1"]
    assert found.side == "victim"
    assert found.before > 100  # type: ignore[operator]
    assert found.during == 0
    assert found.moved


def test_a_signal_is_read_before_the_fault_even_if_nobody_watched_it(room: Room) -> None:
    become(room.cluster, "n1", "leader", 4)
    signal = {"node": "n1", "state": "role", "rule": "becomes", "expected": "follower"}
    fault = room.apply({"partition": {"links": ["n1->n2"]}, "evidence": [signal]})
    become(room.cluster, "n1", "follower", 5)
    time.sleep(0.4)
    room.nemesis.heal(fault)
    (found,) = [s for s in room.nemesis.landing(fault).signals if s.name == "n1: role"]
    assert (found.before, found.during, found.moved) == ("leader", "follower", True)


def test_a_signal_that_does_not_move_proves_nothing(room: Room) -> None:
    signal = {"node": "n3", "state": "role", "rule": "changes"}
    room.apply({"pause": "n1", "evidence": [signal]}, "n1")
    time.sleep(0.4)
    room.nemesis.heal()
    landing = room.nemesis.landing("f1")
    (found,) = [s for s in landing.signals if s.name == "n3: role"]
    assert (found.before, found.during, found.moved) == ("follower", "follower", False)
    assert "the plan's evidence did not hold: n3: role changes" in landing.missing


def test_a_change_a_moment_before_the_heal_is_still_seen(room: Room) -> None:
    signal = {"node": "not n1", "state": "role", "rule": "becomes", "expected": "leader"}
    fault = room.apply({"pause": "n1", "evidence": [signal]}, "n1")
    room.nemesis._sampler.end()  # whatever comes now, no sample of ours sees it
    become(room.cluster, "n3", "leader", 9)
    room.nemesis.heal(fault)
    found = {s.name: s.moved for s in room.nemesis.landing(fault).signals if s.declared}
    assert found == {"n2: role": False, "n3: role": True}
    assert not room.nemesis.landing(fault)._not_held


def test_a_node_that_is_back_before_the_heal_was_down_all_the_same() -> None:
    down = Declared(VictimSignal(node="n1", state="up", rule="becomes", expected=False), (("n1", "up"),))
    readings = {("n1", "up"): VictimSeries("n1", "up")}
    for asked, value in [(1, True), (4, True), (6, False), (8, True), (12, True)]:
        readings["n1", "up"].add(asked, value)
    (found,) = declared_signals([down], readings, Span(5, 7, 10))
    assert (found.before, found.during, found.after, found.moved) == (True, False, True, True)
    (found,) = declared_signals([down], readings, Span(7, 7, 10))
    assert (found.before, found.during, found.moved) == (False, True, False)


@pytest.mark.parametrize("rule", ["changes", "increases", "becomes", "stops"])
def test_a_metric_without_a_value_has_not_moved(rule: Any) -> None:
    # An exporter that has seen nothing yet says NaN, which differs even from itself.
    signal = VictimSignal(node="n1", state="lag", rule=rule, expected=5.0 if rule == "becomes" else None)
    readings = {("n1", "lag"): VictimSeries("n1", "lag")}
    for asked in (1, 4, 30_000_000, 60_000_000, 90_000_000):
        readings["n1", "lag"].add(asked, float("nan") if asked != 60_000_000 else float("inf"))
    declared = Declared(signal, (("n1", "lag"),))
    (found,) = declared_signals([declared], readings, Span(5, 6, 100_000_000))
    assert (found.before, found.during, found.moved) == (None, None, False)
    recorded = replace(found, before=float("nan"), during=float("nan"))
    assert not recorded.moved and not recorded.contradicts


def test_evidence_of_nobody_has_not_moved() -> None:
    one = Declared(VictimSignal(node="not n1", state="role"), ())
    (found,) = declared_signals([one], {}, Span(1, 1, 2))
    assert (found.declared, found.moved) == ("not n1: role changes", False)


def test_a_signal_of_a_state_that_does_not_exist_is_refused(room: Room) -> None:
    with pytest.raises(RefuteError, match="no state 'mood'"):
        room.apply({"pause": "n1", "evidence": [{"node": "n1", "state": "mood"}]}, "n1")
    assert room.phases == []


def test_the_delay_after_the_trigger_is_recorded(room: Room) -> None:
    become(room.cluster, "n2", "leader", 2)
    seen = room.observer.wait_for(Await.model_validate({"leader": "known"}))
    assert isinstance(seen, Seen)
    room.apply({"pause": "leader"}, seen.roles["leader"], trigger=seen)
    (applied,) = [event for event in room.events if event.phase is FaultPhase.APPLIED]
    assert applied.trigger is not None
    assert applied.targets == ("n2",)
    assert applied.trigger["delay_ns"] == applied.time_ns - seen.time_ns > 0
    assert applied.trigger["roles"] == {"leader": "n2"}


def test_the_epoch_counts_changes_of_what_is_on(room: Room) -> None:
    assert room.nemesis.epoch == 0
    first = room.apply({"pause": "n1"}, "n1")
    second = room.apply({"partition": {"links": ["n2->n3"]}})
    assert room.nemesis.epoch == 2
    assert room.nemesis.active() == (first, second)
    assert room.nemesis.heal("n1").healed == (first,)
    assert room.nemesis.epoch == 3
    room.nemesis.heal()
    assert room.nemesis.epoch == 4
    room.nemesis.heal()
    assert room.nemesis.epoch == 4


def test_a_label_names_a_fault(room: Room) -> None:
    room.apply({"pause": "n1", "label": "sleep"}, "n1")
    room.apply({"pause": "n2"}, "n2")
    assert room.nemesis.heal("sleep").healed == ("f1",)
    assert room.nemesis.active() == ("f2",)


def test_a_landing_can_be_read_while_the_fault_is_on(room: Room) -> None:
    time.sleep(0.6)
    fault = room.apply({"pause": "n1"}, "n1")
    assert eventually(lambda: room.nemesis.landing(fault).landed, 3)
    assert room.nemesis.landing(fault).signals[0].after is None
    room.nemesis.heal()
    assert room.nemesis.landing(fault).signals[0].after in ("S", "R")
    assert len(room.nemesis.landings()) == 1


def timed(seconds: float, **values: Any) -> Timed:
    return Timed(int(seconds * 1e9), values)


def test_a_rate_needs_time_and_two_readings_of_the_same_counter() -> None:
    assert rate(timed(0, a=10), timed(2, a=50), "a") == 20.0
    assert rate(timed(0, a=10), timed(0.001, a=50), "a") is None
    assert rate(timed(0, a=50), timed(2, a=10), "a") is None
    assert rate(timed(0), timed(2, a=10), "a") is None
    assert rate(None, timed(2, a=10), "a") is None


def test_the_baseline_reaches_back_as_far_as_the_counter_is_the_same() -> None:
    samples = (timed(0, a=900), timed(1, a=5), timed(2, a=25), timed(3, a=45))
    readings = Readings(samples, samples[-1], None, None, None, None)
    assert rate_before(readings, "a") == 20.0
    assert rate_before(readings, "b") is None
