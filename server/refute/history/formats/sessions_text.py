"""Transactions by session, without times: the text formats of Plume and PolySI, and of AWDIT's tests."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any

from refute.history.columns import OperationTable, columns_of
from refute.history.history import Completeness, History
from refute.history.operation import Operation, Outcome
from refute.history.pairing import OnBadLine, Pairing
from refute.history.text_source import chunks

_PLUME = re.compile(rb"\s*([rw])\((-?\d+),(-?\d+),(-?\d+),(-?\d+)\)\s*")
_AWDIT = re.compile(rb"\s*([rw])\s+(\S+)\s+(\S+)\s*")


@dataclass(slots=True)
class _Transaction:
    session: int
    micros: list[list[Any]] = field(default_factory=list)
    aborted: bool = False


def _history(transactions: list[_Transaction], pairing: Pairing) -> History:
    """Times count the lines only: between sessions they mean nothing, hence the clock."""
    operations = []
    for index, transaction in enumerate(transactions):
        asked = [[name, key, value if name == "w" else None] for name, key, value in transaction.micros]
        outcome = Outcome.FAIL if transaction.aborted else Outcome.OK
        output = None if transaction.aborted else transaction.micros
        operations.append(
            Operation(
                index, transaction.session, "txn", None, asked, output, outcome, 2 * index, 2 * index + 1
            )
        )
    return History(
        OperationTable(columns_of(operations)),
        completeness=Completeness(
            unreadable_lines=sum(pairing.bad.values()),
            notes=("there are no times: only the order within a session is known", *pairing.notes),
        ),
        clock="wall",
        source=pairing.source,
    )


def read_plume(path: str | os.PathLike[str], *, on_bad_line: OnBadLine = "error") -> History:
    """Plume's and PolySI's text: `w(key,value,session,transaction)` a line.

    Transaction -1 holds writes that were aborted. 0 is the value that every key has at first; where
    nobody writes it, a read of it is a read of nothing.
    """
    pairing = Pairing(str(path), on_bad_line)
    found: dict[tuple[int, int], _Transaction] = {}
    order: list[_Transaction] = []
    zeros: set[int] = set()
    for chunk in chunks(path):
        for number, line in enumerate(chunk.lines, chunk.first):
            if not line.strip():
                continue
            match = _PLUME.fullmatch(line)
            if match is None:
                pairing.complain("expected r(key,value,session,transaction) or w(...)", number)
                continue
            name = match[1].decode()
            key, value, session, identity = map(int, match.groups()[1:])
            if name == "w" and value == 0:
                zeros.add(key)
            transaction = found.get((session, identity))
            if transaction is None:
                transaction = _Transaction(session, aborted=identity == -1)
                found[(session, identity)] = transaction
                order.append(transaction)
            if identity == -1 and name == "r":
                continue
            transaction.micros.append([name, key, value])
    for transaction in order:
        for micro in transaction.micros:
            if micro[0] == "r" and micro[2] == 0 and micro[1] not in zeros:
                micro[2] = None
    return _history([transaction for transaction in order if transaction.micros], pairing)


def read_awdit(path: str | os.PathLike[str], *, on_bad_line: OnBadLine = "error") -> History:
    """AWDIT's text: `w key value` or `r key value` a line; `---` ends a transaction, `===` a session."""
    pairing = Pairing(str(path), on_bad_line)
    transactions: list[_Transaction] = []
    session, current = 0, _Transaction(0)

    def end() -> None:
        if current.micros:
            transactions.append(current)

    for chunk in chunks(path):
        for number, line in enumerate(chunk.lines, chunk.first):
            text = line.strip()
            if not text:
                continue
            if set(text) <= {ord("="), ord("-")}:
                end()
                if text[:1] == b"=":
                    session += 1
                current = _Transaction(session)
                continue
            match = _AWDIT.fullmatch(line)
            if match is None:
                pairing.complain("expected `r key value`, `w key value`, --- or ===", number)
                continue
            key, value = (
                int(part) if part.lstrip(b"-").isdigit() else part.decode() for part in (match[2], match[3])
            )
            current.micros.append([match[1].decode(), key, value])
    end()
    return _history(transactions, pairing)
