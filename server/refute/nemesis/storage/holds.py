"""How often threads of a node stand still while a fault holds them, by the kernel's word."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path

SHARE_OF_A_HOLD = 0.5
"""A thread that stands still for this part of the delay was held."""

HeldThread = tuple[int, str]
"""A thread that is held now, and how often it has given up its processor so far."""


class Holds(threading.Thread):
    """Counts how often a thread of a node is held for at least so long.

    `held` tells which are held now. A thread that is stopped for a moment at each call is not held: only one
    that is seen so, without having run in between, from one end of that time to the other.
    """

    def __init__(self, held: Callable[[], Iterable[HeldThread]], at_least_s: float) -> None:
        super().__init__(name="holds", daemon=True)
        self._held = held
        self._at_least_s = at_least_s
        self._over = threading.Event()
        self.count = 0

    def run(self) -> None:
        """Until `end`."""
        since: dict[int, tuple[str, float, bool]] = {}
        while not self._over.wait(self._at_least_s / 4):
            now = time.monotonic()
            held = dict(self._held())
            for thread, switches in held.items():
                known, began, counted = since.get(thread, ("", now, False))
                if known != switches:
                    since[thread] = (switches, now, False)
                elif not counted and now - began >= self._at_least_s:
                    self.count += 1
                    since[thread] = (switches, began, True)
            since = {thread: seen for thread, seen in since.items() if thread in held}

    def end(self) -> None:
        """Count no more."""
        self._over.set()
        if self.is_alive():
            self.join()


def held_threads(
    threads: Iterable[int], state: str, of: Collection[int] | None = None
) -> Iterable[HeldThread]:
    """Those of the threads that the kernel shows in this state (`t` traced, `S` asleep).

    `of` are the processes (pids) that they have to belong to, None for any.
    """
    for thread in threads:
        with suppress(OSError, KeyError, ValueError):
            text = Path(f"/proc/{thread}/status").read_text()
            fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
            if fields["State"].startswith(state) and (of is None or int(fields["Tgid"]) in of):
                yield thread, fields["voluntary_ctxt_switches"]
