"""How closely a time and a memory limit are kept on histories that explode, search by search.

Usage: python benchmarks/bench_limits.py [SECONDS,...] [MEGABYTES,...]   (default 0.5,2 and 40,150)

Each check runs in a process of its own, so that the most it ever held is its own (read from the /proc of
Linux). A ratio is what was used over what was allowed; `decided` stands where a check came to an answer
within its limit.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.checkers.explosive import CASES

from refute.checkers import Budget, run_check
from refute.checkers.spending import resident_bytes
from refute.history import History


def measure(case: int, limit: str, amount: float) -> None:
    """Runs one check and prints what it used of its limit, and its answer."""
    _, checker, options, make = CASES[case]
    history = make()
    run_check(checker, History(history.operations[:3]), options)  # what is loaded once is not the check's
    seconds, megabytes = (amount, None) if limit == "time" else (60.0, amount)
    budget = Budget(seconds, None if megabytes is None else int(megabytes * 1e6))
    Path("/proc/self/clear_refs").write_text("5")  # forgets the most that was held so far
    held, began = resident_bytes(), time.monotonic()
    result = run_check(checker, history, options, budget=budget)
    took = time.monotonic() - began
    most = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")
    )
    grown = (int(most.split()[1]) * 1024 - held) / 1e6
    ratio = took / amount if limit == "time" else grown / amount
    spent = f"the {limit} limit" in result.reason
    print(f"{ratio:.2f}" if spent else f"decided: {result.valid} in {took:.1f} s")


def main() -> None:
    """Prints a line a search, with a ratio for each limit."""
    seconds = [float(s) for s in (sys.argv[1] if len(sys.argv) > 1 else "0.5,2").split(",")]
    megabytes = [float(m) for m in (sys.argv[2] if len(sys.argv) > 2 else "40,150").split(",")]
    limits = [("time", s) for s in seconds] + [("memory", m) for m in megabytes]
    heads = [f"{amount:g} {'s' if limit == 'time' else 'MB'}" for limit, amount in limits]
    print(f"{'':28}" + "".join(f"{head:>22}" for head in heads))
    for number, (name, *_) in enumerate(CASES):
        cells = []
        for limit, amount in limits:
            command = [sys.executable, __file__, "--one", str(number), limit, str(amount)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            cells.append(done.stdout.strip())
        print(f"{name:28}" + "".join(f"{cell:>22}" for cell in cells), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        measure(int(sys.argv[2]), sys.argv[3], float(sys.argv[4]))
    else:
        main()
