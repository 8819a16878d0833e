"""Finds lines of code from which a promise can be inferred: they sync, lock, acknowledge, fence, isolate or swallow.

The words of such a line promise nothing; the rule that goes with its kind says what is inferred.
"""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from refute.repository.sieve import Sieve

_MOST_OF_A_KIND = 3
_MOST_OF_A_SCHEMA = 8

# kind -> what a reader infers from such a line
RULES = {
    "sync": "what was written before this call is meant to survive a power loss",
    "isolation": "concurrent transactions are kept apart by this clause or level",
    "acknowledgement": "a message is done with here: before its effect it can be lost, after it be delivered twice",
    "lock": "one holder at a time, for as long as this lock or lease lasts",
    "fencing": "the past is refused by comparing a term, an epoch or a generation",
    "retry": "an attempt is repeated, so its effect has to bear repetition",
    "constraint": "the database itself refuses rows that break this",
    "fail-open": "a failure is swallowed beside something that must not fail silently",
}
_KINDS: tuple[tuple[str, str, str], ...] = (
    ("sync", "durability", r"\b(?:fsync|fdatasync|F_FULLFSYNC|FlushFileBuffers|sync_all|sync_data|sync_file_range|msync|O_D?SYNC|FileOptions\.WriteThrough|datasync)\b|"
                           r"\b(?:file|f|fd|wal|log|dir\w*|tmp\w*|db|segment)\.[Ss]ync\(|\.force\((?:true|false)\)|\.Flush\(true\)"),
    ("isolation", "isolation", r"\b(?:SERIALIZABLE|REPEATABLE[ _]READ|READ[ _](?:UN)?COMMITTED|FOR (?:NO KEY )?UPDATE|SKIP LOCKED|ON CONFLICT|ISOLATION LEVEL|isolation_level|IsolationLevel\.\w+|LevelSerializable)\b"),
    ("acknowledgement", "idempotency", r"\b(?:basic_?[Nn]?[Aa]ck|basic_?[Rr]eject|XACK|acks_late|auto_?[Aa]ck|ackPolicy|AckPolicy\w*|DeleteMessage(?:Async)?)\b|\b(?:msg|message|delivery|envelope|receiver|consumer|channel)\w*(?:\.|->)(?:n?ack|Ack|Nack|reject|acknowledge|commitSync|commitAsync)\("),
    ("lock", "safety", r"\b(?:pg_(?:try_)?advisory_\w*lock\w*|SETNX|setnx|redlock|Redlock|GET_LOCK|flock\(|tryLock\(|acquire_?[Ll]ease|AcquireLease\w*|renew_?[Ll]ease|RenewLease\w*|extend_?[Ll]ock|extendLock)\b|\b[Ss][Ee][Tt]\b[^\n]{0,60}\bNX\b"),
    ("fencing", "safety", r"\b\w*(?:[Ee]poch|[Tt]erm|[Gg]eneration|fencing\w*|[Bb]allot|viewNumber|view_number)\b\s*(?:<=?|>=?|!=)\s*[\w.>-]*(?:[Ee]poch|[Tt]erm|[Gg]eneration|token|[Bb]allot|view)"),
    ("retry", "idempotency", r"\b(?:max_?(?:[Rr]etries|[Aa]ttempts|_?delivery)\w*|retry_?[Ll]imit|MAX_(?:RETRIES|ATTEMPTS))\s*(?::=|[:=])\s*\d+|\bexponential_?[Bb]ackoff\("),
)  # fmt: skip
_COMPILED = {kind: (category, re.compile(pattern)) for kind, category, pattern in _KINDS}
_SIEVE = Sieve({kind: pattern for kind, (_, pattern) in _COMPILED.items()})
_CONSTRAINT = re.compile(
    r"\b(?:PRIMARY KEY|UNIQUE|CHECK\s*\(|FOREIGN KEY|REFERENCES|EXCLUDE (?:USING|\()|ON DELETE|CONSTRAINT)\b",
    re.I,
)
_SAFE_CONSTRAINT = re.compile(r"\b(?:CHECK|FOREIGN KEY|REFERENCES|ON DELETE)\b", re.I)
_EMPTY_HANDLER = re.compile(
    r"catch\s*(?:\([^)]*\))?\s*\{\s*(?://[^\n]*\s*)?\}|except[^:\n]*:\s*(?:#[^\n]*)?\s*pass\b|"
    r"rescue(?:\s+(?:=>\s*\w+|[\w:, ]+))?\s*(?:#[^\n]*)?\n\s*(?:nil\s*\n\s*)?end\b|if (?:[^\n{]{0,120};\s*)?err != nil \{\s*(?://[^\n]*\s*)?\}|catch (?:_|unreachable|\{\})|"
    r"\bcatch\s*\n?\s*(?:\(?_\w*\)?|\w+)\s*->\s*ok\b|on error\(\w*\) \{\s*\}"
)  # fmt: skip
_HANDLERS = Sieve({"empty": _EMPTY_HANDLER})
_DELICATE = re.compile(
    r"dedup|n?ack(?:nowledge)?(?![a-z])|fsync|\bsync\b|lease|(?<!un)lock|commit|persist|flush|fenc", re.I
)
_COMMENT = ("//", "#", "*", "/*", "--", "%", ";", "COMMENT ON ", "comment on ")


@dataclass(frozen=True, slots=True)
class TellingLine:
    """A line of code, what kind of promise it gives away, and the category of that."""

    text: str
    line: int
    end_line: int
    kind: str
    category: str


def telling_lines(lines: Sequence[str], language: str) -> Iterator[TellingLine]:
    """The telling lines of one file of product code, at most three of a kind; linear."""
    counts: Counter[str] = Counter()
    schema = language == "sql"
    kinds = [(kind, *_COMPILED[kind]) for kind in _SIEVE.possible("\n".join(lines))]
    for index, line in enumerate(lines if kinds or schema else ()):
        if len(line) > 300:
            continue
        stripped = line.strip()
        if len(stripped) < 8 or stripped.startswith(_COMMENT):
            continue
        if schema and counts["constraint"] < _MOST_OF_A_SCHEMA and _CONSTRAINT.search(stripped):
            counts["constraint"] += 1
            category = "safety" if _SAFE_CONSTRAINT.search(stripped) else "idempotency"
            yield TellingLine(stripped, index + 1, index + 1, "constraint", category)
            continue
        for kind, category, pattern in kinds:
            if counts[kind] < _MOST_OF_A_KIND and pattern.search(stripped):
                counts[kind] += 1
                yield TellingLine(stripped, index + 1, index + 1, kind, category)
                break
    yield from fail_open_lines(lines)


def fail_open_lines(lines: Sequence[str]) -> Iterator[TellingLine]:
    """Empty handlers of failures where the guarded lines name something delicate."""
    text = "\n".join(lines)
    if not _HANDLERS.possible(text):
        return
    for number, found in enumerate(_EMPTY_HANDLER.finditer(text)):
        if number >= 40:
            return
        first = text.count("\n", 0, found.start())
        last = first + found.group().count("\n")
        guarded = " ".join(lines[max(0, first - 3) : first + 1])
        delicate = _DELICATE.search(guarded)
        if delicate is None:
            continue
        word = delicate.group().lower()
        category = "idempotency" if word.startswith(("dedup", "ack", "nack")) else "safety" if word.startswith(("lease", "lock", "fenc")) else "durability"  # fmt: skip
        shown = " ".join(" ".join(lines[max(0, first - 2) : last + 1]).split())[:300]
        yield TellingLine(shown, max(0, first - 2) + 1, last + 1, "fail-open", category)
