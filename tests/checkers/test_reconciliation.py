"""Replica reconciliation: after everything settled all nodes hold the same."""

from __future__ import annotations

from refute.checkers import run_check

from .scribe import Scribe


def final(*values: object, key: object = "x") -> Scribe:
    write = Scribe()(1, "write", 0, 1, key=key, value=1)
    for number, value in enumerate(values):
        write(9, "read", 10 + number, 10 + number, key=key, out=value, node=f"n{number + 1}", final=True)
    return write


def valid(scribe: Scribe, **options: object) -> object:
    return run_check("replica-reconciliation", scribe.history(), options).valid


def test_two_nodes_that_disagree() -> None:
    result = run_check("replica-reconciliation", final(1, 1, 2).history())
    assert result.valid is False
    assert {o.node for o in result.anomalies[0].operations} == {"n1", "n3"}
    assert valid(final(1, 1, 1)) is True


def test_one_node_proves_nothing() -> None:
    assert valid(final(1)) == "unknown"
    assert valid(final(1, 1), nodes=3) == "unknown"


def test_the_order_of_a_set_does_not_matter_that_of_a_list_does() -> None:
    assert valid(final([1, 2], [2, 1])) is True
    assert valid(final([1, 2], [2, 1]), ordered=True) is False
    assert valid(final([1, 1], [1])) is False
    assert valid(final([1, 2], [2, 1])(1, "append", 2, 3, key="x", value=2)) is False


def test_a_node_that_did_not_answer_leaves_it_open() -> None:
    write = final(1, 1)(9, "read", 20, 21, key="x", node="n3", outcome="fail", final=True)
    assert valid(write) == "unknown"


def test_the_last_final_read_of_a_node_counts() -> None:
    assert valid(final(2, 1)(9, "read", 20, 21, key="x", out=1, node="n1", final=True)) is True


def test_an_object_that_was_read_on_some_nodes_only_leaves_it_open() -> None:
    write = final(1, 1, 1)(9, "read", 20, 21, key="y", out=1, node="n1", final=True)
    write(9, "read", 22, 23, key="y", out=1, node="n2", final=True)
    assert valid(write) == "unknown"


def test_whole_maps_are_compared_key_by_key() -> None:
    write = Scribe()(9, "read-all", 20, 21, out={"a": 1, "b": 2}, node="n1", final=True)
    write(9, "read-all", 22, 23, out={"a": 1}, node="n2", final=True)
    result = run_check("replica-reconciliation", write.history())
    assert result.valid is False
    assert result.anomalies[0].details["key"] == "b"
