"""What a sieve does not name, `re` does not find: in words, in other alphabets, between control characters."""

from __future__ import annotations

import random
import re

import pytest

from refute.repository import lexicon, manner, marks, messages, telling_code, weighing
from refute.repository.sieve import Sieve

SIEVES: dict[str, tuple[Sieve, dict[str, re.Pattern[str]]]] = {
    "promises": (lexicon._SIEVE, {name: pattern for name, (_, pattern) in lexicon._PROMISING.items()}),
    "marks": (marks._SIEVE, marks._COMPILED),
    "telling code": (
        telling_code._SIEVE,
        {name: pattern for name, (_, pattern) in telling_code._COMPILED.items()},
    ),
    "handlers": (telling_code._HANDLERS, {"empty": telling_code._EMPTY_HANDLER}),
    "manner": (manner._SIEVE, dict(manner._SIEVE._patterns)),
    "messages": (messages._SIEVE, dict(messages._SIEVE._patterns)),
    "weighing": (weighing._SIEVE, dict(weighing._SIEVE._patterns)),
}
ODD = [
    "é",
    "\u2009",
    "\u017f",
    "\u212a",
    "\u0663",
    "—",
    "\x0b",
    "\x1c",
    "5 µs",
    "≤",
    "不",
    "\n",
    "=",
    "(",
    ")",
    "{}",
    '"',
    ";",
]


@pytest.mark.parametrize("name", SIEVES)
def test_no_pattern_that_matches_is_left_out(name: str) -> None:
    sieve, patterns = SIEVES[name]
    chance = random.Random(7)
    words = sorted({word for row in patterns.values() for word in re.findall(r"[A-Za-z.]{2,}", row.pattern)})
    found = 0
    for _ in range(3000):
        parts = [
            chance.choice(ODD if chance.random() < 0.15 else words) for _ in range(chance.randint(1, 12))
        ]
        text = "".join(part + chance.choice(("", " ", " ")) for part in parts)
        matching = {name for name, row in patterns.items() if row.search(text)}
        assert matching <= set(sieve.possible(text)), text
        found += len(matching)
    assert found > 50


def test_only_what_looks_around_is_named_in_vain() -> None:
    sieve = Sieve({"a": re.compile(r"\bLost\b", re.I), "b": re.compile(r"(?<![-<])<="), "c": re.compile("ſ")})
    assert sieve.possible("it is lost") == ["a"]
    assert sieve.possible("it was déjà lo\u017ft") == ["a", "c"]
    assert sieve.possible("a <<= b") == ["b"]
    assert sieve.possible("") == []
    assert list(sieve.possible("\x00")) == ["a", "b", "c"]
