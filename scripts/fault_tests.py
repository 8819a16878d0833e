"""The table of fault tests, made of the marks that the tests carry; see CONTRIBUTING.md, "A new fault".

Run as a program it names the faults that lack a test, and then its exit code is 1.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PLACES = ("tests/nemesis", "tests/systems")

Shown = Mapping[tuple[str, str], Mapping[str, list[str]]]
"""(plane, kind) to what is shown (landing, not landing, nothing left) to links to the tests."""

_HEAD = """\
<!-- Written by scripts/write_references.py from the tests themselves. Do not edit. -->
# Tests of the faults

For each fault that refute can inject: the tests in which it lands on a real process, those in which it is
made not to land and the evidence says so, and those after which it was looked whether anything is left. A
test is listed for what its mark says, and it fails where it did not see that very thing while it ran.
"""


class _Collector:
    def __init__(self) -> None:
        self.shown: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note what each collected test shows."""
        from tests.fault_marks import claims_of

        for item in session.items:
            path = item.path.relative_to(ROOT)
            name = getattr(item, "originalname", item.name)
            for claim in claims_of(item):
                tests = self.shown[claim.plane, claim.kind][claim.shows]
                link = f"[{name.removeprefix('test_')}](../{path})"
                if link not in tests:
                    tests.append(link)


def collected() -> Shown:
    """What the tests show of each fault. Raises ValueError where they cannot be collected."""
    collector = _Collector()
    sys.path.insert(0, str(ROOT))
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        places = [str(ROOT / place) for place in PLACES]
        status = pytest.main(
            ["--collect-only", "-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}", *places],
            plugins=[collector],
        )
    if status != 0:
        raise ValueError(f"the tests cannot be collected:\n{said.getvalue()[-3000:]}")
    return collector.shown


def rendered(shown: Shown) -> str:
    """docs/fault-tests.md."""
    from tests.fault_marks import SHOWS

    from refute.nemesis.mechanisms import implemented
    from refute.plan.fault_catalog import CATALOG

    there = implemented()
    parts = [_HEAD]
    for plane in dict.fromkeys(plane for plane, _ in CATALOG):
        kinds = [kind for its_plane, kind in CATALOG if its_plane == plane]
        parts.append(f"\n## {plane}\n\n| fault | needs | {' | '.join(SHOWS)} |\n|---|---|---|---|---|\n")
        for kind in kinds:
            if (plane, kind) not in there:
                parts.append(f"| {kind} | not written yet | | | |\n")
                continue
            tests = shown.get((plane, kind), {})
            cells = ["<br>".join(sorted(tests.get(each, []))) or "**none**" for each in SHOWS]
            parts.append(f"| {kind} | {CATALOG[plane, kind].needs} | {' | '.join(cells)} |\n")
    return "".join(parts)


def gaps(shown: Shown) -> list[str]:
    """Faults that are written and lack a test; marks of faults that are not written."""
    from tests.fault_marks import SHOWS

    from refute.nemesis.mechanisms import implemented

    there = implemented()
    missing = [
        f"{plane} {kind}: no test shows {each}"
        for plane, kind in sorted(there)
        for each in SHOWS
        if not shown.get((plane, kind), {}).get(each)
    ]
    return missing + [
        f"{plane} {kind}: there is no such mechanism" for plane, kind in sorted(shown.keys() - there)
    ]


def main() -> int:
    """Exit code: 1 where a fault that is written lacks a test."""
    found = gaps(collected())
    sys.stdout.writelines(f"{gap}\n" for gap in found)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
