"""Prints how long the claims of a repository take: cold, again, and after a change of one file.

    python benchmarks/bench_repository.py REPOSITORY [--rounds N]

Each figure is the least of N rounds, in a process of its own with start-up included; memory is the most that
the process and its workers held together at any time.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

ASK = """
import sys
from refute.repository.claims import extract_claims
from refute.repository.mirror import open_repository
if __name__ == "__main__":
    with open_repository(sys.argv[1], cache=sys.argv[2]) as snapshot:
        claims = extract_claims(snapshot)
        print(len(snapshot.files), sum(file.size for file in snapshot.files), len(claims.text()))
"""
SIZES = """
import sys
from refute.repository.change_scope import scope_change
from refute.repository.claims import extract_claims
from refute.repository.mirror import open_repository
from refute.repository.repository_map import map_repository
from refute.repository.toolbox import discover_toolbox
with open_repository(sys.argv[1], cache=sys.argv[2]) as snapshot:
    answers = {
        "map": map_repository(snapshot),
        "claims": extract_claims(snapshot),
        "toolbox": discover_toolbox(snapshot),
        "scope HEAD": scope_change(snapshot, "HEAD"),
    }
    print(", ".join(f"{name} {len(answer.text())}" for name, answer in answers.items()))
"""


def asked(repository: Path, cache: Path, script: Path) -> tuple[float, float, str]:
    """Seconds, MB at the most, and what was printed."""
    begun = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, str(script), str(repository), str(cache)], stdout=subprocess.PIPE, text=True
    )
    most = [0]

    def watch() -> None:
        while process.poll() is None:
            try:
                parent = psutil.Process(process.pid)
                held = sum(one.memory_info().rss for one in (parent, *parent.children(recursive=True)))
            except psutil.Error:
                continue
            most[0] = max(most[0], held)
            time.sleep(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    printed = process.communicate()[0]
    seconds = time.perf_counter() - begun
    watcher.join()
    return seconds, most[0] / 1e6, printed.strip()


def main() -> None:
    """Time the three ways to ask."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repository", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    figures: dict[str, list[tuple[float, float]]] = {"cold": [], "again": [], "one file changed": []}
    printed = sizes = ""
    for _ in range(given.rounds):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            script = place / "ask.py"
            script.write_text(ASK)
            clone = place / "clone"
            subprocess.run(["git", "clone", "-q", "--shared", str(given.repository), str(clone)], check=True)
            for name in ("cold", "again", "one file changed"):
                if name == "one file changed":
                    change_one_file(clone)
                seconds, megabytes, printed = asked(clone, place / "cache", script)
                figures[name].append((seconds, megabytes))
            script.write_text(SIZES)
            sizes = asked(clone, place / "cache", script)[2]
    files, size, _ = printed.split()
    print(f"{files} files, {int(size) / 1e6:.1f} MB")
    print(f"characters of the default answers (about four to a token): {sizes}")
    for name, rows in figures.items():
        print(f"{name:18} {min(rows)[0]:6.2f} s  {min(held for _, held in rows):6.0f} MB")


def change_one_file(clone: Path) -> None:
    """Append a line to the largest tracked text file of the usual kinds, and commit it."""
    listed = subprocess.run(["git", "-C", str(clone), "ls-files"], capture_output=True, text=True, check=True)
    kinds = (".go", ".py", ".rs", ".java", ".c", ".rb", ".ts", ".md")
    files = [clone / name for name in listed.stdout.splitlines() if name.endswith(kinds)]
    largest = max(
        (file for file in files if file.is_file()), key=lambda file: min(file.stat().st_size, 1_000_000)
    )
    with largest.open("a", encoding="utf-8") as text:
        text.write("\n\n")
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    subprocess.run(["git", "-C", str(clone), *identity, "commit", "-qam", "one file"], check=True)


if __name__ == "__main__":
    main()
