"""Rules on the files that a plan needs beside itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from refute.plan.rules.rule import Hit, Review, rule
from refute.plan.template_words import rendered

# A name may stand inside `sh -c "..."`; one that goes on with a further template or a pattern is left alone.
_BESIDE = re.compile(r"\{plan_dir\}/([^\s\"'{}:,;|&<>()$*?\[\]]++)(?![{$*?\[])")


@rule(
    "missing-file",
    "error",
    why="nothing can be started from a file that is not there, so that every attempt ends before it begins",
    mend="put the file beside the plan, or name the one that is there",
)
def missing_file(review: Review) -> Iterator[Hit]:
    """A command of the system or of a client names a file beside the plan that is not there."""
    if review.stands is None:
        return
    for system in review.plan.systems.values():
        block = review.plan.system_blocks[system.system]
        for path, text in rendered(system):
            for name in dict.fromkeys(_BESIDE.findall(text)):
                if not review.stands(name):
                    what = f"{'.'.join(path)} names {name}, which does not stand beside the plan"
                    yield block.line_of(*path), block.section, system.system, what
