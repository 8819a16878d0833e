"""A step of a CI job: shell text, where it begins, and whether it runs by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Answer = Literal["yes", "no", "unknown"]
UNKNOWN_FOLDER = "?"


@dataclass(frozen=True, slots=True)
class CiStep:
    """A script that a job runs: `automatic` says whether on push, pull request or a schedule.

    `why` says instead of a script why it is not known what runs. `folder` is where it begins, "" at the root.
    `forgiven` says that the job passes though the script fails.
    """

    path: str
    line: int
    text: str = ""
    folder: str = ""
    automatic: Answer = "yes"
    why: str = ""
    forgiven: bool = False
