"""The netns plane needs no root: its tests hold for an ordinary user too, in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ordinary_user import CHECKOUT, as_ordinary_user

pytestmark = pytest.mark.systems


@pytest.fixture
def home() -> Iterator[Path]:
    # Directories of pytest are for their owner only.
    made = Path(tempfile.mkdtemp(prefix="refute-nobody-"))
    made.chmod(0o777)
    yield made
    shutil.rmtree(made)


@pytest.mark.parametrize(
    "tests",
    [
        "tests/nemesis/test_netns_plane.py::test_packets_of_an_isolated_node_are_dropped_both_ways",
        "tests/nemesis/test_netns_plane.py::test_a_rejected_link_tells_its_sender_at_once",
        "tests/nemesis/test_netns_plane.py::test_a_node_whose_interface_is_down_hears_nobody_not_even_clients",
        "tests/nemesis/test_netns_guard.py::test_killing_the_owner_takes_rules_namespaces_and_processes_away",
    ],
)
def test_it_holds_for_an_ordinary_user(tests: str, home: Path) -> None:
    options = ["-q", "-m", "systems", "-p", "no:cacheprovider", "--basetemp", str(home / "tests")]
    command = as_ordinary_user([sys.executable, "-B", "-m", "pytest", *options, tests])
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        "HOME": str(home),
    }
    done = subprocess.run(
        command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert "1 passed" in done.stdout
    if os.geteuid() == 0:
        assert "--reuid=65534" in command
