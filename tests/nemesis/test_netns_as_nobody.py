"""The netns plane needs no root: its tests hold for an ordinary user too, in a process of its own."""

from __future__ import annotations

import pytest

from tests.ordinary_user import run_tests_as_ordinary_user

pytestmark = pytest.mark.systems

PLANE = "tests/nemesis/test_netns_plane.py"
GUARD = "tests/nemesis/test_netns_guard.py"


@pytest.mark.parametrize(
    "test",
    [
        f"{PLANE}::test_packets_of_an_isolated_node_are_dropped_both_ways",
        f"{PLANE}::test_a_rejected_link_tells_its_sender_at_once",
        f"{PLANE}::test_packets_are_kept_for_a_time_and_the_round_trip_shows_it",
        f"{PLANE}::test_a_link_passes_no_more_than_its_rate",
        f"{PLANE}::test_a_node_whose_interface_is_down_hears_nobody_not_even_clients",
        f"{GUARD}::test_killing_the_owner_takes_rules_namespaces_and_processes_away",
    ],
)
def test_it_holds_for_an_ordinary_user(test: str) -> None:
    assert "1 passed" in run_tests_as_ordinary_user(test, 120)
