"""A process of ours that serves a run leaves when its owner is gone and no guard has ended it."""

from __future__ import annotations

import time

from refute.nemesis.proxy.effect import NS
from refute.nemesis.proxy.loop import Loop
from refute.system.process_table import ProcessId, is_alive

_ORPHAN_FOR_S = 60.0


def end_without_owner(loop: Loop, owner: ProcessId, orphan_since: float = 0.0) -> None:
    """Look after the owner each second, and end the loop where it has been gone for a minute.

    Without an owner the guard tells us to heal and to leave; without a guard nobody would.
    """
    if is_alive(owner):
        orphan_since = 0.0
    elif not orphan_since:
        orphan_since = time.monotonic()
    elif time.monotonic() - orphan_since > _ORPHAN_FOR_S:
        loop.end()
    loop.at(time.monotonic_ns() + NS, lambda: end_without_owner(loop, owner, orphan_since))
