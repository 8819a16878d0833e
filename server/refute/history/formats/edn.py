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

from refute.history.columns import hashable

_TOKEN = re.compile(
    r"""[\s,]*(?:;[^\n]*[\s,]*)*(?:
        (?P<open>\#\{|[\[({])
      | (?P<close>[\])}])
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<discard>\#_)
      | (?P<tag>\#[A-Za-z][^\s,()\[\]{}";]*)
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
_WORDS: Mapping[str, Any] = {"nil": None, "true": True, "false": False}
_NUMBERS = re.compile(rb"\[[-\d\s,]*\]")
_PLAIN = re.compile(rb'(?:[-\w\s,:\[\].]|"[-\w]*")*')
_PAIR = re.compile(rb'\[("[-\w]*"|-?\d+)[\s,]+(nil|-?\d+)\]')
_KEYWORD = re.compile(rb":([A-Za-z][-\w]*)")
_GAP = re.compile(rb"[\s,]+")
_NIL = re.compile(rb"(?<![\w\"-])nil(?![\w\"-])")


class EdnError(ValueError):
    """The text is not EDN."""


def _atom(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] == ":":
        return text[1:]
    if _INTEGER.fullmatch(text):
        return int(text.rstrip("N"))
    if _FLOAT.fullmatch(text):
        return float(text.rstrip("M"))
    ratio = _RATIO.fullmatch(text)
    if ratio:
        return int(ratio[1]) / int(ratio[2])
    return text


def _closed(bracket: str, items: list[Any]) -> Any:
    if bracket != "{":
        return items
    if len(items) % 2:
        raise EdnError("a map has a key without a value")
    pairs = zip(items[::2], items[1::2], strict=True)
    return {key if isinstance(key, (str, int)) else hashable(key): value for key, value in pairs}


_SKIP = object()


def loads_all(text: str) -> list[Any]:
    """Every value in a text. Keywords and symbols become strings, lists, vectors and sets lists.

    A tag is passed over and its value kept. Raises EdnError. Linear.
    """
    stack: list[tuple[str, list[Any]]] = []
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
            stack.append((token, items))
            items = []
            continue
        if kind == "close":
            if not stack or _CLOSES[stack[-1][0]] != token:
                raise EdnError(f"unexpected {token!r}")
            bracket, outer = stack.pop()
            value = _closed(bracket, items)
            items = outer
        elif kind == "discard":
            items.append(_SKIP)
            discards.append(len(stack))
            continue
        elif kind == "tag":
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
    return items


def loads(text: str) -> Any:
    """The one value in a text. Raises EdnError."""
    values = loads_all(text)
    if len(values) != 1:
        raise EdnError(f"expected one value, found {len(values)}")
    return values[0]


class Values(dict[bytes, Any]):
    """Values by their text: what was read once is looked up, vectors go by way of JSON."""

    def __missing__(self, text: bytes) -> Any:
        pair = _PAIR.fullmatch(text)
        value = quick(text) if pair is None else [self[pair[1]], self[pair[2]]]
        if len(text) < 24:
            if len(self) > 50_000:
                self.clear()
            self[text] = value
        return value


def quick(text: bytes) -> Any:
    """One value, by a short cut where the text allows it. Raises EdnError."""
    if text.isdigit():
        return int(text)
    if text[:1] == b"[":
        if _NUMBERS.fullmatch(text):
            return [int(number) for number in text[1:-1].replace(b",", b" ").split()]
        if _PLAIN.fullmatch(text):
            try:
                return orjson.loads(_as_json(text))
            except orjson.JSONDecodeError:
                pass
    return loads(text.decode())


def _as_json(text: bytes) -> bytes:
    """Vectors of keywords, numbers and nil as JSON; anything else becomes something that is not JSON."""
    spaced = _NIL.sub(b"null", _KEYWORD.sub(rb'"\1"', text)).replace(b"[", b" [ ").replace(b"]", b" ] ")
    return _GAP.sub(b",", spaced.strip()).replace(b"[,", b"[").replace(b",]", b"]")


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
