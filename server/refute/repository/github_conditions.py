"""Judges the condition of a GitHub job or step for one event: whether it holds, as far as can be told."""

from __future__ import annotations

import re
from collections.abc import Mapping

from refute.repository.ci_steps import Answer

_TOKEN = re.compile(r"\s*(\|\||&&|==|!=|[()!]|'(?:[^']|'')*'|[^\s()!=&|']+)")
_CALL = re.compile(r"\b(always|success|failure|cancelled)\(\s*\)")
_STATUS = {"always": "true", "success": "true", "failure": "false", "cancelled": "false"}
# what tells the repository itself from a fork of it
_OWN = re.compile(r"^github\.(?:repository|repository_owner|event\.repository\.full_name)$")
_LONGEST = 2_000
_OPPOSITE: dict[Answer, Answer] = {"yes": "no", "no": "yes", "unknown": "unknown"}


def holds(condition: str, event: str, known: Mapping[str, str]) -> Answer:
    """Whether an `if:` is true on the event; `known` gives values by their names (`matrix.os`).

    A comparison with the name of a repository or of its owner holds: the question is what its own CI
    runs. What cannot be worked out is unknown, and so is a text above 2,000 characters.
    """
    text = condition.strip().removeprefix("${{").removesuffix("}}").strip()
    if not text:
        return "yes"
    if len(text) > _LONGEST:
        return "unknown"
    words = _TOKEN.findall(_CALL.sub(lambda found: _STATUS[found[1]], text))
    reader = _Reader(words, {"github.event.pull_request.draft": "false", **known, "github.event_name": event})
    try:
        return reader.whole()
    except (_UnreadableError, RecursionError):
        return "unknown"


class _UnreadableError(Exception):
    """It is an expression of another form."""


class _Reader:
    """Reads a logical expression by descent, over three values."""

    def __init__(self, words: list[str], known: Mapping[str, str]) -> None:
        self._words, self._at, self._known = words, 0, known

    def whole(self) -> Answer:
        answer = self._either()
        if self._at != len(self._words):
            raise _UnreadableError
        return answer

    def _next(self) -> str:
        return self._words[self._at] if self._at < len(self._words) else ""

    def _take(self, *wanted: str) -> bool:
        taken = self._next() in wanted
        self._at += taken
        return taken

    def _either(self) -> Answer:
        answers = [self._both()]
        while self._take("||"):
            answers.append(self._both())
        return "yes" if "yes" in answers else "unknown" if "unknown" in answers else "no"

    def _both(self) -> Answer:
        answers = [self._one()]
        while self._take("&&"):
            answers.append(self._one())
        return "no" if "no" in answers else "unknown" if "unknown" in answers else "yes"

    def _one(self) -> Answer:
        if self._take("!"):
            return _OPPOSITE[self._one()]
        if self._take("("):
            answer = self._either()
            if not self._take(")"):
                raise _UnreadableError
            return answer
        word = self._next()
        self._at += 1
        if not word or word in ("||", "&&", ")", "==", "!="):
            raise _UnreadableError
        if self._next() == "(":
            raise _UnreadableError  # a function of which the value is not known
        if self._next() in ("==", "!="):
            sign = self._next()
            other = self._words[self._at + 1] if self._at + 1 < len(self._words) else ""
            self._at += 2
            return self._compared(word, sign, other)
        value = self._value(word)
        return "unknown" if value is None else "no" if value in ("false", "", "0", "null") else "yes"

    def _compared(self, left: str, sign: str, right: str) -> Answer:
        if any(_OWN.match(word) for word in (left, right)):
            return "yes" if sign == "==" else "unknown"
        values = self._value(left), self._value(right)
        if None in values:
            return "unknown"
        return "yes" if (values[0] == values[1]) == (sign == "==") else "no"

    def _value(self, word: str) -> str | None:
        if word.startswith("'"):
            return word[1:-1].replace("''", "'")
        if re.fullmatch(r"true|false|null|\d+", word):
            return word
        found = self._known.get(word)
        return found if found is not None and "${{" not in found else None
