"""A worker for NATS JetStream: `write` and `read` of a key-value bucket, as JSON lines. Needs nats-py."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import nats
from nats.errors import Error as NatsError
from nats.js.errors import BucketNotFoundError, KeyNotFoundError

BUCKET = "refute"


class Node:
    """One connection to the node that an operation is for, opened again where it broke."""

    def __init__(self) -> None:
        self.connection: Any = None
        self.endpoint = ""

    async def open(self, endpoint: str, timeout_s: float) -> Any:
        """A connection to that node. Raises what connecting raises: nothing was sent then."""
        if self.connection is None or self.connection.is_closed or self.endpoint != endpoint:
            self.endpoint = endpoint
            self.connection = await nats.connect(
                f"nats://{endpoint}", connect_timeout=timeout_s, allow_reconnect=False, error_cb=_quiet
            )
        return self.connection.jetstream(timeout=timeout_s)


async def attempt(node: Node, operation: dict[str, Any]) -> dict[str, Any]:
    """What came of an operation; unknown where something was sent and no usable answer came."""
    timeout_s = operation["timeout_ms"] / 1000
    try:
        stream = await node.open(operation["endpoint"], timeout_s)
    except (NatsError, OSError, TimeoutError) as error:
        return {"outcome": "fail", "error": f"not connected: {error}"}
    try:
        try:
            bucket = await stream.key_value(BUCKET)
        except BucketNotFoundError:  # with it, power loss has taken every key
            if operation["kind"] == "read":
                return {"outcome": "ok", "output": None}
            bucket = await stream.create_key_value(bucket=BUCKET)
        if operation["kind"] == "write":
            await bucket.put(operation["key"], json.dumps(operation["input"]).encode())
            return {"outcome": "ok"}
        entry = await bucket.get(operation["key"])
        return {"outcome": "ok", "output": json.loads(entry.value)}
    except KeyNotFoundError:
        return {"outcome": "ok", "output": None}
    except (NatsError, OSError, TimeoutError) as error:
        return {"outcome": "info", "error": repr(error)}


async def create(endpoint: str) -> None:
    """Make the bucket: what the plan runs once, before anything else."""
    stream = await Node().open(endpoint, 5.0)
    await stream.create_key_value(bucket=BUCKET)


async def main() -> None:
    """Answer one operation after the other until the input ends."""
    node, loop = Node(), asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        operation = json.loads(line)
        answer = await attempt(node, operation)
        sys.stdout.write(json.dumps({"id": operation["id"], **answer}) + "\n")
        sys.stdout.flush()


async def _quiet(_: Exception) -> None:
    pass


if __name__ == "__main__":
    asyncio.run(create(sys.argv[1]) if sys.argv[1:] else main())
