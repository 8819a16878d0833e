"""How soon after an acknowledgement power can be cut, and how long the node is without its disk.

From the client's receipt of the answer to the cut, in one thread and with nothing else asked for; beside it a
SIGKILL at the same place, which needs no probe files. On each file system that works here.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.nemesis.diaries import SYNCING, diaries, storage, write

from refute.history.fault import FaultPhase
from refute.nemesis.mechanisms import probe

ROUNDS = 15


def measure(title: str, fault: dict[str, object], nodes: int, file_system: str) -> None:
    delays, apart, back = [], [], []
    with tempfile.TemporaryDirectory() as place:
        os.environ["REFUTE_STATE"] = f"{place}/state"
        wanted = {"nodes": nodes, "command": SYNCING, "file_system": file_system}
        with diaries(Path(place), "power-loss", **wanted) as room:
            targets = room.cluster.spec.nodes
            for number in range(ROUNDS):
                time.sleep(0.3)
                assert write(room.cluster, "n1", str(number))
                answered_ns = time.monotonic_ns()
                room.apply(fault, *targets)
                on = next(event for event in reversed(room.events) if event.phase is FaultPhase.APPLIED)
                delays.append((on.time_ns - answered_ns) / 1e6)
                apart.append(float(on.detail.get("cut_apart_ms", 0)))
                back.append(float(on.detail.get("back_after_ms", 0)))
                room.nemesis.heal("all")
    numbers = (min(delays), statistics.median(delays), sorted(delays)[int(0.9 * ROUNDS)])
    print(
        f"{title:28} {numbers[0]:7.1f} {numbers[1]:7.1f} {numbers[2]:7.1f} "
        f"{statistics.median(apart):9.2f} {statistics.median(back):9.1f}"
    )


def main() -> None:
    works = probe("storage", "power-loss")
    if not works.works:
        print(f"power loss cannot be measured here: {works.reason}")
        return
    print(f"from an answer to the fault, {ROUNDS} rounds each, ms (load {os.getloadavg()[0]:.1f})")
    print(f"{'fault':28} {'min':>7} {'median':>7} {'90 %':>7} {'apart':>9} {'disk back':>9}")
    for name in (name for name, how in works.detail.items() if how == "works"):
        measure(f"SIGKILL of one, {name}", {"kill": "n1"}, 1, name)
        measure(f"power loss of one, {name}", storage("power-loss"), 1, name)
        measure(f"power loss of three, {name}", storage("power-loss", "all"), 3, name)


if __name__ == "__main__":
    main()
