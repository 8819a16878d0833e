"""What every tool answers with: data, the same facts as text, a bound on both that says what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

Item = TypeVar("Item")

MOST_CHARACTERS = 24_000
"""About 6,000 tokens: what one answer may cost the reader."""


class Request(BaseModel):
    """What a caller asks. An unknown field is an error that names it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Answer(BaseModel):
    """What a tool found. `text()` says the same as the data."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def text(self) -> str:
        """The answer as indented text, cut at MOST_CHARACTERS with a count of what was left out."""
        return bounded("\n".join(_lines(self.model_dump(mode="json"), 0)))

    def data(self) -> dict[str, Any]:
        """The answer as data for a caller who reads both; a long answer says what it leaves out."""
        return self.model_dump(mode="json")


class Page(BaseModel):
    """Where a longer list goes on: pass `cursor` to get what follows; `left_out` items are not shown."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    left_out: int = 0
    cursor: str | None = None


def page_of(items: Sequence[Item], limit: int, cursor: str | None) -> tuple[list[Item], Page]:
    """The items from the cursor on, at most `limit`, and where to go on. A foreign cursor starts anew."""
    start = int(cursor) if cursor and cursor.isdigit() else 0
    shown = list(items[start : start + limit])
    left = max(0, len(items) - start - len(shown))
    return shown, Page(left_out=left, cursor=str(start + len(shown)) if left else None)


def bounded(text: str, most: int = MOST_CHARACTERS) -> str:
    """The text, cut at a line end with a count of the characters that were left out."""
    if len(text) <= most:
        return text
    cut = text.rfind("\n", 0, most)
    cut = most if cut < most // 2 else cut
    return f"{text[:cut]}\n[{len(text) - cut} characters left out]"


def _lines(value: Any, depth: int) -> list[str]:
    indent = "  " * depth
    if isinstance(value, dict):
        lines = []
        for key, item in value.items():
            if item is None or item == [] or item == {} or item == "":
                continue
            if isinstance(item, dict | list):
                lines += [f"{indent}{key}:", *_lines(item, depth + 1)]
            else:
                lines.append(f"{indent}{key}: {_scalar(item)}")
        return lines
    if isinstance(value, list):
        lines = []
        for item in value:
            inner = (
                _lines(item, depth + 1) if isinstance(item, dict | list) else [f"{indent}  {_scalar(item)}"]
            )
            if inner:
                lines.append(f"{indent}- {inner[0].strip()}")
                lines += inner[1:]
        return lines
    return [f"{indent}{_scalar(value)}"]


def _scalar(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value).replace("\n", "\n  ")
