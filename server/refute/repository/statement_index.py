"""Finds statements that share rare words, and makes a contradiction of two of them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from refute.repository.models import Contradiction, ContradictionKind, Place
from refute.repository.ranking import Candidate
from refute.repository.sentences import stems_of


class StatementIndex:
    """The words of each statement, how rare they are, and which statements hold them."""

    def __init__(self, rows: Sequence[Candidate]) -> None:
        self.stems = [stems_of(row.statement.text) for row in rows]
        self.by_stem: dict[str, list[int]] = defaultdict(list)
        for at, stems in enumerate(self.stems):
            for word in stems:
                self.by_stem[word].append(at)
        total = max(len(rows), 1)
        self.weight = {word: math.log(1 + total / len(held)) for word, held in self.by_stem.items()}

    def near(self, at: int, *, most: int = 30, rarest: int = 8) -> list[int]:
        """Statements that share the rarest words with this one, the closest first."""
        words = sorted(self.stems[at], key=lambda word: (-self.weight[word], word))[:rarest]
        shared: Counter[int] = Counter()
        for word in words:
            if len(self.by_stem[word]) <= 400:
                shared.update(self.by_stem[word])
        return [other for other, _ in shared.most_common(most) if other != at]

    def shared_weight(self, a: frozenset[str], b: frozenset[str]) -> float:
        """How much the common words weigh."""
        return sum(self.weight.get(word, 1.0) for word in a & b)

    def alike(self, a: frozenset[str], b: frozenset[str]) -> float:
        """Weighted Jaccard similarity."""
        either = sum(self.weight.get(word, 1.0) for word in a | b)
        return self.shared_weight(a, b) / either if either else 0.0


def contradiction(
    kind: ContradictionKind, a: Candidate, b: Candidate, note: str, confidence: float
) -> Contradiction:
    """Two statements that cannot both be right, both cited."""
    return Contradiction(
        kind=kind,
        note=note,
        a=place_of(a),
        a_quote=a.statement.text[:300],
        b=place_of(b),
        b_quote=b.statement.text[:300],
        confidence=round(confidence, 2),
    )


def place_of(row: Candidate) -> Place:
    """The lines that the statement stands on."""
    return Place(path=row.path, line=row.statement.line, end_line=row.statement.end_line)
