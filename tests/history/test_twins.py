"""Every recorded history gets its answer in every format that can hold it, compressed or not."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import zstandard

from refute.checkers import run_check
from refute.history import History, Operation, Outcome
from refute.history.formats import detect, edn, load, write_edn, write_jsonl

SHARED = Path(__file__).resolve().parents[3] / "shared" / "histories"
recorded = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the recorded histories are not beside this checkout"
)


def events(history: History) -> Iterator[tuple[str, Operation]]:
    """What a log says of a history, in the order of time: invocations before completions at one time."""
    found = [(o.invoked_ns, 0, n, "invoke", o) for n, o in enumerate(history.operations)]
    found += [
        (o.completed_ns, 1, n, o.outcome.value, o)
        for n, o in enumerate(history.operations)
        if o.completed_ns is not None
    ]
    return ((kind, o) for _, _, _, kind, o in sorted(found, key=lambda event: event[:3]))


def value(kind: str, o: Operation) -> Any:
    return o.output if kind == "ok" and o.output is not None else o.input


def json_events(history: History) -> str:
    return "".join(
        json.dumps({"type": kind, "f": o.kind, "value": value(kind, o), "process": o.process}) + "\n"
        for kind, o in events(history)
    )


def as_list(history: History) -> str:
    return "[" + ",\n".join(json_events(history).splitlines()) + "]"


def completed(history: History) -> list[dict[str, Any]]:
    """One record an operation with both its times."""
    return [
        {
            "type": o.outcome.value, "f": o.kind, "value": value(o.outcome.value, o), "process": o.process,
            "start": o.invoked_ns, **({} if o.completed_ns is None else {"end": o.completed_ns}),
        }
        for o in history.operations
    ]  # fmt: skip


def json_completed(history: History) -> str:
    return "".join(json.dumps(record) + "\n" for record in completed(history))


def edn_completed(history: History) -> str:
    records = (record | {"type": None, "f": None} for record in completed(history))
    return "".join(
        edn.dumps(record).replace(":type nil", f":type :{o.outcome.value}").replace(":f nil", f":f :{o.kind}")
        + "\n"
        for record, o in zip(records, history.operations, strict=True)
    )


def tabs(history: History) -> str:
    return "".join(
        f"{o.process}\t:{kind}\t:{o.kind}\t{edn.dumps(value(kind, o))}\n" for kind, o in events(history)
    )


def etcd_log(history: History) -> str:
    """As Porcupine's etcd logs: a compare-and-set that found another value is one that failed."""
    return "".join(
        f"INFO  jepsen.util - {o.process}\t:{'fail' if kind == 'ok' and o.output is False else kind}\t:{o.kind}\t"
        f"{edn.dumps(o.input if o.output is False else value(kind, o))}\n"
        for kind, o in events(history)
    )


def key_values(history: History) -> str:
    return "".join(
        f"{{:process {o.process}, :type :{kind}, :f :{o.kind}, :key {edn.dumps(o.key)}, "
        f":value {edn.dumps(value(kind, o))}}}\n"
        for kind, o in events(history)
    )


def plume(history: History) -> str:
    keys: dict[Any, int] = {}
    return "".join(
        f"{name}({keys.setdefault(key, len(keys))},{held},{o.process},{number})\n"
        for number, o in enumerate(history.operations)
        for name, key, held in o.output
    )


def awdit(history: History) -> str:
    sessions: dict[Any, list[str]] = {}
    for o in history.operations:
        lines = "".join(f"{name} {key} {held}\n" for name, key, held in o.output)
        sessions.setdefault(o.process, []).append(lines)
    return "===\n".join("---\n".join(transactions) for transactions in sessions.values())


WRITERS: Mapping[str, Callable[[History], str]] = {
    "jepsen-json": json_events, "list": as_list, "json-completed": json_completed, "edn-completed": edn_completed,
    "jepsen-txt": tabs, "porcupine-etcd": etcd_log, "porcupine-kv": key_values, "plume": plume, "awdit": awdit,
}  # fmt: skip


def twins(history: History, forms: list[str], directory: Path) -> Iterator[tuple[str, History]]:
    """The history as it is read from each of these formats, and from our own and EDN, squeezed too."""
    for suffix, write in (("jsonl", write_jsonl), ("edn", write_edn)):
        path = directory / f"twin.{suffix}"
        write(history, path)
        yield suffix, load(path)
        for squeezed, squeeze in ((".gz", gzip.compress), (".zst", zstandard.compress)):
            small = path.with_name(path.name + squeezed)
            small.write_bytes(squeeze(path.read_bytes()))
            yield small.name, load(small)
    for form in forms:
        path = directory / f"twin.{form}"
        path.write_text(WRITERS[form](history))
        if form in ("plume", "awdit", "jepsen-txt", "porcupine-etcd", "porcupine-kv", "jepsen-json"):
            assert detect(path) == form
        yield form, load(path)


def verdicts() -> list[tuple[str, str, bool]]:
    table = SHARED / "verdicts.tsv"
    lines = table.read_text().splitlines()[1:] if table.is_file() else []
    rows = (line.split("\t") for line in lines)
    return [(name, model, verdict == "linearizable") for name, model, verdict in rows]


@recorded
@pytest.mark.parametrize(("name", "model", "verdict"), verdicts())
def test_linearizable_or_not_in_every_format(name: str, model: str, verdict: bool, tmp_path: Path) -> None:
    history = load(SHARED / name)
    registers = ["jepsen-json", "list", "jepsen-txt", "porcupine-etcd"]
    forms = registers if model == "cas-register" else ["porcupine-kv"]
    options = {"model": "cas-register" if model == "cas-register" else "kv"}
    assert run_check("linearizable", history, options).valid is verdict
    for form, twin in twins(history, forms, tmp_path):
        assert len(twin) == len(history), form
        assert run_check("linearizable", twin, options).valid is verdict, form


ELLE = [
    ("bank", "bank-total", True, ["jepsen-json", "list", "json-completed", "edn-completed", "jepsen-txt"]),
    ("set_full", "set-full", True, ["jepsen-json", "list", "json-completed", "edn-completed", "jepsen-txt"]),
    (
        "counter",
        "counter",
        "unknown",
        ["jepsen-json", "list", "json-completed", "edn-completed", "jepsen-txt"],
    ),
    ("paper-example", "list-append", False, ["jepsen-json", "list", "json-completed"]),
    ("rw-register", "rw-register", False, ["jepsen-json", "list", "json-completed"]),
    ("list-append-gh-30", "list-append", False, ["jepsen-json", "list", "json-completed"]),
]


@recorded
@pytest.mark.parametrize(("name", "checker", "valid", "forms"), ELLE)
def test_the_samples_of_elle_in_every_format(
    name: str, checker: str, valid: Any, forms: list[str], tmp_path: Path
) -> None:
    history = load(SHARED / "elle-cli" / f"{name}.edn")
    result = run_check(checker, history)
    assert result.valid == valid
    for form, twin in twins(history, forms, tmp_path):
        again = run_check(checker, twin)
        assert (again.valid, again.consumed) == (result.valid, result.consumed), form
        assert [a.name for a in again.anomalies] == [a.name for a in result.anomalies], form


LEVELS = ("read-committed", "read-atomic", "causal")


@recorded
@pytest.mark.parametrize(
    "path", sorted((SHARED / "awdit").glob("*/*.txt")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_levels_hold_in_every_format(path: Path, tmp_path: Path) -> None:
    history = load(path)
    strongest = LEVELS.index(path.parent.name) if path.parent.name != "none" else -1
    expected = [place <= strongest for place in range(3)]
    for form, twin in twins(history, ["jepsen-json", "list", "plume", "awdit"], tmp_path):
        assert [run_check(level, twin).valid for level in LEVELS] == expected, form
        assert all(o.outcome is Outcome.OK for o in twin.operations)
        assert twin.clock == "wall" or form not in ("edn", "jsonl", "plume", "awdit"), form
