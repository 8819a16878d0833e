"""refute's plan for refute: what it promises holds while it is killed, and a broken guard does not go unnoticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute import resources
from refute.run.execute import run_plan
from refute.session.verify import verify_session

pytestmark = pytest.mark.systems


def test_refute_keeps_its_promises_while_it_is_killed(tmp_path: Path) -> None:
    plan = resources.folder("testing-plans") / "refute.md"
    session = run_plan(plan, budget="smoke", seed=1, session_root=tmp_path, parallel=2)
    verdicts = {name: entry.verdict for name, entry in session.index.scenarios.items()}
    assert verdicts == dict.fromkeys(("R1", "R2", "R3", "R4", "R5"), "PASS-smoke")
    assert verify_session(session.folder).mismatches == ()
