"""The state machine: what the committed log amounts to. Same log, same state, on every node."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from .entry import Entry
from .feed import Feed

RETENTION_MS = 24 * 60 * 60 * 1000
"""How long the reply to a request with an idempotency key is remembered."""


@dataclass(frozen=True, slots=True)
class Item:
    value: Any
    version: int


@dataclass(frozen=True, slots=True)
class Reply:
    """What a client is told about its write: an HTTP status and a JSON body."""

    status: int
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Remembered:
    """The reply to a request, kept so that a retry gets it again."""

    time_ms: int
    command: dict[str, Any]
    reply: Reply


class Store:
    """Items under `tenant/key`, the replies to keyed requests, and a feed a tenant."""

    def __init__(self) -> None:
        self._items: dict[str, Item] = {}
        self._replies: dict[tuple[str, str], Remembered] = {}
        self._feeds: defaultdict[str, Feed] = defaultdict(Feed)

    def get(self, tenant: str, key: str) -> Item | None:
        return self._items.get(f"{tenant}/{key}")

    def scan(self, prefix: str) -> list[tuple[str, Item]]:
        return sorted((name, item) for name, item in self._items.items() if name.startswith(prefix))

    def keys(self, tenant: str, prefix: str) -> list[str]:
        start = len(tenant) + 1
        return [name[start:] for name, _ in self.scan(f"{tenant}/{prefix}")]

    def export(self, tenant: str, export_format: int) -> dict[str, Any]:
        start = len(tenant) + 1
        if export_format == 1:
            return {name[start:]: item.value for name, item in self.scan(tenant)}
        return {
            name[start:]: {"value": item.value, "version": item.version}
            for name, item in self.scan(f"{tenant}/")
        }

    def feed(self, tenant: str) -> Feed:
        return self._feeds[tenant]

    def remembered(self, tenant: str, request: str, now_ms: int) -> Remembered | None:
        known = self._replies.get((tenant, request))
        return known if known and now_ms - known.time_ms < RETENTION_MS else None

    def apply(self, entry: Entry) -> Reply:
        command = entry.command
        if command is None:
            return Reply(200, {})
        reply = self._execute(command, entry.index)
        if entry.request is not None:
            self._forget_before(entry.time_ms - RETENTION_MS)
            slot = (command["tenant"], entry.request)
            self._replies.pop(slot, None)
            self._replies[slot] = Remembered(entry.time_ms, command, reply)
        return reply

    def _forget_before(self, time_ms: int) -> None:
        while self._replies:
            oldest = next(iter(self._replies))
            if self._replies[oldest].time_ms >= time_ms:
                return
            del self._replies[oldest]

    def _execute(self, command: dict[str, Any], version: int) -> Reply:
        tenant, key, op = command["tenant"], command["key"], command["op"]
        item = self.get(tenant, key)
        if op == "put":
            return self._set(tenant, key, command["value"], version, op)
        if op == "append":
            if item is not None and not isinstance(item.value, list):
                return Reply(409, {"error": "wrong-type", "key": key})
            before = item.value if item is not None else []
            return self._set(tenant, key, [*before, command["value"]], version, op)
        if op == "cas":
            return self._compare_and_set(command, item, version)
        if op == "delete":
            if item is None:
                return Reply(200, {"key": key, "existed": False})
            del self._items[f"{tenant}/{key}"]
            self._feeds[tenant].add({"op": op, "key": key, "version": version})
            return Reply(200, {"key": key, "existed": True, "version": version})
        return Reply(400, {"error": "unknown-operation", "op": op})

    def _compare_and_set(self, command: dict[str, Any], item: Item | None, version: int) -> Reply:
        if "expect_version" in command:
            matches = (item.version if item else 0) == command["expect_version"]
        else:
            matches = (item.value if item else None) == command["expect"]
        if not matches:
            actual = {"value": item.value, "version": item.version} if item else None
            return Reply(412, {"error": "cas-failed", "key": command["key"], "actual": actual})
        return self._set(command["tenant"], command["key"], command["value"], version, "cas")

    def _set(self, tenant: str, key: str, value: Any, version: int, op: str) -> Reply:
        self._items[f"{tenant}/{key}"] = Item(value, version)
        self._feeds[tenant].add({"op": op, "key": key, "value": value, "version": version})
        return Reply(200, {"key": key, "version": version})

    def dump(self, snapshot_format: int) -> dict[str, Any]:
        """The state as JSON; `restore` on an empty store brings it back."""
        state: dict[str, Any] = {
            "format": snapshot_format,
            "items": {name: [item.value, item.version] for name, item in self._items.items()},
            "replies": [
                [tenant, request, known.time_ms, known.command, known.reply.status, known.reply.body]
                for (tenant, request), known in self._replies.items()
            ],
        }
        if snapshot_format == 1:
            state["feeds"] = {tenant: feed.last for tenant, feed in self._feeds.items()}
        else:
            state["feeds"] = {tenant: feed.dump() for tenant, feed in self._feeds.items()}
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Take over the state of a snapshot, either format."""
        items = {name: Item(value, version) for name, (value, version) in state["items"].items()}
        replies = {
            (tenant, request): Remembered(time_ms, command, Reply(status, body))
            for tenant, request, time_ms, command, status, body in state["replies"]
        }
        if state["format"] == 1:
            self._items.update(items)
            self._replies.update(replies)
            for tenant, last in state["feeds"].items():
                self._feeds[tenant].last = last
        else:
            self._items, self._replies = items, replies
            self._feeds = defaultdict(Feed, {t: Feed.load(saved) for t, saved in state["feeds"].items()})
