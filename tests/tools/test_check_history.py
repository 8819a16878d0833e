"""Checking one history for a caller who waits."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from refute.tools import histories
from refute.tools.histories import CheckHistoryRequest, check_history

LINES = """{"refute":"history","version":1,"clock":"monotonic"}
{"event":"invoke","id":1,"process":0,"kind":"txn","input":[["w","x",1]],"time_ns":1}
{"event":"ok","id":1,"output":[["w","x",1]],"time_ns":2}
{"event":"invoke","id":2,"process":0,"kind":"txn","input":[["r","x",null]],"time_ns":3}
{"event":"ok","id":2,"output":[["r","x",1]],"time_ns":4}
"""


def test_what_reading_took_is_part_of_the_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(LINES)
    request = CheckHistoryRequest(history=str(path), model="rw-register", time_limit_s=40)
    assert check_history(request).valid is True
    clock = itertools.count(0, 100)
    monkeypatch.setattr(histories.time, "monotonic", lambda: float(next(clock)))
    answer = check_history(request)
    assert answer.valid == "unknown"
    assert answer.reason == "the time limit of 40 s is used up"
