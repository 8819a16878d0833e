"""A remembered fact is never another reader's."""

from __future__ import annotations

import re
from pathlib import Path

from refute.repository import facts, fingerprint

IMPORTED = re.compile(r"^from refute\.repository\.(\w+) import", re.M)


def test_every_module_that_reads_a_file_is_part_of_the_readers_version() -> None:
    room = Path(facts.__file__).parent
    waiting, reached = ["facts"], set[str]()
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += IMPORTED.findall((room / f"{name}.py").read_text(encoding="utf-8"))
    assert reached - {"fingerprint"} == set(fingerprint._READERS)  # which names the version itself
