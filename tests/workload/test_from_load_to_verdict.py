"""Claims about the way from generated load to a checker: a right service passes, a wrong one is caught."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import refute.checkers as checkers
from refute.history import HistoryWriter, Phase
from refute.history.event_reader import read_history
from refute.plan.scenario import FinalReads, Workload
from refute.plan.system_spec import Client
from refute.workload import Recorder, Router, final_reads, run_load
from tests.workload.loopback import Asked, service

KINDS = ("read", "write", "cas", "get", "put", "append", "delete", "add", "txn")
CLIENT = Client.model_validate(
    {
        "http": {
            "operations": {
                kind: {
                    "method": "POST",
                    "path": f"/{kind}",
                    "body": {"key": "{key}", "input": "{input}"},
                    "fail": 409,
                    "output": "output",
                }
                for kind in KINDS
            }
        }
    }
)


class Objects:
    """Every kind of object at once, behind one lock. `stale` answers every fifth read with the past."""

    def __init__(self, append: str = "list", stale: bool = False) -> None:
        self.values: dict[Any, Any] = {}
        self.past: dict[Any, list[Any]] = {}
        self.lock = threading.Lock()
        self.append = append
        self.stale = stale
        self.reads = 0

    def answer(self, asked: Asked) -> tuple[int, Any]:
        kind, key, given = asked.path[1:], asked.json["key"], asked.json["input"]
        with self.lock:
            if kind == "txn":
                return 200, {"output": [self.step(*step) for step in given]}
            if kind == "cas":
                if self.values.get(key) != given[0]:
                    return 409, {}
                self.keep(key, given[1])
                return 200, {}
            return 200, {"output": self.step(kind, key, given)[2]}

    def step(self, kind: str, key: Any, given: Any) -> list[Any]:
        if kind in ("r", "read", "get"):
            self.reads += 1
            if self.stale and self.reads % 5 == 0 and self.past.get(key):
                return [kind, key, self.past[key][0]]
            return [kind, key, self.values.get(key)]
        if kind in ("append", "add"):
            held = self.values.get(key)
            given = (held or "") + given if self.append == "string" else [*(held or []), given]
            self.keep(key, given)
            return [kind, key, None if kind != "append" else given[-1]]
        self.keep(key, None if kind == "delete" else given)
        return [kind, key, given]

    def keep(self, key: Any, value: Any) -> None:
        self.past.setdefault(key, []).append(self.values.get(key))
        self.values[key] = value


CASES = [
    ({"generator": "register"}, "linearizable", {}, "list"),
    ({"generator": "cas-register", "values": "small"}, "linearizable", {"model": "cas-register"}, "list"),
    ({"generator": "kv"}, "linearizable", {"model": "kv"}, "list"),
    (
        {"generator": "kv", "mix": {"get": 3, "put": 1, "append": 1, "cas": 1, "delete": 1}},
        "linearizable",
        {"model": "kv"},
        "string",
    ),
    ({"generator": "list-append"}, "list-append", {}, "list"),
    ({"generator": "rw-register"}, "rw-register", {"accept_inferred": True}, "list"),
    ({"generator": "register"}, "no-lost-acknowledged-write", {}, "list"),
    ({"generator": "set"}, "no-lost-acknowledged-write", {}, "list"),
]


def judged(tmp_path, objects, fields, checker, options):
    workload = Workload.model_validate({"clients": 5, "keys": 3, "operations": 400, **fields})
    with service(objects.answer) as server, HistoryWriter(tmp_path / "history.jsonl") as log:
        endpoints = {"n1": {"client": ("127.0.0.1", server.port)}}
        recorder = Recorder(log)
        recorder.phase = Phase.MAIN
        run_load(workload, CLIENT, endpoints, Router(["n1"]), recorder, seed=3, stop=threading.Event())
        if checker == "no-lost-acknowledged-write":
            spec = FinalReads(kind="read")
            final_reads(spec, recorder.used_keys(), ["n1"], {"usual": CLIENT}, endpoints, recorder)
    return checkers.run_check(checker, read_history(tmp_path / "history.jsonl"), options)


@pytest.mark.parametrize(("fields", "checker", "options", "append"), CASES)
def test_the_load_of_each_generator_is_what_its_checker_reads_and_a_right_service_passes(
    tmp_path, fields, checker, options, append
):
    result = judged(tmp_path, Objects(append), fields, checker, options)
    assert result.valid is True, (result.reason, result.anomalies[:1])


@pytest.mark.parametrize(("fields", "checker", "options", "append"), CASES[:6])
def test_a_service_that_answers_with_the_past_is_caught(tmp_path, fields, checker, options, append):
    result = judged(tmp_path, Objects(append, stale=True), fields, checker, options)
    assert result.valid is False


def test_a_service_that_forgets_what_it_acknowledged_is_caught(tmp_path):
    class Forgetful(Objects):
        def keep(self, key: Any, value: Any) -> None:
            if value is None or not isinstance(value, list) or value[-1] % 7:
                super().keep(key, value)

    result = judged(tmp_path, Forgetful(), {"generator": "set"}, "no-lost-acknowledged-write", {})
    assert result.valid is False
