"""Prints how many of the claims that are shown first belong in a plan, as a reader judged them.

    python benchmarks/score_first.py --repositories DIR [--judged FOLDER]
    python benchmarks/score_first.py --repositories DIR --polarity

DIR holds one repository for each list, as for `score_claims.py`. A list names the places that a reader
judged, among the first thirty of some version, and what those that belong in no plan are instead. What nobody
judged is counted apart. With `--polarity` it prints how often the polarity is the reader's, for the
repositories that the rules were fitted to and for those held out.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from refute.repository.claims import extract_claims
from refute.repository.mirror import open_repository
from refute.repository.scoring import read_rows

FIRST, ENOUGH = 30, 24
IN_PLAN = 2  # the least grade of a claim that belongs in a plan
GOLD = Path(__file__).parents[1] / "tests" / "repository" / "gold"
JUDGED = GOLD / "first"


def main() -> None:
    """Read every list, find its repository, print a line each and the sums."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repositories", type=Path, required=True)
    parser.add_argument("--judged", type=Path, default=JUDGED)
    parser.add_argument("--noise", action="store_true", help="count what the others are")
    parser.add_argument(
        "--polarity", action="store_true", help="print how often the polarity is the reader's"
    )
    asked = parser.parse_args()
    if asked.polarity:
        for half in ("fitted", "held-out"):
            print(f"{half}: {polarity_told(GOLD / 'polarity' / half, asked.repositories)}")
        return
    sums, kinds = Counter[str](), Counter[str]()
    for listed in sorted(asked.judged.glob("*.jsonl")):
        place = place_of(listed, asked.repositories)
        if place is None:
            continue
        rows = read_rows(listed)
        said = {(row["path"], row["line"]): row for row in rows}
        with open_repository(place, revision=rows[0]["commit"]) as snapshot:
            found = extract_claims(snapshot)
        judged = [said.get((claim.path, claim.line)) for claim in found.claims[:FIRST]]
        kinds.update(row.get("noise", "?") for row in judged if row is not None and row["grade"] < IN_PLAN)
        first, shown = counted(judged), counted(judged[: found.top])
        sums.update({f"first {name}": count for name, count in first.items()})
        sums.update({f"shown {name}": count for name, count in shown.items()})
        sums["repositories"] += 1
        sums["with 24"] += first["in a plan"] >= ENOUGH
        print(f"{listed.stem:32} first {FIRST}: {told(first)}; shown {min(found.top, FIRST)}: {told(shown)}")
    for name in ("first", "shown"):
        good, bad, unjudged = (sums[f"{name} {kind}"] for kind in ("in a plan", "not", "unjudged"))
        share = 100 * good / max(good + bad, 1)
        print(f"{name}: {good} of {good + bad} judged are in a plan, {share:.0f} % ({unjudged} unjudged)")
    print(f"{ENOUGH} or more of the first {FIRST}: {sums['with 24']} of {sums['repositories']} repositories")
    if asked.noise:
        print("not in a plan: " + ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))


def place_of(listed: Path, repositories: Path) -> Path | None:
    """The repository of a list, a checkout or a bare one; None where there is none."""
    place = repositories / listed.stem
    place = place / "repo" if (place / "repo").is_dir() else place
    return place if place.is_dir() else None


def polarity_told(folder: Path, repositories: Path) -> str:
    """In words, how often the polarity is the reader's; what is no claim any more is counted."""
    sums = Counter[str]()
    kinds = Counter[tuple[str, bool]]()
    for listed in sorted(folder.glob("*.jsonl")):
        place = place_of(listed, repositories)
        if place is None:
            sums["without a repository"] += 1
            continue
        rows = read_rows(listed)
        with open_repository(place, revision=rows[0]["commit"]) as snapshot:
            found = {(row.path, row.line, row.end_line): row for row in extract_claims(snapshot).claims}
        for row in rows:
            claim = found.get((row["path"], row["line"], row["end_line"]))
            if claim is None:
                sums["no claim"] += 1
            else:
                kinds[row["polarity"], claim.polarity == row["polarity"]] += 1
    right = sum(count for (_, same), count in kinds.items() if same)
    by_kind = ", ".join(
        f"{kind} {kinds[kind, True]} of {kinds[kind, True] + kinds[kind, False]}"
        for kind in dict.fromkeys(kind for (kind, _), _ in kinds.most_common())
    )
    return (
        f"{right} of {kinds.total()} right, {100 * right / max(kinds.total(), 1):.0f} % ({by_kind}); "
        f"{sums['no claim']} are no claim now, {sums['without a repository']} lists without a repository"
    )


def counted(judged: Sequence[Mapping[str, Any] | None]) -> Counter[str]:
    """How many of these claims belong in a plan, how many do not, and of how many nobody said."""
    return Counter(
        "unjudged" if row is None else "in a plan" if row["grade"] >= IN_PLAN else "not" for row in judged
    )


def told(counts: Counter[str]) -> str:
    """The counts in words."""
    return f"{counts['in a plan']} in a plan, {counts['not']} not, {counts['unjudged']} unjudged"


if __name__ == "__main__":
    main()
