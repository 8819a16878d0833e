"""No process of ours looks for modules in the folder in which it is started."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from refute.interpreter import python

SOURCES = Path(__file__).parents[2] / "server/refute"


def test_a_module_of_the_working_directory_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "queue.py").write_text("raise SystemExit('a stranger')\n")
    done = subprocess.run(
        python("-c", "import queue; print(queue.SimpleQueue.__name__)"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "SimpleQueue\n")


def test_python_is_started_in_one_way_everywhere() -> None:
    by_hand = [
        str(place.relative_to(SOURCES))
        for place in sorted(SOURCES.rglob("*.py"))
        if re.search(r"sys\.executable,\s*\"-", place.read_text(encoding="utf-8"))
    ]
    assert by_hand == ["interpreter.py"]
