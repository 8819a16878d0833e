"""Narrows a run of pytest to what its settings in the repository choose."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from refute.repository.command_words import joined
from refute.repository.test_runs import TestRun

_VALUE = r"[ \t]*=[ \t]*(\[[^\]]{0,2000}\]|[^\n]{0,500}(?:\n[ \t]+\S[^\n]{0,500}){0,40})"
_OPTIONS = re.compile(rf"^[ \t]*addopts{_VALUE}", re.M)
_PATHS = re.compile(rf"^[ \t]*testpaths{_VALUE}", re.M)
_CHOOSES = re.compile(r"(?<![\w-])(?:-[mk]\b|--ignore|--deselect)")


def narrowed(runs: Iterable[TestRun], settings: str, folder: str) -> list[TestRun]:
    """The runs with the options of the settings in the folder, and their paths where a command has none."""
    options, paths = _OPTIONS.search(settings), _PATHS.search(settings)
    chosen = options is not None and _CHOOSES.search(options[1]) is not None
    named = re.findall(r"[\w./*-]+", paths[1]) if paths else []
    found = []
    for run in runs:
        own = named if run.tool == "pytest" and run.folder == folder else []
        some = run.some or (run.tool == "pytest" and chosen)
        for place in own or [""]:
            within = joined(folder, place.partition("*")[0]) if place else run.folder
            found.append(replace(run, folder=within, some=some or "*" in place))
    return found
