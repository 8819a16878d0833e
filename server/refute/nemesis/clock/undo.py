"""The undo verb of the clock plane: the node's processes see the true time again."""

from __future__ import annotations

from pathlib import Path

from refute.nemesis.preload.page import TRUE_TIME, ShimPage
from refute.nemesis.undo import Handle, UndoVerb


def _tell_the_truth(handle: Handle) -> None:
    page = ShimPage(Path(handle["page"]))
    if page.path.exists():  # with the directory of the run went the page, and its nodes end with the run
        page.set_clock(TRUE_TIME)


def _still_off(handle: Handle) -> str | None:
    page = ShimPage(Path(handle["page"]))
    clock = page.clock() if page.path.exists() else TRUE_TIME
    return f"the clock of {handle['node']} is still off: {clock.words}" if clock.on else None


VERBS = {"true-time": UndoVerb(_tell_the_truth, _still_off)}
