"""Two clean plans, and a checker catalog that does not move with the project's own."""

from __future__ import annotations

from pathlib import Path

from refute.checkers.catalog import CheckerEntry
from refute.plan.check import Checked, check_plan
from refute.plan.rules.rule import ReadCitation
from refute.plan.scenario import GENERATORS as OURS

STORE = Path(__file__).with_name("store.md").read_text(encoding="utf-8")
FLEET = Path(__file__).with_name("fleet.md").read_text(encoding="utf-8")


def _entry(name: str, properties: str, kinds: str, fields: str = "", options: str = "") -> CheckerEntry:
    return CheckerEntry(
        name,
        "",
        "nowhere:nothing",
        tuple(properties.split()),
        tuple(kinds.split()),
        tuple(fields.split()),
        dict.fromkeys(options.split(), ""),
    )


CHECKERS = {
    entry.name: entry
    for entry in (
        _entry("linearizable", "safety ordering", "read write cas book list", "", "model initial"),
        _entry(
            "no-lost-acknowledged-write", "durability safety", "read write book list", "", "initial require"
        ),
        _entry("exactly-once", "idempotency operational", "add read book list", "extra.idempotency_key"),
        _entry("list-append", "isolation", "txn"),
        _entry("tenant-isolation", "boundary", "read write export", "extra.tenant"),
        _entry("shares", "fairness", "take submit", "", "formula at_least group_by"),
        _entry("latency", "performance", "take submit"),
        _entry("progress", "liveness", "book list"),
    )
}


GENERATORS = (*OURS, "bookings", "jobs")


def check(text: str, read_citation: ReadCitation | None = None) -> Checked:
    """A plan's text checked by the catalog of the tests."""
    return check_plan(text, checkers=CHECKERS, read_citation=read_citation, generators=GENERATORS)


def rules_tripped(text: str, read_citation: ReadCitation | None = None) -> set[str]:
    """The ids of the rules that a text trips."""
    return {defect.rule for defect in check(text, read_citation).defects}


def with_changes(text: str, *pairs: str) -> str:
    """A text in which other words stand: what stands there and what is written instead, in pairs."""
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert old in text, f"the example has changed: {old}"
        text = text.replace(old, new)
    return text
