"""Prints what a generated first plan holds for some repositories, and whether its citations are valid.

    python benchmarks/score_scaffold.py REPOSITORY... [--output FOLDER]

One line each: claims and how many of their citations are there and say the same today; pitfalls by relevance;
candidate scenarios; open places that `check_plan` refuses, and errors beside them. Exit code 1 where a
citation is not valid, or an open place is not refused.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from refute.plan.check import check_plan
from refute.plan.reader import parse_leniently
from refute.plan.scaffold import scaffold_plan
from refute.repository.claims import extract_claims
from refute.repository.mirror import open_repository
from refute.repository.repository_map import map_repository
from refute.repository.toolbox import discover_toolbox
from refute.tools.found import citation_reader, found_of

CITED_WRONGLY = {"citation-not-found", "stale-citation", "moved-citation", "uncited-claim"}


def main() -> int:
    """Scaffold, check and count."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, help="keep the plans here")
    asked = parser.parse_args()
    wrong = False
    for root in asked.repositories:
        begun = time.perf_counter()
        with open_repository(root) as snapshot:
            claims = extract_claims(snapshot)
            toolbox = discover_toolbox(snapshot, claims=claims)
            found = found_of(claims, map_repository(snapshot), toolbox)
        first = scaffold_plan(found, "first")
        took_s = time.perf_counter() - begun
        plan, unread = parse_leniently(first.text)
        defects = check_plan(first.text, read_citation=citation_reader(root)).defects
        rules = Counter(defect.rule for defect in defects if defect.severity == "error")
        cited_wrongly = sum(rules[rule] for rule in CITED_WRONGLY)
        verdicts = Counter(judged.verdict for _, judged in first.judged)
        open_places = first.text.count("TODO(judge)")
        wrong |= bool(cited_wrongly or unread or rules["todo-left"] == 0)
        print(
            f"{found.name}: {len(plan.claims)} claims, {len(plan.claims) - cited_wrongly} validly cited; "
            f"pitfalls {verdicts['applies']} applies, {verdicts['maybe']} maybe, {verdicts['not']} not; "
            f"{len(first.candidates)} candidates; {open_places} open places, {rules['todo-left']} refused; "
            f"other errors {dict(rules - Counter({'todo-left': rules['todo-left']}))}; {took_s:.1f} s"
        )
        if asked.output:
            asked.output.mkdir(parents=True, exist_ok=True)
            (asked.output / f"{found.name}.md").write_text(first.text, encoding="utf-8")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
