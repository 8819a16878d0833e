"""Prints how many of 200 random damages to each clean plan `check_plan` notices, by kind of damage.

    python benchmarks/score_mutations.py [--times N] [--seed N] [--missed]

Run it in the root of a checkout: the ways to damage a plan are those of the tests.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from refute.checkers.catalog import CATALOG
from refute.plan.check import check_plan

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.plan.damages import damages, unnoticed  # noqa: E402 - the root was not on the path before


def main() -> None:
    """A line for each plan, and with `--missed` what went unnoticed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--missed", action="store_true")
    asked = parser.parse_args()
    for path in sorted((ROOT / "docs" / "testing-plans").glob("[!R]*.md")):
        text = path.read_text(encoding="utf-8")
        if check_plan(text).defects:
            print(f"{path.stem:10} is not clean: nothing can be said of damages to it")
            continue
        names = sorted(CATALOG)
        missed = unnoticed(
            (text,),
            names,
            lambda changed: not check_plan(changed).defects,
            times=asked.times,
            seed=asked.seed,
        )
        noticed = asked.times - len(missed)
        by_kind = ", ".join(f"{kind} {sum(name == kind for name, _ in missed)}" for kind in damages(names))
        share = f"{noticed} of {asked.times} noticed ({noticed / asked.times:.1%})"
        print(f"{path.stem:10} {share}; missed: {by_kind}")
        for name, what in missed if asked.missed else ():
            print(f"    {name}: {what[:200]}")


if __name__ == "__main__":
    main()
