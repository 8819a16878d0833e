"""What the clients of a run are to do with their requests: send one again, now or later, or out of turn.

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
    """`duplicate`: a copy is sent `after_s` after the answer. `retry`: again, up to `times`, without one.
    `reorder`: a request is held until one of another client, issued later for the same key, was answered, or
    for `within_s` where there is none.
    """

    fault: str
    what: str
    kinds: frozenset[str]
    flag: Path
    share: float = 1.0
    times: int = 1
    after_s: float = 0.0
    within_s: float = 0.0


@dataclass(slots=True)
class Turn:
    """One request in its turn: whether a later one was answered before it is sent; the client says whether it
    was answered itself."""

    overtaken: bool = False
    answered: bool = False


@dataclass(slots=True)
class _Held:
    """A request that waits. `overtaken` is None until the later one was answered or has failed."""

    overtaken: bool | None = None


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
        self._held: dict[tuple[str, str], _Held] = {}

    def put(self, rule: ClientRule) -> None:
        """From now on."""
        with self._changed:
            self._rules[rule.fault] = rule

    def lift(self, fault: str, within_s: float) -> bool:
        """No longer; False where copies are still on their way after that time."""
        with self._changed:
            self._rules.pop(fault, None)
            self._changed.notify_all()  # what is held goes now
            return self._changed.wait_for(lambda: not self._on_their_way[fault], within_s)

    def rule(self, what: str, kind: str) -> ClientRule | None:
        """The rule for a request of this kind, if any; decided anew for each where it is for a share."""
        if not self._rules:
            return None
        with self._changed:
            found = self._on(what, kind)
            return found if found and self._rng.random() < found.share else None

    @contextmanager
    def in_turn(self, kind: str, key: object, node: str) -> Iterator[Turn]:
        """Around the sending of a request: it may be held here, or be the one for which another was held."""
        turn = Turn()
        if not self._rules:  # as nearly always: no request waits for the lock of all
            yield turn
            return
        with self._changed:
            rule = self._on("reorder", kind)
            place = (rule.fault, repr(key)) if rule else ("", "")
            earlier, ours = self._held.pop(place, None), None
            if rule and earlier is None and self._rng.random() < rule.share:
                ours = self._held[place] = _Held()
        if earlier is not None:
            try:
                yield turn
            finally:
                with self._changed:
                    earlier.overtaken = turn.answered
                    self._changed.notify_all()
        elif rule is None or ours is None:
            yield turn
        else:
            with self.sending(rule.fault):
                turn.overtaken = self._wait_for_a_later_one(rule, place, ours)
                if turn.overtaken:
                    self.count(rule.fault, node, "sent")
                yield turn
                if turn.overtaken and turn.answered:
                    self.count(rule.fault, node, "answered")

    def _wait_for_a_later_one(self, rule: ClientRule, place: tuple[str, str], held: _Held) -> bool:
        with self._changed:
            self._changed.wait_for(
                lambda: held.overtaken is not None or rule.fault not in self._rules, rule.within_s
            )
            if self._held.get(place) is held:
                del self._held[place]
            return held.overtaken is True

    def _on(self, what: str, kind: str) -> ClientRule | None:
        for rule in self._rules.values():
            if rule.what == what and kind in rule.kinds and rule.flag.exists():
                return rule
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
        """Something was sent to a node again, or out of turn; or answered by it."""
        with self._changed:
            self._counts[fault, node, what] += 1

    def counted(self, fault: str, what: str) -> int:
        """How often, at all nodes."""
        with self._changed:
            return sum(
                count for (its, _, this), count in self._counts.items() if (its, this) == (fault, what)
            )
