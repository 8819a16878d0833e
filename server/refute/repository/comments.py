"""Finds comments without a grammar, and takes comment marks off the lines of one."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape
from itertools import pairwise

_LINE_MARKS = {
    "erlang": "%", "clojure": ";", "haskell": "--", "lua": "--", "sql": "--", "tla": "\\*", "ini": "#;",
    "yaml": "#", "toml": "#", "shell": "#", "tcl": "#", "perl": "#", "crystal": "#", "julia": "#", "nim": "#",
    "python": "#", "ruby": "#", "elixir": "#", "graphql": "#", "capnp": "#", "make": "#", "just": "#", "docker": "#", "cmake": "#", "starlark": "#", "jute": "//",
}  # fmt: skip
_BLOCKS = {"haskell": ("{-", "-}"), "ocaml": ("(*", "*)"), "tla": ("(*", "*)"), "lua": ("--[[", "]]")}
_C_LIKE = frozenset({
    "protobuf", "thrift", "flatbuffers", "avro", "groovy", "dart", "d", "fsharp", "objc", "v", "solidity",
    "move", "p", "jute", "sql", "jsonnet",
})  # fmt: skip
_STRIP = re.compile(r"^\s*(?:/\*+!?|\*+/|\*(?!\*)|//[/!]?|#+!?|--+|%+|;+|\\\*|\(\*+|\"\"\"|''')\s?")
_STRIP_END = re.compile(r"\s*(?:\*+/|\*\)|\"\"\"|'''|-\})\s*$")
_STRIP_QUOTES = re.compile(r"^\s*(?:[rRbBuUfF]{0,2}(?:\"\"\"|\'\'\'))\s?")
_FENCE = "```"
_QUOTED = re.compile(r"^\s*>(?:\s*$|\s(?=\s*(?:#|[A-Z])))")
_HEADING = re.compile(r"^\s*#{1,6}\s+[^\s#]")
_EMPHASIS = re.compile(r"(?<![\w*/.])(\*{1,2})(?=[^\s*])([^*\n]{1,300}?)(?<=[^\s*])\1(?![\w*/])")
_RULE = re.compile(r"^[\s=\-*#~_/+.|]{3,}$")
_ITEM = re.compile(r"^(\s*)(?:[-*+•]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+(\S.*)$")
_TAG_LINE = re.compile(
    r"^\s*(?:@(?!default|link|code)[a-z][\w-]*(?:\[\w+\])?(?=\s|$)|:param|:return|:rtype|:type|- (?i:parameters?|returns|throws|note|warning|important)\b)"
)
# what such a tag says beside what follows it; `@param x` names what the sentence is about, which is kept
# what follows these, up to an empty line or another tag, is a name, a date, a person or code
_POINTS_ELSEWHERE = re.compile(
    r"^\s*@(?:see|since|author|version|copyright|group|category|api|package|example|template)\b"
)
_SAYS_NOTHING = re.compile(
    r"^\s*(?:@(?:note|warning|remarks?|attention|important|apiNote|implNote|implSpec|brief|details|property|"
    r"param(?:\[\w+\])?(?:\s+\S+(?=\s+\$))?|var\s+[\w\\|?\[\]]+(?:<[^>]{0,80}>)?)|-\s+(?i:parameter|note|warning|important):?)\s+"
)
_DEFAULT_LINE = re.compile(r"\s*@?default(?:s|value)?\b", re.I)
_CROSS_REFERENCE = re.compile(
    r"<(?:see|seealso|paramref|typeparamref)\s+\w+\s*=\s*[\"'](?:[A-Z]:)?([^\"']*)[\"']\s*/>(\w?)"
)
_MARKUP = re.compile(r"</?[a-zA-Z][^>]{0,80}/?>|\{@\w+\s+([^}]*)\}")
_OPENS_CODE = re.compile(r"^\s*(?:<pre\b(?!.*</pre>)|<code>\s*$|\{\{\{(?!.*\}\}\}))|^[^{]*\{\{\{\s*$")
_CLOSES_CODE = re.compile(r"</pre>\s*$|^\s*</code>\s*$|^(?!.*\{\{\{).*\}\}\}\s*$")
_WIKI_LINK = re.compile(r"\[\[(?:\S+\s+)?([^\[\]]+)\]\]")
_TEXT_LINK = re.compile(r"\[([^\[\]]{1,200})\](?:\([^()\s]{0,300}\)|\[[\w.:#()`]{0,100}\])")
_SYMBOL_LINK = re.compile(r"(?<![\w\])\[])\[([A-Za-z_][\w.:#]*(?:\(\))?)\](?![\w(\[:])")
_YARD = re.compile(
    r"(?<![\w$#{])\{([A-Z]\w*(?:::\w+)*(?:[#.]\w+[?!]?)?|[#.]\w+[?!]?)\}|(?<![\w+])\+([\w.:#]+[?!]?)\+(?!\w)"
)
_LINKS_SYMBOLS = frozenset({"kotlin", "rust"})  # `[Name]` alone is a link


def clean_comment(line: str, language: str = "", *, in_string: bool = False) -> str:
    """One line of a comment without its marks and markup; indentation inside the comment is kept.

    In a doc string a star is an item of a list and a hash is a heading: they are no marks. The beginning and
    the end of a block of code read as a fence.
    """
    text = (_STRIP_QUOTES if in_string else _STRIP).sub("", line, count=1)
    text = _STRIP_END.sub("", text)
    if _RULE.match(text) or (language == "ruby" and line.startswith(("=begin", "=end"))):
        return ""
    if text.lstrip().startswith(("```", "~~~")):
        return _FENCE
    if ">" in text:
        text = _QUOTED.sub("", text)
    if "#" in text and _HEADING.match(text):
        return ""
    if text.lstrip().startswith("|") and text.count("|") == 1:  # a box around the comment
        text = text.replace("|", "", 1)
    if "[" in text or "{" in text or "<" in text or "+" in text:
        text = _without_links(text, language)
    if "*" in text:
        text = _EMPHASIS.sub(r"\2", text)
    if "&" in text:
        text = unescape(text).replace("\xa0", " ")
    return text if text == _FENCE else text.replace("`", "")


def _without_links(text: str, language: str) -> str:
    if _OPENS_CODE.match(text):
        return _FENCE
    if _CLOSES_CODE.search(text):
        return _FENCE
    if "<" in text or "{@" in text:
        text = _CROSS_REFERENCE.sub(_named_in, text)
        text = _MARKUP.sub(lambda match: match.group(1) or " ", text)
    if "[" in text:
        text = _WIKI_LINK.sub(r"\1", text)
        text = _TEXT_LINK.sub(r"\1", text)
        if language in _LINKS_SYMBOLS:
            text = _SYMBOL_LINK.sub(r"\1", text.replace("`", ""))
    if language == "ruby":
        text = _YARD.sub(lambda match: match.group(1) or match.group(2), text)
    return text


def _named_in(reference: re.Match[str]) -> str:
    """`T:System.String.Split(System.Char[])` is Split; what follows stays a word of its own, as it is in the file."""
    name = re.split(r"[({]", reference.group(1), maxsplit=1)[0].rsplit(".", 1)[-1]
    return f"{name} {reference.group(2)}" if reference.group(2) else name


def untagged(text: str) -> str:
    """A statement of a comment without the mark of the tag before it, and of a link that runs over lines."""
    text = _MARKUP.sub(lambda match: match.group(1) or " ", text) if "{@" in text else text
    return _SAYS_NOTHING.sub("", text).removeprefix("@")


def comment_paragraphs(block: Sequence[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """The paragraphs and list items of one comment whose lines are already clean."""
    held: list[tuple[int, str]] = []
    fenced = passed_over = False
    ahead = {number: following for (number, _), (_, following) in pairwise(block)}
    for number, text in block:
        if text.strip().startswith(("```", "~~~", "<pre")):
            fenced = not fenced
            continue
        if fenced:
            continue
        if not text.strip() and _DEFAULT_LINE.match(ahead.get(number, "")):
            continue
        tag = _TAG_LINE.match(text)
        passed_over = bool(tag and _POINTS_ELSEWHERE.match(text)) or (
            passed_over and not tag and bool(text.strip())
        )
        if passed_over:
            continue
        item = None if tag else _ITEM.match(text)
        if not text.strip() or item or tag:
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
