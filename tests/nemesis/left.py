"""What a run has left behind on this machine: asked of the kernel and of the run's own ledger.

Only what can be told to be this run's is looked at, since other runs may be alive beside it.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

from refute.nemesis.errors import NemesisError
from refute.nemesis.ledger import MARK, LedgerState, read_ledger
from refute.nemesis.undo import verb
from refute.system.process_table import command_name, processes_with_mark, state
from tests.nemesis.peers import eventually


def nothing_left(root: Path, run: str, within_s: float = 20.0) -> bool:
    """Whether a run with its files below `root` has left nothing; waits for processes on their way out."""
    if eventually(lambda: not left_behind(root, run), within_s):
        return True
    raise AssertionError("left behind: " + "; ".join(left_behind(root, run)))


def left_behind(root: Path, run: str) -> list[str]:
    """In words: processes, faults of the ledger, mounts, loop devices, namespaces, tables, links, qdiscs, cgroups."""
    return [
        *(f"process {p.pid} ({command_name(p.pid)}, {state(p.pid)})" for p in processes_with_mark(MARK, run)),
        *_undone(root / "ledger"),
        *(f"mount {line}" for line in _mounts() if str(root) in line or run in line),
        *(f"loop device {device}: {file}" for device, file in _loops() if str(root) in file),
        *(f"network namespace {path}" for path in _entries("/run/netns", "/var/run/netns") if run in path),
        *(f"cgroup {path}" for path in _cgroups() if run in path),
        *(f"nft: {line}" for line in _said("nft", "list", "tables") if run in line),
        *(f"iptables: {line}" for line in _said("iptables-save") if run in line),
        *(f"link {line}" for line in _said("ip", "-o", "link", "show") if run[:8] in line),
    ]


def _undone(ledger: Path) -> list[str]:
    # Each handle in the ledger is exact: its own verb says whether the thing is still there.
    try:
        known: LedgerState = read_ledger(ledger)
    except NemesisError:
        return []
    undos = [undo for entry in known.entries.values() for undo in entry.undos]
    every = [*undos, *known.resources.values()]
    found = [(undo["verb"], verb(undo["verb"]).left(undo["handle"])) for undo in every]
    return [f"{name}: {left}" for name, left in found if left]


def _mounts() -> list[str]:
    with suppress(OSError):
        return Path("/proc/self/mountinfo").read_text().splitlines()
    return []


def _loops() -> list[tuple[str, str]]:
    found = []
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        with suppress(OSError):
            found.append((backing.parts[3], backing.read_text().strip()))
    return found


def _entries(*folders: str) -> list[str]:
    return [str(path) for folder in folders if Path(folder).is_dir() for path in Path(folder).iterdir()]


def _cgroups() -> list[str]:
    # Other runs remove theirs meanwhile, which a walk passes over.
    every = (Path(place, name) for place, names, _ in os.walk("/sys/fs/cgroup") for name in names)
    return [str(path) for path in every if "refute" in path.name]


def _said(*command: str) -> list[str]:
    with suppress(OSError):
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    return []
