"""Requests to a live system that are worked on in threads of their own, for longer than a caller may wait."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from refute.session.files import plain

_FINISHED_KEPT = 20
_SLOW_S = 1.0
_LONGEST_WORDS = 300


@dataclass(eq=False)
class Job:
    """One request. Its future has the answer, or the error that whoever asks the future gets."""

    name: str
    what: str
    future: Future[dict[str, Any]]
    began: float

    def done_within(self, within_s: float) -> bool:
        """Whether it is done in so many seconds from now."""
        wait([self.future], within_s)
        return self.future.done()

    def told(self) -> dict[str, Any]:
        """What it is and how it ended, as plain data."""
        told: dict[str, Any] = {"job": self.name, "what": self.what, "done": self.future.done()}
        if not self.future.done():
            return told
        error = self.future.exception()
        return told | ({"error": str(error)} if error else {"answer": plain(self.future.result())})


class Jobs:
    """The requests that are worked on, and the last that are done and whose answer nobody has waited for."""

    def __init__(self) -> None:
        self._jobs: list[Job] = []
        self._count = 0
        self._lock = threading.Lock()

    @property
    def busy(self) -> bool:
        """Whether any is still worked on."""
        with self._lock:
            return any(not job.future.done() for job in self._jobs)

    def begin(self, do: str, request: Mapping[str, Any], work: Callable[[], dict[str, Any]]) -> Job:
        """Work on it in a thread of its own."""
        future: Future[dict[str, Any]] = Future()

        def run() -> None:
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001 - handed to whoever asks the future
                future.set_exception(error)

        with self._lock:
            finished = [job for job in self._jobs if job.future.done()]
            for job in finished[: max(0, len(finished) - _FINISHED_KEPT)]:
                self._jobs.remove(job)
            self._count += 1
            what = f"{do} {json.dumps(request, ensure_ascii=False, default=str)}"[:_LONGEST_WORDS]
            job = Job(f"j{self._count}", what, future, time.monotonic())
            self._jobs.append(job)
        threading.Thread(target=run, name=f"live-{do}", daemon=True).start()
        return job

    def forget(self, job: Job) -> None:
        """Its answer was given to whoever has asked for it."""
        with self._lock, suppress(ValueError):  # it may have made room for others already
            self._jobs.remove(job)

    def told(self) -> list[dict[str, Any]]:
        """Each that is done or takes long, the oldest first."""
        with self._lock:
            jobs = [job for job in self._jobs if job.future.done() or time.monotonic() - job.began > _SLOW_S]
        return [job.told() for job in jobs]
