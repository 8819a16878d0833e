"""Which node an operation goes to: pinned, in turn, at random, by name, or by the role that a node plays."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from refute.plan.scenario import Workload
from refute.workload.error import WorkloadError

Route = Callable[[str, int], str | None]
"""A node for a reference of the plan and the number of a client; None while nobody plays that role."""


class Router:
    """Resolves the references that need nothing but the list of nodes, and hands on all others.

    `spread` pins each client to one node in turn; `any` asks the nodes in turn, from each client's
    own on; `random` draws one, by seed and client; a node's own name is that node. Everything else
    (`leader`, `not old`) is asked of `roles`, which may answer None. Each client must be asked from
    one thread.
    """

    def __init__(
        self, nodes: Sequence[str], *, seed: int = 0, roles: Callable[[str], str | None] | None = None
    ) -> None:
        self._nodes = tuple(nodes)
        self._seed = seed
        self._roles = roles
        self._turns: dict[int, int] = {}
        self._draws: dict[int, random.Random] = {}

    def __call__(self, reference: str, client: int) -> str | None:
        """See Route. Raises WorkloadError for a reference that means nothing here."""
        if reference == "spread":
            return self._nodes[client % len(self._nodes)]
        if reference == "any":
            turn = self._turns.get(client, client)
            self._turns[client] = turn + 1
            return self._nodes[turn % len(self._nodes)]
        if reference == "random":
            if client not in self._draws:
                self._draws[client] = random.Random(f"{self._seed}/route/{client}")
            return self._draws[client].choice(self._nodes)
        if reference in self._nodes:
            return reference
        if self._roles is None:
            raise WorkloadError(
                f"{reference!r} is neither a node nor a way to choose one",
                hint=f"nodes: {', '.join(self._nodes)}; or spread, any, random",
            )
        return self._roles(reference)


def references(workload: Workload, kinds: Sequence[str]) -> Mapping[str, str]:
    """The reference for each kind; `default` stands for the kinds that `via` does not name.

    Raises WorkloadError where `via` names a kind that is not generated.
    """
    if isinstance(workload.via, str):
        return dict.fromkeys(kinds, workload.via)
    for kind in workload.via:
        if kind not in kinds and kind != "default":
            raise WorkloadError(
                f"via names {kind!r}, which the workload does not generate", hint=f"kinds: {', '.join(kinds)}"
            )
    usual = workload.via.get("default", "spread")
    return {kind: workload.via.get(kind, usual) for kind in kinds}
