"""Lowers what is worded like a claim and is none: advice, fragments, settings run together, mere defaults.

These are the kinds of noise that a reader found in the first thirty claims of repositories that nobody had tuned to.
Each is told by how a sentence is said, not by what it is about.
"""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from refute.repository.ranking import Candidate

_MANNERS: tuple[tuple[float, re.Pattern[str]], ...] = tuple((worth, re.compile(pattern, re.I)) for worth, pattern in (
    # advice and examples
    (-0.9, r"^(?:if you (?:want|need more|would like|wish|know|don't care)|you (?:can|could|might|may) (?:also |then )?(?:say|want|estimate|use|set|pass|configure|specify)|"
           r"for (?:instance|example)|imagine|suppose|in (?:the above|this) example|with this configuration|yes,|(?:you )?might also want|please remember|consider )"),
    (-0.5, r"\b(?:you could say|can be thought of|think of it as|acting like)\b"),
    (-1.0, r"^@(?:returns?|param|throws|var|see)\b|\bmust be called (?:while|with) (?:having|holding) "),
    (-0.5, r"\b(?:for instance|in the above example|say we|let us say|you might also want|rule of thumb|in my experience|i personally)\b"),
    # how good it is, rather than what holds
    (-0.7, r"\b(?:may be advantageous|tends? to|historically|(?:more|most) efficient(?:ly)?|(?:performance|significant) boost|improves? (?:space|speed|performance)|"
           r"memory consumption|fragmentation than|cheaper than|faster than|not a cheap operation|expensive operation)\b"),
    # a lead whose list is elsewhere, a sentence cut short
    (-1.0, r"(?:\b(?:if|when|that|and|or|the|a|an|of|to|by|because|with|following|includes?)|:)\s*$"),
    # a flag whose default stands in the code, and what an option's type is, and nothing that it does
    (-0.6, r"\bmust be (?:an? )?(?:positive |non-?negative |valid |strictly )*(?:integers?|numbers?|strings?|booleans?|positive|non-?negative|valid)\b"),
    (-0.5, r"^[\w.-]+ \(default (?:[\w]+\.\w+|\W*)\):"),
    (-0.5, r"^(?:dispatched|emitted|fired|marker|marks|represents|holds|contains|stores|thrown) "),
    (-0.4, r"^(?:see|cf\.|refer to|similar to|same as|alias (?:of|for)|like `?\w+`?, but)\b"),
))  # fmt: skip
_MERE = frozenset({"default", "threshold", "bound", "until", "should"})
_STUBS = re.compile(r"\.d\.ts$|(^|/)\.github/|(^|/)(?:typings|type[-_]?stubs)/")


def by_manner(rows: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with what their manner of speaking takes off, best first."""
    judged = [replace(row, worth=row.worth + manner(row)) for row in rows]
    judged.sort(key=lambda row: (-row.worth, row.path, row.statement.line))
    return judged


def manner(row: Candidate) -> float:
    """At most 0: how much less a sentence is worth for the way in which it speaks, in the scale of the ranking."""
    said = row.statement
    worth = sum(weight for weight, pattern in _MANNERS if pattern.search(said.text))
    if said.text.count(" # ") >= 2 or said.text.count("::") >= 3:
        worth -= 1.8  # settings, or the rows of a table, run together
    elif said.channel == "document" and said.text.count("; ") >= 2 and "." not in said.text:
        worth -= 0.7  # a row of a table, its cells apart by semicolons
    if _STUBS.search(row.path):
        worth -= 1.0
    if "default" in said.reasons and set(said.reasons) <= _MERE and len(said.text.split()) < 16:
        worth -= 0.6
    return max(worth, -2.5)
