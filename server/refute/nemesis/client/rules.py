"""What the clients of a run are to do besides their operations: send a request again, now or later.

One object is shared by the client plane, which sets the rules, and the clients, which follow them. A rule is
on while its flag, a file, is there: so that the guard can lift it when we hang.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal


@dataclass(frozen=True, slots=True)
class ClientRule:
    """`duplicate`: a copy is sent `after_s` after the answer. `retry`: again, up to `times`, without one."""

    fault: str
    what: Literal["duplicate", "retry"]
    kinds: frozenset[str]
    flag: Path
    share: float = 1.0
    times: int = 1
    after_s: float = 0.0


class ClientRules:
    """The rules that are on, and what was sent and answered because of each. Used by many threads."""

    def __init__(self, seed: int = 0) -> None:
        self.operations: frozenset[str] = frozenset()
        """The kinds of operation that a client which follows rules knows."""
        self._rules: dict[str, ClientRule] = {}
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._rng = Random(seed)
        self._changed = threading.Condition()
        self._on_their_way: Counter[str] = Counter()

    def put(self, rule: ClientRule) -> None:
        """From now on."""
        with self._changed:
            self._rules[rule.fault] = rule

    def lift(self, fault: str, within_s: float) -> bool:
        """No longer; False where copies are still on their way after that time."""
        with self._changed:
            self._rules.pop(fault, None)
            return self._changed.wait_for(lambda: not self._on_their_way[fault], within_s)

    def rule(self, what: str, kind: str) -> ClientRule | None:
        """The rule for a request of this kind, if any; decided anew for each where it is for a share."""
        if not self._rules:
            return None
        with self._changed:
            for rule in self._rules.values():
                if rule.what == what and kind in rule.kinds and rule.flag.exists():
                    return rule if self._rng.random() < rule.share else None
        return None

    @contextmanager
    def sending(self, fault: str) -> Iterator[None]:
        """While a copy is waited for: a fault is not healed before it has arrived or failed."""
        with self._changed:
            self._on_their_way[fault] += 1
        try:
            yield
        finally:
            with self._changed:
                self._on_their_way[fault] -= 1
                self._changed.notify_all()

    def count(self, fault: str, node: str, what: Literal["sent", "answered"]) -> None:
        """Something was sent again to a node, or answered by it."""
        with self._changed:
            self._counts[fault, node, what] += 1

    def counted(self, fault: str, what: str) -> int:
        """How often, at all nodes."""
        with self._changed:
            return sum(
                count for (its, _, this), count in self._counts.items() if (its, this) == (fault, what)
            )
