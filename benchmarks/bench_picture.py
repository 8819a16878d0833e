"""How large the picture of a history is, and how long writing one takes: 1,000 to 100,000 operations."""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.session.pictures import long_history

from refute.session.picture.conflict import Conflict
from refute.session.picture.page import timeline_page


def main() -> None:
    for count in (1_000, 10_000, 100_000):
        history = long_history(count)
        lit = (Conflict("linearizable", "stale read", "an old value", (10, count // 2)),)
        times = []
        for _ in range(5):
            began = time.perf_counter()
            page = timeline_page(history, lit, title="a benchmark")
            times.append(time.perf_counter() - began)
        print(f"{count:>7,} operations: {len(page) / 1e6:5.2f} MB, {sorted(times)[2]:.2f} s")


if __name__ == "__main__":
    main()
