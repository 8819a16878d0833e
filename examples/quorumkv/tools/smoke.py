"""A smoke test against a running cluster: write, read, kill the leader, read again."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from cluster import NODES, Cluster


def call(port: int, method: str, path: str, body: Any = None, token: str = "dev") -> tuple[int, Any]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
    request.add_header("Authorization", f"Bearer {token}")
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(request, data, timeout=3) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def expect(what: str, got: Any, wanted: Any) -> None:
    print(f"{'ok  ' if got == wanted else 'FAIL'} {what}: {got}")
    if got != wanted:
        sys.exit(1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, default=Path("data"))
    parser.add_argument("--base-port", type=int, default=7000)
    given = parser.parse_args()
    cluster = Cluster(given.dir, given.base_port)
    leader = cluster.leader()
    mark = str(time.time_ns())
    expect("put", call(cluster.client[leader], "PUT", "/v1/kv/smoke", {"value": mark})[0], 200)
    expect("get", call(cluster.client[leader], "GET", "/v1/kv/smoke")[1]["value"], mark)
    follower = next(node for node in NODES if node != leader)
    expect("get from a follower", call(cluster.client[follower], "GET", "/v1/kv/smoke")[0], 421)
    expect("wrong token", call(cluster.client[leader], "GET", "/v1/kv/smoke", token="nobody")[0], 403)
    cluster.signal(leader, signal.SIGKILL)
    started = time.monotonic()
    second = cluster.leader()
    print(f"ok   {second} leads {time.monotonic() - started:.2f} s after {leader} was killed")
    expect("get after failover", call(cluster.client[second], "GET", "/v1/kv/smoke")[1]["value"], mark)
    cluster.start(leader)
    return 0


if __name__ == "__main__":
    sys.exit(main())
