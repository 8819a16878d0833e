"""Places in a repository and addresses, as claims and hypotheses cite them."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Citation:
    """A place in a repository: `path:first-last@commit`."""

    path: str
    first: int
    last: int
    commit: str


_CITATION = re.compile(
    r"(?<![\w./@+-])([\w./@+-]{1,400}):L?(\d{1,9})(?:\s*[-–]\s*L?(\d{1,9}))?"
    r"(?:@([0-9a-fA-F]{7,40}|[\w./-]{1,200}))?"
)
_URL = re.compile(r"https?://\S+")


def citations_in(text: str) -> list[Citation]:
    """The citations of a cell: `README.md:10-12@0123abc`."""
    return [
        Citation(found[1], int(found[2]), int(found[3] or found[2]), found[4] or "")
        for found in _CITATION.finditer(_URL.sub(" ", text))
    ]


def places_in(text: str) -> list[str]:
    """What a sentence cites, as it is written, without the stop or bracket behind it; addresses first."""
    addresses = _URL.findall(text)
    cited = [found[0] for found in _CITATION.finditer(_URL.sub(" ", text))]
    return [place.rstrip(".,;)>]") for place in (*addresses, *cited)]
