"""Every format that histories come in, told apart by its look and read to the same operations."""

from __future__ import annotations

import gzip
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
import zstandard

from refute.checkers import run_check
from refute.history import History, HistoryError, Operation, Outcome, text_source
from refute.history.formats import FORMATS, detect, edn, load, write_edn, write_jsonl

HISTORIES = Path(__file__).resolve().parents[3] / "shared" / "histories"
elsewhere = pytest.mark.skipif(
    not HISTORIES.is_dir(), reason="the recorded histories are not on this machine"
)

EDN = """\
{:type :invoke, :f :write, :value 1, :process 0, :time 10, :index 0}
{:type :invoke, :f :read, :value nil, :process 1, :time 20, :index 1}
{:process :nemesis, :type :info, :f :start-partition, :value [:isolated {"n1" #{"n2"}}], :time 25}
{:type :ok, :f :read, :value 1, :process 1, :time 30, :index 2}
{:type :info, :f :write, :value 1, :process 0, :time 40, :error :timeout, :index 3}
{:type :invoke, :f :cas, :value [1 2], :process 2, :time 50, :index 4}
{:type :fail, :f :cas, :value [1 2], :process 2, :time 60, :index 5}
"""
ROWS = [
    (0, "write", 1, None, Outcome.INFO),
    (1, "read", None, 1, Outcome.OK),
    (2, "cas", [1, 2], [1, 2], Outcome.FAIL),
]


def put(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def rows(history: History) -> list[tuple[Any, ...]]:
    """What matters of each operation; what a client that got no answer was told is its own input."""
    return [
        (op.process, op.kind, op.input, None if op.outcome is Outcome.INFO else op.output, op.outcome)
        for op in history.operations
    ]


def as_json(text: str) -> list[dict[str, Any]]:
    return [edn.loads(line) for line in text.splitlines()]


def test_jepsen_edn(tmp_path: Path) -> None:
    history = load(put(tmp_path / "h", EDN))
    assert detect(tmp_path / "h") == "jepsen-edn"
    assert rows(history) == ROWS
    assert history.clock == "monotonic"
    assert [op.invoked_ns for op in history.operations] == [10, 20, 50]
    assert history.operations[0].error == "timeout"
    assert history.completeness.notes == ("1 nemesis events are kept as faults, not as operations",)


@pytest.mark.parametrize("form", ["vector", "json-lines", "json-array", "json-array-lines"])
def test_the_same_history_in_other_clothes(tmp_path: Path, form: str) -> None:
    records = as_json(EDN)
    text = {
        "vector": "[" + EDN + "]",
        "json-lines": "\n".join(json.dumps(record) for record in records),
        "json-array": json.dumps(records),
        "json-array-lines": "[" + ",\n".join(json.dumps(record) for record in records) + "]\n",
    }[form]
    history = load(put(tmp_path / "h", text))
    assert rows(history) == ROWS
    assert [op.completed_ns for op in history.operations] == [40, 30, 60]


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compression_is_undone(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"history.edn{suffix}"
    squeeze = gzip.compress if suffix == ".gz" else zstandard.ZstdCompressor().compress
    path.write_bytes(squeeze(EDN.encode()))
    assert rows(load(path)) == ROWS
    assert rows(load(tmp_path)) == ROWS, "a store directory may hold it compressed"
    path.write_bytes(squeeze(EDN.encode() * 200)[:-20])
    with pytest.raises(HistoryError) as caught:
        load(path, on_bad_line="error")
    assert str(path) in str(caught.value)


def test_history_txt_and_store_directories(tmp_path: Path) -> None:
    text = "0\t:invoke\t:write\t1\n1\t:invoke\t:read\tnil\n1\t:ok\t:read\t1\n0\t:info\t:write\t:timed-out\n"
    text += "2\t:invoke\t:cas\t[1 2]\n2\t:fail\t:cas\t[1 2]\n"
    put(tmp_path / "history.txt", text)
    assert detect(tmp_path / "history.txt") == "jepsen-txt"
    history = load(tmp_path)
    assert rows(history) == ROWS
    assert history.clock == "index"
    with pytest.raises(HistoryError, match=r"no history\.edn"):
        (tmp_path / "empty").mkdir()
        load(tmp_path / "empty")


def test_a_failed_compare_and_set_of_an_etcd_log_found_something_else(tmp_path: Path) -> None:
    text = "INFO  jepsen.util - 0\t:invoke\t:cas\t[1 2]\nINFO  jepsen.util - 0\t:fail\t:cas\t[1 2]\n"
    (operation,) = load(put(tmp_path / "h", text)).operations
    assert (operation.outcome, operation.output) == (Outcome.OK, False)


@pytest.mark.parametrize(
    "written",
    [
        "; two comments\n; above it\n[{lines}]\n", "; and blank lines\n\n[\n{lines}\n]\n; below", "({lines})\n\n",
        "{spread}", "; maps one after another\n{spread}", "[{spread}]",
    ],
)  # fmt: skip
def test_edn_as_people_keep_it(tmp_path: Path, written: str) -> None:
    spread = EDN.replace(", ", ",\n ")
    history = load(put(tmp_path / "h", written.replace("{lines}", EDN.strip()).replace("{spread}", spread)))
    assert rows(history) == ROWS
    assert [op.completed_ns for op in history.operations] == [40, 30, 60]


def test_a_set_over_several_lines_between_maps_of_one(tmp_path: Path) -> None:
    text = "{:type :invoke, :f :read, :value nil, :process 1}\n{:type :ok, :f :read, :value #{1 2\n   3}, :process 1}\n"
    (operation,) = load(put(tmp_path / "h", text)).operations
    assert operation.output == [1, 2, 3]
    with pytest.raises(HistoryError, match=r"h:2: cannot be read"):
        load(put(tmp_path / "h", text.replace("3}", "3")))
    assert (
        load(put(tmp_path / "h", text.replace("3}", "3")), on_bad_line="count").completeness.unreadable_lines
        == 2
    )


@pytest.mark.parametrize("form", ["spaces", "brackets", "brackets-and-tabs"])
def test_text_logs_without_tabs_and_in_brackets(tmp_path: Path, form: str) -> None:
    lines = [
        ("0", ":invoke", ":write", "1"), ("1", ":invoke", ":read", "nil"), ("1", ":ok", ":read", "1"),
        ("0", ":info", ":write", ":timed-out"), ("2", ":invoke", ":cas", "[1 2]"), ("2", ":fail", ":cas", "[1 2]"),
    ]  # fmt: skip
    gap = "\t" if form == "brackets-and-tabs" else "  "
    text = "".join(f"{gap.join(line)}\n" if form == "spaces" else f"[{gap.join(line)}]\n" for line in lines)
    assert detect(put(tmp_path / "h", text)) == "jepsen-txt"
    assert rows(load(tmp_path / "h")) == ROWS


def test_without_tabs_an_error_stands_behind_the_value(tmp_path: Path) -> None:
    text = "[71  :invoke :cas [1 2]]\n[72 :invoke :read nil]\n[71  :info :cas [1 2] :conn-lost]\n[72 :fail :read nil :x]\n"
    one, two = load(put(tmp_path / "h", text)).operations
    assert (one.input, one.outcome, one.error) == ([1, 2], Outcome.INFO, '["conn-lost"]')
    assert (two.outcome, two.error) == (Outcome.FAIL, '["x"]')


def test_an_error_in_words_is_kept_as_it_is(tmp_path: Path) -> None:
    text = '0\t:invoke\t:read\tnil\n0\t:info\t:read\tnil\tindeterminate: got {:time 9}, (not "it\n'
    (operation,) = load(put(tmp_path / "h", text)).operations
    assert operation.error == 'indeterminate: got {:time 9}, (not "it'


def test_completed_maps_with_both_times(tmp_path: Path) -> None:
    text = '{"process":0,"type":"ok","f":"write","value":1,"start":5,"end":9}\n'
    text += '{"process":1,"type":"ok","f":"read","value":1,"start":6,"end":8}\n'
    history = load(put(tmp_path / "h", text))
    assert rows(history) == [(0, "write", 1, 1, Outcome.OK), (1, "read", None, 1, Outcome.OK)]
    assert [(op.invoked_ns, op.completed_ns) for op in history.operations] == [(5, 9), (6, 8)]
    assert history.clock == "monotonic"


def test_completions_alone_say_nothing_of_real_time(tmp_path: Path) -> None:
    text = "{:process 0 :type :ok :f :write :value 1}\n{:process 1 :type :ok :f :read :value 1}\n"
    history = load(put(tmp_path / "h", text))
    assert rows(history) == [(0, "write", 1, 1, Outcome.OK), (1, "read", None, 1, Outcome.OK)]
    assert history.clock == "wall"


def test_independent_keys_are_taken_apart(tmp_path: Path) -> None:
    text = """\
{:type :invoke :f :write :value ["x" 1] :process 0}
{:type :ok :f :write :value ["x" 1] :process 0}
{:type :invoke :f :cas :value [7 [1 2]] :process 0}
{:type :ok :f :cas :value [7 [1 2]] :process 0}
{:type :invoke :f :read :value ["x" nil] :process 0}
{:type :ok :f :read :value ["x" 1] :process 0}
"""
    history = load(put(tmp_path / "h", text))
    assert [(op.key, op.input) for op in history.operations] == [("x", 1), (7, [1, 2]), ("x", None)]
    assert history.operations[2].output == 1


def test_pairs_without_a_keyed_read_stay_pairs(tmp_path: Path) -> None:
    text = "{:type :invoke :f :cas :value [1 2] :process 0}\n{:type :ok :f :cas :value [1 2] :process 0}\n"
    (operation,) = load(put(tmp_path / "h", text)).operations
    assert (operation.key, operation.input) == (None, [1, 2])


def test_transactions_of_elle(tmp_path: Path) -> None:
    text = "{:type :invoke, :process 2, :value [[ :append 4 2] [:r 5 nil]]}\n"
    text += "{:type :ok, :process 2, :value [[:append 4 2] [ :r 5 [1 2]]]}\n"
    (operation,) = load(put(tmp_path / "h", text)).operations
    assert operation.kind == "txn"
    assert operation.input == [["append", 4, 2], ["r", 5, None]]
    assert operation.output == [["append", 4, 2], ["r", 5, [1, 2]]]


def test_porcupine_key_values(tmp_path: Path) -> None:
    text = '{:process 0, :type :invoke, :f :append, :key "0", :value "x 0 0 y"}\n'
    text += '{:process 0, :type :ok, :f :append, :key "0", :value "x 0 0 y"}\n'
    path = put(tmp_path / "h", text)
    assert detect(path) == "porcupine-kv"
    (operation,) = load(path).operations
    assert (operation.kind, operation.key, operation.input) == ("append", "0", "x 0 0 y")


def test_plume_and_polysi(tmp_path: Path) -> None:
    text = "w(1,5,0,10)\nr(2,0,0,10)\nr(1,5,1,11)\nw(1,9,1,-1)\n"
    path = put(tmp_path / "h", text)
    assert detect(path) == "plume"
    history = load(path)
    assert history.clock == "wall"
    assert [(op.process, op.output, op.outcome) for op in history.operations] == [
        (0, [["w", 1, 5], ["r", 2, None]], Outcome.OK),
        (1, [["r", 1, 5]], Outcome.OK),
        (1, None, Outcome.FAIL),
    ]
    assert history.operations[2].input == [["w", 1, 9]]


def test_awdit(tmp_path: Path) -> None:
    path = put(tmp_path / "h", "w 0 0\n-----\nw x 1\nr 0 0\n=====\nr x 1")
    assert detect(path) == "awdit"
    assert [(op.process, op.output) for op in load(path).operations] == [
        (0, [["w", 0, 0]]),
        (0, [["w", "x", 1], ["r", 0, 0]]),
        (1, [["r", "x", 1]]),
    ]


OPERATIONS = [
    Operation(0, 0, "write", "x", 1, None, Outcome.OK, 5, 9, node="n1", extra={"tenant": "a"}),
    Operation(1, 1, "read", "x", None, 1, Outcome.OK, 6, 9),
    Operation(2, 0, "cas", "y", [1, 2], None, Outcome.INFO, 9, 12, error="timeout"),
    Operation(3, 1, "write", "x", "a \"quoted\" one", None, Outcome.FAIL, 10, 11, error="no"),
    Operation(4, 2, "read", "y", None, None, Outcome.INFO, 13, None),
    Operation(5, 0, "read", "y", None, None, Outcome.OK, 14, 15),
]  # fmt: skip


def test_what_is_written_as_jsonl_reads_back_the_same(tmp_path: Path) -> None:
    write_jsonl(History(OPERATIONS), tmp_path / "h.jsonl")
    assert load(tmp_path / "h.jsonl").operations == OPERATIONS


def test_what_is_written_as_edn_reads_back_with_the_same_meaning(tmp_path: Path) -> None:
    write_edn(History(OPERATIONS), tmp_path / "h.edn")
    again = load(tmp_path / "h.edn").operations
    assert [(op.kind, op.key, op.input, op.outcome) for op in again] == [
        (op.kind, op.key, op.input, op.outcome) for op in OPERATIONS
    ]
    assert again[1].output == 1
    assert [(op.invoked_ns, op.completed_ns) for op in again] == [
        (op.invoked_ns, op.completed_ns) for op in OPERATIONS
    ]
    processes = [op.process for op in again]
    assert processes[0] == processes[2] != processes[5], "an info operation ends its process in Jepsen"


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("{:type :invoke :f :read :process 0}\n{:type :ok :f :read :process 1 :value 1}\n", 2, "unmatched"),
        ("{:type :invoke :f :read :process 0}\n{:type :invoke :f :read :process 0}\n", 2, "in flight"),
        ("{:type :invoke :f :read :process 0}\n{:type :ok :f\n{:type :ok :f :read :process 0}\n", 2, "read"),
        ("{:type :invoke :f :read :process 0}\n{:type :odd :f :read :process 0}\n", 2, "type must be"),
        ("{:type :invoke :f :read :process 0}\n)\n{:type :ok :f :read :process 0}\n", 2, "unexpected"),
        ('{"type":"invoke","f":"read","process":0}\n{"type":"ok"\n{"type":"ok","process":0}\n', 2, "read"),
        ('{"type":"invoke","f":"read","process":0}\n[]\n{"type":"ok","process":0}\n', 2, "expected a map"),
        ("w(1,2,0,0)\nw(1,2,0)\n", 2, "expected r("),
        ("w 1 2\nx 1 2\n", 2, "expected `r"),
        ("0\t:invoke\t:read\tnil\nnonsense\n0\t:ok\t:read\t1\n", 2, "expected process"),
        ('{:process 0, :type :invoke, :f :get, :key "0", :value nil}\n{:process 0}\n', 2, "missing"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_or_counted(
    tmp_path: Path, text: str, line: int, what: str
) -> None:
    path = put(tmp_path / "h", text)
    with pytest.raises(HistoryError) as caught:
        load(path)
    assert caught.value.where == f"{path}:{line}"
    assert what in caught.value.what
    assert load(path, on_bad_line="count").completeness.unreadable_lines == 1


def test_a_cut_off_last_line_is_dropped_and_said(tmp_path: Path) -> None:
    history = load(put(tmp_path / "h", EDN[:-30]))
    assert history.completeness.dropped_partial_line
    assert rows(history)[:2] == ROWS[:2]
    assert history.operations[2].outcome is Outcome.INFO


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"\x00\xff\xfe\x80garbage", b"hello\n", b"\x1f\x8b\x08broken"]
)
def test_what_is_no_history_is_said_so(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "h"
    path.write_bytes(content)
    with pytest.raises(HistoryError):
        load(path)
    for name in FORMATS:
        if not name.endswith("store") and name != "maelstrom" and content.strip():
            with pytest.raises(HistoryError):
                load(path, name)


def test_an_endless_line_is_refused_without_reading_it_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("refute.history.text_source.LINE_LIMIT_BYTES", 1 << 20)
    path = tmp_path / "h"
    path.write_bytes(b'{"refute":"history","version":1}\n' + b"[" * (8 << 20))
    with pytest.raises(HistoryError, match="a line is longer"):
        load(path)


def test_an_unknown_format_is_the_callers_fault(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="no format 'csv'"):
        load(put(tmp_path / "h", EDN), "csv")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("nil", None),
        ("[1 -2 3N]", [1, -2, 3]),
        ("[:r, 4 nil]", ["r", 4, None]),
        ('{"a" 1, :b 2.5M, 3 true}', {"a": 1, "b": 2.5, 3: True}),
        ("#{1 2}", [1, 2]),
        ('#inst "2024-01-01"', "2024-01-01"),
        ("(1 #_2 3)", [1, 3]),
        ('"a\\n\\"b\\""', 'a\n"b"'),
        ("; note\n[\\a \\newline]", ["a", "\n"]),
        ("#jepsen.history.Op{:type :ok}", {"type": "ok"}),
        ("[1/2 1e3 sym]", [0.5, 1000.0, "sym"]),
        ("[nil-x :nil]", ["nil-x", "nil"]),
        ("{[1 2] 3}", {("seq", 1, 2): 3}),
        ("[null Null]", ["null", "Null"]),
        ("#:a{:b 1 :c/d 2}", {"a/b": 1, "c/d": 2}),
        ("[##Inf ##-Inf]", [float("inf"), float("-inf")]),
        ("[1 ; 2 ]\n 3]", [1, 3]),
    ],
)
def test_edn_values(text: str, value: Any) -> None:
    assert edn.loads(text) == value
    assert edn.quick(text.encode()) == value


@pytest.mark.parametrize(
    "text",
    [
        "[1", "1]", "{:a}", '"open', "1 2", "(]", "", "[1 ; a comment ends with its line ]", "[1 #_]", "1 #_",
        "1/0", "9" * 5000, "[" * 600 + "]" * 600, "#:a{:b}",
    ],
)  # fmt: skip
def test_bad_edn_is_an_error(text: str) -> None:
    with pytest.raises(edn.EdnError):
        edn.loads(text)


@elsewhere
@pytest.mark.parametrize("name", ["bank", "counter", "paper-example", "rw-register", "set_full"])
def test_edn_and_json_twins_hold_the_same_operations(name: str) -> None:
    one, two = (load(HISTORIES / "elle-cli" / f"{name}.{suffix}") for suffix in ("edn", "json"))

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {str(key): plain(item) for key, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, list) else value

    assert len(one) == len(two) > 0
    for left, right in zip(one.operations, two.operations, strict=True):
        assert (left.kind, left.key, left.outcome, left.invoked_ns) == (
            right.kind, right.key, right.outcome, right.invoked_ns,
        )  # fmt: skip
        assert plain(left.input) == plain(right.input)
        assert plain(left.output) == plain(right.output)


def mixed_edn(rng: random.Random, size: int) -> list[str]:
    """Lines of many looks, as a long run writes them: errors, a nemesis, reordered and tagged maps, comments."""
    lines: list[str] = []
    free = list(range(4))
    running: dict[int, str] = {}
    for time in range(size):
        look = rng.random()
        if look < 0.02:
            lines.append(f"{{:type :info, :f :kill, :process :nemesis, :value [:n1], :time {time}}}")
        elif look < 0.03:
            lines.append(rng.choice(["", "; a comment", "  "]))
        elif running and (look < 0.5 or not free):
            process = rng.choice(list(running))
            value = running.pop(process)
            end = rng.choice(["ok", "ok", "ok", "fail", "info"])
            text = rng.choice(
                ["[:x 3]", '["y" nil]', "7", "nil", "[1 [2 3]]", '"a b"', "[[:r 3 nil]]", "-4", "{:a 1}"]
            )
            error = ', :error [:timeout "x"]' if end == "info" else ""
            shown = text if end == "ok" else value
            lines.append(
                f"{{:type :{end}, :f :read, :value {shown}, :process {process}, :time {time}{error}}}"
            )
            free.append(process + 4 if end == "info" else process)
        else:
            process = free.pop(rng.randrange(len(free)))
            running[process] = rng.choice(["nil", "[:x nil]", "5"])
            order = f":type :invoke, :f :read, :value {running[process]}, :process {process}, :time {time}"
            if rng.random() < 0.1:
                order = (
                    f":time {time}, :process {process}, :type :invoke, :f :read, :value {running[process]}"
                )
            lines.append(f"{{{order}}}")
    return lines


@pytest.mark.parametrize("seed", range(20))
def test_lines_read_by_their_shapes_are_what_the_parser_reads(seed: int, tmp_path: Path) -> None:
    lines = mixed_edn(random.Random(seed), 400)
    sheet, whole = tmp_path / "lines.edn", tmp_path / "whole.edn"
    sheet.write_text("\n".join(lines) + "\n")
    whole.write_text("[" + "\n".join(lines) + "\n]")
    # Small chunks, so that most lines come after the one that taught the shape.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_source.chunks, "__kwdefaults__", {"chunk_bytes": 2000})
        by_shape = load(sheet)
    assert list(by_shape.operations) == list(load(whole).operations)
    assert by_shape.faults
    assert len(by_shape) > 100


@pytest.mark.parametrize(
    "bad",
    [
        "{:type :ok, :f :read, :value [:x }",
        "{:type :ok}",
        "x",
        '{:type :ok, :f :read, :value ["a 3], :process 0, :time 9}',
    ],
)
def test_a_bad_line_far_down_a_file_is_named_by_its_number(bad: str, tmp_path: Path) -> None:
    lines = [
        f"{{:type :{kind}, :f :read, :value nil, :process 0, :time {2 * number + place}}}"
        for number in range(20_000)
        for place, kind in enumerate(("invoke", "ok"))
    ]
    path = tmp_path / "history.edn"
    path.write_text("\n".join([*lines[:39_000], bad, *lines[39_000:]]))
    with pytest.raises(HistoryError, match=r"history\.edn:39001:"):
        load(path)
    history = load(path, on_bad_line="count")
    assert len(history) == 20_000
    assert history.completeness.unreadable_lines == 1


@pytest.mark.parametrize("write", [write_edn, write_jsonl])
def test_a_process_that_goes_on_after_an_open_operation_can_be_written(tmp_path: Path, write: Any) -> None:
    times = [(0, None), (10, None), (20, 30)]
    operations = [
        Operation(n, "a", "write", None, n, None, Outcome.INFO if end is None else Outcome.OK, start, end)
        for n, (start, end) in enumerate(times)
    ]
    write(History(operations), tmp_path / "h")
    again = load(tmp_path / "h")
    assert [(op.input, op.outcome) for op in again.operations] == [
        (op.input, op.outcome) for op in operations
    ]
    assert len({op.process for op in again.operations}) == 3


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{:type [:ok], :f :read, :value 1, :process 1}", "type must be"),
        ("{:type :ok, :f :read, :value 1, :process [1]}", "process must be"),
        ('{"type":"ok","f":"read","value":1,"process":{"a":1}}', "process must be"),
        ("{:type :ok, :f :read, :value 1, :process [1], :start 1, :end 2}", "process must be"),
        ("{:type :ok, :f :read, :value 1, :process 1, :time 99999999999999999999}", "time must be"),
        ('{"type":"ok","f":"read","value":1,"process":1,"time":9223372036854775807}', "time must be"),
        ("{:type :ok, :f :read, :value 1, :process 1, :start 1, :end 99999999999999999999}", "time must be"),
        ("{:type :ok, :f :read, :value 1, :process 1, :time 1.5}", "time must be"),
        ('{"refute":"history","version":1}\n{"event":"invoke","id":1,"process":1,"kind":"r","time_ns":9223372036854775808}', "time_ns must be"),
        ('{"refute":"history","version":1}\n{"event":"invoke","id":9223372036854775808,"process":1,"kind":"r","time_ns":1}', "id must be"),
    ],
)  # fmt: skip
def test_a_field_of_a_wrong_kind_is_named_with_its_line(tmp_path: Path, line: str, what: str) -> None:
    number = line.count("\n") + 1
    with pytest.raises(HistoryError, match=rf"h:{number}: .*{what}"):
        load(put(tmp_path / "h", line + "\n"))
    history = load(put(tmp_path / "h", line + "\n"), on_bad_line="count")
    assert (len(history), history.completeness.unreadable_lines) == (0, 1)


def test_integers_of_any_length_survive_in_json(tmp_path: Path) -> None:
    value = [2**64 + 1, -(10**19) + 1, 2**63]
    line = json.dumps({"type": "ok", "f": "write", "value": value, "process": 1})
    (operation,) = load(put(tmp_path / "h", line + "\n")).operations
    assert operation.input == value


def test_a_time_of_minus_one_is_none_and_the_lines_are_the_order(tmp_path: Path) -> None:
    path = tmp_path / "history.edn"
    path.write_text(
        "{:index 0, :time -1, :type :invoke, :process 0, :f :write, :value 1}\n"
        "{:index 1, :time -1, :type :ok, :process 0, :f :write, :value 1}\n"
        "{:index 2, :time -1, :type :invoke, :process 1, :f :read, :value nil}\n"
        "{:index 3, :time -1, :type :ok, :process 1, :f :read, :value nil}\n"
    )
    history = load(path)
    assert history.clock == "index"
    assert run_check("linearizable", history).valid is False


def test_the_lines_of_a_maelstrom_log_and_what_it_broadcast(tmp_path: Path) -> None:
    lines = [
        ("2", ":invoke", ":broadcast", "0"), ("3", ":invoke", ":read", "nil"), ("2", ":ok", ":broadcast", "0"),
        ("3", ":ok", ":read", "[0]"), ("4", ":invoke", ":broadcast", "1"),
        ("4", ":info", ":broadcast", "1\t:net-timeout"), ("8", ":invoke", ":read", "nil"), ("8", ":ok", ":read", "[]"),
    ]  # fmt: skip
    path = tmp_path / "history.txt"
    path.write_text(
        "".join(
            f"INFO [2026-03-01 10:30:5{place},288] jepsen worker {who} - jepsen.util {who}\t{kind}\t{name}\t{value}\n"
            for place, (who, kind, name, value) in enumerate(lines)
        )
    )
    history = load(path, "jepsen-txt")
    assert [o.outcome for o in history.operations] == [Outcome.OK, Outcome.OK, Outcome.INFO, Outcome.OK]
    assert "net-timeout" in (history.operations[2].error or "")
    result = run_check("set-full", history)
    assert result.valid is False
    assert [anomaly.name for anomaly in result.anomalies] == ["lost"]


def test_events_without_their_first_line_are_told_which_is_missing(tmp_path: Path) -> None:
    event = '{"event": "invoke", "id": 0, "process": 0, "kind": "read", "key": "x", "time_ns": 1}\n'
    (tmp_path / "h.jsonl").write_text(event, encoding="utf-8")
    with pytest.raises(HistoryError, match="without its first line") as found:
        load(tmp_path / "h.jsonl")
    heading = re.search(r"\{.*?\}", str(found.value))
    assert heading
    (tmp_path / "h.jsonl").write_text(f"{heading[0]}\n{event}", encoding="utf-8")
    assert [operation.kind for operation in load(tmp_path / "h.jsonl").operations] == ["read"]
