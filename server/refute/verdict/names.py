"""The ten verdicts, the reason codes beside them, and the order by which one may be lowered."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What the recorded evidence says about one scenario."""

    PASS_SMOKE = "PASS-smoke"
    PASS_HARDENING = "PASS-hardening"
    FAIL_REPRODUCIBLE = "FAIL-reproducible"
    FAIL_NONDETERMINISTIC = "FAIL-nondeterministic"
    INCONCLUSIVE_ENV = "INCONCLUSIVE-env"
    INCONCLUSIVE_ORACLE = "INCONCLUSIVE-oracle-too-weak"
    INCONCLUSIVE_FAULT = "INCONCLUSIVE-fault-not-proven"
    PARTIAL_SURFACE = "PARTIAL-surface"
    PARTIAL_MODEL = "PARTIAL-model"
    NOT_RUN = "NOT-RUN"

    @property
    def passed(self) -> bool:
        """True for the two PASS verdicts."""
        return self in (Verdict.PASS_SMOKE, Verdict.PASS_HARDENING)

    @property
    def failed(self) -> bool:
        """True for the two FAIL verdicts."""
        return self in (Verdict.FAIL_REPRODUCIBLE, Verdict.FAIL_NONDETERMINISTIC)


_STRENGTH = {
    Verdict.PASS_HARDENING: 3,
    Verdict.PASS_SMOKE: 2,
    Verdict.PARTIAL_SURFACE: 1,
    Verdict.PARTIAL_MODEL: 1,
    Verdict.INCONCLUSIVE_ENV: 0,
    Verdict.INCONCLUSIVE_ORACLE: 0,
    Verdict.INCONCLUSIVE_FAULT: 0,
    Verdict.NOT_RUN: 0,
}


def may_lower(computed: Verdict, wanted: Verdict) -> bool:
    """Whether a person or an agent may put `wanted` in the place of `computed`.

    Only down, and only among verdicts that claim less: a FAIL is evidence, so it is neither made by
    hand nor talked away.
    """
    if computed.failed or wanted.failed:
        return False
    return _STRENGTH[wanted] < _STRENGTH[computed]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a verdict is what it is: a stable code, and a sentence with the numbers."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict and its reasons, the decisive one first. `rate` is `k of n` for a failure that was rerun."""

    verdict: Verdict
    reasons: tuple[Reason, ...]
    rate: tuple[int, int] | None = None
