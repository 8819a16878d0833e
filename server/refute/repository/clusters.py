"""Brings together statements that say nearly the same."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from refute.repository.ranking import Candidate
from refute.repository.sentences import stems_of

_SAME = 0.5
_MOST_LOOKED_AT = 40


def near_duplicates(rows: Sequence[Candidate]) -> list[list[Candidate]]:
    """Clusters of candidates, each headed by its best, in the order of their heads.

    Two statements are alike when the words they share weigh at least half of all their words (a weighted
    Jaccard measure; rare words weigh more). Only heads that share one of a statement's rarest words are
    compared, so the cost is about linear.
    """
    stems = [stems_of(row.statement.text) for row in rows]
    counts = Counter(stem for found in stems for stem in found)
    total = max(len(rows), 1)
    weight = {stem: math.log(1 + total / count) for stem, count in counts.items()}
    whole = [sum(weight[stem] for stem in found) for found in stems]
    clusters: list[list[Candidate]] = []
    heads: list[int] = []
    by_stem: dict[str, list[int]] = defaultdict(list)
    for at, row in enumerate(rows):
        mine = stems[at]
        rare = sorted(mine, key=lambda stem: (counts[stem], stem))[:6]
        shared: Counter[int] = Counter(cluster for stem in rare for cluster in by_stem[stem][-200:])
        best, best_at = 0.0, -1
        for cluster, common in shared.most_common(_MOST_LOOKED_AT):
            if common < min(2, len(rare)):
                break
            head = heads[cluster]
            both = sum(weight[stem] for stem in mine & stems[head])
            alike = both / (whole[at] + whole[head] - both)
            if alike > best:
                best, best_at = alike, cluster
        if best >= _SAME and len(mine) >= 3:
            clusters[best_at].append(row)
            continue
        clusters.append([row])
        heads.append(at)
        for stem in rare:
            by_stem[stem].append(len(clusters) - 1)
    return clusters
