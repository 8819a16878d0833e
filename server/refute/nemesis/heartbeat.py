"""The sign of life that a nemesis gives its guard."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from refute.nemesis.guard import start_guard

_EVERY_S = 1.0


class Heartbeat:
    """Starts the guard of a ledger, and tells it every second that its owner lives and goes on.

    The guard heals where nothing came for `hang_s` seconds, and ends the run's processes once the owner is
    gone. Raises NemesisError where the guard does not come up.
    """

    def __init__(self, ledger: Path, hang_s: float) -> None:
        self._descriptor = start_guard(ledger, hang_s)
        self._over = threading.Event()
        threading.Thread(target=self._beat, name="nemesis-heartbeat", daemon=True).start()

    def stop(self) -> None:
        """Tell nothing any more."""
        self._over.set()

    def close(self) -> None:
        """Let the guard see that its owner is done."""
        self.stop()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _beat(self) -> None:
        while not self._over.wait(_EVERY_S):
            try:
                os.write(self._descriptor, b".")
            except OSError:
                return  # the guard is gone; what it would do, the next start does
