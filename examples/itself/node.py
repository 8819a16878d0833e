"""The two nodes that refute's own plan runs refute with: `node.py owner|witness …`.

`owner SHARED PLAN` becomes `refute run PLAN`. `witness SHARED PLAN PORT` tells over HTTP what that run left
behind, from `/proc` and from what refute answers in another process: never from what the run itself believes.
`cut SHARED BYTES` shortens the newest history; `kill-guard SHARED` ends the guard with SIGKILL.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil

MARK = "REFUTE_EXAMPLE_OWNER"
CLEAN_WITHIN_S = 10.0


def owner(shared: Path, plan: str) -> None:
    """Becomes the run; everything that it starts inherits the mark."""
    os.environ[MARK] = str(shared)
    command = [sys.executable, "-m", "refute.faces.cli", "run", plan, "--session-root", str(sessions(shared))]
    os.execv(command[0], command)


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
    """What is left of the run once it had its time: `nothing`, or how many processes run and are stopped."""
    deadline = time.monotonic() + CLEAN_WITHIN_S
    while True:
        there = marked(shared)
        if not there or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    stopped = sum(is_stopped(process) for process in there)
    return f"{len(there)} processes, {stopped} of them stopped" if there else "nothing"


def is_stopped(process: psutil.Process) -> bool:
    """Whether SIGSTOP has taken effect."""
    try:
        return bool(process.status() == psutil.STATUS_STOPPED)
    except psutil.Error:
        return False


def phase(shared: Path) -> str:
    """The phase that the newest attempt of the run is in, by its last mark; `none` before the first."""
    path = newest(sessions(shared).glob("*/*/scenarios/*/*/run.jsonl"))
    marks = path.read_text().splitlines() if path else []
    names = [json.loads(line)["name"] for line in marks if '"phase"' in line and line.endswith("}")]
    return names[-1] if names else "none"


def session(shared: Path) -> Path | None:
    """The newest session."""
    path = newest(sessions(shared).glob("*/*/session.json"))
    return path.parent if path else None


def verdict(shared: Path) -> str:
    """What the newest session says once it is judged from disk: a PASS, or `no pass`."""
    folder = session(shared)
    if folder is None:
        return "no pass"
    refute("run", "--resume", folder, "--judge")
    index = json.loads((folder / "session.json").read_text())
    found = [entry["verdict"] for entry in index["scenarios"].values()]
    return " ".join(found) if any(name.startswith("PASS") for name in found) else "no pass"


def verified(shared: Path) -> str:
    """Whether `refute verify` accepts the newest session: exit codes 0 and 2 do, 1 does not."""
    code = refute("verify", session(shared) or shared)
    return {0: "accepted", 2: "accepted", 1: "refused"}.get(code, f"exit code {code}")


def refute(*words: object) -> int:
    """One command of refute, to its end."""
    command = [sys.executable, "-m", "refute.faces.cli", *map(str, words)]
    return subprocess.run(command, capture_output=True, check=False).returncode


FACTS: dict[str, Callable[[Path], str]] = {"left": left, "verdict": verdict, "verified": verified}


def witness(shared: Path, port: int) -> None:
    """`GET /status` (phase, how many processes run and are stopped) and `GET /fact/NAME`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            there = marked(shared)
            document: dict[str, Any] = {
                "phase": phase(shared),
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

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


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
    if role == "owner":
        owner(folder, words[0])
    elif role == "witness":
        witness(folder, int(words[1]))
    elif role == "cut":
        cut(folder, int(words[0]))
    else:
        kill_guard(folder)
