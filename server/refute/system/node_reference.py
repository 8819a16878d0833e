"""Which nodes a plan means by `n1`, `leader`, `not old`, `any`, `random`, `all`, an alias or `client`."""

from __future__ import annotations

import difflib
import random
from collections.abc import Callable, Mapping, Sequence

from refute.system.errors import ClusterError, ClusterInputError

CLIENT = "client"
_WORDS = ("all", "any", "random", CLIENT)


def resolve(
    reference: str,
    *,
    nodes: Sequence[str],
    states: Sequence[str],
    aliases: Mapping[str, str],
    role: Callable[[str], tuple[str | None, str]],
    running: Callable[[], Sequence[str]],
    rng: random.Random | None = None,
    nobody_is_nobody: bool = False,
    spares: Sequence[str] = (),
) -> tuple[str, ...]:
    """The nodes that a reference stands for, in the order of the description.

    A name means a node or a spare first, then an alias, then the role of a state, which one node plays at a
    time (`condition.Claims.settle` says which where several claim it). `any` is the first node that runs,
    `random` one of those that run, `not REF` all nodes but REF, `client` whoever is not a node.

    Raises ClusterInputError for a name that means nothing, ClusterError where nobody plays the role; with
    `nobody_is_nobody` the answer is then empty.
    """
    text = reference.strip()
    if text.startswith("not "):
        without = resolve(
            text[4:],
            nodes=nodes,
            states=states,
            aliases=aliases,
            role=role,
            running=running,
            rng=rng,
            nobody_is_nobody=nobody_is_nobody,
            spares=spares,
        )
        return tuple(node for node in nodes if node not in without)
    if text in nodes or text in spares:
        return (text,)
    if text in aliases:
        return (aliases[text],)
    if text == "all":
        return tuple(nodes)
    if text == CLIENT:
        return (CLIENT,)
    if text in ("any", "random"):
        up = tuple(running())
        if not up:
            raise ClusterError(f"no node runs, so that {text!r} means nobody")
        return (up[0],) if text == "any" else ((rng or random.Random()).choice(up),)
    if text in states:
        player, said = role(text)
        if player is not None:
            return (player,)
        if nobody_is_nobody:
            return ()
        raise ClusterError(f"no node is {text} now: {said}")
    known = [*nodes, *spares, *aliases, *states, *_WORDS]
    near = difflib.get_close_matches(text, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(dict.fromkeys(known))}"
    raise ClusterInputError(f"{reference!r} is no node, alias or role", hint=hint)
