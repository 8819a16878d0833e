"""Histories recorded by others: both twins of a file get the same answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.checkers import run_check
from refute.checkers.planted import plant
from refute.history.formats.load import load

SAMPLES = Path(__file__).resolve().parents[3] / "shared" / "histories" / "elle-cli"
CASES = [("bank", "bank-total", True), ("set_full", "set-full", True), ("counter", "counter", "unknown")]


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the recorded histories are not beside this checkout")
@pytest.mark.parametrize(("name", "checker", "valid"), CASES)
def test_twins_agree_and_what_is_planted_in_them_is_noticed(name: str, checker: str, valid: object) -> None:
    twins = [load(SAMPLES / f"{name}.{suffix}") for suffix in ("edn", "json")]
    results = [run_check(checker, history) for history in twins]
    assert [result.valid for result in results] == [valid, valid]
    assert results[0].consumed == results[1].consumed
    report = plant(twins[0], checker, seed=1)
    assert report.missed == ()
    assert report.proves_nothing is (valid == "unknown")
