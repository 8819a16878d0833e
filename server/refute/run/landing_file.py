"""Keeps `landing.json` up to date while faults are on, for whoever reads it after its writer was killed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from refute.errors import RefuteError
from refute.history.faults_log import write_landing
from refute.nemesis.nemesis import Nemesis

_EVERY_S = 1.0


class LandingFile:
    """The landing evidence so far, written anew each second while a fault is on and at every `save`.

    A reader sees the old file or the new one, whole. What cannot be written is said, and does not stop a run.
    """

    def __init__(self, folder: Path, nemesis: Nemesis, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._nemesis = nemesis
        self._say = say
        self._one_at_a_time = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._save_repeatedly, name="live-landing", daemon=True)

    def __enter__(self) -> Self:
        """Begin to look for faults that are on."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write no more."""
        self._over.set()
        self._thread.join()

    def save(self) -> None:
        """Write the evidence as it is now."""
        partial = self._folder / "landing.partial"
        with self._one_at_a_time:
            try:
                write_landing(partial, self._nemesis.landings())
                partial.replace(self._folder / "landing.json")
            except (RefuteError, OSError) as error:
                self._say(f"landing.json could not be written: {error}")

    def _save_repeatedly(self) -> None:
        while not self._over.wait(_EVERY_S):
            if self._nemesis.active():
                self.save()
