"""The plan for the bundled store on a bad machine: a jump of the clock finds what is left in the next release."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from refute import resources
from refute.history.faults_log import read_landing
from refute.run.execute import run_plan
from refute.session.verify import verify_session

pytestmark = pytest.mark.systems


def test_a_jump_of_the_clock_breaks_a_promise_that_doubled_requests_do_not(tmp_path: Path) -> None:
    plan = resources.folder("testing-plans") / "quorumkv-host.md"
    session = run_plan(plan, budget="smoke", seed=1, session_root=tmp_path)
    assert {name: entry.verdict for name, entry in session.index.scenarios.items()} == {
        "K1": "FAIL-reproducible",
        "K2": "PASS-smoke",
        "K3": "PASS-smoke" if os.geteuid() == 0 else "INCONCLUSIVE-env",
    }
    failing = session.attempts("K1")[0]
    anomalies = json.loads((failing / "check.json").read_text())["results"][0]["anomalies"]
    assert anomalies[0]["name"] == "duplicate-effect"
    assert [landing.landed for landing in read_landing(failing / "landing.json")] == [True]
    assert verify_session(session.folder).mismatches == ()
