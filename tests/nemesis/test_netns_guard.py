"""Whatever happens to the owner of network namespaces, nothing of them is left, and other runs go on."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from refute.nemesis.errors import NemesisError
from refute.nemesis.guard import guard_is_alive
from refute.nemesis.healing import guard_of, heal_everything, sweep
from refute.nemesis.ledger import read_ledger, registered_ledgers
from refute.nemesis.mechanisms import wanted_kinds
from refute.nemesis.proxy.control import Control
from refute.system.process_table import ProcessId, is_alive
from tests.nemesis.conftest import Room
from tests.nemesis.left import left_behind, nothing_left
from tests.nemesis.owners import OwnerProcess
from tests.nemesis.peers import eventually

pytestmark = pytest.mark.systems


class Owner(OwnerProcess):
    """A program that starts a cluster in namespaces, isolates a node, and then does nothing."""

    def __init__(self, root: Path, **options: Any) -> None:
        super().__init__("tests.nemesis.netns_owner", root, options)
        self.holder = ProcessId(*self.said["holder"])
        self.anchors: dict[str, int] = self.said["anchors"]
        self.control = Path(self.said["folder"]) / "control"

    def caught(self) -> dict[str, int]:
        with Control(self.control) as control:
            return dict(control.ask("stats")["faults"].get("f1", {}))

    def healed_by(self) -> str | None:
        return read_ledger(self.ledger).entries["f1"].healed_by

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        assert eventually(lambda: not guard_is_alive(self.ledger), 15)
        assert heal_everything(self.ledger).clean
        assert nothing_left(self.root, self.run, 15)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Callable[..., Owner]]:
    owners: list[Owner] = []

    def make(name: str = "owner", **options: Any) -> Owner:
        owners.append(Owner(tmp_path / name, **options))
        return owners[-1]

    yield make
    for owner in owners:
        owner.end()


def test_killing_the_owner_takes_rules_namespaces_and_processes_away(own: Callable[..., Owner]) -> None:
    owner = own()
    assert eventually(lambda: owner.caught().get("n2->n1.packets", 0) > 0)
    owner.kill()
    assert eventually(lambda: owner.healed_by() == "guard", 10)
    assert nothing_left(owner.root, owner.run, 15)
    assert not any(Path(f"/proc/{anchor}").exists() for anchor in owner.anchors.values())
    assert not owner.control.parent.exists()
    assert eventually(lambda: not registered_ledgers())


def test_an_owner_that_hangs_is_healed_and_its_network_goes_on(own: Callable[..., Owner]) -> None:
    owner = own(hang_s=1.5)
    os.kill(owner.process.pid, signal.SIGSTOP)
    assert eventually(lambda: owner.healed_by() == "guard", 10)
    assert owner.caught() == {}
    assert is_alive(owner.holder)
    assert all(is_alive(node) for node in owner.nodes.values())
    os.kill(owner.process.pid, signal.SIGCONT)


def test_what_a_run_left_that_was_killed_with_its_guard_is_swept_at_the_next_start(
    own: Callable[..., Owner],
) -> None:
    owner = own()
    guard = guard_of(owner.ledger)
    assert guard is not None
    os.kill(guard.pid, signal.SIGKILL)
    assert eventually(lambda: not is_alive(guard))
    owner.kill()
    assert is_alive(owner.holder)
    assert left_behind(owner.root, owner.run)
    report = sweep()
    assert report.clean
    assert report.healed.keys() == {f"f1 of {owner.run}"}
    assert nothing_left(owner.root, owner.run)


def test_two_runs_do_not_meet(own: Callable[..., Owner]) -> None:
    first, second = own("first"), own("second")
    assert eventually(lambda: second.caught().get("n2->n1.packets", 0) > 0)
    first.kill()
    assert nothing_left(first.root, first.run, 15)
    before = second.caught()["n2->n1.packets"]
    assert eventually(lambda: second.caught()["n2->n1.packets"] > before, 10)
    assert second.healed_by() is None


def test_a_holder_that_is_killed_takes_its_network_with_it_and_is_missed(
    open_room: Callable[..., Room],
) -> None:
    room = open_room(nemesis={"wanted": wanted_kinds(["netns/drop"])})
    network = room.nemesis._planes["netns"]._network  # type: ignore[attr-defined]
    os.kill(network.identity.pid, signal.SIGKILL)
    assert eventually(
        lambda: not any(Path(f"/proc/{pid}/ns/net").exists() for pid in network.anchors.values())
    )
    with pytest.raises(NemesisError, match="holder of the network namespaces is gone"):
        room.apply({"isolate": "n1", "plane": "netns"}, "n1")
    with suppress(NemesisError):
        room.nemesis.close()
