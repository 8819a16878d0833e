"""The catalog: every row can be run, takes the options that it names, and is in the guide."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from refute.checkers import CATALOG, run_check
from refute.history import History

GUIDE = Path(__file__).parents[2] / "docs" / "checkers.md"
NEEDED = {
    "bounded-staleness": {"max_versions": 1},
    "fairness": {"min_jain": 0.5},
    "slo": {"max_error_rate": 0.1},
}


def _taken(function: Callable[..., object]) -> set[str]:
    """The names of its parameters; `**options` of a typed dictionary are those of the dictionary."""
    names: set[str] = set()
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            (fields,) = get_args(get_type_hints(function)[name])
            names |= set(get_type_hints(fields))
        else:
            names.add(name)
    return names


@pytest.mark.parametrize("name", CATALOG)
def test_the_options_named_are_the_options_taken(name: str) -> None:
    entry = CATALOG[name]
    module, _, attribute = entry.function.partition(":")
    function = getattr(importlib.import_module(f"refute.checkers.{module}"), attribute)
    assert _taken(function) - {"history", "budget"} == set(entry.options or {})
    assert entry.properties
    assert entry.kinds
    assert all(word.strip() for word in (entry.options or {}).values())


@pytest.mark.parametrize("name", CATALOG)
def test_an_empty_history_is_unknown(name: str) -> None:
    result = run_check(name, History([]), NEEDED.get(name))
    assert result.valid == "unknown"
    assert result.reason


@pytest.mark.parametrize("name", CATALOG)
def test_the_guide_or_its_pages_name_it(name: str) -> None:
    text = GUIDE.read_text() + (GUIDE.parent / "checkers-transactions.md").read_text()
    assert f"`{name}`" in text
