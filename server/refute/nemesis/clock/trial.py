"""Tries the clock plane on a process of our own."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from refute.nemesis.plane import Probe
from refute.nemesis.preload.build import built_shim
from refute.nemesis.preload.page import SECOND_NS, TRUE_TIME, ClockSetting, ShimPage
from refute.nemesis.preload.trial import Program, program_with

_ONE_HOUR_S = 3600
_PROGRAM = "import sys, time\nfor line in sys.stdin: print(time.time(), flush=True)"


def try_clock(kind: str) -> Probe:
    """Whether a process sees its clock change and be true again, and the shim counts it."""
    if sys.platform != "linux":
        return Probe(False, "libraries are preloaded on Linux only")
    library = built_shim()
    with tempfile.TemporaryDirectory(prefix="refute-") as folder:
        page = ShimPage(Path(folder) / "page")
        page.create()
        try:
            with program_with(library, page, _PROGRAM) as program:
                true_s = _off_s(program)
                now = time.time_ns()
                rate = SECOND_NS if kind in ("jump", "skew") else 0
                page.set_clock(ClockSetting(now, now + _ONE_HOUR_S * SECOND_NS, rate, True))
                changed_s = _off_s(program)
                page.set_clock(TRUE_TIME)
                healed_s = _off_s(program)
                altered = page.counts()[program.process.pid].altered
        except (ValueError, KeyError, OSError) as error:
            return Probe(False, f"the shim does not work in a process of our own: {error!r}")
    works = abs(true_s) < 60 and abs(changed_s - _ONE_HOUR_S) < 60 and abs(healed_s) < 60 and altered > 0
    return Probe(works, "" if works else "a process of our own did not see its clock change")


def _off_s(program: Program) -> float:
    return float(program.ask()) - time.time()
