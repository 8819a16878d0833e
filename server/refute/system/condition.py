"""Whether what was read of the nodes fulfils an await; decided from data alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from refute.plan.step import Await, ValueCondition
from refute.plan.system_spec import Comparison
from refute.system.node_reference import resolve
from refute.system.source import Observation, compare


class Claims:
    """The latest reading of every state at every node, and since when each has held without a gap."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self.nodes = tuple(nodes)
        self._latest: dict[tuple[str, str], Observation] = {}
        self._since_ns: dict[tuple[str, str], int] = {}

    def record(self, node: str, state: str, seen: Observation) -> None:
        """Take in a reading."""
        before = self._latest.get((node, state))
        if seen.holds and not (before and before.holds):
            self._since_ns[node, state] = seen.time_ns
        self._latest[node, state] = seen

    def latest(self, node: str, state: str, since_ns: int) -> Observation | None:
        """The last reading, if it was begun at `since_ns` or later."""
        seen = self._latest.get((node, state))
        return seen if seen and seen.asked_ns >= since_ns else None

    def claimants(self, state: str, since_ns: int) -> list[str]:
        """The nodes for which the state holds, in the order of the description."""
        return [node for node in self.nodes if (seen := self.latest(node, state, since_ns)) and seen.holds]

    def settle(self, state: str, since_ns: int, terms: Mapping[str, float]) -> str | None:
        """The node that plays the role of this state.

        During a partition several may claim it. The one with the highest term does, where terms are known;
        then the one whose claim was seen to begin last, since the newer claim is the one that the others
        have agreed to; then the first in the order of the description.
        """
        claimants = self.claimants(state, since_ns)
        if not claimants:
            return None

        def rank(node: str) -> tuple[float, int, int]:
            began = self._since_ns.get((node, state), 0)
            return (terms.get(node, float("-inf")), began, -self.nodes.index(node))

        return max(claimants, key=rank)

    def words(self, states: Sequence[str], since_ns: int) -> str:
        """What every node said last: `n1 leader 'follower'; n2 leader connection refused`."""
        said = []
        for node in self.nodes:
            for state in states:
                seen = self.latest(node, state, since_ns)
                said.append(f"{node} {state} {seen if seen else 'not answered yet'}")
        return "; ".join(said)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a condition holds; `missing` names the first part that does not."""

    holds: bool
    missing: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)
    observations: Mapping[tuple[str, str], Observation] = field(default_factory=dict)


def states_needed(
    condition: Await, nodes: Sequence[str], states: Sequence[str], aliases: Mapping[str, str]
) -> tuple[str, ...]:
    """The states that have to be read for a condition, those of the roles in its references included."""
    needed = [*condition.roles, *condition.every_node, *condition.any_node]
    references = [text for text in condition.roles.values() if text not in ("known", "none")]
    references += [line.node for line in condition.lines]
    for value in condition.values:
        needed.append(value.state)
        references.append(value.node)
    for reference in references:
        name = re.sub(r"^(not\s+)+", "", reference)
        if name in states and name not in nodes and name not in aliases:
            needed.append(name)
    return tuple(dict.fromkeys(needed))


def evaluate(
    condition: Await,
    claims: Claims,
    *,
    since_ns: int,
    states: Sequence[str],
    aliases: Mapping[str, str],
    settle: Callable[[str], str | None],
    operation_seen: Callable[[Mapping[str, Any]], bool] | None,
    line_seen: Callable[[int, Sequence[str]], bool] = lambda _number, _nodes: False,
    past_patience: bool = True,
) -> Verdict:
    """Whether all parts of the condition hold at once in the latest readings. Raises ClusterInputError.

    A role is settled among all nodes; once `past_patience`, those that have not answered yet (paused
    ones) are no longer waited for.
    """
    used: dict[tuple[str, str], Observation] = {}
    roles: dict[str, str] = {}

    def holds(node: str, state: str) -> bool:
        seen = claims.latest(node, state, since_ns)
        if seen:
            used[node, state] = seen
        return bool(seen and seen.holds)

    def nodes_of(reference: str) -> tuple[str, ...]:
        def role(state: str) -> tuple[str | None, str]:
            return settle(state), claims.words([state], since_ns)

        return resolve(
            reference,
            nodes=claims.nodes,
            states=states,
            aliases=aliases,
            role=role,
            running=lambda: claims.nodes,
            nobody_is_nobody=True,
        )

    for state, wanted in condition.roles.items():
        silent = any(claims.latest(node, state, since_ns) is None for node in claims.nodes)
        if silent and (wanted == "none" or not past_patience):
            return Verdict(False, f"not every node has said whether it is {state}")
        player = settle(state)
        if wanted == "none":
            if player is not None:
                return Verdict(False, f"{player} is {state}")
            continue
        if player is None:
            return Verdict(False, f"no node is {state}")
        if wanted != "known" and player not in nodes_of(wanted):
            return Verdict(False, f"{state} is {player}, awaited: {wanted}")
        roles[state] = player
        holds(player, state)
    for state in condition.every_node:
        if lacking := [node for node in claims.nodes if not holds(node, state)]:
            return Verdict(False, f"{state} does not hold at {', '.join(lacking)}")
    for state in condition.any_node:
        holders = [node for node in claims.nodes if holds(node, state)]
        if not holders:
            return Verdict(False, f"{state} holds at no node")
    for value in condition.values:
        if missing := _value_missing(value, claims, since_ns, nodes_of(value.node), used):
            return Verdict(False, missing)
    for number, line in enumerate(condition.lines):
        if not line_seen(number, nodes_of(line.node)):
            return Verdict(False, f"{line.node} has logged no line with {line.matches!r} since")
    if condition.operation is not None and not (operation_seen and operation_seen(condition.operation)):
        return Verdict(False, f"no operation {condition.operation} yet")
    return Verdict(True, "", roles, used)


def _value_missing(
    value: ValueCondition,
    claims: Claims,
    since_ns: int,
    nodes: Sequence[str],
    used: dict[tuple[str, str], Observation],
) -> str:
    wanted = Comparison(**value.model_dump(exclude={"node", "state"}))
    if not nodes:
        return f"no node is {value.node}"
    for node in nodes:
        seen = claims.latest(node, value.state, since_ns)
        if seen is None or not compare(wanted, seen.value):
            return f"{value.state} of {node} is {seen if seen else 'not known yet'}"
        used[node, value.state] = seen
    return ""
