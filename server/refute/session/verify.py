"""Recomputes every verdict of a session from its recorded files, and says where it claims otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from refute.errors import RefuteError
from refute.session.files import read_json
from refute.session.record import Session
from refute.session.report import render_report
from refute.session.report_page import report_page
from refute.session.verdicts import judge_scenario, verdict_document
from refute.verdict import Verdict, may_lower


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One thing that does not hold: the file, and what is wrong with it."""

    file: str
    what: str


@dataclass(frozen=True, slots=True)
class Verification:
    """The outcome: recomputed verdicts by scenario, how many files were compared, and every mismatch."""

    verdicts: dict[str, str]
    files: int
    mismatches: tuple[Mismatch, ...]


def verify_session(folder: Path) -> Verification:
    """Checks the digests of all recorded files, then every verdict and the report, by computing them again.

    A session that was never sealed has no digests to compare, which is itself a mismatch; its verdicts are
    recomputed all the same. Raises SessionError where the folder is no session at all.
    """
    session = Session.open(folder)
    mismatches = list(_digests(session))
    verdicts: dict[str, str] = {}
    for scenario in session.index.scenarios:
        mismatches += _scenario(session, scenario, verdicts)
    mismatches += _report(session)
    return Verification(verdicts, len(session.index.files), tuple(mismatches))


def _digests(session: Session) -> Iterator[Mismatch]:
    if not session.index.files:
        yield Mismatch("session.json", f"the session is {session.index.state} and was never sealed")
        return
    present = session.recorded_files()
    for name, expected in session.index.files.items():
        if name not in present:
            yield Mismatch(name, "the file is missing")
        elif present[name] != expected:
            yield Mismatch(name, "the file is not the one that was recorded: its digest has changed")
    for name in sorted(set(present) - set(session.index.files)):
        yield Mismatch(name, "the file was added after the session ended")


def _scenario(session: Session, scenario: str, verdicts: dict[str, str]) -> Iterator[Mismatch]:
    entry = session.index.scenarios[scenario]
    path = session.scenario_folder(scenario) / "verdict.json"
    name = path.relative_to(session.folder).as_posix()
    try:
        decision, _ = judge_scenario(session, scenario)
        computed = verdict_document(scenario, decision)
        verdicts[scenario] = decision.verdict.value
        if entry.verdict != decision.verdict.value:
            what = f"it says {entry.verdict} for {scenario}; the evidence says {decision.verdict.value}"
            yield Mismatch("session.json", what)
        recorded = read_json(path)
        if recorded != computed:
            claimed = recorded.get("verdict") if isinstance(recorded, dict) else recorded
            other = " with other reasons" if claimed == computed["verdict"] else ""
            yield Mismatch(name, f"it says {claimed}{other}; the evidence says {computed['verdict']}")
        if entry.lowered is not None and not may_lower(decision.verdict, Verdict(entry.lowered)):
            yield Mismatch(
                "session.json", f"{scenario}: {decision.verdict} may not be lowered to {entry.lowered}"
            )
    except (RefuteError, ValueError) as error:
        yield Mismatch(getattr(error, "where", None) or name, str(error))


def _report(session: Session) -> Iterator[Mismatch]:
    path = session.folder / "report.md"
    if not path.is_file():
        return
    try:
        if path.read_text(encoding="utf-8") != render_report(session):
            yield Mismatch("report.md", "the report is not the one that the recorded files give")
        page = session.folder / "report.html"
        if page.is_file() and page.read_text(encoding="utf-8") != report_page(render_report(session)):
            yield Mismatch("report.html", "the page is not the one that the recorded files give")
    except (RefuteError, ValueError, KeyError) as error:
        yield Mismatch("report.md", f"the report cannot be written again: {error}")
