"""The wall clock of one node is made to lie; both sides prove it; the truth comes back."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.mechanisms import probe
from refute.nemesis.preload import build
from refute.nemesis.preload.page import SECOND_NS, TRUE_TIME, ClockSetting, ShimPage
from refute.nemesis.preload.program import refusal
from tests.nemesis.conftest import Room
from tests.nemesis.owners import Owner, nothing_left
from tests.nemesis.peers import PROGRAM, ask, eventually
from tests.nemesis.test_process_plane import moved

pytestmark = pytest.mark.systems  # a C compiler builds the shim

CLOCKS = {"wanted": frozenset({("clock", "jump")})}


@pytest.fixture
def clocks(open_room: Callable[..., Room]) -> Room:
    return open_room(nemesis=CLOCKS)


def off_s(room: Room, node: str) -> float:
    return ask(room.cluster, node)["wall_ns"] / SECOND_NS - time.time()


def clock(kind: str, *nodes: str, **parameters: object) -> dict[str, object]:
    return {"fault": {"plane": "clock", "kind": kind, **parameters}}


@pytest.mark.fault("clock", "jump", shows="landing")
def test_the_clock_of_one_node_jumps_and_comes_back(clocks: Room) -> None:
    before = off_s(clocks, "n1")
    fault = clocks.apply(clock("jump", by="1h"), "n1")
    during = {node: off_s(clocks, node) for node in ("n1", "n2", "n3")}
    monotonic_ns = ask(clocks.cluster, "n1")["monotonic_ns"]
    assert clocks.nemesis.heal(fault).healed == (fault,)
    assert abs(before) < 30
    assert abs(during["n1"] - 3600) < 30
    assert abs(during["n2"]) < 30 and abs(during["n3"]) < 30
    assert abs(monotonic_ns - time.monotonic_ns()) < 30 * SECOND_NS
    assert abs(off_s(clocks, "n1")) < 30
    landing = clocks.nemesis.landing(fault)
    assert landing.landed
    assert moved(landing) == {"injector": ["n1: its clock"], "victim": ["n1: answers with an altered time"]}
    assert [landing.signals[0].before, landing.signals[0].during] == ["true", "+3600.000 s"]
    assert landing.signals[0].after == "true"


def test_a_clock_may_jump_back(clocks: Room) -> None:
    clocks.apply(clock("jump", by="1h", back=True), "n1")
    assert abs(off_s(clocks, "n1") + 3600) < 30


@pytest.mark.fault("clock", "drift", shows="landing")
def test_a_drifting_clock_begins_at_the_true_time(clocks: Room) -> None:
    began_ns = time.time_ns()
    fault = clocks.apply(clock("drift", factor=100), "n1")
    first_ns = ask(clocks.cluster, "n1")["wall_ns"]
    asked_ns = time.time_ns()
    assert began_ns <= first_ns <= began_ns + 100 * (asked_ns - began_ns)
    assert eventually(lambda: off_s(clocks, "n1") > 30)
    assert clocks.nemesis.heal(fault).failed == {}
    assert clocks.nemesis.landing(fault).landed


@pytest.mark.fault("clock", "freeze", shows="landing")
def test_a_frozen_clock_stands_still(clocks: Room) -> None:
    fault = clocks.apply(clock("freeze"), "n1")
    first = ask(clocks.cluster, "n1")["wall_ns"]
    time.sleep(0.05)
    assert ask(clocks.cluster, "n1")["wall_ns"] == first
    assert ask(clocks.cluster, "n2")["wall_ns"] > first
    clocks.nemesis.heal(fault)
    assert clocks.nemesis.landing(fault).landed
    assert ask(clocks.cluster, "n1")["wall_ns"] > first


@pytest.mark.fault("clock", "skew", shows="landing")
def test_skewed_clocks_are_off_by_different_constants(clocks: Room) -> None:
    fault = clocks.apply(clock("skew", by="1h"), "n1", "n2")
    assert [round(off_s(clocks, node) / 60) for node in ("n1", "n2", "n3")] == [30, 60, 0]
    clocks.nemesis.heal(fault)
    assert clocks.nemesis.landing(fault).landed


def test_a_node_that_is_restarted_keeps_its_clock_until_it_is_healed(clocks: Room) -> None:
    fault = clocks.apply(clock("jump", by="1h"), "n1")
    clocks.apply({"restart": "n1"}, "n1")
    assert abs(off_s(clocks, "n1") - 3600) < 30
    clocks.nemesis.heal(fault)
    assert abs(off_s(clocks, "n1")) < 30
    assert clocks.nemesis.landing(fault).landed


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.fault("clock", kind, shows="not landing"))
        for kind in ("jump", "skew", "drift", "freeze")
    ],
)
def test_a_node_that_never_asks_for_the_time_has_not_been_hit(clocks: Room, kind: str) -> None:
    nodes = ("n1", "n2") if kind == "skew" else ("n1",)
    fault = clocks.apply(clock(kind), *nodes)
    off_s(clocks, "n3")  # the wrong node asks
    clocks.nemesis.heal(fault)
    landing = clocks.nemesis.landing(fault)
    assert not landing.landed
    assert moved(landing) == {"injector": [f"{node}: its clock" for node in nodes], "victim": []}
    assert landing.signals[1].during == 0


@pytest.mark.fault("clock", "jump", shows="not landing")
def test_a_server_behind_a_wrapper_that_alone_asks_has_not_been_hit(open_room: Callable[..., Room]) -> None:
    # What serves was started without the shim, as a static program would be; the shell around it asks and asks.
    script = 'setsid env -u LD_PRELOAD "$@" & while true; do date >/dev/null; printf "%(%s)T" >/dev/null; sleep 0.05; done'
    options = ["--name", "{node}", "--data", "{data}", "--client", "{port.client}", "--peer", "{port.peer}"]
    command = ["bash", "-c", script, "supervisor", "{python}", str(PROGRAM), *options, "--peers", "{peers}"]
    room = open_room(1, nemesis=CLOCKS, command=command)
    fault = room.apply(clock("jump", by="1h"), "n1")
    assert abs(off_s(room, "n1")) < 30
    page = ShimPage(room.cluster.root / "preload" / "n1.page")
    assert eventually(lambda: any(count.altered for count in page.counts().values()))
    room.nemesis.heal(fault)
    landing = room.nemesis.landing(fault)
    assert not landing.landed
    assert moved(landing) == {"injector": ["n1: its clock"], "victim": []}


@pytest.mark.fault("clock", "jump", shows="landing")
def test_children_of_a_server_count_as_the_server(open_room: Callable[..., Room]) -> None:
    script = (
        "import os, signal, socket, sys, time\n"
        "server = socket.create_server(('127.0.0.1', int(sys.argv[1])))\n"
        "if os.fork() == 0:\n"
        "    os.setsid(); server.close()\n"
        "    while True: time.time(); time.sleep(0.01)\n"
        "while True: signal.pause()\n"
    )
    command = ["{python}", "-c", script, "{port.client}"]
    room = open_room(
        1, nemesis=CLOCKS, command=command, ready={"tcp": "client"}, ports=["client"], links=None
    )
    fault = room.apply(clock("jump", by="1h"), "n1")
    time.sleep(0.1)
    room.nemesis.heal(fault)
    assert room.nemesis.landing(fault).landed


@pytest.mark.parametrize(
    ("written", "nodes", "says"),
    [
        (clock("jump"), (), "jump: name a node"),
        (clock("jump", by="0s"), ("n1",), "off by nothing"),
        (clock("skew"), ("n1",), "at least two nodes"),
        (clock("drift", factor=1), ("n1",), "other than 1"),
        (clock("drift", factor=-2), ("n1",), "a factor above 0"),
        (clock("jump"), ("client",), "no node with a clock"),
    ],
)
def test_what_is_no_fault_of_a_clock_is_refused(
    clocks: Room, written: dict[str, object], nodes: tuple[str, ...], says: str
) -> None:
    with pytest.raises(FaultInputError, match=says):
        clocks.apply(written, *nodes)
    assert clocks.phases == []


def test_two_faults_of_one_clock_are_not_laid_over_each_other(clocks: Room) -> None:
    fault = clocks.apply(clock("jump", by="1h"), "n1")
    with pytest.raises(NemesisError, match=r"off already .*: heal that first"):
        clocks.apply(clock("drift"), "n1", "n2")
    clocks.nemesis.heal(fault)
    clocks.apply(clock("drift"), "n1")


def test_without_being_wanted_no_node_carries_the_shim(room: Room) -> None:
    with pytest.raises(NemesisError, match=r"not started on the plane clock"):
        room.apply(clock("jump"), "n1")
    assert b"LD_PRELOAD" not in Path(f"/proc/{room.cluster.node('n1').pid}/environ").read_bytes()


def test_a_static_program_is_refused_before_it_is_started(
    open_room: Callable[..., Room], tmp_path: Path
) -> None:
    program = compiled(tmp_path, "int main(void) { for (;;) ; }", "-static")
    with pytest.raises(NemesisError, match="program is linked statically"):
        open_room(1, nemesis=CLOCKS, command=[str(program)])


def test_scripts_are_followed_to_what_runs_them(tmp_path: Path) -> None:
    static = compiled(tmp_path, "int main(void) { return 0; }", "-static")
    for first in (f"#!{static}", f"#!/usr/bin/env -S A=1 {static} -x"):
        script = tmp_path / "script"
        script.write_text(f"{first}\n")
        script.chmod(0o755)
        assert "linked statically" in (refusal([str(script)], os.environ, tmp_path) or "")
    assert refusal([sys.executable], os.environ, tmp_path) is None
    assert refusal(["no-such-program"], os.environ, tmp_path) is None
    cut = tmp_path / "cut"
    cut.write_bytes(static.read_bytes()[:200])
    cut.chmod(0o755)
    assert refusal([str(cut)], os.environ, tmp_path) is None


@pytest.mark.fault("clock", "jump", shows="nothing left")
def test_the_guard_sets_the_clock_right_when_the_owner_is_killed(own: Callable[..., Owner]) -> None:
    owner = own(also=[["clock", "jump", {"by": "1h"}, ["n2"]]])
    page = ShimPage(owner.root / "preload" / "n2.page")
    assert page.clock().words == "+3600.000 s"
    owner.process.kill()
    assert eventually(lambda: owner.healed_by().get("f3") == "guard")
    assert page.clock() == TRUE_TIME
    assert eventually(lambda: nothing_left(owner))


@pytest.mark.parametrize("kind", ["jump", "skew", "drift", "freeze"])
def test_every_kind_works_here(kind: str) -> None:
    assert probe("clock", kind).works


def test_a_wait_until_a_moment_of_the_altered_clock_lasts_as_long_as_it_says(tmp_path: Path) -> None:
    # Else a program that waits until "now and a tenth" would wait an hour and a tenth.
    source = """
        #include <pthread.h>
        #include <semaphore.h>
        #include <time.h>
        #include <stdio.h>
        int main(void) {
          pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t never = PTHREAD_COND_INITIALIZER;
          sem_t none; struct timespec until;
          sem_init(&none, 0, 0);
          pthread_mutex_lock(&lock);
          clock_gettime(CLOCK_REALTIME, &until); until.tv_sec += 1; pthread_cond_timedwait(&never, &lock, &until);
          clock_gettime(CLOCK_REALTIME, &until); until.tv_sec += 1; sem_timedwait(&none, &until);
          clock_gettime(CLOCK_REALTIME, &until); until.tv_sec += 1; pthread_mutex_timedlock(&lock, &until);
          clock_gettime(CLOCK_REALTIME, &until); until.tv_sec += 1; clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL);
          clock_gettime(CLOCK_MONOTONIC, &until); until.tv_nsec = 0; clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
          return 0;
        }"""
    program = compiled(tmp_path, source)
    page = ShimPage(tmp_path / "page")
    page.create()
    now = time.time_ns()
    page.set_clock(ClockSetting(now, now + 3600 * SECOND_NS, SECOND_NS, True))
    began = time.monotonic()
    subprocess.run([program], env=shim_environment(page), timeout=60, check=True)
    assert 4 <= time.monotonic() - began < 30
    (count,) = page.counts().values()
    assert count.altered == 4


def test_threads_and_children_are_counted_each_process_by_itself(tmp_path: Path) -> None:
    source = """
        #include <pthread.h>
        #include <sys/wait.h>
        #include <time.h>
        #include <unistd.h>
        static void *ask(void *_) { for (int i = 0; i < 1000; i++) time(NULL); return _; }
        int main(void) {
          pthread_t threads[4];
          for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, ask, NULL);
          for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
          if (fork() == 0) { ask(NULL); _exit(0); }
          return wait(NULL) < 0;
        }"""
    page = ShimPage(tmp_path / "page")
    page.create()
    subprocess.run([compiled(tmp_path, source)], env=shim_environment(page), timeout=60, check=True)
    assert sorted(count.asked for count in page.counts().values()) == [1000, 4000]
    assert not any(count.altered for count in page.counts().values())


def test_a_setting_is_read_whole_while_it_is_written(tmp_path: Path) -> None:
    source = """
        #include <time.h>
        int main(void) {
          for (int i = 0; i < 2000000; i++) { long now = time(NULL) % 1000000000;
            if (now != 111111111 && now != 222222222) return 1; }
          return 0;
        }"""
    program = compiled(tmp_path, source)
    page = ShimPage(tmp_path / "page")
    page.create()
    first, second = (ClockSetting(digit, digit * SECOND_NS, 0, True) for digit in (111111111, 222222222))
    page.set_clock(first)
    running = subprocess.Popen([program], env=shim_environment(page))
    writes = 0
    while running.poll() is None:
        page.set_clock((first, second)[writes % 2])
        writes += 1
    assert running.returncode == 0
    assert writes > 10


def compiled(folder: Path, source: str, *flags: str) -> Path:
    program = folder / "program"
    compiler = shutil.which("cc")
    assert compiler, "these tests need a C compiler"
    subprocess.run([compiler, "-x", "c", "-", "-o", program, *flags], input=source, text=True, check=True)
    return program


def shim_environment(page: ShimPage) -> dict[str, str]:
    return {**os.environ, "LD_PRELOAD": str(build.built_shim()), **page.environment}
