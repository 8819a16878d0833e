"""Reads and writes EDN, as much of it as histories use.

No package reads EDN at the rate of histories: edn_format, the one that is kept up, manages about
3,000 operations a second, and a history has a hundred times that. So the notation is read here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import orjson

from refute.history.json_text import has_long_integer
from refute.history.stand_ins import hashable

_TOKEN = re.compile(
    r"""[\s,]*+(?:;[^\n]*+[\s,]*+)*+(?:
        (?P<open>\#\{|[\[({])
      | (?P<close>[\])}])
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<discard>\#_)
      | (?P<tag>\#[A-Za-z][^\s,()\[\]{}";]*)
      | \#:(?P<namespace>[^\s,()\[\]{}";:]+)(?=[\s,]*\{)
      | (?P<char>\\(?:newline|space|tab|return|formfeed|backspace|u[0-9a-fA-F]{4}|.))
      | (?P<atom>[^\s,()\[\]{}";\\]+)
    )""",
    re.VERBOSE | re.DOTALL,
)
_INTEGER = re.compile(r"[+-]?\d+N?")
_FLOAT = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?M?")
_RATIO = re.compile(r"([+-]?\d+)/(\d+)")
_CLOSES = {"[": "]", "(": ")", "{": "}", "#{": "}"}
_CHARACTERS = {
    "newline": "\n",
    "space": " ",
    "tab": "\t",
    "return": "\r",
    "formfeed": "\f",
    "backspace": "\b",
}
_WORDS: Mapping[str, Any] = {
    "nil": None,
    "true": True,
    "false": False,
    "##NaN": float("nan"),
    "##Inf": float("inf"),
    "##-Inf": float("-inf"),
}
_SKIP = object()
_DEPTH_LIMIT = 500  # of brackets in brackets; more is no history, and too much for what walks through values
_SIMPLE = re.compile(rb'(?:[-\d ,\[\]\n]++|nil|true|false|"[-\w]*+"|:[A-Za-z][-\w]*+)*+')
_BETWEEN = 1.5  # stands between values, as none of them is a fraction
_PAIR = re.compile(rb'\[("[-\w]*"|-?\d+)[\s,]+(nil|-?\d+)\]')
_KEYWORD = re.compile(rb":([A-Za-z][-\w]*)")


class EdnError(ValueError):
    """The text is not EDN."""


def _atom(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] == ":":
        return text[1:]
    if _INTEGER.fullmatch(text):
        try:
            return int(text.rstrip("N"))
        except ValueError:
            raise EdnError(f"an integer of {len(text)} digits") from None
    if _FLOAT.fullmatch(text):
        return float(text.rstrip("M"))
    ratio = _RATIO.fullmatch(text)
    if ratio:
        try:
            return int(ratio[1]) / int(ratio[2])
        except (ArithmeticError, ValueError):
            raise EdnError(f"{text[:20]} is no number") from None
    return text


def _closed(bracket: str, items: list[Any], namespace: str | None) -> Any:
    if items and items[-1] is _SKIP:
        raise EdnError("nothing follows #_")
    if bracket != "{":
        return items
    if len(items) % 2:
        raise EdnError("a map has a key without a value")
    keys = [key if isinstance(key, (str, int)) else hashable(key) for key in items[::2]]
    if namespace is not None:
        keys = [f"{namespace}/{key}" if isinstance(key, str) and "/" not in key else key for key in keys]
    return dict(zip(keys, items[1::2], strict=True))


def loads_all(text: str) -> list[Any]:
    """Every value in a text. Keywords and symbols become strings, lists, vectors and sets lists.

    A tag is passed over and its value kept. Raises EdnError. Linear.
    """
    stack: list[tuple[str, list[Any], str | None]] = []
    namespace: str | None = None
    items: list[Any] = []
    position, size = 0, len(text)
    discards: list[int] = []
    while position < size:
        match = _TOKEN.match(text, position)
        if match is None:
            rest = re.sub(r";[^\n]*", "", text[position:])
            if rest.strip(" \t\r\n,"):
                raise EdnError(f"cannot read {rest.strip()[:20]!r}")
            break
        position = match.end()
        kind, token = match.lastgroup, match[match.lastgroup or 0]
        if kind == "open":
            if len(stack) == _DEPTH_LIMIT:
                raise EdnError(f"brackets are nested deeper than {_DEPTH_LIMIT}")
            stack.append((token, items, namespace))
            items, namespace = [], None
            continue
        if kind == "close":
            if not stack or _CLOSES[stack[-1][0]] != token:
                raise EdnError(f"unexpected {token!r}")
            bracket, outer, of_keys = stack.pop()
            value = _closed(bracket, items, of_keys)
            items = outer
        elif kind == "discard":
            items.append(_SKIP)
            discards.append(len(stack))
            continue
        elif kind == "tag":
            continue
        elif kind == "namespace":
            namespace = token
            continue
        elif kind == "string":
            try:
                value = json.loads(token, strict=False)
            except ValueError:
                value = token[1:-1]
        elif kind == "char":
            name = token[1:]
            value = _CHARACTERS.get(name, chr(int(name[1:], 16)) if len(name) == 5 else name)
        else:
            value = _atom(token)
        if items and items[-1] is _SKIP and discards and discards[-1] == len(stack):
            items.pop()
            discards.pop()
            continue
        items.append(value)
    if stack:
        raise EdnError(f"{stack[-1][0]!r} is never closed")
    if items and items[-1] is _SKIP:
        raise EdnError("nothing follows #_")
    return items


def loads(text: str) -> Any:
    """The one value in a text. Raises EdnError."""
    values = loads_all(text)
    if len(values) != 1:
        raise EdnError(f"expected one value, found {len(values)}")
    return values[0]


class Values(dict[bytes, Any]):
    """Values by their text: what was read once is looked up, vectors go by way of JSON."""

    def column(self, text: bytes) -> list[Any]:
        """The values of lines, one a line, by way of JSON if all are plain.

        Raises EdnError for a line that is not one value.
        """
        size = text.count(b"\n") + 1
        if _SIMPLE.fullmatch(text) and not has_long_integer(text):
            try:
                values = orjson.loads(b"[%s]" % _json_of_simple(text))
            except orjson.JSONDecodeError:
                values = []
            if len(values) == 2 * size - 1 and values[1::2].count(_BETWEEN) == size - 1:
                return list(values[::2])
        return [self[line] for line in text.split(b"\n")]

    def __missing__(self, text: bytes) -> Any:
        pair = _PAIR.fullmatch(text)
        value = quick(text) if pair is None else [self[pair[1]], self[pair[2]]]
        if len(text) < 64:
            if len(self) > 50_000:
                self.clear()
            self[text] = value
        return value


def _json_of_simple(text: bytes) -> bytes:
    """Lines that are _SIMPLE as the elements of a JSON list, with _BETWEEN between them.

    What is written in another way than the printer of Clojure does becomes something that is not JSON.
    """
    text = text.replace(b"\n", b",%r," % _BETWEEN).replace(b" ", b",")
    for keyword in sorted(set(_KEYWORD.findall(text)), key=len, reverse=True):
        text = text.replace(b":" + keyword, b'"' + keyword + b'"')
    if b"nil" in text:
        text = (b"," + text).replace(b",nil", b",null").replace(b"[nil", b"[null")[1:]
    return text


def quick(text: bytes) -> Any:
    """One value, by a short cut where the text allows it. Raises EdnError."""
    if text.isdigit() and len(text) < 19:
        return int(text)
    if text[:1] == b"[" and _SIMPLE.fullmatch(text) and not has_long_integer(text):
        try:
            return orjson.loads(_json_of_simple(text))
        except orjson.JSONDecodeError:
            pass
    return loads(text.decode())


def dumps(value: Any, *, keyword: bool = False) -> str:
    """A value as EDN; strings stay strings unless `keyword`, which also holds for the keys of maps."""
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, str):
        if keyword and re.fullmatch(r"[A-Za-z*+!?<>=_-][\w*+!?<>=.-]*", value):
            return f":{value}"
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{dumps(k, keyword=True)} {dumps(v)}" for k, v in value.items())
        return f"{{{inside}}}"
    if isinstance(value, (set, frozenset)):
        return "#{" + " ".join(dumps(item) for item in value) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + " ".join(dumps(item) for item in value) + "]"
    return json.dumps(str(value), ensure_ascii=False)
