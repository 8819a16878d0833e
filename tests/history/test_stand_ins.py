"""What stands for a value where values are compared, and the way back to what a person wrote."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from refute.history import hashable, recorded

VALUES: list[Any] = [
    None, True, False, 0, 1, -0.5, "", "a", "1", "seq", [], [1], [True], ["1"], [[1]], [[], [True, None]],
    ["seq", 1], ["bool", True], {}, {"a": 1}, {"a": True}, {"b": [1], "a": {}}, {"a": None}, [{"a": [False]}],
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_stand_in_leads_back_to_the_value(value: Any) -> None:
    back = recorded(hashable(value))
    assert back == value
    assert hashable(back) == hashable(value)


def test_no_two_values_share_a_stand_in() -> None:
    for first, second in itertools.combinations(VALUES, 2):
        assert hashable(first) != hashable(second), (first, second)


def test_numbers_and_mappings_are_the_same_however_they_are_written() -> None:
    assert hashable([1.0]) == hashable((1,))
    assert hashable({"a": 1, "b": 2}) == hashable({"b": 2, "a": 1})
    assert hashable(float("nan")) == hashable(float("nan"))


def test_a_set_is_shown_as_a_list_and_what_is_no_stand_in_as_it_is() -> None:
    assert recorded(hashable({2, 1})) == [1, 2]
    assert recorded(("operation", 3)) == ("operation", 3)
