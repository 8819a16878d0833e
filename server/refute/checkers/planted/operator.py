"""What an operator is: a way to plant one violation, and the properties that it must break."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from refute.checkers.planted.ground import Ground
from refute.history import History, Operation

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Planting:
    """One mutated copy: the history, the operations that were changed or added, and what was done to them."""

    history: History
    changed: tuple[Operation, ...]
    sentence: str


@dataclass(frozen=True)
class Operator:
    """A way to plant a violation.

    `breaks` maps the name of each checker that must notice to a predicate on its options (which model,
    how many nodes), because a stale read breaks a linearizable register but not a set that may lag.
    `needs` is the precondition on the history in words. `places` yields copies in random order, each
    of them a true violation of every checker named, or nothing where the precondition is not met.
    """

    name: str
    summary: str
    needs: str
    breaks: Mapping[str, Callable[[Options], bool]]
    places: Callable[[Ground, Random], Iterator[Planting]]

    def must_break(self, checker: str, options: Options) -> bool:
        """Whether a checker with these options has to notice what this operator plants."""
        applies = self.breaks.get(checker)
        return applies is not None and applies(options)


def always(options: Options) -> bool:
    """The predicate for a checker that must notice whatever its options are."""
    return True


def model_in(*models: str) -> Callable[[Options], bool]:
    """The predicate for `linearizable` and `sequential`: whether the model is one of these."""
    return lambda options: options.get("model", "register") in models


def option_in(name: str, *values: object) -> Callable[[Options], bool]:
    """The predicate for a checker that must notice where an option has one of these values.

    The first value is taken to be the default of the option.
    """
    return lambda options: options.get(name, values[0]) in values
