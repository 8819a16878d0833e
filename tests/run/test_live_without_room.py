"""A live system whose records are on a full disk is healed all the same, and says that they are incomplete."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from refute.nemesis.errors import UnrecordedError
from refute.run.live import LiveSystem
from refute.run.live_record import LiveSpec
from refute.system.process_table import identify, state
from tests.nemesis.full_disk import full_disk
from tests.nemesis.peers import peer_spec


def test_healing_needs_no_room_for_a_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUTE_STATE", str(tmp_path / "state"))
    (tmp_path / "run").mkdir()
    spec = LiveSpec(
        id="peers-1",
        system="peers",
        plan=str(tmp_path / "plan.md"),
        plan_dir=str(tmp_path),
        folder=str(tmp_path / "run"),
        seed=1,
        idle_s=60.0,
    )
    said: list[str] = []
    with pytest.raises(UnrecordedError), LiveSystem(peer_spec(1), spec, say=said.append) as live:
        live.start()
        pid = live.stage.cluster.node("n1").pid
        live.inject({"pause": "n1"}, 60.0)
        with ExitStack() as disk:
            for descriptor in (live.timeline._descriptor, live.stage._faults._descriptor):
                disk.enter_context(full_disk(descriptor))
            assert live.heal("all")["healed"] == ["f1"]
        assert state(pid) != "T"
    assert identify(pid) is None
    assert "run.jsonl could not be written" in "".join(said)
