"""Prints how many sentences in people's own words the rules find, and how many they accuse wrongly.

    python benchmarks/score_wordings.py [--missed]

Run it in the root of a checkout: the sentences are those of the tests. The fourth set is held out.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.plan.sentences import SETS, is_found, sentences  # noqa: E402 - the root was not on the path before


def main() -> None:
    """A line for each set and rule, and with `--missed` the sentences that were judged wrongly."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--missed", action="store_true")
    asked = parser.parse_args()
    for name in SETS:
        for rule, lists in sentences(name).items():
            missed = [text for text in lists["found"] if not is_found(rule, text)]
            accused = [text for text in lists["spared"] if is_found(rule, text)]
            hits = f"{len(lists['found']) - len(missed)} of {len(lists['found'])} found"
            print(f"{name:7} {rule:30} {hits}, {len(accused)} of {len(lists['spared'])} accused wrongly")
            for text in (*(f"missed:  {each}" for each in missed), *(f"accused: {each}" for each in accused)):
                if asked.missed:
                    print(f"    {text}")


if __name__ == "__main__":
    main()
