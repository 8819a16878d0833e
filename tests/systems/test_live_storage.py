"""A live system is started for faults of storage by the means that its caller names, as in a plan."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from refute.run.live_record import LiveInputError
from refute.tools.live import heal_faults, inject_fault, manage_system
from refute.tools.live_answers import FaultNow, HealFaults, InjectFault, LiveAnswer, ManageSystem
from tests.nemesis.conftest import _own_registry  # noqa: F401 (a registry of its own for each test)
from tests.nemesis.diaries import left_in
from tests.run.plans import ISOLATED, write_plan

pytestmark = [
    pytest.mark.systems,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount an ext4 image"),
]


def manage(action: Any, **request: Any) -> LiveAnswer:
    return manage_system(ManageSystem(action=action, **request))


def landed() -> list[FaultNow]:
    """The faults so far, once all of them have landed."""
    limit = time.monotonic() + 10
    while True:
        faults = manage("status").faults
        if all(fault.landed for fault in faults) or time.monotonic() > limit:
            return faults
        time.sleep(0.1)


def test_calls_fail_through_the_library_and_power_is_lost_on_ext4(tmp_path: Path) -> None:
    started = manage(
        "start",
        plan=str(write_plan(tmp_path, ISOLATED)),
        planes=("storage/io-error", "storage/power-loss"),
        file_system="ext4",
        through="preload",
        session_root=str(tmp_path / "live"),
    )
    assert started.system is not None
    try:
        manage("await", condition={"leader": "known", "every_node": "in-sync"})
        fails = {"plane": "storage", "kind": "io-error", "node": "leader"}
        inject_fault(InjectFault(fault={"fault": fails}))
        written = {"key": "k", "value": 1, "via": "leader", "timeout": "1s"}
        manage("operation", operations=({"write": written},))
        (failed,) = landed()
        assert failed.landed, failed
        assert failed.events[-1].detail["through"] == "preload"
        assert heal_faults(HealFaults()).clean
        with pytest.raises(LiveInputError, match=r"no verb but a kind.*\"plane\": \"storage\""):
            inject_fault(InjectFault(fault={"power-loss": "n1"}))
        cut = {"plane": "storage", "kind": "power-loss", "node": "n1", "file_system": "ext4"}
        inject_fault(InjectFault(fault={"fault": cut}))
        assert heal_faults(HealFaults()).clean
        assert [fault.landed for fault in landed()] == [True, True]
    finally:
        manage("stop")
    assert left_in(Path(started.system.folder)) == []
