"""The checkers are useful alone: importing them pulls in nothing that has to do with agents."""

import subprocess
import sys


def test_importing_the_checkers_stays_light() -> None:
    program = "import sys, refute.checkers, refute.history.formats; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "refute" in loaded
    assert not loaded & {"mcp", "anthropic", "git", "tree_sitter", "pydantic", "numpy", "scipy", "yaml"}
