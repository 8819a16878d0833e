"""Directories as Maelstrom leaves them: its operations, errors, partitions, and what else lies beside."""

from __future__ import annotations

from pathlib import Path

from refute.checkers import run_check
from refute.history import History, Outcome, Phase
from refute.history.formats import detect, load


def store(directory: Path, *operations: str) -> History:
    """What a run leaves: the history with times and indices, results, logs of nodes and of the network."""
    for folder in ("node-logs", "net-journal"):
        (directory / folder).mkdir()
        (directory / folder / "0").write_bytes(b"\x00\x01 not a history")
    (directory / "results.edn").write_text("{:valid? true, :stats {:count 4}}\n")
    (directory / "jepsen.log").write_text(
        "2026-11-30 10:00:00,000{GMT}\tINFO\t[main] jepsen.core: Running test\n"
    )
    (directory / "test.jepsen").write_bytes(b"JEPSEN\x00\x00")
    lines = []
    for number, text in enumerate(operations):
        head, _, error = text.partition(" !")
        kind, name, value, process = head.split("; ")
        failed = f", :error {error}" if error else ""
        value = f":value {value}, " if value else ""
        lines.append(
            f"{{:type :{kind}, :f :{name}, {value}:time {3_000_000_000 + 1_000_000 * number}, "
            f":process {process}{failed}, :index {number}}}\n"
        )
    (directory / "history.edn").write_text("".join(lines))
    assert detect(directory) == "jepsen-store"
    return load(directory)


def names(checker: str, history: History, **options: object) -> list[str]:
    return [anomaly.name for anomaly in run_check(checker, history, options).anomalies]


def test_transactions_with_network_errors_and_partitions(tmp_path: Path) -> None:
    history = store(
        tmp_path,
        "invoke; txn; [[:r 9 nil] [:append 9 1]]; 0",
        "ok; txn; [[:r 9 nil] [:append 9 1]]; 0",
        "info; start-partition; :majority; :nemesis",
        'info; start-partition; [:isolated {"n1" #{"n0"}, "n0" #{"n1"}}]; :nemesis',
        "invoke; txn; [[:append 9 2] [:append 6 3]]; 0",
        "info; txn; [[:append 9 2] [:append 6 3]]; 0 !:net-timeout",
        "invoke; txn; [[:r 9 nil] [:r 6 nil]]; 2",
        "ok; txn; [[:r 9 [1]] [:r 6 [3]]]; 2",
        "invoke; txn; [[:r 9 nil]]; 2",
        'fail; txn; [[:r 9 nil]]; 2 ![:txn-conflict "try again"]',
    )
    assert [o.outcome for o in history.operations] == [Outcome.OK, Outcome.INFO, Outcome.OK, Outcome.FAIL]
    assert history.operations[1].error == "net-timeout"
    assert "txn-conflict" in str(history.operations[3].error)
    assert len(history.faults) == 1
    assert "fractured-read" in names("list-append", history)


def test_a_key_value_service_whose_compare_and_set_fails(tmp_path: Path) -> None:
    history = store(
        tmp_path,
        "invoke; write; [0 3]; 0", "ok; write; [0 3]; 0",
        "invoke; cas; [0 [3 4]]; 0", "ok; cas; [0 [3 4]]; 0",
        "invoke; cas; [0 [9 5]]; 1", 'fail; cas; [0 [9 5]]; 1 ![:precondition-failed "expected 9, had 4"]',
        "invoke; read; [0 nil]; 1", "ok; read; [0 3]; 1",
    )  # fmt: skip
    assert {o.key for o in history.operations} == {0}
    assert run_check("linearizable", history, {"model": "cas-register"}).valid is False


def test_a_log_of_sends_and_polls_in_steps(tmp_path: Path) -> None:
    history = store(
        tmp_path,
        'invoke; send; [[:send "9" 1]]; 0', 'ok; send; [[:send "9" [0 1]]]; 0',
        'invoke; send; [[:send "9" 2]]; 0', 'ok; send; [[:send "9" [1 2]]]; 0',
        'invoke; send; [[:send "9" 3]]; 0', 'ok; send; [[:send "9" [2 3]]]; 0',
        'invoke; assign; ["9"]; 1', 'ok; assign; ["9"]; 1',
        "invoke; poll; [[:poll]]; 1", 'ok; poll; [[:poll {"9" [[0 1]]}]]; 1',
        "invoke; poll; [[:poll]]; 1", 'ok; poll; [[:poll {"9" [[2 3]]}]]; 1',
    )  # fmt: skip
    assert set(names("kafka-log", history)) == {"lost-write", "skipped-poll"}


def test_final_reads_of_a_broadcast_are_final(tmp_path: Path) -> None:
    history = store(
        tmp_path,
        "invoke; broadcast; 0; 0", "ok; broadcast; 0; 0",
        "invoke; broadcast; 1; 1", "ok; broadcast; 1; 1",
        "invoke; read, :final? true; ; 0", "ok; read, :final? true; [0 1]; 0",
        "invoke; read, :final? true; ; 1", "ok; read, :final? true; [1]; 1",
    )  # fmt: skip
    assert [o.phase for o in history.operations] == [Phase.MAIN, Phase.MAIN, Phase.FINAL, Phase.FINAL]
    assert "lost" in names("set-full", history)
    assert names("no-lost-acknowledged-write", history) == ["lost-write"]
