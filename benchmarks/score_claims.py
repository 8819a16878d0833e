"""Prints recall and categories of claims against hand-made lists.

    python benchmarks/score_claims.py --repositories DIR [--gold FOLDER]

DIR holds one repository for each list, at DIR/<owner>+<name> or DIR/<owner>+<name>/repo (a bare clone will
do) with the commit that the list names. Lists are one reader's choice and not exhaustive: what matches no
row of a list is not thereby wrong.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from refute.repository.claims import extract_claims
from refute.repository.mirror import open_repository
from refute.repository.scoring import read_rows, score
from refute.repository.toolbox import discover_toolbox

CUTS = (25, 50, 100, 200, 400)
GOLD = Path(__file__).parents[1] / "tests" / "repository" / "gold"


def main() -> None:
    """Read every list, find its repository, print a line each and the sums."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repositories", type=Path, required=True)
    parser.add_argument("--gold", type=Path, default=GOLD)
    parser.add_argument("--only", default="")
    parser.add_argument("--missed", action="store_true", help="name the listed claims that were not found")
    asked = parser.parse_args()
    sums = {cut: [0, 0, 0] for cut in CUTS}
    tools = {cut: [0, 0, 0] for cut in CUTS}
    print(f"{'list':28} " + " ".join(f"{f'@{cut}':>9}" for cut in CUTS) + "  category right @200")
    for gold in sorted(asked.gold.glob("*.jsonl")):
        name = gold.stem.removesuffix("-toolbox")
        place = asked.repositories / name
        place = place / "repo" if (place / "repo").is_dir() else place
        if asked.only not in gold.stem or "contradictions" in gold.stem or not place.is_dir():
            continue
        listed = read_rows(gold)
        with open_repository(place, revision=listed[0]["commit"]) as snapshot:
            toolbox = "kind" in listed[0]
            answer = discover_toolbox(snapshot) if toolbox else extract_claims(snapshot)
            rows = list(answer.rows())
            wanted = {row["path"] for row in (*listed, *rows)}
            chosen = [file for file in snapshot.files if file.path in wanted]
            texts = {file.path: data.decode("utf-8", "replace") for file, data in snapshot.contents(chosen)}
        found = [score(listed, rows, texts, cut=cut) for cut in CUTS]
        for one in found:
            for at, count in enumerate((one.found, one.total, one.right)):
                (tools if toolbox else sums)[one.cut][at] += count
        at_200 = next(one for one in found if one.cut == 200)
        counts = " ".join(f"{one.found:>4}/{one.total:<4}" for one in found)
        print(f"{gold.stem:28} {counts}  {at_200.right}/{at_200.found}")
        if asked.missed:
            print(f"    missed @200: {', '.join(at_200.missed) or 'none'}")
    for name, counted in (("all claims", sums), ("all tools", tools)):
        if counted[200][1]:
            shares = " ".join(f"{100 * found / total:>8.0f}%" for found, total, _ in counted.values())
            print(f"{name:28} {shares}  {100 * counted[200][2] / max(counted[200][0], 1):.0f} %")


if __name__ == "__main__":
    main()
