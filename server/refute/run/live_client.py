"""How a caller reaches live systems: starts the host of one, asks it, and tells that it is gone."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from refute.errors import InputError, RefuteError
from refute.interpreter import python
from refute.nemesis.mechanisms import wanted_kinds
from refute.plan.fault_catalog import shared_choice
from refute.plan.fault_entry import ANY
from refute.plan.reader import parse_leniently, read_source
from refute.run.live_host import read_system
from refute.run.live_record import (
    LiveError,
    LiveInputError,
    LiveRecord,
    LiveSpec,
    live_directory,
    new_id,
    records,
)
from refute.session.files import fresh_folder, write_text

WITHIN_S = 36.0
"""How long a host works on a request before it answers that it goes on in the background."""

_BEYOND_S = 6.0
_HOST_UP_S = 15.0


def start_live(
    plan: Path,
    system: str | None,
    *,
    variables: Mapping[str, str] | None = None,
    planes: Sequence[str] = (),
    file_system: str = ANY,
    through: str = ANY,
    session_root: Path = Path("test-sessions"),
    idle_s: float = 1800.0,
    seed: int | None = None,
) -> LiveRecord:
    """Start a host for a system of a plan; it listens when this returns, its nodes may still be starting.

    `planes` are those that change how nodes are started, whole or one fault of them: `netns`,
    `storage/power-loss`. `file_system` and `through` are parameters that those of storage share, as in a
    plan. Raises LiveInputError for a system or variable that the plan does not have, PlanError for a fault or
    choice that there is not, LiveError where the host does not come up.
    """
    text = read_source(plan)
    name = system or _only_system(plan, text)
    spec = read_system(plan, name)
    for variable in variables or {}:
        if variable not in spec.variables:
            known = ", ".join(spec.variables) or "none"
            raise LiveInputError(f"the system {name!r} has no variable {variable!r}; it has: {known}")
    wanted = wanted_kinds(planes)  # an unknown one is refused before anything is made
    file_system_of_all = shared_choice(wanted, "file_system", file_system)
    calls_through = shared_choice(wanted, "through", through)
    folder = _fresh_folder(session_root)
    live_directory()
    identity = new_id(name)
    write_text(folder / "plan.md", text)
    written = LiveSpec(
        id=identity,
        system=name,
        plan=str(plan.resolve()),
        plan_dir=str(plan.resolve().parent),
        folder=str(folder),
        variables=dict(variables or {}),
        planes=tuple(planes),
        file_system=file_system_of_all,
        calls_through=calls_through,
        seed=random.SystemRandom().randrange(2**31) if seed is None else seed,
        idle_s=idle_s,
    )
    write_text(folder / "live.json", written.model_dump_json(indent=2) + "\n")
    return _started_host(folder, identity)


def ask(record: LiveRecord, do: str, *, within_s: float = WITHIN_S, **request: Any) -> dict[str, Any]:
    """What the host of a live system answers. Raises what it raised, LiveError where it is gone."""
    if not record.alive:
        raise _gone(record)
    line = json.dumps({"do": do, "within_s": within_s, **request}).encode() + b"\n"
    received = b""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(within_s + _BEYOND_S)
            connection.connect(record.socket)
            connection.sendall(line)
            while more := connection.recv(1 << 16):
                received += more
        answer = json.loads(received)
    except TimeoutError:
        raise LiveError(
            f"its host (pid {record.host[0]}) has not answered for {within_s + _BEYOND_S:g} s",
            where=record.id,
            hint="heal_faults undoes its faults without it",
        ) from None
    except (OSError, ValueError):
        raise _gone(record) from None
    if answer["ok"]:
        found: dict[str, Any] = answer["answer"]
        return found
    raise _raised(answer["error"])


def _gone(record: LiveRecord) -> LiveError:
    if record.state == "crashed" or record.alive:
        return LiveError(
            f"its host (pid {record.host[0]}) has ended without a word; its guard undoes what it left",
            where=record.id,
            hint=f"heal_faults shows and verifies it; the records are in {record.folder}",
        )
    return LiveError(f"it is over: {record.why}", where=record.id, hint=f"the records are in {record.folder}")


def _raised(error: Mapping[str, Any]) -> RefuteError:
    kinds: dict[int, type[RefuteError]] = {64: LiveInputError, 69: LiveError}
    kind = kinds.get(error["exit_code"], RefuteError)
    return kind(error["what"], where=error["where"], hint=error["hint"])


def _started_host(folder: Path, identity: str) -> LiveRecord:
    """The record of a host for what `folder` describes, once it listens. Raises LiveError."""
    with (folder / "host.log").open("ab") as log:
        starter = subprocess.Popen(
            python("-m", "refute.run.live_host", str(folder)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    failed = starter.wait() != 0
    limit = time.monotonic() + _HOST_UP_S
    while not failed and time.monotonic() < limit:
        for record in records():
            if record.id == identity:
                return record
        time.sleep(0.02)
    said = (folder / "host.log").read_text(errors="replace").strip().splitlines()[-3:]
    raise LiveError(f"the host does not come up: {' '.join(said)}", where=folder / "host.log")


def _only_system(path: Path, text: str) -> str:
    plan, _ = parse_leniently(text, path)
    if len(plan.systems) == 1:
        return next(iter(plan.systems))
    known = ", ".join(plan.systems) or "none that can be read"
    raise LiveInputError(f"say which system of the plan is meant; it describes: {known}", where=path)


def _fresh_folder(root: Path) -> Path:
    parent = root.resolve() / "live"
    try:
        return fresh_folder(parent)
    except OSError as error:
        raise InputError(
            f"cannot make a folder: {error.strerror}", where=parent, hint="name another session_root"
        ) from None
