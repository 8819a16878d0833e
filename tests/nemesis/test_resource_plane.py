"""Nodes get less of the machine; the kernel's counters and the nodes themselves show it; the limit is gone afterwards."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from refute.history.fault import Landing
from refute.nemesis.errors import FaultInputError, FaultUnavailableError, NemesisError
from refute.nemesis.ledger import MARK
from refute.nemesis.marked import NAME
from refute.nemesis.mechanisms import PLANES, probe
from refute.nemesis.resource import descriptors
from refute.nemesis.resource.cgroups import Group, hierarchy
from refute.nemesis.resource.limits import LIMITS, Freezer
from refute.system.cpu_time import cpu_ns
from refute.system.process_table import identify, is_alive, processes_with_mark, state
from tests.nemesis.conftest import Room
from tests.nemesis.owners import Owner, nothing_left
from tests.nemesis.peers import eventually
from tests.nemesis.test_process_plane import moved

# A server that answers on its port and, for each byte that it is sent, does what the byte says.
SERVER = """
import os, socket, sys, threading
port, data = int(sys.argv[1]), sys.argv[2]
hoard = []
def busy():
    while True: pass
def writing():
    file = os.open(data + "/file", os.O_RDWR | os.O_CREAT)
    while True: os.pwrite(file, os.urandom(1 << 20), 0); os.fsync(file)
def serve(it):
    while what := it.recv(1):
        if what == b"b": threading.Thread(target=busy, daemon=True).start()
        if what == b"w": threading.Thread(target=writing, daemon=True).start()
        if what == b"m": hoard.append(bytearray(b"1") * (64 << 20))
        it.sendall(what)
server = socket.create_server(("127.0.0.1", port), backlog=100)
while True:
    try: threading.Thread(target=serve, args=[server.accept()[0]], daemon=True).start()
    except OSError: pass
"""


@pytest.fixture
def open_servers(open_room: Callable[..., Room]) -> Callable[..., Room]:
    def make(*kinds: str, nodes: int = 2, **changes: Any) -> Room:
        described = {
            "command": ["{python}", "-c", SERVER, "{port.client}", "{data}"],
            "ports": ["client"],
            "links": None,
            "ready": {"tcp": "client"},
            **changes,
        }
        wanted = frozenset(("resource", kind) for kind in kinds)
        return open_room(nodes, nemesis={"wanted": wanted}, **described)

    return make


def tell(room: Room, node: str, what: bytes, timeout_s: float = 30.0) -> bytes:
    with socket.create_connection(address(room, node), timeout_s) as told:
        told.sendall(what)
        return told.recv(1)


def address(room: Room, node: str) -> tuple[str, int]:
    host, _, port = room.cluster.address(node, "client").rpartition(":")
    return host, int(port)


def limit(kind: str, **parameters: Any) -> dict[str, Any]:
    return {"fault": {"plane": "resource", "kind": kind, **parameters}}


def landing_of(room: Room, fault: str) -> Landing:
    assert room.nemesis.heal(fault).failed == {}
    return room.nemesis.landing(fault)


def groups(room: Room) -> list[Path]:
    return list(Path("/sys/fs/cgroup").glob(f"**/refute-{room.nemesis.environment[MARK]}-*"))


@pytest.mark.systems
@pytest.mark.fault("resource", "cpu", shows="landing")
def test_a_node_gets_a_small_share_of_a_core(open_servers: Callable[..., Room]) -> None:
    room = open_servers("cpu")
    tell(room, "n1", b"b")
    fault = room.apply(limit("cpu", share=0.05), "n1")
    assert room.events[-1].detail["limits"] == {"n1": "0.05 of a core"}
    before, began = cpu_ns([room.cluster.node("n1").pid]), time.monotonic_ns()
    time.sleep(1.0)
    after = cpu_ns([room.cluster.node("n1").pid])
    assert before is not None and after is not None
    assert (after - before) / (time.monotonic_ns() - began) < 0.15
    landing = landing_of(room, fault)
    assert landing.landed, landing.missing
    assert moved(landing) == {
        "injector": ["n1: periods in which it was throttled"],
        "victim": ["n1: time for which it was kept from running"],
    }
    assert {path.name.rpartition("-")[2] for path in groups(room)} == {"1", "2"}
    assert all(
        "-1" in quota for path in groups(room) for quota in [read(path, "cpu.cfs_quota_us", "cpu.max")]
    )
    room.nemesis.close()
    assert groups(room) == []


def read(group: Path, *names: str) -> str:
    text = next((group / name).read_text() for name in names if (group / name).exists())
    return text.replace("max", "-1")


@pytest.mark.systems
@pytest.mark.fault("resource", "cpu", shows="not landing")
def test_a_share_above_what_a_node_uses_has_not_landed(open_servers: Callable[..., Room]) -> None:
    room = open_servers("cpu")
    tell(room, "n2", b"b")  # the wrong node is busy
    fault = room.apply(limit("cpu", share=0.9), "n1")
    time.sleep(0.3)
    landing = landing_of(room, fault)
    assert not landing.landed
    assert moved(landing) == {"injector": [], "victim": []}


@pytest.mark.systems
@pytest.mark.fault("resource", "cpu", shows="not landing")
def test_limiting_a_wrapper_whose_server_has_left_its_group_has_not_landed(
    open_servers: Callable[..., Room],
) -> None:
    # The server is moved out as a service manager would; the shell around it is throttled, and nobody else.
    script = '"$@" & while true; do :; done'
    server = ["{python}", "-c", SERVER, "{port.client}", "{data}"]
    room = open_servers("cpu", nodes=1, command=["bash", "-c", script, "supervisor", *server])
    place = hierarchy(LIMITS["cpu"].controllers)
    (serving,) = {process.pid for process in room.cluster.node("n1").members()} - {
        room.cluster.node("n1").pid
    }
    Group(place.version, place.own).add(serving)
    fault = room.apply(limit("cpu", share=0.05), "n1")
    time.sleep(0.5)
    landing = landing_of(room, fault)
    assert not landing.landed
    assert moved(landing) == {"injector": ["n1: periods in which it was throttled"], "victim": []}


@pytest.mark.systems
@pytest.mark.fault("resource", "memory", shows="landing")
def test_a_node_that_needs_more_memory_than_it_has_is_killed_and_started_again(
    open_servers: Callable[..., Room],
) -> None:
    room = open_servers("memory")
    fault = room.apply(limit("memory", spare="16MiB"), "n1")
    with suppress(OSError):
        tell(room, "n1", b"m")
    assert eventually(lambda: room.cluster.node("n1").exit is not None)
    assert str(room.cluster.node("n1").exit) == "SIGKILL"
    assert tell(room, "n2", b"m") == b"m"
    landing = landing_of(room, fault)
    assert landing.landed, landing.missing
    assert tell(room, "n1", b"m") == b"m"


@pytest.mark.systems
@pytest.mark.fault("resource", "memory", shows="not landing")
def test_a_limit_above_what_a_node_needs_has_not_landed(open_servers: Callable[..., Room]) -> None:
    room = open_servers("memory")
    fault = room.apply(limit("memory", limit="4GiB"), "n1")
    assert tell(room, "n1", b"m") == b"m"
    landing = landing_of(room, fault)
    assert not landing.landed
    assert moved(landing) == {"injector": [], "victim": []}


@pytest.mark.systems
def test_memory_in_use_cannot_be_taken_away_and_the_attempt_leaves_no_limit(
    open_servers: Callable[..., Room],
) -> None:
    room = open_servers("memory", nodes=1)
    if hierarchy(LIMITS["memory"].controllers).version == 2:
        return  # version 2 kills at once instead
    tell(room, "n1", b"m")
    with pytest.raises(NemesisError, match=r"cannot be limited to 1000000 bytes while \d+ are in use"):
        room.apply(limit("memory", limit="1MB"), "n1")
    assert room.nemesis.active() == ()
    assert tell(room, "n1", b"m") == b"m"


@pytest.mark.systems
@pytest.mark.fault("resource", "io", shows="landing")
def test_a_node_that_writes_much_is_held_to_a_rate(open_servers: Callable[..., Room]) -> None:
    room = open_servers("io", nodes=1)
    tell(room, "n1", b"w")
    assert eventually(lambda: rate_of_io(room) > 3_000_000, 20)
    time.sleep(1.0)
    fault = room.apply(limit("io", rate="500kB/s"), "n1")
    time.sleep(5.0)
    landing = landing_of(room, fault)
    assert landing.landed, landing
    assert eventually(lambda: rate_of_io(room) > 3_000_000, 20)


@pytest.mark.systems
@pytest.mark.fault("resource", "io", shows="not landing")
def test_a_rate_above_what_a_node_writes_has_not_landed(open_servers: Callable[..., Room]) -> None:
    room = open_servers("io", nodes=1)
    time.sleep(0.5)
    fault = room.apply(limit("io", rate="500MB/s"), "n1")
    time.sleep(0.5)
    assert not landing_of(room, fault).landed


def rate_of_io(room: Room) -> float:
    plane = room.nemesis._planes["resource"]
    first = plane.measure()["n1.io.moved"]
    time.sleep(0.5)
    second = plane.measure()["n1.io.moved"]
    assert isinstance(first, int) and isinstance(second, int)
    return (second - first) * 2


@pytest.mark.systems
@pytest.mark.fault("resource", "freezer", shows="landing")
def test_a_frozen_node_and_its_children_stand_still(open_servers: Callable[..., Room]) -> None:
    script = 'sh -c "while true; do sleep 0.01; done" & exec "$@"'
    server = ["{python}", "-c", SERVER, "{port.client}", "{data}"]
    room = open_servers("freezer", command=["bash", "-c", script, "supervisor", *server])
    tell(room, "n1", b"b")
    time.sleep(0.6)
    fault = room.apply(limit("freezer"), "n1")
    pids = [process.pid for process in room.cluster.node("n1").members()]
    assert len(pids) >= 2
    used = cpu_ns(pids)
    time.sleep(0.3)
    assert cpu_ns(pids) == used
    assert all(state(pid) != "T" for pid in pids)  # the difference to a pause
    landing = landing_of(room, fault)
    assert landing.landed, landing.missing
    assert moved(landing) == {"injector": ["n1: its control group"], "victim": ["n1: CPU time per second"]}
    assert tell(room, "n1", b"b") == b"b"


@pytest.mark.systems
@pytest.mark.fault("resource", "freezer", shows="not landing")
def test_freezing_a_wrapper_whose_server_has_left_its_group_has_not_landed(
    open_servers: Callable[..., Room],
) -> None:
    server = ["{python}", "-c", SERVER, "{port.client}", "{data}"]
    room = open_servers("freezer", nodes=1, command=["bash", "-c", '"$@" & wait', "supervisor", *server])
    place = hierarchy(LIMITS["freezer"].controllers)
    (serving,) = {process.pid for process in room.cluster.node("n1").members()} - {
        room.cluster.node("n1").pid
    }
    Group(place.version, place.own).add(serving)
    tell(room, "n1", b"b")
    time.sleep(0.6)
    fault = room.apply(limit("freezer"), "n1")
    time.sleep(0.3)
    landing = landing_of(room, fault)
    assert not landing.landed
    assert moved(landing) == {"injector": ["n1: its control group"], "victim": []}


@pytest.mark.systems
def test_the_freezer_of_version_1_freezes_too() -> None:
    root = Path("/sys/fs/cgroup/freezer")
    if not root.is_dir():
        return  # this machine has version 2 only, which the tests above have used
    group = Group(1, root / f"refute-test-{os.getpid()}")
    group.create()
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        group.add(process.pid)
        Freezer().put(group, "on")
        used = cpu_ns([process.pid])
        time.sleep(0.1)
        assert cpu_ns([process.pid]) == used
        assert Freezer().said(group) == "frozen"
        Freezer().lift(group)
        assert Freezer().said(group) == "none"
        assert eventually(lambda: (cpu_ns([process.pid]) or 0) > (used or 0))
    finally:
        Freezer().lift(group)
        process.kill()
        process.wait()
        group.dissolve(root)
    assert not group.path.exists()


@contextmanager
def connections(room: Room, node: str, count: int) -> Iterator[list[socket.socket]]:
    held = []
    for _ in range(count):
        opened = socket.create_connection(address(room, node), 5)
        held.append(opened)
    try:
        yield held
    finally:
        for each in held:
            each.close()


def answered(connection: socket.socket) -> bool:
    connection.settimeout(0.5)
    try:
        connection.sendall(b"x")
        return connection.recv(1) == b"x"
    except OSError:
        return False


@pytest.mark.fault("resource", "descriptors", shows="landing")
def test_a_node_that_may_open_no_more_accepts_no_more(open_servers: Callable[..., Room]) -> None:
    room = open_servers()
    pid = room.cluster.node("n1").pid
    before = descriptors.limit_of(pid)
    fault = room.apply(limit("descriptors", spare=2), "n1")
    lowered = descriptors.limit_of(pid)
    assert before is not None and lowered is not None
    assert lowered[0] < before[0] and lowered[1] == before[1]
    with connections(room, "n1", 6) as held:
        answers = [answered(each) for each in held]
        # A descriptor that was open when the limit was set, say of the check that the node is ready, may close after it.
        assert answers[:2] == [True, True] and answers[4:] == [False, False], answers
        time.sleep(0.3)
        landing = landing_of(room, fault)
        assert landing.landed, landing.missing
        assert descriptors.limit_of(pid) == before
        assert eventually(lambda: answered(held[-1]))


@pytest.mark.fault("resource", "descriptors", shows="not landing")
def test_a_node_that_never_ran_into_its_limit_was_not_hit(open_servers: Callable[..., Room]) -> None:
    room = open_servers()
    fault = room.apply(limit("descriptors", spare=20), "n1")
    with connections(room, "n1", 5):
        time.sleep(0.3)
    landing = landing_of(room, fault)
    assert not landing.landed
    assert moved(landing) == {"injector": ["n1: descriptors that it may have open"], "victim": []}


def test_children_that_inherited_a_limit_get_theirs_back() -> None:
    script = "import subprocess, sys; sys.stdin.readline(); subprocess.run(['sleep', '100'])"
    process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, text=True)
    try:
        me = identify(process.pid)
        assert me is not None and process.stdin is not None
        before = descriptors.limit_of(process.pid)
        handle = descriptors.handle_of([me], 20)
        descriptors.set_soft_limit(process.pid, handle["limits"][0][3])
        process.stdin.write("go\n")
        process.stdin.flush()
        assert eventually(lambda: bool(descriptors._children(process.pid)))
        (child,) = descriptors._children(process.pid)
        assert descriptors.limit_of(child) != before
        assert "still limited" in (descriptors.still_lowered(handle) or "")
        descriptors.restore(handle)
        assert descriptors.limit_of(child) == descriptors.limit_of(process.pid) == before
        assert descriptors.still_lowered(handle) is None
        os.kill(child, 9)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.fault("resource", "noisy-neighbour", shows="landing")
def test_neighbours_use_the_cpu_until_they_are_ended(open_servers: Callable[..., Room]) -> None:
    room = open_servers()
    tell(room, "n1", b"b")
    time.sleep(1.0)
    workers = 4 * (os.cpu_count() or 1)
    fault = room.apply(limit("noisy-neighbour", workers=workers))
    pids = room.events[-1].detail["pids"]
    assert len(pids) == workers
    time.sleep(2.0)
    landing = landing_of(room, fault)
    assert landing.landed, landing
    assert moved(landing)["injector"] == ["neighbours: CPU time that they used, ns"]
    assert not any(state(pid) for pid in pids)


def test_neighbours_that_write_leave_no_file(open_servers: Callable[..., Room]) -> None:
    room = open_servers()
    fault = room.apply(limit("noisy-neighbour", load="disk", workers=1), "n1")
    (file,) = [room.cluster.root / f"noise-{fault}-0"]
    assert eventually(lambda: file.exists() and file.stat().st_size > 0)
    time.sleep(0.5)
    landing = landing_of(room, fault)
    assert moved(landing)["injector"] == ["neighbours: bytes that they moved"]
    assert not file.exists()


@pytest.mark.fault("resource", "noisy-neighbour", shows="not landing")
def test_neighbours_that_were_ended_at_once_have_not_landed(open_servers: Callable[..., Room]) -> None:
    room = open_servers()
    time.sleep(0.5)
    fault = room.apply(limit("noisy-neighbour", workers=1))
    plane = room.nemesis._planes["resource"]
    for process in plane._means["noisy-neighbour"]._running[fault]:  # type: ignore[attr-defined]
        process.kill()
        process.wait()
    time.sleep(0.3)
    landing = landing_of(room, fault)
    assert not landing.landed
    assert moved(landing)["injector"] == []


def test_another_runs_neighbours_are_left_alone(open_servers: Callable[..., Room]) -> None:
    first, second = open_servers(nodes=1), open_servers(nodes=1)
    mine = first.apply(limit("noisy-neighbour", workers=1))
    other = second.apply(limit("noisy-neighbour", workers=1))
    assert mine == other  # by name they are the same
    first.nemesis.heal("all")
    assert len(processes_with_mark(NAME, f"{second.nemesis.environment[MARK]}/{other}")) == 1
    assert second.nemesis.heal("all").healed == (other,)


@pytest.mark.systems
@pytest.mark.fault("resource", "cpu", shows="nothing left")
@pytest.mark.fault("resource", "freezer", shows="nothing left")
@pytest.mark.fault("resource", "noisy-neighbour", shows="nothing left")
@pytest.mark.fault("resource", "memory", shows="nothing left")
@pytest.mark.fault("resource", "io", shows="nothing left")
def test_the_guard_lifts_limits_when_the_owner_is_killed(own: Callable[..., Owner]) -> None:
    owner = own(
        also=[
            ["resource", "cpu", {"share": 0.5}, ["n2"]],
            ["resource", "freezer", {}, ["n3"]],
            ["resource", "descriptors", {"spare": 3}, ["n2"]],
            ["resource", "noisy-neighbour", {"workers": 1}, []],
            ["resource", "memory", {"spare": "64MiB"}, ["n2"]],
            ["resource", "io", {"rate": "10MB/s"}, ["n2"]],
        ]
    )
    mine = list(Path("/sys/fs/cgroup").glob(f"**/refute-{owner.run}-*"))
    assert len({path.name for path in mine}) == 3
    owner.process.kill()
    assert eventually(lambda: set(owner.healed_by().values()) == {"guard"}, 10)
    assert eventually(lambda: nothing_left(owner), 10)
    assert not any(path.exists() for path in mine)
    assert not any(is_alive(node) for node in owner.nodes.values())


@pytest.mark.parametrize(
    ("written", "nodes", "error", "says"),
    [
        (limit("cpu"), ("n1",), NemesisError, "not started in control groups"),
        (limit("descriptors"), (), FaultInputError, "descriptors: name a node"),
        (limit("descriptors"), ("client",), FaultInputError, "client is no node"),
        (limit("noisy-neighbour", load="memory"), (), Exception, "none of cpu, disk"),
    ],
)
def test_what_is_no_fault_of_a_resource_is_refused(
    open_servers: Callable[..., Room],
    written: dict[str, Any],
    nodes: tuple[str, ...],
    error: type[Exception],
    says: str,
) -> None:
    room = open_servers("descriptors")
    with pytest.raises(error, match=says):
        room.apply(written, *nodes)
    assert room.phases == []


@pytest.mark.systems
@pytest.mark.parametrize(
    ("written", "says"),
    [
        (limit("cpu", share=0.001), "from 0.01 to 1"),
        (limit("memory", limit="1GiB", spare="1MB"), "write limit or spare, not both"),
        (limit("io", rate="0B/s"), "at least 1B/s"),
    ],
)
def test_a_limit_that_cannot_be_is_refused(
    open_servers: Callable[..., Room], written: dict[str, Any], says: str
) -> None:
    room = open_servers("cpu", "memory", "io", nodes=1)
    with pytest.raises(FaultInputError, match=says):
        room.apply(written, "n1")
    fault = room.apply(limit("cpu"), "n1")
    with pytest.raises(NemesisError, match=r"its cpu is limited already \(0.1 of a core\)"):
        room.apply(limit("cpu"), "n1")
    assert room.nemesis.heal(fault).healed == (fault,)


def test_where_no_group_can_be_made_the_reason_is_told_before_the_start(
    open_servers: Callable[..., Room], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(_: Group) -> None:
        raise NemesisError("no control group can be made: Permission denied")

    monkeypatch.setattr(Group, "create", refuses)
    with pytest.raises(FaultUnavailableError, match="cpu: no control group can be made: Permission denied"):
        open_servers("cpu")
    assert "Permission denied" in probe("resource", "cpu").reason
    room = open_servers(*PLANES["resource"].kinds, nodes=1)  # who asks for all takes what there is
    with pytest.raises(NemesisError, match="cpu: no control group can be made"):
        room.apply(limit("cpu"), "n1")
    fault = room.apply(limit("descriptors"), "n1")
    assert room.nemesis.heal(fault).healed == (fault,)


@pytest.mark.systems
@pytest.mark.parametrize("kind", sorted(PLANES["resource"].kinds))
def test_every_kind_works_here_and_its_probe_leaves_nothing(kind: str) -> None:
    found = probe("resource", kind)
    assert found.works, found.reason
    assert not list(Path("/sys/fs/cgroup").glob(f"**/refute-probe-{os.getpid()}-*"))


def test_where_nobody_asked_for_a_limit_nobody_is_put_into_a_group(room: Room) -> None:
    assert groups(room) == []
    with pytest.raises(NemesisError, match=r"not started in control groups .*planes: \[resource/freezer\]"):
        room.apply(limit("freezer"), "n1")


@pytest.mark.systems
@pytest.mark.parametrize("kind", sorted(LIMITS))
def test_whoever_is_left_in_a_group_goes_back_to_where_we_are(kind: str) -> None:
    place = hierarchy(LIMITS[kind].controllers)
    assert (place.own / "cgroup.procs").is_file()
    group = Group(place.version, place.root / f"refute-back-{os.getpid()}-{kind}")
    group.create()
    process = subprocess.Popen(["sleep", "100"])
    try:
        group.add(process.pid)
        assert process.pid in group.members()
        group.dissolve(place.own)
        assert not group.path.exists()
        assert process.pid in Group(place.version, place.own).members()
        group.dissolve(place.own)  # once more does no harm
    finally:
        process.kill()
        process.wait()
