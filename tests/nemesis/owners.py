"""A program that injects faults, seen from outside: what there is of it while it lives and after it was ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from refute.nemesis.guard import guard_is_alive
from refute.nemesis.healing import guard_of, heal_everything
from refute.nemesis.ledger import read_ledger
from refute.nemesis.proxy.control import Control
from refute.system.process_table import ProcessId, is_alive, processes_with_mark
from tests.nemesis.peers import eventually

CHECKOUT = Path(__file__).parents[2]


class OwnerProcess:
    """A program of its own that says on its first line what it has started; `said` is that line."""

    def __init__(self, module: str, root: Path, options: dict[str, Any]) -> None:
        self.root = root
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, str(root), json.dumps(options)],
            cwd=CHECKOUT,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the owner did not start"
        self.said = json.loads(line)
        self.nodes = {name: ProcessId(*who) for name, who in self.said["nodes"].items()}
        self.run: str = self.said["run"]
        self.ledger = root / "ledger"


class Owner(OwnerProcess):
    """A program that starts a cluster, pauses a node, cuts a link, and then does nothing."""

    def __init__(self, root: Path, **options: Any) -> None:
        super().__init__("tests.nemesis.owner", root, options)
        self.host = ProcessId(*self.said["host"])
        self.control = Path(self.said["control"])

    def links_on(self) -> list[str]:
        with Control(self.control) as control:
            return list(control.ask("faults")["faults"])

    def healed_by(self) -> dict[str, str | None]:
        return {name: entry.healed_by for name, entry in read_ledger(self.ledger).entries.items()}

    def tree(self) -> list[int]:
        """Every process that the owner has started, and itself, as by parent; the guard is nobody's child."""
        import psutil

        me = psutil.Process(self.process.pid)
        return [me.pid, *(child.pid for child in me.children(recursive=True))]

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
        for process in [*self.nodes.values(), self.host, guard_of(self.ledger)]:
            if process and is_alive(process):
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
        assert eventually(lambda: not guard_is_alive(self.ledger))
        assert heal_everything(self.ledger).clean


def nothing_left(owner: Owner) -> bool:
    gone = not any(is_alive(node) for node in owner.nodes.values()) and not is_alive(owner.host)
    return gone and not processes_with_mark("REFUTE_RUN", owner.run) and not owner.control.parent.exists()
