"""What the netns plane costs with no fault on: between two nodes, and for clients that come in from outside.

Server and load are the same programs in every case. Direct means the machine's loopback; between nodes, both
run in namespaces of a network as a run has it, its counting rules included; from outside, the load runs on
the machine and goes through the forwarder. The ratios are of one run, the best of a few rounds.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from refute.nemesis.netns.layout import members_of
from refute.nemesis.netns.network import Network
from refute.system.ports import PortLease

CONNECTIONS = 50
SECONDS = 2.0
ROUNDS = 3
SMALL_BYTES, LARGE_BYTES = 200, 65536
RATE = 1000  # requests a second for latency: far from saturation
LOAD = Path(__file__).with_name("bench_proxy.py")

_MEASURE = """
import asyncio, json, sys
sys.path.insert(0, sys.argv[1])
import bench_proxy
bench_proxy.CONNECTIONS, bench_proxy.SECONDS = int(sys.argv[4]), float(sys.argv[5])
create = asyncio.base_events.BaseEventLoop.create_connection
def elsewhere(self, protocol, host, port):
    return create(self, protocol, sys.argv[2], port)
asyncio.base_events.BaseEventLoop.create_connection = elsewhere
size, rate = int(sys.argv[6]), float(sys.argv[7])
print(json.dumps(asyncio.run(bench_proxy.load(int(sys.argv[3]), size, rate))))
"""

_SERVE = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
import bench_proxy
async def main():
    loop = asyncio.get_running_loop()
    place = (sys.argv[2], int(sys.argv[3]))
    server = await loop.create_server(lambda: bench_proxy.Server(0), *place, backlog=1000)
    print("ready", flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


def serve(prefix: Sequence[str], host: str, port: int) -> subprocess.Popen[str]:
    words = [*prefix, sys.executable, "-c", _SERVE, str(LOAD.parent), host, str(port)]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    assert server.stdout.readline() == "ready\n"
    return server


def load(prefix: Sequence[str], host: str, port: int, size: int, rate: float) -> tuple[float, float]:
    """(requests a second, median latency in ms)."""
    given = [str(LOAD.parent), host, str(port), str(CONNECTIONS), str(SECONDS), str(size), str(rate)]
    words = [*prefix, sys.executable, "-c", _MEASURE, *given]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    answered, median = json.loads(done.stdout)
    return answered, median


def main() -> None:
    lease = PortLease()
    direct_port, outside_port = (lease.take() for _ in range(2))
    for port in (direct_port, outside_port):
        lease.release(port)
    log = Path(tempfile.gettempdir()) / "bench-netns.log"
    environment = dict(os.environ)
    servers = []
    with Network("bench", ["a", "b"], environment, log=log) as network:
        inside = members_of(["a", "b"])[1].address
        network.forward({("b", "port"): ((inside, direct_port), outside_port)}, environment)
        try:
            servers = [
                serve((), "127.0.0.1", direct_port),
                serve(network.entering("b"), inside, direct_port),
            ]
            time.sleep(0.3)  # the forwarder looks every 20 ms whether the node listens
            ways = {
                "direct": ((), "127.0.0.1", direct_port),
                "between nodes": (network.entering("a"), inside, direct_port),
                "from outside": ((), "127.0.0.1", outside_port),
            }
            print(f"{CONNECTIONS} connections, {os.cpu_count()} cores, best of {ROUNDS}")
            print(f"{'':34}" + "".join(f"{way:>16}" for way in ways))
            for title, size in (("200 B", SMALL_BYTES), ("64 kB", LARGE_BYTES)):
                rounds = [[load(*where, size, 0)[0] for where in ways.values()] for _ in range(ROUNDS)]
                best = [max(each) for each in zip(*rounds, strict=True)]
                shown = "".join(f"{each / best[0]:>16.0%}" for each in best)
                print(f"{f'throughput, {title}, of {best[0]:.0f}/s':34}{shown}")
            rounds = [[load(*where, SMALL_BYTES, RATE)[1] for where in ways.values()] for _ in range(ROUNDS)]
            least = [min(each) for each in zip(*rounds, strict=True)]
            print(f"{f'median latency at {RATE}/s, ms':34}" + "".join(f"{each:>16.3f}" for each in least))
            spread = statistics.pstdev(each[0] for each in rounds)
            print(f"{'added at the median, ms':34}" + "".join(f"{each - least[0]:>16.3f}" for each in least))
            print(f"direct latency varies by {spread:.3f} ms between rounds")
        finally:
            for server in servers:
                server.kill()
                server.wait()
                assert server.stdout is not None
                server.stdout.close()
            lease.close()
    log.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
