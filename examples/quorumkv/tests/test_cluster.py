"""Three nodes in one event loop: elections, writes, restarts and the HTTP interface."""

from __future__ import annotations

import asyncio
import json
import socket
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from quorumkv.config import read_config
from quorumkv.server import Node

NAMES = ("n1", "n2", "n3")


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


async def call(
    port: int,
    method: str,
    path: str,
    body: Any = None,
    *,
    token: str | None = "dev",
    request: str | None = None,
) -> tuple[int, Any]:
    """One request on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {len(content)}\r\n"
        if token is not None:
            head += f"Authorization: Bearer {token}\r\n"
        if request is not None:
            head += f"Idempotency-Key: {request}\r\n"
        writer.write(head.encode() + b"\r\n" + content)
        answer = await reader.read()
    finally:
        writer.close()
    head_bytes, _, text = answer.partition(b"\r\n\r\n")
    status = int(head_bytes.split(b" ")[1])
    return status, json.loads(text) if b"application/json" in head_bytes else text.decode()


class ThreeNodes(unittest.IsolatedAsyncioTestCase):
    """Starts a cluster for each test and stops it afterwards."""

    extra: tuple[str, ...] = ()

    async def asyncSetUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        ports = free_ports(6)
        self.client = dict(zip(NAMES, ports[:3], strict=True))
        self.peer = dict(zip(NAMES, ports[3:], strict=True))
        self.nodes: dict[str, Node] = {}
        for name in NAMES:
            await self.start(name)

    async def asyncTearDown(self) -> None:
        await asyncio.gather(*(self.stop(name) for name in list(self.nodes)))

    async def start(self, name: str) -> None:
        peers = ",".join(f"{other}=127.0.0.1:{port}" for other, port in self.peer.items() if other != name)
        line = ["--node", name, "--client-port", str(self.client[name]), "--peer-port", str(self.peer[name])]
        line += ["--peers", peers, "--data", str(self.directory / name), "--tenant", "default:dev"]
        line += ["--tenant", "other:second", "--election-timeout-ms", "150-300", *self.extra]
        self.nodes[name] = Node(read_config(line))
        await self.nodes[name].start()

    async def stop(self, name: str) -> None:
        await self.nodes.pop(name).stop()

    async def leader(self, timeout_s: float = 5) -> str:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            for name, node in self.nodes.items():
                if node.replica.ready:
                    return name
            await asyncio.sleep(0.01)
        raise TimeoutError("no leader")

    async def in_sync(self, timeout_s: float = 5) -> None:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            statuses = [(await call(self.client[name], "GET", "/status"))[1] for name in self.nodes]
            if all(status["in_sync"] for status in statuses):
                return
            await asyncio.sleep(0.02)
        raise TimeoutError("not in sync")

    async def ask(self, method: str, path: str, body: Any = None, **options: Any) -> tuple[int, Any]:
        return await call(self.client[await self.leader()], method, path, body, **options)


class ClusterTest(ThreeNodes):
    async def test_a_write_is_read_back(self) -> None:
        status, body = await self.ask("PUT", "/v1/kv/a%2Fb", {"value": [1, "x"]})
        self.assertEqual((status, body["replayed"]), (200, False))
        status, body = await self.ask("GET", "/v1/kv/a%2Fb")
        self.assertEqual((status, body["key"], body["value"]), (200, "a/b", [1, "x"]))
        self.assertEqual((await self.ask("GET", "/v1/kv/other"))[0], 404)

    async def test_a_follower_names_the_leader_and_serves_stale_reads(self) -> None:
        leader = await self.leader()
        await self.ask("PUT", "/v1/kv/k", {"value": 1})
        await self.in_sync()
        follower = next(name for name in NAMES if name != leader)
        status, body = await call(self.client[follower], "GET", "/v1/kv/k")
        self.assertEqual((status, body["leader"]), (421, leader))
        self.assertEqual(body["leader_client"], f"127.0.0.1:{self.client[leader]}")
        status, body = await call(self.client[follower], "GET", "/v1/kv/k?consistency=stale")
        self.assertEqual((status, body["value"]), (200, 1))

    async def test_a_new_leader_has_what_was_acknowledged(self) -> None:
        await self.ask("PUT", "/v1/kv/k", {"value": 1})
        first = await self.leader()
        await self.stop(first)
        self.assertEqual((await self.ask("GET", "/v1/kv/k"))[1]["value"], 1)
        self.assertNotEqual(await self.leader(), first)

    async def test_everything_acknowledged_survives_a_restart_of_all(self) -> None:
        for number in range(5):
            await self.ask("POST", "/v1/kv/k/append", {"value": number})
        for name in NAMES:
            await self.stop(name)
        for name in NAMES:
            await self.start(name)
        self.assertEqual((await self.ask("GET", "/v1/kv/k"))[1]["value"], [0, 1, 2, 3, 4])

    async def test_a_minority_acknowledges_nothing(self) -> None:
        leader = await self.leader()
        for name in NAMES:
            if name != leader:
                await self.stop(name)
        status, body = await call(self.client[leader], "PUT", "/v1/kv/k", {"value": 1})
        self.assertIn(status, (503, 504))
        self.assertIn(body["error"], ("timeout", "no-leader"))

    async def test_a_retry_gets_the_first_reply(self) -> None:
        first = await self.ask("POST", "/v1/kv/k/append", {"value": 1}, request="r1")
        again = await self.ask("POST", "/v1/kv/k/append", {"value": 1}, request="r1")
        self.assertEqual(again[1], {**first[1], "replayed": True})
        self.assertEqual((await self.ask("GET", "/v1/kv/k"))[1]["value"], [1])
        self.assertEqual((await self.ask("PUT", "/v1/kv/k", {"value": 1}, request="r1"))[0], 422)

    async def test_a_retry_after_a_failover_gets_the_first_reply(self) -> None:
        await self.ask("POST", "/v1/kv/k/append", {"value": 1}, request="r1")
        await self.stop(await self.leader())
        self.assertTrue(
            (await self.ask("POST", "/v1/kv/k/append", {"value": 1}, request="r1"))[1]["replayed"]
        )

    async def test_one_of_many_compare_and_sets_wins(self) -> None:
        tries = [self.ask("POST", "/v1/kv/k/cas", {"expect": None, "value": n}) for n in range(8)]
        statuses = sorted([status for status, _ in await asyncio.gather(*tries)])
        self.assertEqual(statuses, [200] + [412] * 7)

    async def test_tokens_separate_tenants(self) -> None:
        await self.ask("PUT", "/v1/kv/k", {"value": 1})
        self.assertEqual((await self.ask("GET", "/v1/kv/k", token="second"))[0], 404)
        self.assertEqual((await self.ask("GET", "/v1/export", token="second"))[1]["items"], {})
        self.assertEqual((await self.ask("GET", "/v1/kv/k", token=None))[0], 401)
        self.assertEqual((await self.ask("GET", "/v1/kv/k", token="nobody"))[0], 403)

    async def test_leadership_is_handed_over(self) -> None:
        leader = await self.leader()
        await self.in_sync()
        target = next(name for name in NAMES if name != leader)
        status, body = await self.ask("POST", "/v1/admin/transfer", {"to": target})
        self.assertEqual((status, body["leader"]), (200, target))
        self.assertEqual((await self.ask("PUT", "/v1/kv/k", {"value": 1}))[0], 200)

    async def test_bad_requests_are_refused(self) -> None:
        for method, path, body, wanted in (
            ("PUT", "/v1/kv/k", {}, 400),
            ("PUT", "/v1/kv/k", [], 400),
            ("POST", "/v1/kv/k/cas", {"value": 1}, 400),
            ("PUT", f"/v1/kv/{'k' * 513}", {"value": 1}, 400),
            ("GET", "/v1/feed?since=x", None, 400),
            ("GET", "/v1/kv/k?consistency=wrong", None, 400),
            ("PUT", "/v1/kv/k", {"value": "x" * 2**20}, 413),
            ("GET", "/nowhere", None, 404),
        ):
            self.assertEqual((await self.ask(method, path, body))[0], wanted, (method, path))

    async def test_metrics_count(self) -> None:
        await self.ask("PUT", "/v1/kv/k", {"value": 1})
        text = (await self.ask("GET", "/metrics"))[1]
        self.assertIn("quorumkv_writes_acknowledged_total 1\n", text)
        self.assertIn('quorumkv_peer_messages_sent_total{peer="', text)


class SnapshotTest(ThreeNodes):
    """Snapshots all the time."""

    extra = ("--snapshot-every", "3")

    async def test_a_follower_that_was_down_is_caught_up_with_a_snapshot(self) -> None:
        leader = await self.leader()
        follower = next(name for name in NAMES if name != leader)
        await self.stop(follower)
        for number in range(10):
            await self.ask("PUT", f"/v1/kv/{number}", {"value": number})
        await self.start(follower)
        await self.in_sync()
        self.assertGreaterEqual(self.nodes[follower].metrics.value("snapshots_installed_total"), 1)
        keys = (await call(self.client[follower], "GET", "/v1/keys?consistency=stale"))[1]["keys"]
        self.assertEqual(keys, [str(number) for number in range(10)])

    async def test_the_log_stays_short(self) -> None:
        for number in range(30):
            await self.ask("PUT", "/v1/kv/k", {"value": number})
        await self.in_sync()
        for node in self.nodes.values():
            self.assertLess(len(node.replica.log), 12)


class NextTest(ClusterTest):
    """The same again with the behaviour of the next release."""

    extra = ("--next",)

    async def test_a_leader_without_a_majority_refuses_reads(self) -> None:
        leader = await self.leader()
        for name in NAMES:
            if name != leader:
                await self.stop(name)
        self.assertEqual((await call(self.client[leader], "GET", "/v1/kv/k"))[0], 503)
