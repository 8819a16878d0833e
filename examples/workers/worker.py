#!/usr/bin/env python3
"""A worker in Python: operations on a key-value service, `GET` and `PUT /kv/KEY`, as JSON lines."""

import json
import sys
from http.client import HTTPConnection, HTTPException


def attempt(operation):
    connection = HTTPConnection(operation["endpoint"], timeout=operation["timeout_ms"] / 1000)
    try:
        connection.connect()
    except OSError as error:  # nothing was sent: it did not happen
        return {"outcome": "fail", "error": str(error)}
    try:
        path = f"/kv/{operation['key']}"
        if operation["kind"] == "write":
            body = json.dumps({"value": operation["input"]})
            connection.request("PUT", path, body, {"content-type": "application/json"})
        else:
            connection.request("GET", path)
        answer = connection.getresponse()
        if answer.status == 404:
            return {"outcome": "ok", "output": None}
        if answer.status != 200:
            return {"outcome": "info", "error": f"HTTP {answer.status}"}
        return {"outcome": "ok", "output": json.load(answer).get("value")}
    except (OSError, HTTPException, ValueError) as error:  # sent, and no usable answer: nobody knows
        return {"outcome": "info", "error": str(error)}
    finally:
        connection.close()


for line in sys.stdin:
    operation = json.loads(line)
    print(json.dumps({"id": operation["id"], **attempt(operation)}), flush=True)
