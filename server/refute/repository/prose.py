"""Cuts documents (Markdown, reStructuredText, AsciiDoc, man pages, plain text) into paragraphs."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import unescape

_ATX = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_ADOC_HEADING = re.compile(r"^(={1,6})\s+(\S.*)$")
_UNDERLINE = re.compile(r"^([=\-~^\"'`#*+.:_])\1{2,}\s*$")
_ITEM = re.compile(r"^(\s*)(?:[-*+•]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+(\S.*)$")
_FENCE = re.compile(r"^\s*(```+|~~~+)")
_TABLE_RULE = re.compile(r"^[\s|+:=-]+$")
_CODE_DIRECTIVE = re.compile(
    r"^(\s*)\.\.\s+(code|code-block|sourcecode|highlight|literalinclude|image|figure|toctree|include|raw|math|index|"
    r"_[^:]*|autoclass|automodule|autofunction|contents|cpp:function|seealso|productionlist|program-output|graphviz)\b")  # fmt: skip
_DIRECTIVE = re.compile(r"^\s*\.\.\s+([\w-]+)::\s*(.*)$")
_FIELD_LINE = re.compile(r"^\s*:[\w\s-]+:")
_MAN_HEADING = re.compile(r"^\.S[HS]\s+\"?(.*?)\"?\s*$")
_TEMPLATE = re.compile(r"<(?!!--)|import \w.* from ")
_TAGS = re.compile(r"<[^>]{1,200}>")


@dataclass
class Paragraph:
    """Lines that belong together, with the headings above them and how they are set."""

    lines: list[tuple[int, str]]
    headings: tuple[str, ...] = ()
    kind: str = "text"  # text, item, row, note
    lead: str = ""  # the sentence that introduces a list, the header of a table
    _open: bool = field(default=True, repr=False)


def paragraphs(text: str, language: str) -> list[Paragraph]:
    """The paragraphs of a document in order; code blocks, images and comments are left out."""
    lines = text.split("\n")
    if lines and lines[0].strip() == "---" and language == "markdown":
        end = next((n for n, line in enumerate(lines[1:80], 1) if line.strip() == "---"), 0)
        lines = [""] * (end + 1) + lines[end + 1 :]
    if language == "man":
        return list(_man(lines))
    return list(_Reader(language).read(lines))


class _Reader:
    """Walks a document line by line; what it holds is the open paragraph and the headings above it."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.headings: dict[int, str] = {}
        self.levels: list[str] = []
        self.open: Paragraph | None = None
        self.lead = ""
        self.header = ""
        self.done: list[Paragraph] = []

    def read(self, lines: list[str]) -> Iterable[Paragraph]:
        fence = ""
        skip_indent: int | None = None
        in_comment = False
        previous_blank = True
        for index, raw in enumerate(lines):
            number = index + 1
            line = raw.rstrip()
            stripped = line.strip()
            if fence:
                if stripped.startswith(fence):
                    fence = ""
                continue
            if in_comment:
                in_comment = "-->" not in line
                continue
            if (
                self.language == "markdown"
                and _TEMPLATE.match(stripped)
                and not _TAGS.sub("", stripped).strip("{%} ")
            ):
                self.close(keep_lead=True)
                continue
            if self.language == "markdown" and (stripped.startswith("{%") or _BLOCK.match(stripped)):
                self.close(keep_lead=True)
                continue
            if stripped.startswith("<!--"):
                in_comment = "-->" not in line
                continue
            marker = _FENCE.match(line)
            if marker and self.language != "rst":
                fence = marker.group(1)[:3]
                self.close(keep_lead=True)
                continue
            if self.language == "asciidoc" and re.match(r"^(----+|\.\.\.\.+|\+\+\+\++|////+)$", stripped):
                fence = stripped
                self.close()
                continue
            if self.language == "markdown" and stripped.startswith("> #"):
                line, stripped = stripped[2:], stripped[2:]
            indent = len(line) - len(line.lstrip())
            if skip_indent is not None:
                if not stripped or indent > skip_indent:
                    continue
                skip_indent = None
            if not stripped:
                ends_literal = (
                    self.language == "rst"
                    and self.open
                    and self.open.lines
                    and self.open.lines[-1][1].endswith("::")
                )
                if ends_literal and self.open:
                    skip_indent = len(lines[index - 1]) - len(lines[index - 1].lstrip())
                self.close()
                previous_blank = True
                continue
            following = lines[index + 1].rstrip() if index + 1 < len(lines) else ""
            if self._heading(line, following, lines[index - 1] if index else "", previous_blank):
                previous_blank = False
                continue
            if self.language == "rst":
                directive = _CODE_DIRECTIVE.match(line)
                if directive:
                    self.close()
                    skip_indent = len(directive.group(1))
                    continue
            if self._code(raw, previous_blank):
                continue
            previous_blank = False
            self._line(number, line, stripped)
        self.close()
        return self.done

    def _code(self, raw: str, previous_blank: bool) -> bool:
        """An indented code block of Markdown: after a blank line and not the continuation of a list."""
        if (
            self.language not in ("markdown", "text")
            or not raw.startswith(("    ", "\t"))
            or not previous_blank
        ):
            return False
        if self.done and self.done[-1].kind == "item":
            return False
        return self.language == "markdown" or bool(re.search(r"[{}();=<>$]\s*$|^\s*[$>#]\s", raw))

    def _heading(self, line: str, following: str, before: str, previous_blank: bool) -> bool:
        pattern = (
            _ADOC_HEADING
            if self.language == "asciidoc"
            else _ATX
            if self.language in ("markdown", "text")
            else None
        )
        found = pattern.match(line) if pattern else None
        if found:
            self.close()
            self._enter(len(found.group(1)), found.group(2))
            return True
        if _UNDERLINE.match(line) and self.language != "asciidoc":
            if before.strip() and self.open and len(self.open.lines) == 1:
                self.open = None
                self._enter_by_mark(line[0], before.strip())
                return True
            self.close()
            return True
        return bool(
            self.language != "asciidoc"
            and previous_blank
            and _UNDERLINE.match(following)
            and len(following) >= len(line.strip()) - 2
            and len(line) < 100
            and self._hold(line)
        )

    def _hold(self, line: str) -> bool:
        self.close()
        self.open = Paragraph([(0, line.strip())], (), "heading")
        return True

    def _enter_by_mark(self, mark: str, title: str) -> None:
        if self.language != "rst":
            self._enter(1 if mark == "=" else 2, title)
            return
        if mark not in self.levels:
            self.levels.append(mark)
        self._enter(self.levels.index(mark) + 1, title)

    def _enter(self, level: int, title: str) -> None:
        self.headings = {at: name for at, name in self.headings.items() if at < level}
        self.headings[level] = clean(title, self.language)[:120]
        self.lead = self.header = ""

    def _line(self, number: int, line: str, stripped: str) -> None:
        if stripped.startswith("|") or (self.language == "asciidoc" and stripped.startswith("|")):
            if _TABLE_RULE.match(stripped):
                return
            cells = [cell.strip() for cell in stripped.strip("|").split("|")]
            row = "; ".join(clean(cell, self.language) for cell in cells if cell)
            if not self.header:
                self.header = row
            self.close(keep_lead=True)
            self.done.append(Paragraph([(number, row)], self.path(), "row", self.header))
            return
        self.header = ""
        item = _ITEM.match(line)
        directive = _DIRECTIVE.match(line)
        if directive:
            self.close()
            rest = directive.group(2)
            self.open = Paragraph([(number, rest)] if rest else [], self.path(), "note")
            return
        if item and self.language != "man":
            if self.open is not None and self.open.kind != "item":
                self.lead = self.open.lines[-1][1] if self.open.lines else ""
            self.close(keep_lead=True)
            self.open = Paragraph(
                [(number, clean(item.group(2), self.language))], self.path(), "item", self.lead
            )
            return
        if stripped.startswith(">"):
            stripped = stripped.lstrip("> ")
        if _FIELD_LINE.match(line) and self.language == "rst":
            self.close()
        if self.open is None:
            self.open = Paragraph([], self.path())
        self.open.lines.append((number, clean(stripped, self.language)))

    def path(self) -> tuple[str, ...]:
        return tuple(self.headings[level] for level in sorted(self.headings))

    def close(self, *, keep_lead: bool = False) -> None:
        if self.open is not None and self.open.lines and self.open.kind != "heading":
            self.done.append(self.open)
            last = self.open.lines[-1][1]
            if self.open.kind != "item":
                self.lead = last if last.endswith(":") else ""
        elif not keep_lead and self.open is not None:
            self.lead = ""
        self.open = None


_LINK = re.compile(r"!?\[([^\[\]]{0,300})\](?:\([^()]{0,500}\)|\[[^\[\]]{0,200}\])")
_OPEN_EMPHASIS = re.compile(
    r"(?<![\w/*])\*\*(?=[^\s*/])|(?<=[^\s*/])\*\*(?![\w/*])"
)  # it goes on in another line
_ESCAPED = re.compile(r"\\([_*#\[\]`<>~|()!-])")
_ATTRIBUTES = re.compile(r"\s*\{:\s*[.#][^{}]{0,100}\}")  # of kramdown
_WIKI_LINK = re.compile(r"\[\[#?([^\[\]|]{1,200})(?:\|([^\[\]]{1,200}))?\]\]")
# Paradox: `@ref:[text](link)`, `@apidoc[Name]{ .scala }`; Laika: `@:api(package.Name)`
_INLINE = re.compile(
    r"@[a-z]\w*:?\[([^\[\]]{0,300})\](?:\([^()]{0,300}\))?(?:\{[^{}]{0,200}\})?|@:\w+\((?:[\w.]*\.)?(\w+)\)"
)
_BLOCK = re.compile(
    r"^(?:@@.*|@:(?:@|\w+(?:\([^()]*\))?(?:\s*\{.*\})?)|:::.*)$"
)  # a line that begins or ends one
_ROLE = re.compile(r"(?<![\w:]):[\w:+-]{1,40}:`~?([^`<]{0,200})(?:<[^`]{0,200}>)?`")
_EMPHASIS = re.compile(r"(?<!\w)(\*\*|__|\*)(?=\S)(.{1,300}?)(?<=\S)\1(?!\w)")


def clean(text: str, language: str) -> str:
    """A line without its markup: links keep their text, emphasis and inline code keep their words."""
    if language == "rst":
        text = _ROLE.sub(r"\1", text).replace("``", "`").replace("`_", "`")
    if "@" in text:
        text = _INLINE.sub(
            lambda match: (match.group(1) or match.group(2) or "").rstrip("$"), text.replace("]@", "] @")
        )
    if "[" in text:
        text = _LINK.sub(r"\1", text)
        text = _WIKI_LINK.sub(lambda match: match.group(2) or match.group(1), text)
    if "*" in text or "__" in text:
        text = _EMPHASIS.sub(r"\2", text)
        text = _OPEN_EMPHASIS.sub("", text)
    if "\\" in text and language == "markdown":
        text = _ESCAPED.sub(r"\1", text)
    if "{:" in text:
        text = _ATTRIBUTES.sub("", text)
    if "<" in text:
        text = _TAGS.sub(" ", text)
    if "&" in text:
        text = unescape(text).replace("\xa0", " ")
    return text.replace("`", "").strip()


def _man(lines: list[str]) -> Iterable[Paragraph]:
    heading: tuple[str, ...] = ()
    held: list[tuple[int, str]] = []
    for number, raw in enumerate(lines, 1):
        found = _MAN_HEADING.match(raw)
        if found or raw.startswith((".PP", ".TP", ".P", ".LP", ".IP", ".sp")) or not raw.strip():
            if held:
                yield Paragraph(held, heading)
                held = []
            if found:
                heading = (found.group(1).strip(),)
            continue
        text = re.sub(r"^\.[A-Z]{1,2}\s+", "", raw)
        if not text.startswith((".", "'")):
            held.append((number, re.sub(r"\\f[A-Z]|\\&|\\", "", text)))
    if held:
        yield Paragraph(held, heading)
