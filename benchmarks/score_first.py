"""Prints how many of the claims that are shown first belong in a plan, as a reader judged them.

    python benchmarks/score_first.py --repositories DIR [--judged FOLDER]

DIR holds one repository for each list, as for `score_claims.py`. A list names the places that a reader
judged, among the first thirty of some version, and what those that belong in no plan are instead. What nobody
judged is counted apart.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from refute.repository.claims import extract_claims
from refute.repository.mirror import open_repository
from refute.repository.scoring import read_rows

FIRST = 30
JUDGED = Path(__file__).parents[1] / "tests" / "repository" / "gold" / "first"


def main() -> None:
    """Read every list, find its repository, print a line each and the sums."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repositories", type=Path, required=True)
    parser.add_argument("--judged", type=Path, default=JUDGED)
    parser.add_argument("--noise", action="store_true", help="count what the others are")
    asked = parser.parse_args()
    sums, kinds = Counter[str](), Counter[str]()
    for listed in sorted(asked.judged.glob("*.jsonl")):
        place = asked.repositories / listed.stem
        place = place / "repo" if (place / "repo").is_dir() else place
        if not place.is_dir():
            continue
        rows = read_rows(listed)
        said = {(row["path"], row["line"]): row for row in rows}
        with open_repository(place, revision=rows[0]["commit"]) as snapshot:
            found = extract_claims(snapshot)
        shown = found.claims[: min(found.top, FIRST)]
        judged = [said.get((claim.path, claim.line)) for claim in shown]
        counts = Counter(
            "unjudged" if row is None else "in a plan" if row["in_plan"] else "not" for row in judged
        )
        kinds.update(row["noise"] for row in judged if row is not None and not row["in_plan"])
        sums.update(counts)
        print(
            f"{listed.stem:32} shown {len(shown):>2}: {counts['in a plan']:>2} in a plan, "
            f"{counts['not']:>2} not, {counts['unjudged']:>2} unjudged"
        )
    told = sums["in a plan"] + sums["not"]
    print(
        f"all: {sums['in a plan']} of {told} judged, {100 * sums['in a plan'] / max(told, 1):.0f} % "
        f"({sums['unjudged']} unjudged)"
    )
    if asked.noise:
        print("not in a plan: " + ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))


if __name__ == "__main__":
    main()
