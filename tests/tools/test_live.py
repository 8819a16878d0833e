"""A live system is driven from separate processes, and healed also where its host was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import psutil
import pytest

from refute.plan.document import PlanError
from refute.plan.fault_catalog import fault_entry
from refute.tools.live import manage_system
from refute.tools.live_answers import FileSystem, ManageSystem, Through
from tests.run.plans import ISOLATED, write_plan


class Shell:
    """Each call is a process of its own, as from a shell."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = os.environ | {"REFUTE_STATE": str(folder / "state")}

    def __call__(self, tool: str, **request: Any) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-m", "refute.faces.cli", "tool", tool, json.dumps(request), "--json"],
            capture_output=True,
            text=True,
            env=self.env,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def processes(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            try:
                if str(self.folder) in " ".join(process.cmdline()):
                    found.append(process)
            except psutil.Error:
                continue
        return found


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path)
    plan = write_plan(tmp_path, ISOLATED)
    shell("manage_system", action="start", plan=str(plan), session_root=str(tmp_path / "live"))
    yield shell
    for process in shell.processes():
        process.kill()


def gone(shell: Shell, within_s: float = 10.0) -> bool:
    limit = time.monotonic() + within_s
    while shell.processes() and time.monotonic() < limit:
        time.sleep(0.05)
    return not shell.processes()


def test_a_fault_is_injected_seen_from_both_sides_and_healed(shell: Shell) -> None:
    shell("manage_system", action="await", condition={"leader": "known", "every_node": "in-sync"})
    shell(
        "manage_system", action="operation", operations=[{"write": {"key": "k", "value": 1, "via": "leader"}}]
    )
    shell("inject_fault", fault={"isolate": "leader as old"})
    shell("manage_system", action="await", condition={"leader": "not old"})
    operations = [{"write": {"key": "k", "value": 2, "via": "leader"}}, {"read": {"key": "k", "via": "old"}}]
    answer = shell("manage_system", action="operation", operations=operations)
    # The deposed leader answers with the past, or has seen by now that it leads nobody any more.
    assert '"kind": "read"' in json.dumps(answer) and '"output": 2' not in json.dumps(answer), answer
    time.sleep(0.5)
    status = json.dumps(shell("manage_system", action="status"))
    assert '"landed": true' in status
    healed = shell("heal_faults")
    assert "f1" in json.dumps(healed)
    shell("manage_system", action="await", condition={"leader": "known", "every_node": "in-sync"})
    shell("manage_system", action="stop")
    assert gone(shell)


def test_requests_are_doubled_and_change_places_in_a_live_system(shell: Shell) -> None:
    def send(*operations: dict[str, Any]) -> None:
        shell("manage_system", action="operation", operations=list(operations))

    shell("manage_system", action="await", condition={"leader": "known", "every_node": "in-sync"})
    shell("inject_fault", fault={"fault": {"plane": "client", "kind": "duplicate", "kinds": ["read"]}})
    (duplicate,) = shell("manage_system", action="status")["faults"]
    assert duplicate["missing"] == ["no signal moved at the injector and victim"]
    send({"read": {"key": "k", "via": "leader"}})
    reorder = {"plane": "client", "kind": "reorder", "kinds": ["write"], "within": "20s"}
    shell("inject_fault", fault={"fault": reorder})
    background = {"write": {"key": "k", "value": 1, "via": "leader", "background": True}}
    send(background, {"write": {"key": "k", "value": 2, "via": "leader"}})
    assert all_landed(shell)  # the held one comes after the other
    shell("heal_faults")
    assert landed(shell) == {"duplicate": True, "reorder": True}


@pytest.mark.systems
def test_a_request_without_an_answer_is_retried_in_a_live_system(shell: Shell) -> None:
    retry = {"plane": "client", "kind": "retry", "kinds": ["read"], "times": 1000}
    shell("inject_fault", fault={"fault": retry})
    (asked,) = shell("manage_system", action="status")["faults"]
    assert asked["missing"] == ["no signal moved at the injector and victim"]
    shell("inject_fault", fault={"pause": "n1"})
    unanswered = {"read": {"key": "k", "via": "n1", "timeout": "200ms", "background": True}}
    shell("manage_system", action="operation", operations=[unanswered])
    assert not landed(shell)["retry"]  # whoever stands still answers no second request either
    shell("heal_faults", what="n1")
    assert all_landed(shell)
    shell("heal_faults")
    assert landed(shell) == {"retry": True, "pause": True}


def all_landed(shell: Shell) -> bool:
    limit = time.monotonic() + 10
    while not all(landed(shell).values()) and time.monotonic() < limit:
        time.sleep(0.1)
    return all(landed(shell).values())


def landed(shell: Shell) -> dict[str, bool]:
    faults = shell("manage_system", action="status")["faults"]
    return {fault["kind"]: fault["landed"] for fault in faults}


def test_the_guard_heals_where_the_host_was_killed(shell: Shell) -> None:
    shell("inject_fault", fault={"pause": "n1"})
    paused = [process for process in shell.processes() if process.status() == psutil.STATUS_STOPPED]
    assert paused
    hosts = [
        process for process in shell.processes() if "refute.run.live_host" in " ".join(process.cmdline())
    ]
    assert hosts
    for host in hosts:
        os.kill(host.pid, signal.SIGKILL)
    assert gone(shell), "the guard resumes the paused node, then ends what the host left"
    shell("heal_faults")
    listed = json.dumps(shell("manage_system", action="list"))
    assert '"state": "ready"' not in listed


@pytest.mark.parametrize(
    ("name", "kind", "offered"),
    [
        ("file_system", "power-loss", FileSystem),
        ("through", "io-error", Through),
        ("through", "slow-io", Through),
    ],
)
def test_what_a_start_can_choose_is_what_a_plan_can_write(name: str, kind: str, offered: Any) -> None:
    (parameter,) = (each for each in fault_entry("storage", kind).parameters if each.name == name)
    assert get_args(offered) == parameter.choices
    assert ManageSystem(action="start").model_dump()[name] == parameter.default


def test_a_choice_for_which_no_fault_is_asked_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, ISOLATED)
    asked = ManageSystem(
        action="start",
        plan=str(plan),
        planes=("clock",),
        through="strace",
        session_root=str(tmp_path / "live"),
    )
    with pytest.raises(PlanError, match="through: no fault that is asked for takes it"):
        manage_system(asked)
    assert not (tmp_path / "live").exists()
