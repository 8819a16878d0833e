"""Scores claims against a hand-made list: how many were found, how early, and in the right category."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
SLACK_LINES = 2


@dataclass(frozen=True, slots=True)
class Score:
    """Of `total` listed claims, `found` are in the first `cut` rows, `right` in the right category."""

    cut: int
    total: int
    found: int
    right: int
    missed: tuple[str, ...]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSONL file."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def score(listed: Sequence[Row], rows: Sequence[Row], texts: Mapping[str, str], *, cut: int) -> Score:
    """How the first `cut` rows do against the list.

    A listed claim is found when a row overlaps its lines (two lines of slack), or when at least 60 % of the
    words of its lines (six or more) stand in the lines of a row in another file. `texts` maps path to text.
    A listed entry of a toolbox (it has `kind`) is found when a row names its file or one below it.
    """
    found = right = 0
    missed = []
    for claim in listed:
        matched = [row for row in rows[:cut] if is_found(claim, row, texts)]
        if not matched:
            missed.append(str(claim["id"]))
            continue
        found += 1
        wanted = {
            claim.get("category", claim.get("kind")),
            *claim.get("also_category", claim.get("also", ())),
        }
        right += any(row.get("category") in wanted for row in matched)
    return Score(cut, len(listed), found, right, tuple(missed))


def is_found(claim: Row, row: Row, texts: Mapping[str, str]) -> bool:
    """Whether the row is the listed claim, or says the same elsewhere."""
    if "kind" in claim:
        wanted_path = str(claim["path"]).rstrip("/")
        return row["path"] == wanted_path or str(row["path"]).startswith(wanted_path + "/")
    first, last = claim["line"], claim.get("end_line") or claim["line"]
    places = [
        (place["path"], place["line"], place.get("end_line") or place["line"])
        for place in (row, *row["also_at"])
    ]
    if any(
        path == claim["path"] and start - SLACK_LINES <= last and end + SLACK_LINES >= first
        for path, start, end in places
    ):
        return True
    wanted = _words(texts, claim["path"], first, last)
    return len(wanted) >= 6 and any(
        path != claim["path"] and len(wanted & _words(texts, path, start, end)) >= 0.6 * len(wanted)
        for path, start, end in places
    )


def _words(texts: Mapping[str, str], path: str, first: int, last: int) -> frozenset[str]:
    lines = texts.get(path, "").split("\n")
    return frozenset(re.findall(r"[a-z]{3,}", " ".join(lines[first - 1 : last]).lower()))
