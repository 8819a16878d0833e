"""The process that holds one live system and answers for it: `python -m refute.run.live_host FOLDER`.

It listens on a unix socket that only its user can reach, one request and one answer a connection, each one
line of JSON. It ends when it is asked to, when nobody has asked anything for a while, and on SIGTERM.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from refute.errors import RefuteError
from refute.plan.reader import parse_leniently
from refute.plan.system_spec import SystemSpec
from refute.run.live import LiveSystem
from refute.run.live_jobs import Jobs
from refute.run.live_record import (
    LiveError,
    LiveInputError,
    LiveRecord,
    LiveSpec,
    now,
    socket_path,
    write_record,
)
from refute.session.files import plain
from refute.system.process_table import boot_id, identify

_LONGEST_REQUEST = 1_000_000
_LAST_ANSWERS_S = 5.0


class Host:
    """Serves one live system until it is over."""

    def __init__(self, spec: LiveSpec) -> None:
        self.spec = spec
        folder = Path(spec.folder)
        system = read_system(folder / "plan.md", spec.system)
        self.system = LiveSystem(system, spec, say=_say)
        me = identify(os.getpid())
        assert me is not None
        self.record = LiveRecord(
            id=spec.id,
            system=spec.system,
            plan=spec.plan,
            folder=spec.folder,
            socket=str(socket_path(spec.id)),
            host=(me.pid, me.started),
            boot=boot_id(),
            began=now(),
        )
        self._asked = time.monotonic()
        self._over = threading.Event()
        self._closed = threading.Event()
        self._why = ""
        self._answering: set[threading.Thread] = set()
        self._jobs = Jobs()
        self._last: dict[str, Any] = {}
        self._lock = threading.Lock()

    def serve(self) -> int:
        """Until the system is over; 0, or the exit code of what went wrong at the end."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._end("its host was told to end"))
        door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        door.bind(self.record.socket)
        Path(self.record.socket).chmod(0o600)
        door.listen(16)
        door.settimeout(0.2)
        write_record(self.record)
        code = 0
        try:
            with self.system:
                starting = threading.Thread(target=self._start, name="live-start", daemon=True)
                starting.start()
                while not self._over.is_set():
                    self._accept(door)
                starting.join()  # bounded by the nodes' time to become ready
                self.system.stage.stop.set()
        except RefuteError as error:
            code, self._why = error.exit_code, f"{self._why}; {error}"
            _say(str(error))
        self._note(
            written="failed" if self.record.written == "starting" else "ended", ended=now(), why=self._why
        )
        with suppress(RefuteError):
            self._last["faults"] = self.system.faults()
        self._closed.set()
        for thread in list(self._answering):
            thread.join(_LAST_ANSWERS_S)
        door.close()
        Path(self.record.socket).unlink(missing_ok=True)
        if Path(self.record.socket).name == "live":
            Path(self.record.socket).parent.rmdir()
        return code

    def _start(self) -> None:
        try:
            self.system.start()
        except RefuteError as error:
            self._end(str(error))
        except Exception:  # noqa: BLE001 - a thread has nobody above it; the record has to say what happened
            _say(traceback.format_exc())
            self._end(f"refute itself is at fault: {traceback.format_exc(limit=-1).strip().splitlines()[-1]}")
        else:
            self._note(written="ready")

    def _end(self, why: str) -> None:
        self._why = self._why or why
        self._over.set()

    def _note(self, **changes: Any) -> None:
        with self._lock:
            self.record = self.record.model_copy(update=changes)
            write_record(self.record)

    def _accept(self, door: socket.socket) -> None:
        try:
            connection, _ = door.accept()
        except TimeoutError:
            if not self._jobs.busy and time.monotonic() - self._asked > self.spec.idle_s:
                self._end(f"nobody asked anything for {self.spec.idle_s:g} s")
            return
        self._asked = time.monotonic()
        thread = threading.Thread(target=self._serve_one, args=(connection,), name="live-answer", daemon=True)
        self._answering.add(thread)
        thread.start()

    def _serve_one(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(_LAST_ANSWERS_S)
            line = b""
            while not line.endswith(b"\n") and len(line) <= _LONGEST_REQUEST:
                if not (more := connection.recv(65536)):
                    break
                line += more
            answer = self._answer(line)
            connection.settimeout(_LAST_ANSWERS_S)
            connection.sendall(json.dumps(plain(answer), ensure_ascii=False).encode() + b"\n")
        self._answering.discard(threading.current_thread())

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            try:
                request = json.loads(line)
                do, within_s = str(request.pop("do")), float(request.pop("within_s"))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise LiveInputError(f"not a request: {error}") from None
            return {"ok": True, "answer": self._within(do, request, within_s)}
        except RefuteError as error:
            said = {"what": error.what, "where": error.where, "hint": error.hint}
            return {"ok": False, "error": {**said, "exit_code": error.exit_code}}
        except Exception as error:  # noqa: BLE001 - whoever asked must get an answer, also to our mistakes
            _say(traceback.format_exc())
            what = f"refute itself is at fault: {type(error).__name__}: {error}"
            return {"ok": False, "error": {"what": what, "where": None, "hint": None, "exit_code": 70}}

    def _within(self, do: str, request: dict[str, Any], within_s: float) -> dict[str, Any]:
        if do == "stop":
            self._end("it was stopped")
            if not self._closed.wait(within_s):
                return {**self._about(), "pending": "stop"}
            return {**self._about(), **self._last}
        if do == "about":
            return {**self._about(), "jobs": self._jobs.told()}
        if do == "ready":
            limit = time.monotonic() + within_s
            while (
                self.record.written == "starting" and not self._closed.is_set() and time.monotonic() < limit
            ):
                time.sleep(0.02)
            if self.record.written != "ready":
                return self._about()
            do = "status"
        if self.record.written != "ready" or self._over.is_set():
            raise LiveError(
                f"it is {self.record.written} and cannot do that", where=self.spec.id, hint="ask its status"
            )
        verb = self._verb(do)
        job = self._jobs.begin(do, request, lambda: verb(**request))
        if not job.done_within(within_s):
            return {**self._about(), "jobs": self._jobs.told(), "pending": job.name}
        self._jobs.forget(job)
        answer = job.future.result()
        jobs = {"jobs": self._jobs.told()} if do == "status" else {}
        return {**self._about(), **jobs, **answer}

    def _verb(self, do: str) -> Callable[..., dict[str, Any]]:
        live = self.system
        verbs: dict[str, Callable[..., dict[str, Any]]] = {
            "status": live.status,
            "operation": live.operate,
            "await": live.wait,
            "run": live.run,
            "restart": live.restart,
            "logs": live.logs,
            "inject": live.inject,
            "heal": live.heal,
        }
        if do not in verbs:
            raise LiveInputError(f"there is nothing that is called {do!r}; there are {', '.join(verbs)}")
        return verbs[do]

    def _about(self) -> dict[str, Any]:
        with self._lock:
            return {"about": self.record.model_dump(mode="json")}


def read_system(plan_path: Path, name: str) -> SystemSpec:
    """The description of that system in a plan, whose other parts may still be unfinished."""
    plan, defects = parse_leniently(plan_path.read_text(encoding="utf-8"), plan_path)
    if name not in plan.systems:
        known = ", ".join(plan.systems) or "none"
        said = "; ".join(defect.at(plan_path) for defect in defects[:3])
        raise LiveInputError(
            f"the plan describes no system {name!r} that can be read; it describes: {known}",
            where=plan_path,
            hint=said or "section 6b holds it as a yaml block",
        )
    return plan.systems[name]


def _say(text: str) -> None:
    with suppress(OSError):  # its log may be on a full disk
        sys.stderr.write(f"{now()} {text}\n")
        sys.stderr.flush()


def main(arguments: list[str]) -> int:
    """Leave the caller's process tree, then serve."""
    folder = Path(arguments[0]).resolve()
    if os.fork():
        os._exit(0)  # the host is nobody's child: whoever asked for it may end at any time
    os.setsid()
    os.chdir("/")
    os.umask(0o077)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        return Host(LiveSpec.model_validate_json((folder / "live.json").read_bytes())).serve()
    except RefuteError as error:
        _say(str(error))
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
