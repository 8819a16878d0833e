"""Ports are kept apart between runs on one machine, wherever each puts its temporary files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from refute.system.ports import PortLease

ASK = "import sys; from refute.system import ports; print(ports._LOCKS.lock(int(sys.argv[1])))"


def test_runs_with_different_temporary_directories_keep_out_of_each_others_ports(tmp_path: Path) -> None:
    lease = PortLease()
    words = [sys.executable, "-c", ASK, str(lease.take())]
    try:
        asked = subprocess.run(
            words, env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, text=True, check=True
        )
        assert asked.stdout.strip() == "False"
    finally:
        lease.close()
