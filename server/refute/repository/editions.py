"""Tells apart the editions of a document that a repository keeps side by side, as `docs/version-1.2`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from refute.repository.ranking import Candidate
from refute.repository.sentences import stems_of

_EDITION = re.compile(
    r"(?:(?:(?:version|release)[-_]?v?|v)(?P<named>\d+(?:\.\d+)*)|(?P<bare>\d+\.\d+(?:\.\d+)*))"
    r"(?:\.x)?(?P<early>[-.]?(?:alpha|beta|rc|pre|snapshot|m)[-.\w]*)?",
    re.I,
)
Age = tuple[bool, tuple[int, ...], bool]
_CURRENT: Age = (True, (), True)


def age_of(path: str) -> Age:
    """What orders editions, the newest last: what is in no folder of an edition is newer than all of them."""
    for folder in reversed(path.split("/")[:-1]):
        if found := _EDITION.fullmatch(folder):
            numbers = tuple(int(number) for number in (found["named"] or found["bare"]).split("."))
            return False, numbers, not found["early"]
    return _CURRENT


def newest_first(clusters: Sequence[Sequence[Candidate]]) -> list[list[Candidate]]:
    """The clusters, each headed by the newest edition of the sentence that headed it, with its worth."""
    return [_with_newest_head(list(cluster)) for cluster in clusters]


def _with_newest_head(cluster: list[Candidate]) -> list[Candidate]:
    head = cluster[0]
    if len(cluster) == 1 or age_of(head.path) == _CURRENT:
        return cluster
    words = stems_of(head.statement.text)
    same = [row for row in cluster if stems_of(row.statement.text) == words]
    newest = max(same, key=lambda row: age_of(row.path))  # of equals the first, which is the best
    return [replace(newest, worth=head.worth), *(row for row in cluster if row is not newest)]
