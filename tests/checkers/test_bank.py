"""Bank total: what one read returns adds up."""

from __future__ import annotations

from refute.checkers import run_check

from .scribe import Scribe


def bank(*statements: object) -> Scribe:
    write = Scribe()(1, "transfer", 0, 1, value={"from": "a", "to": "b", "amount": 3})
    for number, statement in enumerate(statements):
        write(2, "read", 10 + 2 * number, 11 + 2 * number, out=statement)
    return write


def names(scribe: Scribe, **options: object) -> set[str]:
    return {a.name for a in run_check("bank-total", scribe.history(), options).anomalies}


def test_half_of_a_transfer_is_seen() -> None:
    assert names(bank({"a": 5, "b": 5}, {"a": 2, "b": 5})) == {"wrong-total"}
    assert names(bank({"a": 5, "b": 5}, {"a": 2, "b": 8})) == set()


def test_without_a_total_the_first_read_says_it_and_that_is_said() -> None:
    result = run_check("bank-total", bank({"a": 5, "b": 5}).history())
    assert result.valid is True
    assert "first read" in result.assumptions[0]
    assert names(bank({"a": 5, "b": 5}), total=11) == {"wrong-total"}


def test_no_account_is_overdrawn_unless_it_may_be() -> None:
    assert names(bank({"a": -1, "b": 11})) == {"negative-balance"}
    assert names(bank({"a": -1, "b": 11}), negative_balances=True) == set()


def test_accounts_do_not_come_and_go() -> None:
    assert names(bank({"a": 5, "b": 5}, {"a": 10})) == {"missing-account"}
    assert names(bank({"a": 5, "b": 5}, {"a": 5, "b": 5, "c": 0})) == {"unexpected-account"}
    assert names(bank({"a": 5, "b": None})) == {"null-balance"}


def test_pairs_are_a_map_too() -> None:
    assert names(bank([["a", 5], ["b", 5]], [["a", 5], ["b", 4]])) == {"wrong-total"}


def test_without_transfers_nothing_could_go_wrong() -> None:
    write = Scribe()(2, "read", 10, 11, out={"a": 5})
    assert run_check("bank-total", write.history()).valid == "unknown"


def test_without_balances_nothing_is_seen() -> None:
    result = run_check("bank-total", bank("five").history())
    assert result.valid == "unknown"
    assert result.ignored == {"reads that return no map of balances": 1}
