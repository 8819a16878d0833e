"""What counts as a landing: each target is judged by its own signals, and idle ones are named."""

from __future__ import annotations

from typing import Any

import pytest

from refute.history.fault import Landing, Signal


def held(link: str, during: int = 40) -> Signal:
    return Signal("injector", f"{link}: held_bytes", "proxy", "increases", 0, during, target=link)


def silent(link: str, during: float | None = 0, before: float | None = 90.0) -> Signal:
    return Signal("victim", f"{link}: arrives", "its kernel", "stops", before, during, target=link)


def traffic(link: str, before: float | None = 90.0, during: float | None = 80.0) -> Signal:
    return Signal("traffic", f"{link}: sent", "proxy", "stops", before, during, target=link)


def cut(link: str) -> tuple[Signal, ...]:
    return held(link), silent(link), traffic(link)


def whole(link: str) -> tuple[Signal, ...]:
    return held(link, 0), silent(link, 88.0), traffic(link)


def quiet(link: str, before: float = 0.0) -> tuple[Signal, ...]:
    return held(link, 0), silent(link, 0, before), traffic(link, before, 0.0)


def landing(*signals: tuple[Signal, ...], **changes: Any) -> Landing:
    flat = tuple(signal for group in signals for signal in group)
    targets = tuple(dict.fromkeys(signal.target for signal in flat if signal.target))
    return Landing(
        **{"fault": "f1", "plane": "p", "kind": "k", "targets": targets, "signals": flat, **changes}
    )


def test_one_cut_link_says_nothing_of_the_next() -> None:
    found = landing(cut("a->b"), whole("a->c"))
    assert not found.landed
    assert found.proven == ("a->b",)
    assert found.missing == ("a->c: a->c: arrives was 88.0 while it was on",)


def test_a_link_that_carried_nothing_is_named_and_not_counted() -> None:
    found = landing(cut("a->b"), quiet("a->c"))
    assert found.landed
    assert (found.proven, found.idle) == (("a->b",), ("a->c",))


def test_a_link_that_was_used_before_and_by_nobody_meanwhile_is_not_counted_either() -> None:
    found = landing(cut("a->b"), quiet("a->c", before=12.0))
    assert found.landed
    assert found.idle == ("a->c",)


def test_links_that_carried_nothing_alone_prove_nothing() -> None:
    found = landing(quiet("a->b"), quiet("a->c"))
    assert found.missing == ("nothing went over a->b, a->c",)


def test_a_link_that_could_not_be_read_is_neither_proven_nor_idle() -> None:
    found = landing(cut("a->b"), (held("a->c", 0), silent("a->c", None, None), traffic("a->c", None, None)))
    assert not found.landed
    assert found.idle == ()


def test_a_target_without_any_signal_is_not_proven() -> None:
    found = landing(cut("a->b"), targets=("a->b", "a->c"))
    assert found.missing == ("a->c: no signal moved at the injector and victim",)


def test_what_arrives_is_stronger_than_what_was_held() -> None:
    # Bytes were held, and others came past the plane.
    found = landing((held("a->b"), silent("a->b", 31.0), traffic("a->b")))
    assert found.missing == ("a->b: a->b: arrives was 31.0 while it was on",)


def test_an_idle_link_at_which_bytes_arrive_is_not_idle() -> None:
    found = landing(cut("a->b"), (held("a->c", 0), silent("a->c", 31.0), traffic("a->c", 40.0, 0)))
    assert found.idle == ()
    assert not found.landed


def test_both_directions_have_to_show_it_where_both_are_used() -> None:
    assert landing(cut("a->b"), cut("b->a")).landed
    found = landing(cut("a->b"), whole("b->a"))
    assert found.missing == ("b->a: b->a: arrives was 88.0 while it was on",)


def test_the_answers_of_a_node_that_hears_no_questions_are_not_missed() -> None:
    found = landing(cut("a->b"), quiet("b->a", before=12.0))
    assert found.landed
    assert found.idle == ("b->a",)


def test_a_declared_state_stands_in_only_where_the_victim_cannot_be_read() -> None:
    declared = (Signal("victim", "b: role", "read from the node", "changes", "leader", "follower"),)
    assert landing((held("a->b"), silent("a->b", None, None), traffic("a->b")), declared).landed
    assert not landing((held("a->b"), silent("a->b", 31.0), traffic("a->b")), declared).landed


def test_a_port_that_is_still_served_contradicts_the_kill() -> None:
    exited = Signal("injector", "n1: exit", "parent", "becomes", "running", "SIGKILL", None, "SIGKILL", "n1")
    ports = [
        Signal("victim", f"n1: {port}", "kernel", "becomes", True, during, None, False, "n1")
        for port, during in (("client", False), ("peer", True))
    ]
    assert not landing((exited, *ports)).landed
    assert landing((exited, ports[0])).landed


@pytest.mark.parametrize(
    ("before", "during", "moved"),
    [(1.0, 60.0, True), (1.0, 49.0, False), (70.0, 80.0, False), (None, 60.0, False)],
)
def test_a_reading_reaches_what_was_expected(before: float | None, during: float, moved: bool) -> None:
    assert Signal("victim", "transit", "s", "reaches", before, during, None, 50.0).moved is moved


def test_a_recording_that_names_no_targets_is_judged_as_a_whole_as_it_was_then() -> None:
    old = Landing(
        *("f1", "proxy", "partition", ("a->b", "a->c")),
        (
            Signal("injector", "a->b: held_bytes", "proxy", "increases", 0, 40),
            Signal("victim", "b: bytes per second from a", "kernel", "stops", 90.0, 0),
            Signal("victim", "c: bytes per second from a", "kernel", "stops", 90.0, 88.0),
        ),
    )
    assert old.landed


def felt(words: str, during: int = 8, node: str = "a") -> Signal:
    return Signal("victim", f"{node}: term", "read from the node", "increases", 7, during, declared=words)


def test_what_the_plan_declares_has_to_hold_however_well_the_mechanism_shows_itself() -> None:
    assert landing(cut("a->b"), (felt("a: term increases"),)).landed
    found = landing(cut("a->b"), (felt("a: term increases", 7),))
    assert not found.landed
    assert found.missing == ("the plan's evidence did not hold: a: term increases",)
    assert found.proven == ("a->b",)


def test_of_the_nodes_that_a_declaration_stands_for_one_has_to_show_it() -> None:
    words = "not leader: term increases"
    assert landing(cut("a->b"), (felt(words, 7), felt(words, 8, "b"))).landed
    assert not landing(cut("a->b"), (felt(words, 7), felt(words, 7, "b"))).landed
    other = felt("b: term increases", 8, "b")
    assert not landing(cut("a->b"), (felt("a: term increases", 7), other)).landed


def test_a_declaration_that_was_never_read_does_not_hold() -> None:
    unread = Signal("victim", "leader: term", "read", "changes", None, None, declared="leader: term changes")
    assert not landing(cut("a->b"), (unread,)).landed
