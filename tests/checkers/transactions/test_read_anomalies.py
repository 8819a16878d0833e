"""Anomalies of single reads by hand: ten histories that have each, and the same ones mended."""

from __future__ import annotations

import pytest
from tiny_transactions import history

from refute.checkers import Budget, run_check

# (the history with the anomaly) -> (the same without it); transactions are split by `;`.
APPEND: dict[str, list[tuple[str, str]]] = {
    "G1a": [
        ("! x+1; x=1", "x+1; x=1"),
        ("! x+1; x=1", "! x+1; x="),
        ("! x+1; x+2; x=1,2", "! x+1; x+2; x=2"),
        ("x+1; ! x+2; x=1,2", "x+1; ! x+2; x=1"),
        ("! x+1 y+1; y=1 x=", "! x+1 y+1; y= x="),
        ("! x=1; ! x+1; x=1", "! x=1; ! x+1; x="),
        ("x+1; ! x+2 x+3; x=1,2,3", "x+1; ? x+2 x+3; x=1,2,3"),
        ("! x+1; y+1; y=1; x=1", "! x+1; y+1; y=1; x="),
        ("! x+1; x=1 x+2; x=1,2", "? x+1; x=1 x+2; x=1,2"),
        ("x+1; x=1; ! x+2; x=1,2; x=1", "x+1; x=1; ! x+2; x=1; x=1"),
    ],
    "G1b": [
        ("x+1 x+2; x=1", "x+1 x+2; x=1,2"),
        ("x+1 x+2; x=1; x=1,2", "x+1 x+2; x=; x=1,2"),
        ("x+1 y+1 x+2; x=1", "x+1 y+1 x+2; x=1,2"),
        ("x+1 x+2 x+3; x=1,2", "x+1 x+2 x+3; x=1,2,3"),
        ("x+9; x+1 x+2; x=9,1", "x+9; x+1 x+2; x=9"),
        ("? x+1 x+2; x=1", "? x+1 x+2; x=1,2"),
        ("x+1 x+2; y+1 x=1", "x+1 x+2; y+1 x=1,2"),
        ("x+1 x=1 x+2; x=1", "x+1 x=1 x+2; x=1,2"),
        ("x+1 x+2; x=1; y=1; y+1", "x+1 x+2; x=; y=1; y+1"),
        ("x+1 y+2 x+2 y+3; y=2", "x+1 y+2 x+2 y+3; y=2,3"),
    ],
    "internal": [
        ("x+1 x=", "x+1 x=1"),
        ("x+1 x+2 x=1", "x+1 x+2 x=1,2"),
        ("x+9; x= x=9", "x+9; x=9 x=9"),
        ("x= x+1 x=", "x= x+1 x=1"),
        ("x+9; x=9 x+1 x=1", "x+9; x=9 x+1 x=9,1"),
        ("x+1 x+2 x=2,1", "x+1 x+2 x=1,2"),
        ("x=1 x+1", "x= x+1"),
        ("x+1 x=1 x+2 x=1", "x+1 x=1 x+2 x=1,2"),
        ("x+9; x=9 x=", "x+9; x=9 x=9"),
        ("x+1 x=1,2 x+2", "x+1 x=1 x+2"),
    ],
    "duplicate-elements": [
        ("x+1; x=1,1", "x+1; x=1"),
        ("x+1; x+2; x=1,2,1", "x+1; x+2; x=1,2"),
        ("x+1; x+2; x=1,2,2", "x+1; x+2; x=1,2"),
        ("x+1; x+2; x=2,2,1", "x+1; x+2; x=2,1"),
        ("? x+1; x=1,1", "? x+1; x=1"),
        ("x+1 y+1; y=1; x=1,1", "x+1 y+1; y=1; x=1"),
        ("x+1; x=1,1,1", "x+1; x=1"),
        ("x+1; x=1; x=1,1", "x+1; x=1; x=1"),
        ("x+1; y+1; y=1,1 x=1", "x+1; y+1; y=1 x=1"),
        ("x+1; x+2; x+3; x=1,2,3,1", "x+1; x+2; x+3; x=1,2,3"),
    ],
    "incompatible-order": [
        ("x+1; x+2; x=1; x=2", "x+1; x+2; x=1; x=1,2"),
        ("x+1; x+2; x=1,2; x=2,1", "x+1; x+2; x=1,2; x=1,2"),
        ("x+1; x+2; x+3; x=1,2; x=1,3", "x+1; x+2; x+3; x=1,2; x=1,2,3"),
        ("x+1; x+2; x=1,2; x=2", "x+1; x+2; x=1,2; x=1"),
        ("x+1; x+2; x+3; x=1,2,3; x=1,3,2", "x+1; x+2; x+3; x=1,2,3; x=1,2,3"),
        ("? x+1; x+2; x=1; x=2", "? x+1; x+2; x=2; x=2"),
        ("x+1; x+2; y+1 x=1; x=2", "x+1; x+2; y+1 x=2; x=2"),
        ("x+1; x+2; x+3; x=1,2,3; x=2", "x+1; x+2; x+3; x=1,2,3; x=1,2"),
        ("x+1; x+2; y=; x=2; x=1", "x+1; x+2; y=; x=; x=1"),
        ("x+1; x+2; x=1; x=2; x=1,2", "x+1; x+2; x=1; x=1; x=1,2"),
    ],
    "lost-update": [
        ("x= x+1; x= x+2; x=1,2", "x= x+1; x=1 x+2; x=1,2"),
        ("x= x+1; x= x+2", "x= x+1; x=1 x+2"),
        ("x+9; x=9 x+1; x=9 x+2", "x+9; x=9 x+1; x=9,1 x+2"),
        ("x= x+1; x= x+2; x= x+3", "x= x+1; x=1 x+2; x=1,2 x+3"),
        ("x= y+1 x+1; x= x+2; x=2,1", "x= y+1 x+1; x= y+2; x=1"),
        ("x= x+1 x+2; x= x+3; x=1,2,3", "x= x+1 x+2; x=1,2 x+3; x=1,2,3"),
        ("x+9; x=9 x+1; x=9 x+2; x=9,1,2", "x+9; x=9 x+1; x=9; x=9,1"),
        ("x= x=  x+1; x= x+2; x=1,2", "x= x= x+1; ! x= x+2; x=1"),
        ("y= x= x+1; x= x+2", "y= x= x+1; x=1 x+2"),
        ("x= x+1; x= x+2; x=2", "x= x+1; x=2,1; ? x= x+2"),
    ],
    "dirty-update": [
        ("! x+1; x+2; x=1,2", "! x+1; x+2; x=2"),
        ("! x+1; x+2; x=1,2", "x+1; x+2; x=1,2"),
        ("! x+1; ? x+2; x=1,2", "! x+1; ? x+2; x=2"),
        ("x+3; ! x+1; x+2; x=3,1,2", "x+3; ! x+1; x+2; x=3,2"),
        ("! x+1; ! x+2; x+3; x=1,2,3", "! x+1; ! x+2; x+3; x=3"),
        ("! x+1 y+1; x+2; x=1,2", "! x+1 y+1; x+2; x=2"),
        ("! x+1 x+4; x+2; x=1,4,2", "! x+1 x+4; x+2; x=2"),
        ("! x+1; x=1 x+2; x=1,2", "? x+1; x=1 x+2; x=1,2"),
        ("! x+1; x+2; x+3; x=1,2,3", "! x+1; x+2; x+3; x=2,3"),
        ("x+2; ! x+1; x+3; x=2; x=2,1,3", "x+2; ! x+1; x+3; x=2; x=2,3"),
    ],
    "garbage-read": [
        ("x+1; x=7", "x+1; x=1"),
        ("x=7", "x="),
        ("x+1; x=1,7", "x+1; x=1"),
        ("x+1; x=7,1", "x+1; x=1"),
        ("x+1; y+7; x=1,7", "x+1; y+7; x=1 y=7"),
        ("? x+1; x=1,7", "? x+1; x=1"),
        ("x+1; x=1; x=1,7", "x+1; x=1; x=1"),
        ("x+1; y=1", "x+1; y="),
        ("x+1; x=7; x=1", "x+1; x=; x=1"),
        ("y+1; y=1 x=7", "y+1; y=1 x="),
    ],
    "G-monotonic": [
        (f"{before}x+1 y+1{after}; x={seen} y={less}", f"{before}x+1 y+1{after}; x={seen} y={all_of_it}")
        for before, seen, less, all_of_it in (
            ("", "1", "", "1"),
            ("x+8; ", "8,1", "", "1"),
            ("y+9; ", "1", "9", "9,1"),
            ("y+9; x+8; ", "8,1", "9", "9,1"),
            ("z+4; ", "1", "", "1"),
        )
        for after in ("; y=" + all_of_it, "; z+1")
    ],
    "fractured-read": [
        (f"{before}x+1 y+1{after}; y={less} x={seen}", f"{before}x+1 y+1{after}; y={all_of_it} x={seen}")
        for before, seen, less, all_of_it in (
            ("", "1", "", "1"),
            ("x+8; ", "8,1", "", "1"),
            ("y+9; ", "1", "9", "9,1"),
            ("y+9; x+8; ", "8,1", "9", "9,1"),
            ("z+4; ", "1", "", "1"),
        )
        for after in ("; y=" + all_of_it, "; z+1")
    ],
}

REGISTER: dict[str, list[tuple[str, str]]] = {
    "G1a": [
        ("! x:=1; x->1", "x:=1; x->1"),
        ("! x:=1; x->1", "? x:=1; x->1"),
        ("! x:=1; x:=2; x->1", "! x:=1; x:=2; x->2"),
        ("! x:=1 y:=1; y->1", "! x:=1 y:=1; y->"),
        ("! x:=1 x:=2; x->1", "! x:=1 x:=2; x->"),
        ("! x:=1 x:=2; x->2", "x:=1 x:=2; x->2"),
        ("y:=1; ! x:=1; y->1 x->1", "y:=1; ! x:=1; y->1 x->"),
        ("! x->; ! x:=1; x->1", "! x->; ! x:=1; x->"),
        ("! x:=1; x->1 x:=2", "! x:=1; x-> x:=2"),
        ("! x:=1; x->; x->1", "! x:=1; x->; x->"),
    ],
    "G1b": [
        ("x:=1 x:=2; x->1", "x:=1 x:=2; x->2"),
        ("x:=1 y:=5 x:=2; x->1", "x:=1 y:=5 x:=2; x->2"),
        ("? x:=1 x:=2; x->1", "? x:=1 x:=2; x->2"),
        ("x:=1 x:=2 x:=3; x->2", "x:=1 x:=2 x:=3; x->3"),
        ("x:=1 x:=2 x:=3; x->1", "x:=1 x:=2 x:=3; x->3"),
        ("x:=1 x->1 x:=2; x->1", "x:=1 x->1 x:=2; x->2"),
        ("x:=1 x:=2; x->1; x->2", "x:=1 x:=2; x->2; x->2"),
        ("x:=1 x:=2; y:=1; x->1 y->1", "x:=1 x:=2; y:=1; x->2 y->1"),
        ("x:=1 x:=2; x->1 x:=3", "x:=1 x:=2; x->2 x:=3"),
        ("x:=1 x:=2; y->; x->1", "x:=1 x:=2; y->; x->"),
    ],
    "internal": [
        ("x:=1 x->", "x:=1 x->1"),
        ("x:=1; x-> x->1", "x:=1; x->1 x->1"),
        ("x:=9; x:=1 x->9", "x:=9; x:=1 x->1"),
        ("x:=1 x:=2 x->1", "x:=1 x:=2 x->2"),
        ("x->1 x:=1", "x-> x:=1"),
        ("x:=9; x->9 x:=1 x->9", "x:=9; x->9 x:=1 x->1"),
        ("x:=9; x->9 x->", "x:=9; x->9 x->9"),
        ("x:=1 y->5 x->; y:=5", "x:=1 y->5 x->1; y:=5"),
        ("x:=1 x->2 x:=2", "x:=1 x->1 x:=2"),
        ("x:=1; x:=2; x->1 x->2", "x:=1; x:=2; x->2 x->2"),
    ],
    "lost-update": [
        ("x-> x:=1; x-> x:=2", "x-> x:=1; x->1 x:=2"),
        ("x:=9; x->9 x:=1; x->9 x:=2", "x:=9; x->9 x:=1; x->1 x:=2"),
        ("x-> x:=1; x-> x:=2; x->2", "x-> x:=1; x->1 x:=2; x->2"),
        ("x-> y:=3 x:=1; x-> x:=2", "x-> y:=3 x:=1; x-> y:=2"),
        ("x-> x:=1; x-> x:=2; x-> x:=3", "x-> x:=1; x->1 x:=2; x->2 x:=3"),
        ("x-> x:=1 x:=4; x-> x:=2", "x-> x:=1 x:=4; x->4 x:=2"),
        ("? x:=9; x->9 x:=1; x->9 x:=2", "? x:=9; x->9 x:=1; x->1 x:=2"),
        ("x-> x-> x:=1; x-> x:=2", "x-> x-> x:=1; ! x-> x:=2"),
        ("y-> x-> x:=1; x-> x:=2", "y-> x-> x:=1; ? x-> x:=2; x->1"),
        ("x-> x:=1; y-> y:=1; x-> x:=2", "x-> x:=1; y-> y:=1; x->1 x:=2"),
    ],
    "dirty-update": [
        ("! x:=1; x->1 x:=2", "? x:=1; x->1 x:=2"),
        ("! x:=1; x->1 x:=2", "! x:=1; x-> x:=2"),
        ("! x:=1; x->1 x:=2; x->2", "x:=1; x->1 x:=2; x->2"),
        ("! x:=1 y:=1; y->1 y:=2", "! x:=1 y:=1; y-> y:=2"),
        ("! x:=1; x->1 y:=5 x:=2", "! x:=1; x-> y:=5 x:=2"),
        ("x:=9; ! x:=1; x->1 x:=2", "x:=9; ! x:=1; x->9 x:=2"),
        ("! x:=1; x->1 x:=2; y->", "! x:=1; x-> x:=2; y->"),
        ("! x:=3 x:=1; x->1 x:=2", "x:=3 x:=1; x->1 x:=2"),
        ("! x-> x:=1; x->1 x:=2", "x-> x:=1; x->1 x:=2"),
        ("! x:=1; x->1 x:=2 x:=3", "! x:=1; x-> x:=2 x:=3"),
    ],
    "garbage-read": [
        ("x->7", "x->"),
        ("x:=1; x->7", "x:=1; x->1"),
        ("x:=1; x->1; x->7", "x:=1; x->1; x->1"),
        ("x:=1; y->1", "x:=1; y->"),
        ("? x:=1; x->7", "? x:=1; x->1"),
        ("! x:=1; x->7", "! x:=1; x->"),
        ("x:=1; x->7 x:=2", "x:=1; x->1 x:=2"),
        ("y:=1; y->1 x->7", "y:=1; y->1 x->"),
        ("x:=7; y->7 x->7", "x:=7; y-> x->7"),
        ("x:=1; x->1; x->7; x->1", "x:=1; x->1; x->1; x->1"),
    ],
    "cyclic-versions": [
        ("x->2 x:=1; x->1 x:=2", "x-> x:=1; x->1 x:=2"),
        ("x->3 x:=1; x->1 x:=2; x->2 x:=3", "x-> x:=1; x->1 x:=2; x->2 x:=3"),
        ("x->2 x:=1; x->1 x:=2; y->", "x->2 x:=1; x-> x:=2; y->"),
        ("x->4 x:=1; x->1 x:=2; x->2 x:=3; x->3 x:=4", "x-> x:=1; x->1 x:=2; x->2 x:=3; x->3 x:=4"),
        ("x->2 x:=1; x->1 y:=5 x:=2", "x-> x:=1; x->1 y:=5 x:=2"),
        ("x->2 y:=5 x:=1; x->1 x:=2", "x->2 y:=5 x:=1; x-> x:=2"),
        ("y:=1; x->2 x:=1; x->1 x:=2", "y:=1; x->2 x:=1; x-> x:=2"),
        ("x->2 x:=1; x->1 x:=2; x->1", "x-> x:=1; x->1 x:=2; x->1"),
        ("x->2 x:=1; x->1 x:=2; x->2", "x-> x:=1; x->1 x:=2; x->2"),
        ("x->3 x:=1 ; x->1 x:=5 x:=3", "x-> x:=1 ; x->1 x:=5 x:=3"),
    ],
    "fractured-read": [
        (f"{first}x:=1 y:=1{after}; {read}", f"{first}x:=1 y:=1{after}; {mended}")
        for first, read, mended in (
            ("", "y-> x->1", "y->1 x->1"),
            ("x-> x:=8; x->8 ", "y-> x->1", "y->1 x->1"),
            ("y-> y:=9; y->9 ", "y->9 x->1", "y->1 x->1"),
            ("z:=4; ", "y-> x->1", "y->1 x->1"),
            ("z:=4; z->4 ", "y-> x->1", "y-> x->"),
        )
        for after in ("", "; z->")
    ],
    "G-monotonic": [
        (f"{first}x:=1 y:=1{after}; {read}", f"{first}x:=1 y:=1{after}; {mended}")
        for first, read, mended in (
            ("", "x->1 y->", "x->1 y->1"),
            ("x-> x:=8; x->8 ", "x->1 y->", "x->1 y->1"),
            ("y-> y:=9; y->9 ", "x->1 y->9", "x->1 y->1"),
            ("z:=4; ", "x->1 y->", "x->1 y->1"),
            ("z:=4; z->4 ", "x->1 y->", "x-> y->"),
        )
        for after in ("", "; z->")
    ],
}


def _cases(table: dict[str, list[tuple[str, str]]]) -> list[tuple[str, str, bool]]:
    return [
        (name, text, place == 0)
        for name, pairs in table.items()
        for pair in pairs
        for place, text in enumerate(pair)
    ]


def _anomalies(checker: str, text: str) -> dict[str, int]:
    lines = [line.strip() for line in text.split(";")]
    found: dict[str, int] = run_check(checker, history(*lines), budget=Budget()).details["anomalies"]
    return found


@pytest.mark.parametrize(("name", "text", "present"), _cases(APPEND))
def test_list_append(name: str, text: str, present: bool) -> None:
    assert (name in _anomalies("list-append", text)) is present


@pytest.mark.parametrize(("name", "text", "present"), _cases(REGISTER))
def test_rw_register(name: str, text: str, present: bool) -> None:
    assert (name in _anomalies("rw-register", text)) is present


@pytest.mark.parametrize("table", [APPEND, REGISTER])
def test_every_anomaly_has_twenty_cases(table: dict[str, list[tuple[str, str]]]) -> None:
    assert {name: 2 * len(set(pairs)) for name, pairs in table.items()} == dict.fromkeys(table, 20)
