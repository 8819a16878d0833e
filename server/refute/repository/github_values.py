"""Puts the values that a workflow of GitHub Actions gives (matrix, env, inputs) into its texts."""

# ruff: noqa: E501

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_MOST_COMBINATIONS = 64


def combinations(job: dict[str, Any], known: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The values of a matrix, one dictionary a combination of those that are used; at most 64."""
    strategy = job.get("strategy")
    matrix = strategy.get("matrix") if isinstance(strategy, dict) else None
    if not isinstance(matrix, dict):
        yield {}
        return
    used = set(
        re.findall(r"matrix\.([\w-]+)", json.dumps([job.get("steps"), job.get("env"), job.get("defaults")]))
    )
    axes = {
        name: _values(value, known)
        for name, value in matrix.items()
        if name in used and name not in ("include", "exclude")
    }
    included = matrix.get("include")
    extra = [_flat(row) for row in included if isinstance(row, dict)] if isinstance(included, list) else []
    products = itertools.islice(itertools.product(*axes.values()), _MOST_COMBINATIONS)
    excluded = _excluded(matrix)
    rows = [{key: value for one in row for key, value in one.items()} for row in
            ([{f"matrix.{name}{rest}": text for rest, text in value.items()} for name, value in zip(axes, product, strict=True)] for product in products)]  # fmt: skip
    seen = set()
    for row in [
        *rows,
        *({f"matrix.{name}": value for name, value in one.items()} for one in extra[:_MOST_COMBINATIONS]),
    ]:
        kept = {name: value for name, value in row.items() if name.split(".")[1] in used}
        key = tuple(sorted(kept.items()))
        if key not in seen and not any(left_out.items() <= row.items() for left_out in excluded):
            seen.add(key)
            yield kept


def _excluded(matrix: Mapping[str, Any]) -> list[dict[str, str]]:
    """The combinations that are left out; a row about an axis that no text uses leaves others of its kind."""
    rows = matrix.get("exclude")
    flat = [_flat(row) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return [{f"matrix.{name}": value for name, value in row.items()} for row in flat if row]


def _values(value: Any, known: Mapping[str, str]) -> list[dict[str, str]]:
    if isinstance(value, str):
        found = re.fullmatch(r"\s*\$\{\{\s*fromJSON\((.*)\)\s*\}\}\s*", value, re.I)
        text = put("${{" + found.group(1) + "}}", known).strip("'") if found else ""
        try:
            value = json.loads(text)
        except ValueError:
            return [{}]
    rows = value if isinstance(value, list) else []
    return [
        {f".{name}": text for name, text in _flat(row).items()} if isinstance(row, dict) else {"": str(row)}
        for row in rows
    ] or [{}]


def _flat(row: Mapping[str, Any], before: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in row.items():
        if isinstance(value, str):
            found[f"{before}{name}"] = str(value)
        elif isinstance(value, dict):
            found |= _flat(value, f"{before}{name}.")
    return found


def texts_of(holder: Any) -> dict[str, str]:
    """The entries of a mapping that are texts."""
    return (
        {name: str(value) for name, value in holder.items() if isinstance(value, str)}
        if isinstance(holder, dict)
        else {}
    )


def put(text: str, known: Mapping[str, str]) -> str:
    """The text with the expressions that are known in it; others stay."""
    for _ in range(3):
        text = re.sub(
            r"\$\{\{\s*([\w.-]+)\s*\}\}", lambda found: known.get(found.group(1), found.group(0)), text
        )
    return text


def with_variables(script: str, known: Mapping[str, str]) -> str:
    """The script behind the variables that are set for it, so that a shell would know them."""
    text = put(script, known)
    set_before = [f"{name.removeprefix('env.')}={_quoted(put(value, known))}" for name, value in known.items()
                  if name.startswith("env.") and re.search(rf"\b{re.escape(name.removeprefix('env.'))}\b", text)]  # fmt: skip
    return "; ".join(set_before) + ("; " if set_before else "") + text


def _quoted(value: str) -> str:
    return "'" + value.replace("'", " ").replace("\n", " ") + "'"
