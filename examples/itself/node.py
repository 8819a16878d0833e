"""The two nodes that refute's own plan runs refute with: `node.py owner|witness …`.

`owner SHARED PLAN PORT` does `refute run PLAN` and stays. `witness SHARED PLAN PORT` tells over HTTP what
that run left behind, from `/proc` and from what refute answers in another process: not from what it believes.
`cut SHARED BYTES` shortens the newest history; `kill-guard SHARED` ends the guard with SIGKILL.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil

MARK = "REFUTE_EXAMPLE_OWNER"
CLEAN_WITHIN_S = 10.0
AS_PROMISED = "as promised"
"""What every fact answers while the promise is kept; otherwise what is there instead."""


def owner(shared: Path, plan: str, port: int) -> None:
    """Runs the plan in its own session, in which a kill of the node finds it; then waits to be ended.

    It listens meanwhile and refuses everything: that its socket goes is what a kill shows of this very node.
    """
    server = ThreadingHTTPServer(("127.0.0.1", port), BaseHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ[MARK] = str(shared)
    command = [sys.executable, "-m", "refute.faces.cli", "run", plan, "--session-root", str(sessions(shared))]
    subprocess.run(command, check=False)
    signal.pause()


def sessions(shared: Path) -> Path:
    """Where the runs keep their sessions."""
    return shared / "sessions"


def newest(paths: Iterator[Path]) -> Path | None:
    """The path that was changed last."""
    return max(paths, key=lambda path: path.stat().st_mtime_ns, default=None)


def marked(shared: Path) -> list[psutil.Process]:
    """Every process that the run started and that is still there, the run itself included."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == str(shared) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def left(shared: Path) -> str:
    """What is left of the run once it had its time: how many processes run and are stopped."""
    deadline = time.monotonic() + CLEAN_WITHIN_S
    while True:
        there = marked(shared)
        if not there or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    stopped = sum(is_stopped(process) for process in there)
    return f"{len(there)} processes, {stopped} of them stopped" if there else AS_PROMISED


def is_stopped(process: psutil.Process) -> bool:
    """Whether SIGSTOP has taken effect."""
    try:
        return bool(process.status() == psutil.STATUS_STOPPED)
    except psutil.Error:
        return False


def phases_begun(shared: Path) -> set[str]:
    """The phases that the first attempt of the newest run has begun: nine, and the tenth is its end."""
    path = newest(sessions(shared).glob("*/*/scenarios/*/run-1/run.jsonl"))
    lines = path.read_text().splitlines() if path else []
    return {json.loads(line)["name"] for line in lines if '"phase"' in line and line.endswith("}")}


def session(shared: Path) -> Path | None:
    """The newest session."""
    path = newest(sessions(shared).glob("*/*/session.json"))
    return path.parent if path else None


def verdict(shared: Path) -> str:
    """The verdict of the newest session once it is judged from disk, where it is a PASS it must not be.

    Once the nodes are being stopped, everything that a verdict needs has been recorded.
    """
    folder = session(shared)
    if folder is None:
        return AS_PROMISED
    refute("run", "--resume", folder, "--judge")
    index = json.loads((folder / "session.json").read_text())
    found = [entry["verdict"] for entry in index["scenarios"].values()]
    too_early = "stop" not in phases_begun(shared)
    return " ".join(found) if too_early and any(name.startswith("PASS") for name in found) else AS_PROMISED


def accepted(shared: Path) -> str:
    """Whether `refute verify` accepts the newest session, a PASS."""
    code = refute("verify", session(shared) or shared)
    return AS_PROMISED if code == 0 else f"exit code {code}"


def refused(shared: Path) -> str:
    """Whether `refute verify` says that the newest session is not what was recorded."""
    code = refute("verify", session(shared) or shared)
    return AS_PROMISED if code == 1 else f"exit code {code}"


def refute(*words: object) -> int:
    """One command of refute, to its end."""
    command = [sys.executable, "-m", "refute.faces.cli", *map(str, words)]
    return subprocess.run(command, capture_output=True, check=False).returncode


FACTS: dict[str, Callable[[Path], str]] = {
    "nothing-left": left,
    "no-pass": verdict,
    "accepted": accepted,
    "refused": refused,
}


def witness(shared: Path, port: int) -> None:
    """`GET /status` (phases begun; how many processes there are, and stopped) and `GET /fact/NAME`.

    A fact is answered with AS_PROMISED, or with what was found instead.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            there = marked(shared)
            document: dict[str, Any] = {
                "phases_begun": len(phases_begun(shared)),
                "processes": len(there),
                "stopped": sum(is_stopped(process) for process in there),
            }
            if self.path.startswith("/fact/"):
                document = {"value": FACTS[self.path.removeprefix("/fact/")](shared)}
            data = json.dumps(document).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
    finally:
        # Where the promise was broken, its pieces end with whoever found them.
        for process in marked(shared):
            with suppress(psutil.Error):
                process.kill()


def cut(shared: Path, size: int) -> None:
    """Takes the last bytes off the newest history of the run."""
    path = newest(sessions(shared).glob("*/*/scenarios/*/run-*/history.jsonl"))
    assert path, "there is no history yet"
    os.truncate(path, max(0, path.stat().st_size - size))


def kill_guard(shared: Path) -> None:
    """Ends the guard of the newest run at once, so that nobody is left to heal."""
    path = newest(sessions(shared).glob("*/*/scenarios/*/*/ledger/guard"))
    assert path, "there is no guard yet"
    os.kill(int(path.read_text().split()[0]), signal.SIGKILL)


if __name__ == "__main__":
    role, place, *words = sys.argv[1:]
    folder = Path(place).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{role} is up", flush=True)
    if role == "owner":
        owner(folder, words[0], int(words[1]))
    elif role == "witness":
        witness(folder, int(words[1]))
    elif role == "cut":
        cut(folder, int(words[0]))
    else:
        kill_guard(folder)
