"""Cuts the lines of a comment or a doc string out of a file, without marks, markup and the code around it."""

from __future__ import annotations

import re

from refute.repository.comments import clean_comment
from refute.repository.syntax import CommentBlock

_ATTRIBUTE = re.compile(r"\s*@\w*doc\s+(?:~[sS])?(?:\"\"\"|\")?")  # Elixir


def comment_lines(lines: list[str], block: CommentBlock, language: str) -> list[tuple[int, str]]:
    """The lines of a comment without marks, markup, and the code before and behind it."""
    shown = lines[block.line - 1 : block.end_line]
    starts = shown[0].lstrip()
    in_string = bool(_ATTRIBUTE.match(shown[0])) or (language == "python" and not starts.startswith("#"))
    if starts[:1] not in ("/", "#", "*", '"', "'", ";", "="):
        shown[0] = _behind_code(shown[0])
    if not in_string and shown[0].lstrip().startswith("/*"):
        shown = [_before_code(line) for line in shown]
    elif language == "elixir" and in_string:
        shown = _without_samples(shown)
    return [
        (number, clean_comment(line, language, in_string=in_string))
        for number, line in enumerate(shown, block.line)
    ]


def _before_code(line: str) -> str:
    comment, end, code = line.partition("*/")
    return comment + end if code.strip() else line


def _without_samples(shown: list[str]) -> list[str]:
    """A doc string without its blocks of code: four spaces in, behind an empty line, no item of a list."""
    base = min((len(line) - len(line.lstrip()) for line in shown[1:] if line.strip()), default=0)
    kept, within, behind_item = [], False, False
    for at, line in enumerate(shown):
        deep = len(line) - len(line.lstrip()) >= base + 4
        item = line.lstrip().startswith(("* ", "- "))
        if not line.strip():
            kept.append(line)
            continue
        begins = deep and not item and not behind_item and at > 0 and not shown[at - 1].strip()
        within = deep and (within or begins)
        behind_item = item or (behind_item and len(line) - len(line.lstrip()) > base)
        kept.append("" if within else line)
    return kept


def _behind_code(line: str) -> str:
    attribute = _ATTRIBUTE.match(line)
    if attribute:
        return re.sub(r"\"\s*$", "", line[attribute.end() :])
    found = re.search(r"(?://|/\*|#)(?![^\"]*\"[^\"]*$)", line)
    return line[found.start() :] if found else line
