"""The picture as data: what it shows is what was recorded, and no text of a history leaves its place."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from refute.checkers import Anomaly, Result
from refute.history import History, HistoryWriter, Outcome
from refute.session.errors import SessionError
from refute.session.picture.bands import bands_of
from refute.session.picture.conflict import Conflict, Edge, conflicts_of, recorded_conflicts
from refute.session.picture.data import MOST_VALUES, picture_data
from refute.session.picture.page import timeline_page
from refute.session.picture.write import refuse_other_files
from refute.session.record import Session
from refute.session.report import write_report
from refute.session.verify import verify_session
from tests.faces.test_cli import refute
from tests.session import pictures


def embedded(page: str) -> dict[str, object]:
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert len(found) == 1
    document: dict[str, object] = json.loads(found[0])
    return document


def test_each_operation_is_where_it_was() -> None:
    history = pictures.stale_read()
    data = picture_data(history, pictures.conflicts(history, "linearizable"), (), title="t")
    starts, time = [], 0
    for difference in data["start"]:
        time += difference
        starts.append(time)
    assert starts == [operation.invoked_ns for operation in history.operations]
    assert data["length"] == [4 * 10**6, 3 * 10**6, 5 * 10**6, -1, 2 * 10**6, 3 * 10**6, 3 * 10**6]
    assert data["outcome"] == [0, 0, 0, 2, 1, 0, 2]
    assert [data["keys"][code] for code in data["key"]] == ["x", "x", "x", "y", "x", "x", "y"]
    assert data["input"] == [1, None, 2, 9, 3, None, 8]
    assert data["output"] == [None, 1, None, None, None, 1, None]
    assert data["span"] == 19 * 10**6 + 1


def test_the_operations_of_a_conflict_are_lit_beside_its_sentence() -> None:
    history = pictures.stale_read()
    (lit,) = picture_data(history, pictures.conflicts(history, "linearizable"), (), title="t")["conflicts"]
    assert lit["rows"] == [0, 2, 5]
    assert lit["missing"] == 0
    assert "returned 1 although 2 was acknowledged 3 ms before" in lit["sentence"]


def test_a_cycle_has_its_edges_by_type() -> None:
    history = pictures.write_skew()
    data = picture_data(history, pictures.conflicts(history, "list-append"), (), title="t")
    assert [edge[:3] for edge in data["conflicts"][0]["edges"]] == [[0, 1, "rw"], [1, 0, "rw"]]
    assert data["key"] == [[0, 1], [0, 1], [0, 1]]
    assert data["output"][0] == "append x 1 · r y → []"


def test_orders_of_session_and_time_have_their_short_names() -> None:
    history = pictures.stale_read()
    first, second = history.operations[0], history.operations[2]
    edges = [[0, 2, "process", "process 0"], [2, 0, "realtime", ""]]
    found = conflicts_of(
        [Result("c", False, anomalies=(Anomaly("G0", "s", (first, second), {"edges": edges}),))]
    )
    assert found[0].edges == (Edge(0, 2, "so", "process 0"), Edge(2, 0, "rt"))


def test_operations_that_the_history_does_not_hold_are_counted() -> None:
    shown = Conflict("c", "lost", "s", (5, 99), (Edge(5, 99, "ww"),))
    (conflict,) = picture_data(pictures.stale_read(), [shown], (), title="t")["conflicts"]
    assert (conflict["rows"], conflict["missing"], conflict["edges"]) == ([5], 1, [])


def test_a_part_of_a_history_is_lit_by_the_names_of_its_operations() -> None:
    history = History(pictures.stale_read().operations[2:])
    (conflict,) = picture_data(history, [Conflict("c", "n", "s", (2, 5))], (), title="t")["conflicts"]
    assert conflict["rows"] == [0, 3]


def test_a_fault_is_shown_as_landed_only_on_evidence_from_both_sides() -> None:
    proven, unproven = bands_of(pictures.events(), pictures.landings())
    assert (proven.landed, proven.from_ns, proven.until_ns) == (True, 5 * 10**6, 13 * 10**6)
    assert proven.signals[0] == "injector: bytes held at n1->n2: 0 → 244"
    assert (unproven.landed, unproven.until_ns) == (False, None)
    assert [band.landed for band in bands_of(pictures.events())] == [None, None]
    assert [band.landed for band in bands_of(pictures.events(), ())] == [False, False]


def test_a_longer_history_keeps_the_values_of_its_conflict_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert MOST_VALUES >= 100_000
    monkeypatch.setattr("refute.session.picture.data.MOST_VALUES", 3)
    data = picture_data(pictures.stale_read(), [Conflict("c", "n", "s", (2, 5))], (), title="t")
    assert data["input"] == [None, None, 2, None, None, None, None]
    assert data["notes"] == ["of 5 operations the values are not in this picture"]


def test_an_empty_history_has_a_page() -> None:
    assert embedded(timeline_page(History(()), (), title="nothing"))["process"] == []


def test_text_of_a_history_cannot_leave_its_place() -> None:
    history = pictures.hostile()
    lit = Conflict("c", pictures.HOSTILE, pictures.HOSTILE, (0, 1), (Edge(0, 1, pictures.HOSTILE),))
    page = timeline_page(history, [lit], title=pictures.HOSTILE, answer=pictures.HOSTILE)
    assert page.count("</script>") == 2
    assert "<img" not in page
    data = embedded(page)
    assert data["keys"] == [pictures.HOSTILE]
    assert data["conflicts"][0]["sentence"] == pictures.HOSTILE  # type: ignore[index]


def test_the_policy_allows_this_script_and_style_and_nothing_else() -> None:
    page = timeline_page(pictures.stale_read(), (), title="t")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    for tag in ("script", "style"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none'")
    assert "unsafe" not in policy[1]
    assert not re.findall(r"(?:src|href)=[\"'](?!data:)", page)
    assert "http:" not in page.replace("http://www.w3.org/2000/svg", "")


def test_the_same_record_gives_the_same_bytes() -> None:
    pages = {
        timeline_page(
            pictures.stale_read(), (), faults=pictures.events(), landings=pictures.landings(), title="t"
        )
        for _ in range(2)
    }
    assert len(pages) == 1


def test_a_picture_overwrites_pictures_only(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="is an HTML page"):
        refuse_other_files(tmp_path / "plan.md")
    other = tmp_path / "index.html"
    other.write_text("<!doctype html><p>mine</p>")
    with pytest.raises(SessionError, match="no picture"):
        refuse_other_files(other)
    ours = tmp_path / "picture.html"
    ours.write_text(timeline_page(History(()), (), title="old"))
    refuse_other_files(ours)


def test_check_writes_a_picture_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    with HistoryWriter(path) as writer:
        writer.complete(writer.invoke(1, "write", key="k", input=1), Outcome.OK)
        writer.complete(writer.invoke(1, "write", key="k", input=2), Outcome.OK)
        writer.complete(writer.invoke(1, "read", key="k"), Outcome.OK, output=1)
    done = refute("check", path, "--model", "register", "--plot", tmp_path / "out.html", "--json")
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["plot"] == str(tmp_path / "out.html")
    data = embedded((tmp_path / "out.html").read_text())
    assert data["conflicts"][0]["rows"] == [0, 1, 2]  # type: ignore[index]
    refused = refute("check", path, "--plot", path)
    assert refused.returncode == 64
    assert len(refused.stderr.splitlines()) == 1


def test_a_check_without_a_picture_does_not_load_what_draws_it(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    with HistoryWriter(path) as writer:
        writer.complete(writer.invoke(1, "read", key="k"), Outcome.OK)
    program = (
        "import sys; from refute.faces.cli import main; "
        f"main(['check', {str(path)!r}, '--model', 'register']); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "refute.tools.histories" in done.stdout
    assert not {"jinja2", "refute.session.picture.page"} & set(done.stdout.split())


def test_a_finding_has_its_picture_and_the_session_stays_true(failing: Session) -> None:
    page = (failing.folder / "findings" / "S1.html").read_text()
    data = embedded(page)
    assert data["faults"]
    assert data["conflicts"][0]["rows"]  # type: ignore[index]
    assert "(S1.html)" in (failing.folder / "findings" / "S1.md").read_text()
    assert "(findings/S1.html)" in (failing.folder / "report.md").read_text()
    write_report(failing)
    assert (failing.folder / "findings" / "S1.html").read_text() == page
    assert verify_session(failing.folder).mismatches == ()


def test_conflicts_are_the_same_from_the_answer_and_from_disk(failing: Session) -> None:
    attempt = next(path.parent for path in failing.folder.rglob("check.json") if "run-1" in str(path))
    results = json.loads((attempt / "check.json").read_text())["results"]
    (conflict,) = recorded_conflicts(results)
    assert conflict.sentence == results[0]["anomalies"][0]["sentence"]
    assert conflict.operations


def test_a_finding_without_a_fault_says_that_the_client_may_misread(failing: Session, tmp_path: Path) -> None:
    assert "misreads" not in (failing.folder / "findings" / "S1.md").read_text()
    session = Session.open(shutil.copytree(failing.folder, tmp_path / "session"))
    path = session.scenario_folder("S1") / "verdict.json"
    verdict = json.loads(path.read_text())
    verdict["reasons"].append({"code": "fails-without-fault", "sentence": "the control fails too"})
    path.write_text(json.dumps(verdict))
    write_report(session)
    assert "the\nplan's client misreads it (`output`" in (session.folder / "findings" / "S1.md").read_text()
