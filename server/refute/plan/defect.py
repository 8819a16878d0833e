"""What is wrong with a plan: one defect, its place, why it matters and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing that is wrong with a plan.

    `rule` is a stable id (`unknown-key`, `untethered-hypothesis`), `line` counts from 1 (0: the whole file),
    `section` is the number that people cite (`1b`, `7.M`), `subject` the claim, hypothesis or scenario
    concerned, `what` one sentence on what is wrong here, `mend` what to write instead.
    """

    rule: str
    line: int
    section: str
    what: str
    mend: str = ""
    subject: str = ""
    severity: Severity = "error"

    def at(self, path: object) -> str:
        """`plan.md:118: section 7, S3: what is wrong (how to mend it) [rule]`."""
        place = ", ".join(part for part in (self.section and f"section {self.section}", self.subject) if part)
        where = f"{path or 'plan'}:{self.line}" if self.line else f"{path or 'plan'}"
        mend = f" ({self.mend})" if self.mend else ""
        return f"{where}: {place + ': ' if place else ''}{self.what}{mend} [{self.rule}]"
