"""Tells in one pass over a text which of many patterns can match it, so that few have to search."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property

import re2

_MOST_BYTES_OF_AUTOMATON = 64 << 20
_LOOKS_AROUND = re.compile(r"\(\?<?[=!](?:\[[^\]]*\]|[^()\[\]])*\)")
# RE2 and `re` agree on what a space and the end of a line are as long as none of these occurs
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_NO_LETTER = "\x7f"


class Sieve:
    r"""Which of the named patterns can match; only one that looks around may be named in vain.

    `re` tries one alternative after the other at each character; RE2 walks the text once for all patterns
    together (R. Cox, *Regular Expression Matching in the Wild*, 2010), which is a hundred times as fast for
    the words of a promise. Its `\w`, `\d` and `\s` are those of ASCII, so that each character beyond it that
    no pattern names is read as one of ASCII of the same kind. For a text with control characters, every
    pattern is named.
    """

    def __init__(self, patterns: Mapping[str, re.Pattern[str]]) -> None:
        self._patterns = patterns
        self._names = tuple(patterns)
        self._named = frozenset(
            letter for row in patterns.values() for letter in row.pattern if ord(letter) > 127
        )

    def possible(self, text: str) -> Sequence[str]:
        """The names, in their order, of the patterns that can match in `text`; linear in its length."""
        if _CONTROLS.search(text):
            return self._names
        if not text.isascii():
            text = _BEYOND_ASCII.sub(self._in_ascii, text)
        return [self._names[at] for at in sorted(self._automaton.Match(text) or ())]

    def _in_ascii(self, found: re.Match[str]) -> str:
        return "".join(
            letter if letter in self._named else _of_the_same_kind(letter) for letter in found.group()
        )

    @cached_property
    def _automaton(self) -> re2.Set:
        options = re2.Options()
        options.max_mem = _MOST_BYTES_OF_AUTOMATON
        automaton = re2.Set.SearchSet(options)
        for pattern in self._patterns.values():
            flags = ("i" if pattern.flags & re.I else "") + ("m" if pattern.flags & re.M else "")
            # without its look around, a pattern matches wherever it does with it
            looser = _LOOKS_AROUND.sub("", pattern.pattern)
            automaton.Add(f"(?{flags}:{looser})" if flags else looser)
        automaton.Compile()
        return automaton


def _of_the_same_kind(letter: str) -> str:
    """What `re` takes for the same in ASCII: a space, a digit, a part of a word, or none of these."""
    if letter.isspace():
        return " "
    if letter.isdecimal():
        return "0"
    if not letter.isalnum():
        return _NO_LETTER
    folded = letter.casefold()  # without case, the sign of Kelvin is a k
    return folded if len(folded) == 1 and folded.isascii() else "z"
