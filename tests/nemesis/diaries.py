"""Diaries under storage faults: the description of such a system, how a test asks a node, what may be left."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from refute.history.fault import Landing
from refute.nemesis.nemesis import HANG_S, Nemesis
from refute.nemesis.storage.ext4_image import loops_of
from refute.plan.system_spec import SystemSpec
from refute.system.cluster import Cluster
from refute.system.observer import Observer
from tests.nemesis.conftest import Room
from tests.nemesis.peers import eventually

PROGRAM = Path(__file__).with_name("diary.py")


def diary_spec(nodes: int = 1, **changes: Any) -> SystemSpec:
    described: dict[str, Any] = {
        "system": "diaries",
        "nodes": nodes,
        "ports": ["client"],
        "command": ["{python}", str(PROGRAM), "--port", "{port.client}", "--data", "{data}"],
        "ready": {"http": "/"},
        "ready_timeout": "15s",
        "states": {"count": {"http": "/", "value": "count"}},
    }
    return SystemSpec.model_validate(described | changes)


SYNCING = [*diary_spec().command, "--sync"]


@contextmanager
def diaries(
    root: Path,
    *wanted: str,
    nodes: int = 1,
    run: str = "run",
    hang_s: float = HANG_S,
    file_system: str | None = None,
    calls_through: str | None = None,
    **changes: Any,
) -> Iterator[Room]:
    """A running system, prepared for these kinds of storage faults; afterwards nothing of it may be left."""
    spec = diary_spec(nodes, **changes)
    place = root / run
    cluster = Cluster(spec, root=place, plan_dir=root)
    events: list[Any] = []
    with (
        Observer(spec, cluster) as observer,
        Nemesis(
            spec,
            cluster,
            run_dir=place,
            observer=observer,
            rng=Random(1),
            on_event=events.append,
            wanted=frozenset(("storage", kind) for kind in wanted),
            file_system=file_system,
            calls_through=calls_through,
            hang_s=hang_s,
        ) as nemesis,
    ):
        nemesis.prepare()
        cluster.start()
        cluster.wait_ready()
        yield Room(cluster, observer, nemesis, events)
    assert left_in(place) == []
    assert not list((root / "state" / "ledgers").glob("*.json")), "a ledger was not closed"


def storage(kind: str, node: str = "n1", **parameters: Any) -> dict[str, Any]:
    return {"fault": {"plane": "storage", "kind": kind, "node": node, **parameters}}


def write(cluster: Cluster, node: str, text: str) -> bool:
    return "written" in ask(cluster, node, text.encode())


def lines(cluster: Cluster, node: str) -> list[str]:
    found: list[str] = ask(cluster, node, None)["lines"]
    return found


def ask(cluster: Cluster, node: str, body: bytes | None) -> dict[str, Any]:
    return answer(cluster.address(node, "client"), body)


def read_from_disk(cluster: Cluster, node: str) -> dict[str, Any]:
    """How many bytes the node reads from its file, or the error that it gets."""
    return answer(f"{cluster.address(node, 'client')}/disk", None)


def answer(address: str, body: bytes | None) -> dict[str, Any]:
    """What the diary at this address says to a line, or to the question what it holds."""
    request = urllib.request.Request(f"http://{address}/", data=body)
    try:
        with urllib.request.urlopen(request, timeout=10) as answered:
            return dict(json.loads(answered.read()))
    except urllib.error.HTTPError as error:
        return dict(json.loads(error.read()))


def left_in(place: Path) -> list[str]:
    """Mounts, loop devices, images and tracers that a run in this folder has left anywhere; waits until none are."""
    eventually(lambda: not used_by(place))
    return used_by(place)


def used_by(place: Path) -> list[str]:
    """Mounts, loop devices, images and tracers of a run in this folder, as they are now."""
    images = [path for path in (place / "storage").glob("*") if path.suffix in (".img", ".disk")]
    backed = [loop for path in place.rglob("*.img") for loop in loops_of(path)]
    found = [*backed, *loops_below(place), *map(str, images), *mounts_below(place)]
    return [*found, *processes_that_name(place)]


def loops_below(place: Path) -> list[str]:
    return _matching(Path("/sys/block").glob("loop*/loop/backing_file"), place)


def mounts_below(place: Path) -> list[str]:
    return _matching(Path("/proc").glob("[0-9]*/mountinfo"), place)


def processes_that_name(place: Path) -> list[str]:
    return _matching(Path("/proc").glob("[0-9]*/cmdline"), place / "")


def _matching(files: Iterator[Path], place: Path) -> list[str]:
    found = []
    for file in files:
        try:
            if f"{place}/".encode() in file.read_bytes():
                found.append(str(file))
        except OSError:
            continue
    return found


def moved(landing: Landing) -> dict[str, list[str]]:
    return {
        side: [signal.name for signal in landing.signals if signal.side == side and signal.moved]
        for side in ("injector", "victim")
    }
