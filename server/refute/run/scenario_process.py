"""The process that runs one scenario of a session: `python -m refute.run.scenario_process SESSION ID`.

A process of its own for each scenario keeps the watchers of one from waiting on the load of another,
and can be killed alone. It tells its progress on stdout, one JSON object a line, and writes everything
else into the session's folder. SIGTERM ends it in order: faults healed, nodes stopped, evidence kept.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from pathlib import Path

from refute.errors import RefuteError
from refute.plan.reader import read_plan
from refute.run.progress import ProgressEvent
from refute.run.series import Series
from refute.session.record import Session


def main(arguments: list[str]) -> int:
    """Runs or, with `--judge`, only judges; 0 when the verdict is on disk, else the error's exit code."""
    folder, scenario = Path(arguments[0]), arguments[1]
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        session = Session.open(folder)
        plan = read_plan(folder / "plan.md")
        series = Series(session, plan, scenario, progress=_tell, stop=stop)
        if "--judge" in arguments:
            series.judge()
        else:
            series.run()
    except RefuteError as error:
        _line({"error": str(error), "exit_code": error.exit_code})
        return error.exit_code
    return 0


def _tell(event: ProgressEvent) -> None:
    _line({"attempt": event.attempt, "text": event.text})


def _line(document: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
