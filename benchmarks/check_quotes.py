"""Compares the quote of every claim with the lines that git shows at its citation.

    python benchmarks/check_quotes.py REPOSITORY ...

Prints a line a repository: claims, how many were withheld as their words do not stand at their citation, and
how many quotes differ, which should be none. It reads with git and not by the reader that made the quotes.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

from refute.repository.claims import extract_claims
from refute.repository.mirror import open_repository


def lines_at(repository: Path, commit: str, path: str) -> list[str]:
    """The lines of a file as git shows them, without carriage returns."""
    shown = subprocess.run(
        ["git", "-C", str(repository), "show", f"{commit}:{path}"], capture_output=True, check=True
    )
    return shown.stdout.decode("utf-8", "replace").replace("\r", "").split("\n")


def main() -> None:
    """Check each repository, print a line each and the sums."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repositories", nargs="+", type=Path)
    sums = [0, 0, 0]
    for repository in parser.parse_args().repositories:
        with open_repository(repository) as snapshot:
            found = extract_claims(snapshot)
        texts = {
            path: lines_at(repository, found.commit, path) for path in {row.path for row in found.claims}
        }
        differing = [
            row
            for row in found.claims
            if row.quote.replace("\r", "") != "\n".join(texts[row.path][row.line - 1 : row.end_line])
        ]
        for at, count in enumerate((len(found.claims), found.withheld, len(differing))):
            sums[at] += count
        print(
            f"{repository}: {len(found.claims)} claims, {found.withheld} withheld,"
            f" {len(differing)} quotes differ"
        )
        for row in differing[:5]:
            print(f"    {row.path}:{row.line}-{row.end_line}")
    print(f"all: {sums[0]} claims, {sums[1]} withheld, {sums[2]} quotes differ")


if __name__ == "__main__":
    main()
