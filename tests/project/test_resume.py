"""A night of fuzzing that was cut short is taken up where it stopped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = """
import pathlib
import pytest

@pytest.mark.nightly
@pytest.mark.parametrize("block", [1, 2, 3])
def test_block(block):
    assert block != 2 or pathlib.Path("mended").exists()
"""


def night(where: Path, *options: str) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.resume", *options, "test_night.py"]
    environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
    return subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True).stdout


def test_what_has_passed_is_left_out_until_a_night_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = nightly")
    (tmp_path / "test_night.py").write_text(TESTS)
    assert "1 failed, 2 passed" in night(tmp_path)
    assert "1 failed, 2 deselected" in night(tmp_path, "--resume")
    (tmp_path / "mended").touch()
    assert "1 passed, 2 deselected" in night(tmp_path, "--resume")
    assert "3 deselected" in night(tmp_path, "--resume")
    assert "3 passed" in night(tmp_path)
