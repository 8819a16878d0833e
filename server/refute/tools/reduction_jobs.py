"""Reductions by rerunning, as processes of their own: started, and looked at by a later call."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from refute.interpreter import python
from refute.session.files import read_json, write_json
from refute.session.record import REDUCTIONS
from refute.system.process_table import ProcessId, identify, is_alive
from refute.tools.answer import Answer

_LAST = 6


class ReductionState(Answer):
    """How far it is. `state` is running, done or failed; `plan` runs the smallest scenario that still fails.

    `rate` says how often that one failed; `finished` that nothing more could be left out, else `reason`.
    """

    state: str
    plan: str | None = None
    rate: str = ""
    finished: bool = False
    reason: str = ""
    tried: int = 0
    last: list[str] = Field(default_factory=list)


def reduce_by_rerunning(session: Path, scenario: str, words: Sequence[str]) -> ReductionState:
    """Starts `refute reduce SESSION ID --rerun` unless that was done before, and says how far it is."""
    folder = session.resolve() / REDUCTIONS
    folder.mkdir(exist_ok=True)
    job, log = folder / f"{scenario}.job.json", folder / f"{scenario}.log"
    if not job.is_file():
        command = python("-m", "refute.faces.cli", "reduce", str(session.resolve()), scenario)
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [*command, "--rerun", *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stream,
                start_new_session=True,
            )
        started = identify(process.pid)  # it is there even if it has ended: nobody has waited for it
        assert started is not None
        write_json(job, started)
    last = log.read_text(errors="replace").strip().splitlines()[-_LAST:]
    if is_alive(ProcessId(**read_json(job))):
        return ReductionState(state="running", last=last)
    outcomes = sorted(folder.glob(f"{scenario}*/reduction.json"), key=lambda path: path.stat().st_mtime_ns)
    if outcomes:
        return shown_outcome(outcomes[-1].parent).model_copy(update={"last": last})
    return ReductionState(state="failed", reason=last[-1] if last else "it ended without a word", last=last)


def shown_outcome(folder: Path) -> ReductionState:
    """What a reduction that ended has written. Raises SessionError."""
    outcome = read_json(folder / "reduction.json")
    failed, runs = outcome["rate"]
    return ReductionState(
        state="done",
        plan=str(next(iter(folder.glob("*.md")))),
        rate=f"{failed} of {runs}",
        finished=outcome["finished"],
        reason=outcome["reason"],
        tried=len(outcome["tried"]),
    )
