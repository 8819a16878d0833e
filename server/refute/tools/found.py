"""What the repository room found, in the words of the plan room; and cited lines, read again."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path

from refute.plan.rules.rule import ReadCitation
from refute.plan.scaffold import Found, FoundChange, FoundClaim, FoundTest, FoundThing
from refute.repository.mirror import open_repository
from refute.repository.models import (
    ChangeScope,
    Claim,
    ClaimSet,
    Component,
    MapItem,
    RepositoryMap,
    Toolbox,
    ToolboxEntry,
)
from refute.repository.problems import RepositoryError
from refute.repository.snapshot import RepositorySnapshot


def found_of(
    claims: ClaimSet,
    chart: RepositoryMap,
    toolbox: Toolbox,
    change: ChangeScope | None = None,
    *,
    top: int = 15,
) -> Found:
    """What a first plan is made from. For a change, its own claims come before the project's others."""
    ranked = claims.claims
    if change:
        touched = {claim.citation for claim in change.claims}
        ranked = (*change.claims, *(claim for claim in ranked if claim.citation not in touched))
    return Found(
        name=claims.name,
        commit=claims.commit,
        claims=tuple(_claim(claim) for claim in ranked),
        components=tuple(_component(component) for component in chart.components[:top]),
        surfaces=_surfaces(change.surfaces if change else chart.items)[:top],
        toolbox=tuple(_tool(entry) for entry in toolbox.entries[:top]),
        contradictions=tuple(
            FoundThing(each.kind, "", str(each.a), f"{each.note} (against `{each.b}`)")
            for each in claims.contradictions[:top]
        ),
        gaps=toolbox.absent[:top],
        change=_change(change) if change else None,
    )


def _claim(claim: Claim) -> FoundClaim:
    tests = tuple(FoundTest(test.name, str(test.place), test.strength) for test in claim.related_tests)
    return FoundClaim(claim.sentence, claim.category, claim.citation, tests)


def _component(component: Component) -> FoundThing:
    what = component.purpose or f"{component.files} files, {', '.join(component.languages)}"
    return FoundThing("component", component.path, component.path, what)


_SURFACES = ("rpc", "rest", "listener", "cli", "wire format", "disk format")
"""What others can reach a system through, the nearest to them first; the rest of a map lies behind these."""

_NOT_SHIPPED = re.compile(
    r"(?:^|[/_.-])\w*(?:tests?|testing|bench\w*|mocks?|examples?|stubs?)(?:[/_.-]|$)", re.I
)


def _surfaces(items: Iterable[MapItem]) -> tuple[FoundThing, ...]:
    """The doors of a system: each kind at each place once, without those of its tests."""
    shipped = [item for item in items if not _NOT_SHIPPED.search(item.path)]
    found: dict[str, FoundThing] = {}
    for kind in _SURFACES:
        for item in shipped:
            name = f"{kind} at {'the root' if item.name == '.' else item.name}"
            if item.kind == kind:
                found.setdefault(name, FoundThing(kind, name, f"{item.path}:{item.line}", item.shown))
    return tuple(found.values())


def _tool(entry: ToolboxEntry) -> FoundThing:
    return FoundThing(entry.kind, entry.name, f"{entry.path}:{entry.line}", entry.what, entry.command)


def _change(change: ChangeScope) -> FoundChange:
    paths = tuple(file.path for file in change.files)
    return FoundChange(
        change.base, change.head, paths, change.needs_distributed_test is not False, change.why
    )


def citation_reader(root: Path) -> ReadCitation:
    """Reads cited lines of a repository at a commit (`HEAD`: the present one), for check_plan.

    None where commit, file or lines do not exist. Each file is read once.
    """

    @cache
    def lines(path: str, commit: str) -> tuple[str, ...] | None:
        try:
            with _snapshot(root, commit) as snapshot:
                text = snapshot.text(path)
        except RepositoryError:
            return None
        return None if text is None else tuple(text.split("\n"))

    def read(path: str, first: int, last: int, commit: str) -> str | None:
        found = lines(path, commit)
        if found is None or not 1 <= first <= len(found):
            return None
        return "\n".join(found[first - 1 : last])

    return read


def _snapshot(root: Path, commit: str) -> AbstractContextManager[RepositorySnapshot]:
    return open_repository(root, revision="HEAD" if commit in ("HEAD", "unversioned") else commit)
