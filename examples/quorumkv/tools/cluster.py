"""Start, stop and look at three quorumkv nodes on this machine."""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

NODES = ("n1", "n2", "n3")
ROOT = Path(__file__).resolve().parent.parent


class Cluster:
    """Three nodes; pid files and extra arguments are kept in the directory."""

    def __init__(self, directory: Path, base_port: int, extra: list[str] | None = None) -> None:
        self.directory = directory
        self.client = {name: base_port + number for number, name in enumerate(NODES, start=1)}
        self.peer = {name: base_port + 100 + number for number, name in enumerate(NODES, start=1)}
        self._saved = directory / "arguments.json"
        if extra is None and self._saved.exists():
            extra = json.loads(self._saved.read_text())
        self.extra = extra or []

    def pid(self, node: str) -> int | None:
        """The pid of a running node; a node runs as long as it holds the lock of its data directory."""
        try:
            pid = int((self.directory / f"{node}.pid").read_text())
            with (self.directory / node / "lock").open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return pid
        except (FileNotFoundError, ValueError):
            return None
        return None

    def start(self, node: str) -> None:
        if self.pid(node) is not None:
            print(f"{node} runs already")
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        self._saved.write_text(json.dumps(self.extra))
        peers = ",".join(f"{name}=127.0.0.1:{port}" for name, port in self.peer.items() if name != node)
        command = [sys.executable, "-m", "quorumkv", "--node", node, "--peers", peers]
        command += ["--client-port", str(self.client[node]), "--peer-port", str(self.peer[node])]
        command += ["--data", str((self.directory / node).resolve()), *self.extra]
        with (self.directory / f"{node}.log").open("ab") as output:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        (self.directory / f"{node}.pid").write_text(str(process.pid))

    def signal(self, node: str, number: int) -> None:
        pid = self.pid(node)
        if pid is not None:
            os.kill(pid, number)

    def stop(self, node: str) -> None:
        self.signal(node, signal.SIGTERM)
        deadline = time.monotonic() + 3
        while self.pid(node) is not None and time.monotonic() < deadline:
            time.sleep(0.02)
        self.signal(node, signal.SIGKILL)
        (self.directory / f"{node}.pid").unlink(missing_ok=True)

    def status(self, node: str) -> dict[str, object] | None:
        try:
            url = f"http://127.0.0.1:{self.client[node]}/status"
            with urllib.request.urlopen(url, timeout=1) as answer:
                result: dict[str, object] = json.load(answer)
        except (OSError, urllib.error.URLError):
            return None
        return result

    def leader(self, timeout_s: float = 5) -> str:
        """The node that leads and serves. Raises TimeoutError if there is none in time."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            for node in NODES:
                status = self.status(node)
                if status is not None and status["ready"]:
                    return node
            time.sleep(0.05)
        raise TimeoutError(f"no leader in {timeout_s} s; see {self.directory}/*.log")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["start", "stop", "status", "kill", "restart"])
    parser.add_argument("node", nargs="?", choices=NODES)
    parser.add_argument("--dir", type=Path, default=Path("data"))
    parser.add_argument("--base-port", type=int, default=7000)
    own, separator, extra = partition(sys.argv[1:])
    given = parser.parse_args(own)
    cluster = Cluster(given.dir, given.base_port, extra if separator else None)
    nodes = [given.node] if given.node else list(NODES)
    if given.action == "kill" and given.node is None:
        parser.error("kill which node?")
    for node in nodes:
        if given.action == "kill":
            cluster.signal(node, signal.SIGKILL)
        if given.action in ("stop", "restart"):
            cluster.stop(node)
        if given.action in ("start", "restart"):
            cluster.start(node)
        if given.action == "status":
            print(node, json.dumps(cluster.status(node)))
    if given.action == "start":
        print(f"{cluster.leader()} leads")
    return 0


def partition(arguments: list[str]) -> tuple[list[str], bool, list[str]]:
    """What stands before `--`, whether there is one, and what stands after it."""
    if "--" not in arguments:
        return arguments, False, []
    at = arguments.index("--")
    return arguments[:at], True, arguments[at + 1 :]


if __name__ == "__main__":
    sys.exit(main())
