"""Tries the clock plane on a process of our own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from refute.nemesis.plane import Probe
from refute.nemesis.preload.build import built_shim
from refute.nemesis.preload.page import SECOND_NS, TRUE_TIME, ClockSetting, ShimPage
from refute.nemesis.preload.program import PAGE_VARIABLE

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
        with subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "LD_PRELOAD": str(library), PAGE_VARIABLE: str(page.path)},
        ) as process:

            def off_s() -> float:
                assert process.stdin is not None and process.stdout is not None
                process.stdin.write("\n")
                process.stdin.flush()
                return float(process.stdout.readline()) - time.time()

            try:
                true_s = off_s()
                now = time.time_ns()
                rate = SECOND_NS if kind in ("jump", "skew") else 0
                page.set_clock(ClockSetting(now, now + _ONE_HOUR_S * SECOND_NS, rate, True))
                changed_s = off_s()
                page.set_clock(TRUE_TIME)
                healed_s = off_s()
                altered = page.counts()[process.pid].altered
            except (ValueError, KeyError, OSError) as error:
                process.kill()
                return Probe(False, f"the shim does not work in a process of our own: {error!r}")
    works = abs(true_s) < 60 and abs(changed_s - _ONE_HOUR_S) < 60 and abs(healed_s) < 60 and altered > 0
    return Probe(works, "" if works else "a process of our own did not see its clock change")
