"""A plan for the bundled store with one scenario, written around whatever a test wants to try."""

from __future__ import annotations

from pathlib import Path

_HEAD = """# Plan: a store under test

## 1b. Claims

| id | claim | category | source |
|----|-------|----------|--------|
| C1 | Reads return the latest acknowledged write. | safety | https://example.org/promises |

## 4. Hypotheses

| id | hypothesis | claims |
|----|------------|--------|
| H1 | A deposed leader answers from its past. | C1 |

## 6b. Environment

```yaml
system: store
nodes: 3
ports: [client, peer, spare]
variables: {release: "--election-timeout-ms=300-600"}
command: >-
  {python} -m quorumkv --node {node} --client-port {port.client} --peer-port {port.peer} --peers {peers}
  --data {data} {variables.release}
cwd: "{examples}/quorumkv"
env: {PYTHONDONTWRITEBYTECODE: "1"}
peers: {each: "{peer}={address}"}
links: {port: LINKS}
ready: [in-sync]
ready_timeout: 15s
states:
  in-sync: {http: /status, value: in_sync}
  leader: {http: /status, value: role, equals: leader}
  term: {http: /status, value: term}
clients:
  http:
    timeout: 1500ms
    http:
      headers: {Authorization: "Bearer dev"}
      operations:
        read: {path: "/v1/kv/{key}", output: value, absent: 404, fail: [400, 421, 503]}
        write: {method: PUT, path: "PATH{key}", body: {value: "{value}"}, fail: [4xx, 503]}
```

## 7. Scenarios

### S1 reads are fresh

```yaml
id: S1
name: reads_are_fresh
falsifies: [C1]
hypotheses: [H1]
system: store
"""

ISOLATED = """steps:
  - await: {leader: known, every_node: in-sync}
  - write: {key: k, value: unique, via: leader, expect: ok}
  - read: {key: k, via: leader, expect: ok}
  - isolate: leader as old
    evidence: [{node: not old, state: term, rule: increases}]
  - await: {leader: not old}
  - write: {key: k, value: unique, via: leader, expect: ok, timeout: 3s}
  - read: {key: k, via: old}
  - heal: all
  - await: {leader: known, every_node: in-sync}
  - read: {key: k, via: leader, count: 3, expect: ok}
check: [{linearizable: {model: register}}]
"""


def write_plan(folder: Path, scenario: str, *, links: str = "peer", path: str = "/v1/kv/") -> Path:
    """The plan with that scenario in a file of its own."""
    target = folder / "store.md"
    text = _HEAD.replace("LINKS", links).replace("PATH", path)
    if links != "peer":  # the nodes then reach each other past the plane, and nothing flows through it
        text = text.replace("--peers {peers}", "--peers {variables.direct}")
    target.write_text(f"{text}{scenario}```\n", encoding="utf-8")
    return target
