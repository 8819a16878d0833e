"""How soon a fault follows the state that it waits for, on loopback.

From the change of a node's state, by the node's own reading of the clock, to the fault being on. The
target is 10 ms at the median.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.nemesis.peers import become, peer_spec

from refute.history.fault import FaultEvent, FaultPhase
from refute.nemesis.nemesis import Nemesis
from refute.plan.step import Await
from refute.plan.step_notation import read_fault
from refute.system.cluster import Cluster
from refute.system.observer import Observer, Seen

ROUNDS = 30


def measure(state: str, verb: str, spec_states: dict[str, object] | None = None) -> list[float]:
    delays_ms: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        os.environ["REFUTE_STATE"] = str(root / "state")
        spec = peer_spec(3)
        if spec_states:
            described = spec.model_dump(exclude_none=True, exclude_defaults=True)["states"]
            spec = peer_spec(3, states={**described, **spec_states})
        cluster = Cluster(spec, root=root, plan_dir=root)
        observer = Observer(spec, cluster)
        events: list[FaultEvent] = []
        with Nemesis(spec, cluster, run_dir=root, observer=observer, on_event=events.append) as nemesis:
            nemesis.prepare()
            cluster.start()
            cluster.wait_ready()
            for round_ in range(ROUNDS):
                changed: list[int] = []

                def change(term: int = round_ + 1, changed: list[int] = changed) -> None:
                    changed.append(int(become(cluster, "n2", "leader", term)["changed_ns"]))

                timer = threading.Timer(0.1, change)
                timer.start()
                if state == "logged_term":
                    condition = {"values": {"node": "n2", "state": state, "equals": str(round_ + 1)}}
                else:
                    condition = {state: "n2"}
                seen = observer.wait_for(Await.model_validate(condition))
                assert isinstance(seen, Seen), seen
                nemesis.apply(read_fault({verb: "n2"}), ["n2"], trigger=seen)
                timer.join()
                on = next(e for e in reversed(events) if e.phase is FaultPhase.APPLIED)
                delays_ms.append((on.time_ns - changed[0]) / 1e6)
                nemesis.heal()
                become(cluster, "n2", "follower", round_ + 1)
        observer.close()
    return delays_ms


def main() -> None:
    print(
        f"from a node's change of state to the fault being on, {ROUNDS} rounds each, ms (target: median 10)"
    )
    print(f"{'watched through':34} {'fault':10} {'min':>7} {'median':>7} {'90 %':>7}")
    for title, state in (
        ("HTTP, JSON value", "leader"),
        ("HTTP, metric", "is_leader"),
        ("log line", "logged_term"),
    ):
        for verb in ("pause", "isolate"):
            delays = sorted(measure(state, verb))
            middle, late = statistics.median(delays), delays[int(len(delays) * 0.9)]
            print(f"{title:34} {verb:10} {delays[0]:7.2f} {middle:7.2f} {late:7.2f}")


if __name__ == "__main__":
    main()
