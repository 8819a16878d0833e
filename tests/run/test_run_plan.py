"""Whole runs against the bundled store: what fails, what passes, and what is neither."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import psutil
import pytest

from refute.errors import InputError, UnavailableError
from refute.plan.document import PlanError
from refute.run.execute import run_plan
from refute.session.record import Session
from refute.session.verify import verify_session
from tests.run.plans import ISOLATED, write_plan

NEXT = {"release": "--next"}
UNFELT = "{node: old, state: term, rule: becomes, expected: 999}"


def reasons(session: Session) -> set[str]:
    document = json.loads((session.scenario_folder("S1") / "verdict.json").read_text())
    return {reason["code"] for reason in document["reasons"]}


def test_a_violation_is_rerun_and_has_a_small_counterexample(failing: Session) -> None:
    entry = failing.index.scenarios["S1"]
    assert (entry.verdict, entry.rate) == ("FAIL-reproducible", (3, 3))
    assert "control-passed" in reasons(failing)
    first = failing.attempts("S1")[0]
    checked = json.loads((first / "check.json").read_text())["results"][0]
    assert checked["valid"] is False
    assert 2 <= len(checked["anomalies"][0]["operations"]) <= 10
    assert "stale read" in (failing.folder / "report.md").read_text()
    assert (failing.folder / "findings" / "S1.md").is_file()


def test_the_same_sequence_passes_where_the_mistake_is_mended(tmp_path: Path) -> None:
    session = run_plan(
        write_plan(tmp_path, ISOLATED),
        budget="hardening",
        seed=1,
        session_root=tmp_path / "s",
        variables=NEXT,
    )
    assert session.index.scenarios["S1"].verdict == "PASS-hardening"
    landing = json.loads((session.attempts("S1")[0] / "landing.json").read_text())
    sides = {signal["side"] for fault in landing for signal in fault["signals"] if signal["moved"]}
    assert sides == {"injector", "victim"}
    assert verify_session(session.folder).mismatches == ()


def test_a_fault_through_which_nothing_flows_is_not_proven(tmp_path: Path) -> None:
    steps = """steps:
  - await: {leader: known}
  - write: {key: k, value: unique, via: leader, expect: ok}
  - isolate: leader as old
  - sleep: 600ms
  - write: {key: k, value: unique, via: leader, expect: ok}
  - read: {key: k, via: leader, count: 4, expect: ok}
check: [{linearizable: {model: register}}]
"""
    plan = write_plan(tmp_path, steps, links="spare")
    # Each node must reach its peers directly, past the plane: addresses that only the cluster knows.
    text = plan.read_text().replace("--peers {variables.direct}", "--peers PEERS")
    direct = "n1={n1.listen.peer},n2={n2.listen.peer},n3={n3.listen.peer}"
    script = tmp_path / "node.py"
    script.write_text(
        "import sys, runpy\n"
        "words = sys.argv[1:]\n"
        "me, peers = words[words.index('--node') + 1], words.index('--peers') + 1\n"
        "words[peers] = ','.join(p for p in words[peers].split(',') if not p.startswith(me + '='))\n"
        "sys.argv = ['quorumkv', *words]\nsys.path.insert(0, '.')\n"
        "runpy.run_module('quorumkv', run_name='__main__')\n"
    )
    text = text.replace("{python} -m quorumkv", f"{{python}} {script}").replace("PEERS", direct)
    plan.write_text(text)
    session = run_plan(plan, seed=1, session_root=tmp_path / "s")
    assert session.index.scenarios["S1"].verdict == "INCONCLUSIVE-fault-not-proven"
    assert "not-landed" in reasons(session)


def test_a_fault_that_the_system_did_not_feel_as_the_plan_says_is_not_proven(tmp_path: Path) -> None:
    # The other nodes elect a new leader, so that the fault is real; the old one never gets to term 999.
    elsewhere = ISOLATED.replace("{node: not old, state: term, rule: increases}", UNFELT)
    assert elsewhere != ISOLATED
    session = run_plan(write_plan(tmp_path, elsewhere), seed=1, session_root=tmp_path / "s", variables=NEXT)
    assert session.index.scenarios["S1"].verdict == "INCONCLUSIVE-fault-not-proven"
    said = json.loads((session.scenario_folder("S1") / "verdict.json").read_text())["reasons"]
    missing = [reason["sentence"] for reason in said if reason["code"] == "not-landed"]
    assert missing
    assert all(each.endswith("the plan's evidence did not hold: old: term becomes 999") for each in missing)
    assert verify_session(session.folder).mismatches == ()


def test_a_run_in_which_nothing_ever_succeeds_is_not_a_pass(tmp_path: Path) -> None:
    steps = """steps:
  - await: {leader: known}
  - write: {key: k, value: unique, via: leader, count: 3}
check: [{linearizable: {model: register}}]
"""
    session = run_plan(write_plan(tmp_path, steps, path="/nowhere/"), seed=1, session_root=tmp_path / "s")
    assert session.index.scenarios["S1"].verdict == "INCONCLUSIVE-oracle-too-weak"


def test_a_history_without_reads_proves_nothing(tmp_path: Path) -> None:
    steps = """steps:
  - await: {leader: known}
  - write: {key: k, value: unique, via: leader, count: 5, expect: ok}
check: [{linearizable: {model: register}}]
"""
    session = run_plan(write_plan(tmp_path, steps), seed=1, session_root=tmp_path / "s")
    assert session.index.scenarios["S1"].verdict == "INCONCLUSIVE-oracle-too-weak"
    assert reasons(session) & {"proves-nothing", "unknown"}


def test_a_sequence_that_was_not_followed_is_inconclusive(tmp_path: Path) -> None:
    steps = """steps:
  - await: {leader: known}
  - write: {key: k, value: unique, via: leader, expect: fail}
  - read: {key: k, via: leader}
check: [{linearizable: {model: register}}]
"""
    session = run_plan(write_plan(tmp_path, steps), seed=1, session_root=tmp_path / "s")
    assert session.index.scenarios["S1"].verdict == "INCONCLUSIVE-env"
    assert "sequence-not-followed" in reasons(session)


def test_a_cancelled_run_is_sealed_and_leaves_nothing_running(tmp_path: Path) -> None:
    stop = threading.Event()
    workload = """workload: {generator: register, clients: 2, rate: 50/s, duration: 60s, via: leader}
check: [{linearizable: {model: register}}]
"""
    told: list[str] = []

    def progress(event: object) -> None:
        told.append(str(event))
        threading.Timer(2.0, stop.set).start()

    before = {process.pid for process in psutil.Process().children(recursive=True)}
    session = run_plan(
        write_plan(tmp_path, workload), seed=1, session_root=tmp_path / "s", progress=progress, stop=stop
    )
    assert session.index.state == "cancelled"
    assert not session.index.scenarios["S1"].verdict.startswith("PASS")
    assert {process.pid for process in psutil.Process().children(recursive=True)} <= before
    assert told


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("{python} -m quorumkv", "/no/such/program", "/no/such/program"),
        ("{python} -m quorumkv", "{python} -m no_such_module", "no_such_module"),
    ],
)
def test_a_system_that_cannot_start_is_one_clear_error(tmp_path: Path, old: str, new: str, said: str) -> None:
    plan = write_plan(tmp_path, ISOLATED)
    plan.write_text(plan.read_text().replace(old, new))
    with pytest.raises((InputError, UnavailableError)) as raised:
        run_plan(plan, seed=1, session_root=tmp_path / "s")
    assert said in str(raised.value)


def test_a_worker_that_does_not_exist_is_told_before_anything_starts(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, ISOLATED)
    broken = "clients:\n  broken: {worker: {command: [/no/such/worker]}}\n"
    plan.write_text(plan.read_text().replace("clients:\n", broken))
    with pytest.raises((InputError, UnavailableError), match="/no/such/worker"):
        run_plan(plan, seed=1, session_root=tmp_path / "s")
    assert not list((tmp_path / "s").rglob("n1.log")), "no node was started"


def test_a_node_that_never_gets_ready_is_one_clear_error(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, ISOLATED)
    text = (
        plan.read_text()
        .replace("ready: [in-sync]", "ready: [never]")
        .replace("ready_timeout: 15s", "ready_timeout: 1s")
    )
    plan.write_text(
        text.replace("states:\n", "states:\n  never: {http: /status, value: role, equals: nobody}\n")
    )
    with pytest.raises(UnavailableError) as raised:
        run_plan(plan, seed=1, session_root=tmp_path / "s")
    assert "n1" in str(raised.value)


def test_faults_of_form_are_named_with_their_lines(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, ISOLATED.replace("- isolate:", "- isolatte:"))
    with pytest.raises(PlanError, match=r"store\.md:\d+"):
        run_plan(plan, seed=1, session_root=tmp_path / "s")


def test_unknown_scenarios_and_variables_are_refused(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, ISOLATED)
    with pytest.raises(InputError, match="S9"):
        run_plan(plan, scenarios=["S9"], seed=1, session_root=tmp_path / "s")
    with pytest.raises(InputError, match="realease"):
        run_plan(plan, seed=1, session_root=tmp_path / "s", variables={"realease": "x"})
