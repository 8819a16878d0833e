"""Finds comments without a grammar, and takes comment marks off the lines of one."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

_LINE_MARKS = {
    "erlang": "%", "clojure": ";", "haskell": "--", "lua": "--", "sql": "--", "tla": "\\*", "ini": "#;",
    "yaml": "#", "toml": "#", "shell": "#", "tcl": "#", "perl": "#", "crystal": "#", "julia": "#", "nim": "#",
    "graphql": "#", "capnp": "#", "make": "#", "just": "#", "docker": "#", "cmake": "#", "starlark": "#", "jute": "//",
}  # fmt: skip
_BLOCKS = {"haskell": ("{-", "-}"), "ocaml": ("(*", "*)"), "tla": ("(*", "*)"), "lua": ("--[[", "]]")}
_C_LIKE = frozenset({
    "protobuf", "thrift", "flatbuffers", "avro", "groovy", "dart", "d", "fsharp", "objc", "v", "solidity",
    "move", "p", "jute", "sql", "jsonnet",
})  # fmt: skip
_STRIP = re.compile(r"^\s*(?:/\*+!?|\*+/|\*(?!\*)|//[/!]?|#+!?|--+|%+|;+|\\\*|\(\*+|\"\"\"|''')\s?")
_STRIP_END = re.compile(r"\s*(?:\*+/|\*\)|\"\"\"|'''|-\})\s*$")
_RULE = re.compile(r"^[\s=\-*#~_/+.]{3,}$")
_ITEM = re.compile(r"^(\s*)(?:[-*+•]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+(\S.*)$")
_TAG_LINE = re.compile(
    r"^\s*(?:@(?:param|return|returns|throws|exception|see|since|author|type|rtype|raise)\b|:param|:return|:rtype|:type)"
)
_DEFAULT_LINE = re.compile(r"\s*@?default(?:s|value)?\b", re.I)
_MARKUP = re.compile(r"</?[a-zA-Z][^>]{0,80}/?>|\{@\w+\s+([^}]*)\}")


def clean_comment(line: str) -> str:
    """One line of a comment without its marks and markup; indentation inside the comment is kept."""
    text = _STRIP.sub("", line, count=1)
    text = _STRIP_END.sub("", text)
    if _RULE.match(text):
        return ""
    if "<" in text or "{@" in text:
        text = _MARKUP.sub(lambda match: match.group(1) or " ", text)
    return text.replace("`", "")


def comment_paragraphs(block: Sequence[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """The paragraphs and list items of one comment whose lines are already clean."""
    held: list[tuple[int, str]] = []
    fenced = False
    ahead = {number: following for (number, _), (_, following) in pairwise(block)}
    for number, text in block:
        if text.strip().startswith(("```", "~~~", "<pre")):
            fenced = not fenced
            continue
        if fenced:
            continue
        if not text.strip() and _DEFAULT_LINE.match(ahead.get(number, "")):
            continue
        item = _ITEM.match(text)
        if not text.strip() or item or _TAG_LINE.match(text):
            if held:
                yield held
            held = []
        if text.strip():
            held.append((number, item.group(2) if item else text))
    if held:
        yield held


def scan_comments(lines: Sequence[str], language: str) -> Iterator[list[tuple[int, str]]]:
    """The comment blocks of a language without grammar, as `(line number, raw line)`; linear."""
    marks = _LINE_MARKS.get(language, "")
    starts: tuple[str, ...] = tuple(marks) if language == "ini" else (marks,) if marks else ()
    if language in _C_LIKE or not starts:
        starts = (*starts, "//") if language != "ocaml" else ()
    opening, closing = _BLOCKS.get(
        language, ("/*", "*/") if language in _C_LIKE or language == "sql" else ("", "")
    )
    held: list[tuple[int, str]] = []
    inside = False
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if inside:
            held.append((number, line))
            inside = closing not in text
            continue
        if opening and opening in text and not text.startswith(starts or ("\0",)):
            at = text.index(opening)
            held.append((number, text[at:]))
            inside = closing not in text[at + len(opening) :]
            continue
        if starts and text.startswith(starts):
            held.append((number, line))
            continue
        if held:
            yield held
            held = []
        trailing = _trailing(line, starts)
        if trailing:
            yield [(number, trailing)]
    if held:
        yield held


def _trailing(line: str, starts: tuple[str, ...]) -> str:
    for mark in starts:
        at = line.find(f" {mark} ")
        if at > 0 and line.count('"', 0, at) % 2 == 0 and line.count("'", 0, at) % 2 == 0:
            return line[at + 1 :]
    return ""
