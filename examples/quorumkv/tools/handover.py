"""Hand leadership to a node: find the leader among the given client addresses and ask it."""

from __future__ import annotations

import argparse
import json
import sys
import urllib.error
import urllib.request
from typing import Any


def call(address: str, path: str, body: Any = None, token: str | None = None) -> tuple[int, Any]:
    request = urllib.request.Request(f"http://{address}{path}")
    if token is not None:
        request.add_header("Authorization", f"Bearer {token}")
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(request, data, timeout=3) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def leader(addresses: list[str]) -> tuple[str, str] | None:
    """Client address and name of the leader with the highest term; one that was cut off is not asked."""
    found: list[tuple[int, str, str]] = []
    for address in addresses:
        try:
            _, status = call(address, "/status")
        except OSError:
            continue
        if status["ready"]:
            found.append((status["term"], address, status["node"]))
    return max(found)[1:] if found else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("to", metavar="NODE")
    parser.add_argument("--clients", default="127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003")
    parser.add_argument("--admin-token")
    given = parser.parse_args()
    current = leader(given.clients.split(","))
    if current is None:
        print("no leader", file=sys.stderr)
        return 1
    address, name = current
    if name == given.to:
        print(f"{name} leads already")
        return 0
    status, body = call(address, "/v1/admin/transfer", {"to": given.to}, given.admin_token)
    print(json.dumps(body), file=sys.stdout if status == 200 else sys.stderr)
    return 0 if status == 200 else 1


if __name__ == "__main__":
    sys.exit(main())
