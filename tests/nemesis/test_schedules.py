"""After any schedule of faults nothing is left, whether the injector ends by itself or is killed at any moment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from random import Random

import psutil
import pytest

from refute.nemesis.ledger import MARK, read_ledger, registered_ledgers
from refute.resources import folder
from refute.system.process_table import processes_with_mark
from tests.nemesis.left import left_behind
from tests.nemesis.peers import eventually
from tests.nemesis.scheduled import SECONDS

CHECKOUT = Path(__file__).parents[2]
SEEDS = [
    *range(4),
    *(pytest.param(seed, marks=pytest.mark.systems) for seed in range(4, 50)),
    *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(50, 500)),
]


@pytest.mark.skipif(
    not (folder("examples") / "quorumkv" / "quorumkv" / "__main__.py").is_file(),
    reason="examples/quorumkv is not there",
)
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_left(seed: int, tmp_path: Path) -> None:
    rng = Random(f"end {seed}")
    sockets = Path(tempfile.mkdtemp(dir="/tmp", prefix="t"))
    owner = subprocess.Popen(
        [sys.executable, "-m", "tests.nemesis.scheduled", str(tmp_path / "run"), str(seed)],
        cwd=CHECKOUT,
        env={**os.environ, "TMPDIR": str(sockets)},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert owner.stdout is not None
    try:
        run = json.loads(owner.stdout.readline())["run"]
        if seed % 2:
            time.sleep(rng.uniform(0, SECONDS))
            tree = [owner.pid]
            if seed % 4 == 3:
                with suppress(psutil.Error):
                    tree += [child.pid for child in psutil.Process(owner.pid).children(recursive=True)]
            for pid in tree:
                with suppress(ProcessLookupError):
                    os.kill(pid, 9)
        else:
            assert owner.wait(60) == 0
        owner.wait()
        assert eventually(lambda: not registered_ledgers(), 20)
        assert processes_with_mark(MARK, run) == []
        state = read_ledger(tmp_path / "run" / "ledger")
        assert state.closed
        assert state.on == []
        assert left_behind(tmp_path / "run", run) == []
        assert [
            path.name
            for path in sockets.iterdir()
            if path.name.startswith("refute-") and "ports" not in path.name
        ] == []
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()
        shutil.rmtree(sockets)
