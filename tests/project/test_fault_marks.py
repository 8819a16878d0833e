"""A mark on a fault test is believed only as far as the test goes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from refute.history.fault import Landing, Signal
from tests.fault_marks import Claim, broken_claims, claims_of, landings_read


def landing(fault: str, *, landed: bool, kind: str = "drop") -> Landing:
    return Landing(
        *(fault, "netns", kind, ("n1",)),
        (
            Signal("injector", "a", "s", "increases", 0, 1),
            Signal("victim", "b", "s", "increases", 0, int(landed)),
        ),
    )


@pytest.mark.parametrize(
    ("shows", "seen", "kept"),
    [
        ("landing", [("f1", False), ("f1", True)], True),
        ("landing", [("f1", True), ("f1", False)], False),
        ("landing", [], False),
        ("not landing", [("f1", True), ("f1", False)], True),
        ("not landing", [("f1", False), ("f1", True)], False),
        ("not landing", [("f1", True), ("f2", False)], True),
        ("not landing", [], False),
    ],
)
def test_a_claim_is_kept_by_the_last_answer_of_a_fault(
    shows: str, seen: list[tuple[str, bool]], kept: bool
) -> None:
    with landings_read() as answers:
        for fault, landed in seen:
            assert landing(fault, landed=landed).landed is landed
    claim = Claim("netns", "drop", shows)
    assert (broken_claims([claim], answers) == []) is kept


def test_a_landing_of_another_kind_keeps_no_claim() -> None:
    with landings_read() as answers:
        assert landing("f1", landed=True, kind="reject").landed
    claim = Claim("netns", "drop", "landing")
    assert broken_claims([claim], answers) == [claim]


def test_after_the_test_the_property_is_as_before() -> None:
    before = Landing.landed
    with landings_read():
        assert Landing.landed is not before
    assert Landing.landed is before


def test_a_mark_that_is_written_wrongly_is_an_error(request: pytest.FixtureRequest) -> None:
    request.node.add_marker(pytest.mark.fault("netns", "drop", shows="landed"))
    with pytest.raises(ValueError, match="write fault"):
        claims_of(request.node)


def test_every_fault_that_is_written_is_shown_landing_not_landing_and_leaving_nothing() -> None:
    script = Path(__file__).parents[2] / "scripts" / "fault_tests.py"
    found = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", ""), found


def test_a_fault_without_its_tests_would_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "scripts")
    from fault_tests import gaps

    found = gaps({("process", "kill"): {"landing": ["a"]}, ("process", "tickle"): {"landing": ["b"]}})
    assert "process kill: no test shows not landing" in found
    assert "process kill: no test shows landing" not in found
    assert "process pause: no test shows landing" in found
    assert "process tickle: there is no such mechanism" in found
