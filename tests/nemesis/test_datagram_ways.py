"""Datagrams are told by what is in them: what is missing, too many, changed or late is counted as such."""

from __future__ import annotations

from random import Random

from refute.nemesis.proxy.datagram_ways import DatagramWay

MS = 1_000_000


def counts(way: DatagramWay, now_ns: int = 10**12) -> dict[str, int]:
    found = {"missing": way.missing(now_ns), "doubled": way.doubled, "changed": way.changed}
    return {name: count for name, count in (found | {"reordered": way.reordered}).items() if count}


def test_what_arrives_as_it_was_sent_is_nothing_to_tell() -> None:
    way = DatagramWay()
    for number in range(1000):
        way.sent(number % 7, number * MS)  # the same content again and again
        way.came(number % 7, 10, number * MS + 5)
    assert counts(way) == {}
    assert (way.arrived, way.received_bytes, way.transit_ns, way.transits) == (1000, 10000, 35, 7)


def test_what_does_not_arrive_is_missing_after_a_tenth_of_a_second() -> None:
    way = DatagramWay()
    way.sent(1, 0)
    way.sent(2, 60 * MS)
    assert [way.missing(now * MS) for now in (50, 100, 159, 160)] == [0, 1, 1, 2]
    way.came(1, 1, 500 * MS)  # late is not lost
    assert counts(way) == {"missing": 1}


def test_one_more_than_was_sent_is_doubled_and_an_unknown_one_is_changed() -> None:
    way = DatagramWay()
    way.sent(1, 0)
    for content in (1, 1, 2):
        way.came(content, 1, 1)
    assert counts(way) == {"doubled": 1, "changed": 1}


def test_one_that_comes_after_a_later_one_is_out_of_turn() -> None:
    way = DatagramWay()
    for content in (1, 2, 3):
        way.sent(content, 0)
    for content in (2, 1, 3):
        way.came(content, 1, 1)
    assert counts(way) == {"reordered": 1}


def test_what_comes_another_way_is_counted_as_arrived_only() -> None:
    way = DatagramWay()
    way.came_past(9)
    assert (way.arrived, way.received_bytes, counts(way)) == (1, 9, {})


def test_a_loss_of_any_share_is_counted_exactly() -> None:
    for seed in range(50):
        rng, way, lost = Random(seed), DatagramWay(), 0
        for number in range(500):
            way.sent(number, number)
            if rng.random() < 0.2:
                lost += 1
            else:
                way.came(number, 1, number)
        assert counts(way) == {"missing": lost}


def test_of_many_alike_of_which_one_was_lost_nobody_says_how_long_they_took_or_in_which_order_they_came() -> (
    None
):
    way = DatagramWay()
    for number in range(30):
        way.sent(7, number * 1000 * MS)
        way.sent(100 + number, number * 1000 * MS)
        if number:
            way.came(7, 1, number * 1000 * MS + MS)
        way.came(100 + number, 1, number * 1000 * MS + MS)
    assert counts(way) == {"missing": 1}
    assert (way.arrived, way.transits, way.transit_ns) == (59, 30, 30 * MS)


def test_a_flood_that_never_arrives_is_counted_and_takes_no_more_memory() -> None:
    way = DatagramWay()
    for number in range(30_000):
        way.sent(number, number)
    assert way.missing(10**12) == 30_000
    assert len(way._on_their_way) == 20_000
