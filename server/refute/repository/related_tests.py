"""Finds the existing tests that seem to be about a claim."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable

from refute.repository.ci_reach import TestsInCi
from refute.repository.facts import FileFacts
from refute.repository.models import Place, RelatedTest, TestStrength
from refute.repository.sentences import stems_of
from refute.repository.snapshot import RepositorySnapshot
from refute.repository.source_file import SourceFile
from refute.repository.statement import Statement
from refute.repository.test_cases import TestCase

_MOST = 4
_STRENGTH_ORDER = {"under fault": 0, "asserts": 1, "name only": 2}


def strength_of(case: TestCase) -> TestStrength:
    """How much the text of the test shows: an assertion while something breaks, an assertion, or a name."""
    if case.asserts and case.under_fault:
        return "under fault"
    return "asserts" if case.asserts else "name only"


class TestIndex:
    """All tests of a survey by the words of their names."""

    __test__ = False

    def __init__(self, snapshot: RepositorySnapshot, files: Iterable[tuple[SourceFile, FileFacts]]) -> None:
        self._cases: list[tuple[str, TestCase, frozenset[str]]] = []
        self._by_stem: dict[str, list[int]] = defaultdict(list)
        self._in_ci = TestsInCi(snapshot)
        for file, facts in files:
            for case in facts.tests:
                stems = stems_of(case.name) - {"test"}
                for stem in stems:
                    self._by_stem[stem].append(len(self._cases))
                self._cases.append((file.path, case, stems))
        total = max(len(self._cases), 1)
        self._weight = {stem: math.log(1 + total / len(rows)) for stem, rows in self._by_stem.items()}

    def related(self, statement: Statement) -> tuple[RelatedTest, ...]:
        """At most four tests, the closest first: most of the words of the name are words of the claim."""
        mine = stems_of(f"{statement.text} {statement.symbol.rsplit('.', 1)[-1]}")
        shared: Counter[int] = Counter()
        for stem in mine:
            rows = self._by_stem.get(stem, ())
            if len(rows) <= 400:
                for at in rows:
                    shared[at] += 1
        close: list[tuple[float, int]] = []
        for at, count in shared.items():
            if count < 2:
                continue
            stems = self._cases[at][2]
            both = sum(self._weight[stem] for stem in stems & mine)
            all_of_it = sum(self._weight[stem] for stem in stems)
            if both >= 0.55 * all_of_it:
                close.append((both / all_of_it + 0.1 * count, at))
        close.sort(key=lambda row: (-row[0], row[1]))
        found = [self._shown(at) for _, at in close[:_MOST]]
        return tuple(sorted(found, key=lambda row: _STRENGTH_ORDER[row.strength]))

    def _shown(self, at: int) -> RelatedTest:
        path, case, _ = self._cases[at]
        reach = self._in_ci.of(path)
        return RelatedTest(
            name=case.name,
            place=Place(path=path, line=case.line, end_line=case.end_line),
            strength=strength_of(case),
            in_ci=reach.answer,
            ci=reach.by,
        )
