"""Models: what kind of thing a promise is about, and the checkers that judge such a thing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from refute.plan.catalogs import read_catalog


@dataclass(frozen=True, slots=True)
class Model:
    """One row: which checkers judge it, what the history must hold, what that costs.

    `linearizable` are the values of that checker's option `model` that describe such a thing.
    """

    id: str
    summary: str
    words: re.Pattern[str]
    checkers: tuple[str, ...]
    history: str
    judges: str
    cost: str
    linearizable: tuple[str, ...] = ()


def _models() -> dict[str, Model]:
    return {
        entry["id"]: Model(
            id=entry["id"],
            summary=entry["summary"],
            words=re.compile(entry["words"], re.I),
            checkers=tuple(entry["checkers"]),
            history=entry["history"],
            judges=entry["judges"],
            cost=entry["cost"],
            linearizable=tuple(entry.get("linearizable", ())),
        )
        for entry in read_catalog("models")
    }


MODELS: dict[str, Model] = _models()


def model_named(text: str) -> str | None:
    """The model that a text speaks of: the earliest in the text, then the first of the catalog."""
    found = [
        (match.start(), place, name)
        for place, (name, model) in enumerate(MODELS.items())
        if (match := model.words.search(text))
    ]
    return min(found)[2] if found else None
