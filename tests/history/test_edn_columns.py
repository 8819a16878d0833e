"""Lines that are read many at a time, by what they have in common, are what the parser reads one by one."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.checkers.nightly import many

from refute.history import History, HistoryError, text_source
from refute.history.formats import edn, jepsen, load

WORDS = ["x", "nil-x", "a/b", "nil", "true", "r", "append", "r2", "-", "x?", "a.b"]
STRINGS = ["", "x", "nil", "a b", "a, :f :read", "}\n", ';"', "\\", "é", "{:type :ok, ", "#_", "1.5"]
GAPS = [" ", " ", " ", ", ", ",", "  ", ",,", "\t"]


def any_value(rng: random.Random, depth: int = 0) -> tuple[str, Any]:
    """A value as text, and what it is."""
    kind = rng.choice(("atom", "atom", "vector", "list", "map", "set") if depth < 3 else ("atom",))
    if kind == "atom":
        return any_atom(rng)
    items = [any_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    noise = rng.choice(["", "", "", " #_ {:a 1}", " #_#_1 2", " "])
    gap = rng.choice(GAPS)
    if kind == "map":
        named = dict(zip(rng.sample(WORDS[:6], len(items)), items, strict=True))
        inside = gap.join(f":{name}{rng.choice(GAPS)}{text}" for name, (text, _) in named.items())
        return f"{{{inside}{noise}}}", {name: value for name, (_, value) in named.items()}
    before, after = {"vector": "[]", "list": "()", "set": ("#{", "}")}[kind]
    return before + gap.join(text for text, _ in items) + noise + after, [value for _, value in items]


def any_atom(rng: random.Random) -> tuple[str, Any]:
    number = rng.choice([0, 7, -3, 12, 10**18, -(10**19), 2**64 + 1, rng.randrange(10**6)])
    word, string = rng.choice(WORDS), rng.choice(STRINGS)
    return rng.choice(
        [
            (str(number), number), (str(number), number), (str(number), number), ("nil", None), ("nil", None),
            (f":{word}", word), (f":{word}", word), (json.dumps(string, ensure_ascii=False), string),
            ("true", True), ("false", False), (f"{number}N", number), ("1.5", 1.5), ("2.0M", 2.0), ("1e3", 1000.0),
            ("3/4", 0.75), ("007", 7), ("-0", 0), ("\\a", "a"), ("\\;", ";"), ("\\newline", "\n"), ("foo", "foo"),
            ('#inst "2024"', "2024"), ("#_ 5 6", 6), ("##Inf", float("inf")), ("#:a{:b 1}", {"a/b": 1}),
        ]
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(10))
def test_the_parser_reads_what_was_written(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        text, value = any_value(rng)
        assert repr(edn.loads(text)) == repr(value), text
        try:
            (found,) = edn.Values().column(text.encode()) if "\n" not in text else (value,)
        except edn.EdnError as error:
            raise AssertionError(text) from error
        assert repr(found) == repr(value), text


class Lines:
    """Writes the events of a few processes in lines of a few looks."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.looks = [self.look() for _ in range(rng.randint(1, 3))]
        self.plain = rng.random() < 0.5
        self.running: dict[int, str] = {}
        self.next_process = 4

    def look(self) -> tuple[list[str], str, str, str, str]:
        fields = ["type", "f", "process", "value"]
        fields += [name for name in ("time", "index", "node") if self.rng.random() < 0.7]
        if self.rng.random() < 0.2:
            fields.remove("f")
        if self.rng.random() < 0.3:
            self.rng.shuffle(fields)
        gap = self.rng.choice([", ", ", ", " ", "  "])
        head = self.rng.choice(["{", "{", "#jepsen.history.Op{", " {", "{ "])
        return fields, gap, head, self.rng.choice(["}", "}", " }", "} ", "},"]), self.rng.choice([" ", "  "])

    def line(self, kind: str, process: Any, value: str, time: int, error: str | None = None) -> str:
        fields, gap, head, tail, space = self.rng.choice(self.looks)
        written = {
            "type": f":{kind}", "f": ":read", "process": str(process), "value": value, "time": str(time),
            "index": str(time), "node": self.rng.choice(['"n1"', ":n1", "nil", "2"]), "error": error,
        }  # fmt: skip
        shown = [*fields, "error"] if error is not None else fields
        return head + gap.join(f":{name}{space}{written[name]}" for name in shown) + tail

    def value(self) -> str:
        if self.plain:
            return self.rng.choice(["nil", "7", "[:x nil]", '["y" 3]', "[[:r 3 nil] [:append 4 5]]", "[]"])
        return any_value(self.rng)[0].replace("\n", " ")

    def event(self, time: int) -> str:
        roll, process = self.rng.random(), self.rng.randrange(self.next_process - 4, self.next_process)
        if roll < 0.02:
            return self.rng.choice(["", "; a comment", "  ", ", ", "#_ {:type :ok}"])
        if roll < 0.04:
            return f"{{:type :info, :process :nemesis, :f :kill, :value {self.value()}, :time {time}}}"
        if roll < 0.05:
            return self.strange(time)
        if process not in self.running:
            self.running[process] = self.value()
            return self.line("invoke", process, self.running[process], time)
        asked = self.running.pop(process)
        kind = self.rng.choice(["ok", "ok", "ok", "fail", "info"])
        error = None
        if kind == "info":
            self.next_process += 1
            error = self.rng.choice([None, ":timeout", '[:timeout "no answer, :f"]', "nil"])
        return self.line(kind, process, self.value() if kind == "ok" else asked, time, error)

    def strange(self, time: int) -> str:
        """A line that is wrong, or right in a way of its own."""
        value, line = self.value(), self.line("ok", 0, self.value(), time)
        return self.rng.choice(
            [
                line[: self.rng.randrange(len(line))], line + line, line.replace(":ok", ":done"),
                f"{{:type :ok, :process 1.5, :value {value}}}", f"{{:type :ok, :process [1], :value {value}}}",
                f"{{:type :ok, :f :read, :process 0, :value 1 ; {value}, :time 3}}",
                f"{{:type :ok, :f :read, :process 90, :value {value}, :start 1, :end {time + 1}}}",
                f"{{:type :invoke, :f :read, :process {time + 1000}, :value nil, :time {time}, :final? true}}",
                f"{{:type :ok, :f :read, :process 0, :value {value}, :time {10**19}}}",
                f"{{:type :ok, :f :read, :process 0, :value [1 #_], :time {time}}}",
                "{:type :ok, :f :read, :process 0, :value 1 #_, :time 3}",
                "{:type :ok, :f :read, :process 0, :value [1, :time 3}",
                "{:type :ok, :f :read, :process 0, :value [1] [2] [3], :time 3}",
                "{:type :ok, :f :read, :process 0, :value [1] 2], :time 3}", "{:type :ok, :time :f, 3}",
            ]
        )  # fmt: skip


def told(history: History) -> str:
    """All that a history says, where equal values of two kinds differ."""
    return repr(
        (
            list(history.operations),
            history.faults,
            history.completeness,
            history.clock,
            history.columns.errors,
        )
    )


def read(path: Path, **ways: int) -> str:
    """What is read, bad lines counted, and then which line an error names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jepsen, "_WORTH_COLUMNS", ways["columns_from"])
        patch.setattr(text_source.chunks, "__kwdefaults__", {"chunk_bytes": ways["chunk_bytes"]})
        counted = told(load(path, "jepsen-edn", on_bad_line="count"))
        try:
            return counted + told(load(path, "jepsen-edn"))
        except HistoryError as error:
            return counted + str(error)


def try_many(seeds: range, path: Path) -> int:
    """Tries histories of 50 lines; how many were read without an error."""
    sound = 0
    for seed in seeds:
        rng = random.Random(seed)
        writer = Lines(rng)
        lines = [writer.event(time) for time in range(50)]
        path.write_text("\n".join(lines) + rng.choice(["\n", "", "\n\n"]))
        one_by_one = read(path, columns_from=1 << 40, chunk_bytes=1 << 20)
        columns = read(
            path, columns_from=rng.choice([2, 8, 32]), chunk_bytes=rng.choice([300, 2000, 1 << 20])
        )
        assert columns == one_by_one, f"seed {seed}"
        if "edn:" not in one_by_one and "cut off" not in one_by_one:
            sound += 1
            path.write_text("\n".join([f"[{lines[0]}", *lines[1:], "]"]))
            assert told(load(path)) in one_by_one, f"seed {seed} as a list"
    return sound


def test_columns_and_single_lines_agree(tmp_path: Path) -> None:
    assert try_many(range(60), tmp_path / "history.edn") > 12


@many(histories=100_000)
def test_columns_and_single_lines_agree_on_very_many(seeds: range, tmp_path: Path) -> None:
    assert try_many(range(seeds.start, seeds.start + len(seeds) // 50), tmp_path / "history.edn") > 10


@pytest.mark.parametrize(
    "odd",
    [
        "{:type :ok, :f :read, :value 1 ; x, :process 0, :index 3}", "{:type :ok, :f :read, :value 1 #_, :process 0, :index 3}",
        "{:type :ok, :f :read, :value [[1], :process 0, :index 3}", "{:type :ok, :f :read, :value 5 15e-1 6, :process 0, :index 3}",
        "{:type :ok, :f :read, :value [1] [2] [3], :process 0, :index 3}", "{:type :ok, :f :read, :value [null], :process 0, :index 3}",
        '{:type :ok, :f :read, :value ["a nil" nil], :process 0, :index 3}', "{:type :ok, :f :read, :value , :process 0, :index 3}",
        "{:type :ok, :f :read, :value 1.5, :process 0, :index 3}", "{:type :ok, :f :read, :value 1, :process 0, :index 3",
        "{:type :ok, :f :read, :value 1, :process 0, :index [1}", "{:type :ok, :f :read, :value 1, :process 0, :index 1 2}",
        "{:type :ok, :f :read, :value 1, :process 0, :other 3}", "{:type :ok, :f :read, :index 1, :process 0, :value 3}",
        "{:type :ok, :f :read, :value 1, :process 0, :start 3}", "{:type :ok, :f :read, :value 1, :process 0 :index 3}",
        "{:type :ok, :f :re ad, :value 1, :process 0, :index 3}", "{:type :ok, :f :read, :value 1, :process 00, :index 3}",
        "{:type :ok, :f :read, :value \\, :process 0, :index 3}", '{:type :ok, :f :read, :value ", :process 0, :index 3}"',
        "{:type :ok, :f :read, :value #:a{:b 1}, :process 0, :index 3}", "{:type :ok, :f :read, :value 1, :process 0, :index 3} 4",
        "{:type :ok, :f :read, :value 18446744073709551617, :process 0, :index 3}", "{:type ok, :f :read, :value 1, :process 0, :index 3}",
        "{:type :ok, :f :read, :value -9999999999999999999, :process 0, :index 3}", "{:type :ok, :f :read, :value 1, :value 2, :index 3}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("companion", ["[2]]", "[3] [4]", "7"])
def test_a_line_that_looks_almost_like_the_others_is_what_the_parser_makes_of_it(
    odd: str, companion: str, tmp_path: Path
) -> None:
    lines = [
        f"{{:type :{kind}, :f :read, :value {value}, :process {process}, :index {process}}}"
        for process in range(1, 40)
        for kind, value in (("invoke", "nil"), ("ok", companion if process == 30 else "7"))
    ]
    lines[20:20] = ["{:type :invoke, :f :read, :value nil, :process 0, :index 3}", odd]
    path = tmp_path / "history.edn"
    path.write_text("\n".join(lines))
    one_by_one = read(path, columns_from=1 << 40, chunk_bytes=1 << 20)
    assert read(path, columns_from=2, chunk_bytes=1 << 20) == one_by_one
