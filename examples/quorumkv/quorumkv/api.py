"""The HTTP interface: who asks, what for, and what each outcome is called. See docs/api.md."""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from typing import Any
from urllib.parse import unquote

from .config import READ_TIMEOUT_S, Config
from .feed import FeedTrimmedError
from .http1 import HttpAnswer, HttpRequest
from .replica import LEADER, Replica, wall_ms
from .status import metrics, status
from .store import Reply
from .transfer import Transfer

MAX_KEY_BYTES = 512
MAX_FEED_EVENTS = 1000

WRITES = {("PUT", ""): "put", ("DELETE", ""): "delete", ("POST", "cas"): "cas", ("POST", "append"): "append"}


class Rejected(Exception):  # noqa: N818
    """The request ends here with this answer and has changed nothing."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(body.get("error"))
        self.answer = HttpAnswer(status, body)


class Api:
    """Turns requests into proposals and reads of one replica."""

    def __init__(self, config: Config, replica: Replica, transfer: Transfer) -> None:
        self._config = config
        self._replica = replica
        self._transfer = transfer

    async def handle(self, request: HttpRequest) -> HttpAnswer:
        self._replica.metrics.add("http_requests_total")
        try:
            answer = await self._route(request)
        except Rejected as rejected:
            answer = rejected.answer
        answer.headers["X-Quorumkv-Node"] = self._config.node
        return answer

    async def _route(self, request: HttpRequest) -> HttpAnswer:
        match request.method, request.path.strip("/").split("/"):
            case "GET", ["healthz"]:
                return HttpAnswer(200, "ok\n")
            case "GET", ["status"]:
                return HttpAnswer(200, status(self._replica))
            case "GET", ["metrics"]:
                return HttpAnswer(200, metrics(self._replica))
            case "POST", ["v1", "admin", action]:
                self._require_admin(request)
                return await self._admin(action, request)
            case "GET", ["v1", "kv", key]:
                return await self._get(self._tenant(request), checked_key(key), request)
            case "GET", ["v1", "keys"]:
                tenant = await self._reader(request)
                return HttpAnswer(
                    200, {"keys": self._replica.store.keys(tenant, request.query.get("prefix", ""))}
                )
            case "GET", ["v1", "export"]:
                return await self._export(request)
            case "GET", ["v1", "feed"]:
                return await self._feed(request)
            case method, ["v1", "kv", key, *rest] if (method, "/".join(rest)) in WRITES:
                op = WRITES[(method, "/".join(rest))]
                return await self._write(self._tenant(request), op, checked_key(key), request)
        raise Rejected(404, {"error": "no-such-route"})

    # Who asks

    def _tenant(self, request: HttpRequest) -> str:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise Rejected(401, {"error": "token-required"})
        tenant = self._config.tenants.by_token(token.strip())
        if tenant is None:
            raise Rejected(403, {"error": "unknown-token"})
        return tenant

    def _require_admin(self, request: HttpRequest) -> None:
        wanted = self._config.admin_token
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if wanted is not None and not hmac.compare_digest(given.encode(), wanted.encode()):
            raise Rejected(403, {"error": "admin-token-required"})

    # Reads

    async def _reader(self, request: HttpRequest) -> str:
        """The tenant, once this node may answer the read in the consistency that was asked for."""
        tenant = self._tenant(request)
        consistency = request.query.get("consistency", "strong")
        if consistency not in ("strong", "stale"):
            raise Rejected(400, {"error": "bad-consistency"})
        self._replica.metrics.add("reads_total")
        if consistency == "strong":
            await self._require_leader()
            if self._config.policies.leader_reads == "confirmed":
                await self._confirm_leader()
        return tenant

    async def _require_leader(self) -> None:
        replica = self._replica
        if replica.ready or await replica.wait_ready(READ_TIMEOUT_S):
            return
        if replica.role != LEADER and replica.leader is not None:
            hint = {"leader": replica.leader, "leader_client": replica.leader_client}
            raise Rejected(421, {"error": "not-leader", **hint})
        raise Rejected(503, {"error": "no-leader"})

    async def _confirm_leader(self) -> None:
        try:
            confirmed = await asyncio.wait_for(self._replica.confirm(), READ_TIMEOUT_S)
        except TimeoutError:
            confirmed = False
        if not confirmed:
            raise Rejected(503, {"error": "no-quorum"})

    async def _get(self, tenant: str, key: str, request: HttpRequest) -> HttpAnswer:
        await self._reader(request)
        item = self._replica.store.get(tenant, key)
        if item is None:
            return HttpAnswer(404, {"error": "not-found", "key": key}, self._freshness())
        return HttpAnswer(200, {"key": key, "value": item.value, "version": item.version}, self._freshness())

    def _freshness(self) -> dict[str, str]:
        age_s = 0.0 if self._replica.role == LEADER else time.monotonic() - self._replica.heard_at
        return {"X-Quorumkv-Applied": str(self._replica.applied), "X-Quorumkv-Age-Ms": str(int(age_s * 1000))}

    async def _export(self, request: HttpRequest) -> HttpAnswer:
        tenant = await self._reader(request)
        export_format = self._config.policies.export_format
        items = self._replica.store.export(tenant, export_format)
        return HttpAnswer(
            200, {"tenant": tenant, "format": export_format, "applied": self._replica.applied, "items": items}
        )

    async def _feed(self, request: HttpRequest) -> HttpAnswer:
        tenant = await self._reader(request)
        since = query_number(request, "since", 0)
        limit = min(query_number(request, "limit", 100), MAX_FEED_EVENTS)
        try:
            events = self._replica.store.feed(tenant).since(since, limit)
        except FeedTrimmedError as trimmed:
            raise Rejected(410, {"error": "feed-trimmed", "oldest": trimmed.oldest}) from trimmed
        return HttpAnswer(200, {"events": events, "next": events[-1]["seq"] if events else since})

    # Writes

    async def _write(self, tenant: str, op: str, key: str, request: HttpRequest) -> HttpAnswer:
        command = {"op": op, "tenant": tenant, "key": key, **write_fields(op, request)}
        request_id = request.headers.get("idempotency-key")
        if request_id is not None and not 1 <= len(request_id) <= 128:
            raise Rejected(400, {"error": "bad-idempotency-key"})
        await self._require_leader()
        replayed = False
        if request_id is not None:
            known = self._replica.store.remembered(tenant, request_id, wall_ms())
            if known is not None:
                self._require_same(known.command, command)
                self._replica.metrics.add("writes_replayed_total")
                return self._answer(known.reply, replayed=True)
            running = self._replica.in_flight(tenant, request_id)
            if running is not None:
                self._require_same(running[0], command)
                replayed = True
                future = running[1]
            else:
                future = self._replica.propose(command, request_id)
        else:
            future = self._replica.propose(command, None)
        try:
            reply = await asyncio.wait_for(asyncio.shield(future), self._config.write_timeout_s)
        except TimeoutError:
            reply = None
        if reply is None:
            self._replica.metrics.add("write_timeouts_total")
            return HttpAnswer(504, {"error": "timeout", "outcome": "unknown"})
        return self._answer(reply, replayed=replayed)

    def _require_same(self, known: dict[str, Any], command: dict[str, Any]) -> None:
        if known != command:
            raise Rejected(422, {"error": "idempotency-key-reused"})

    def _answer(self, reply: Reply, *, replayed: bool) -> HttpAnswer:
        if reply.status == 200:
            self._replica.metrics.add("writes_acknowledged_total")
        return HttpAnswer(reply.status, {**reply.body, "replayed": replayed})

    # Operators

    async def _admin(self, action: str, request: HttpRequest) -> HttpAnswer:
        if action == "snapshot":
            self._replica.take_snapshot()
            return HttpAnswer(200, {"snapshot_index": self._replica.snapshot_index})
        if action == "transfer":
            target = body_object(request).get("to")
            if target not in self._config.peers:
                raise Rejected(400, {"error": "unknown-node", "nodes": sorted(self._config.peers)})
            await self._require_leader()
            if not await self._transfer.hand_over(target):
                raise Rejected(409, {"error": "transfer-failed", "leader": self._replica.leader})
            return HttpAnswer(200, {"leader": target, "term": self._replica.term})
        raise Rejected(404, {"error": "no-such-route"})


def checked_key(raw: str) -> str:
    key = unquote(raw)
    if not 1 <= len(key.encode()) <= MAX_KEY_BYTES:
        raise Rejected(400, {"error": "bad-key"})
    return key


def query_number(request: HttpRequest, name: str, default: int) -> int:
    text = request.query.get(name, str(default))
    if not text.isdigit():
        raise Rejected(400, {"error": f"bad-{name}"})
    return int(text)


def body_object(request: HttpRequest) -> dict[str, Any]:
    try:
        body = json.loads(request.body or b"{}")
    except ValueError as error:
        raise Rejected(400, {"error": "bad-json"}) from error
    if not isinstance(body, dict):
        raise Rejected(400, {"error": "bad-json"})
    return body


def write_fields(op: str, request: HttpRequest) -> dict[str, Any]:
    """What the body of a write must hold, and nothing else of it."""
    if op == "delete":
        return {}
    body = body_object(request)
    if "value" not in body:
        raise Rejected(400, {"error": "value-required"})
    if op != "cas":
        return {"value": body["value"]}
    expectations = [name for name in ("expect", "expect_version") if name in body]
    if len(expectations) != 1:
        raise Rejected(400, {"error": "one-expectation-required"})
    return {"value": body["value"], expectations[0]: body[expectations[0]]}
