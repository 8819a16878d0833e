"""Tells of every step in the life of the faults of one run, as it happens."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from refute.errors import RefuteError
from refute.history.fault import FaultEvent
from refute.nemesis.errors import UnrecordedError
from refute.nemesis.injection import Injection


class FaultEvents:
    """Hands each event to `on_event`; `epoch` is how often the set of active faults has changed."""

    def __init__(self, on_event: Callable[[FaultEvent], None] | None) -> None:
        self.epoch = 0
        self.on_event = on_event or _nobody
        self._unrecorded: list[str] = []

    def tell(
        self,
        injection: Injection,
        detail: Mapping[str, Any],
        *,
        trigger: Mapping[str, Any] | None = None,
        time_ns: int | None = None,
    ) -> None:
        """The fault is in its phase since `time_ns`, by default since now. Raises what `on_event` raises."""
        fault, label = injection.fault, injection.action.label
        said = {"parameters": dict(fault.parameters), **({"label": label} if label else {}), **detail}
        moment = time.monotonic_ns() if time_ns is None else time_ns
        self.on_event(
            FaultEvent(
                *(fault.id, injection.phase, moment, fault.plane, fault.kind),
                *(injection.targets, self.epoch, trigger, said),
            )
        )

    def tell_if_possible(self, injection: Injection, detail: Mapping[str, Any]) -> None:
        """As `tell`, but what is on has to be undone although no record can be written any more."""
        try:
            self.tell(injection, detail)
        except (RefuteError, OSError) as error:
            self._unrecorded.append(f"{injection.fault.id} {injection.phase}: {error}")

    def require_complete(self) -> None:
        """Raises UnrecordedError where an event could not be told."""
        if self._unrecorded:
            raise UnrecordedError(
                f"what was done to faults could not be recorded: {'; '.join(self._unrecorded[:3])}",
                hint="the evidence is incomplete: make room and run it again",
            )


def _nobody(_: FaultEvent) -> None:
    pass
