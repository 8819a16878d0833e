"""The report of a session and one page a finding: the same bytes each time from the same files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2

from refute import resources
from refute.history import Landing, Signal
from refute.plan.document import Plan
from refute.plan.reader import read_plan
from refute.session.attempt_spec import AttemptSpec
from refute.session.files import plain, read_json, write_text
from refute.session.picture.conflict import recorded_conflicts
from refute.session.picture.write import attempt_page
from refute.session.record import ScenarioEntry, Session
from refute.session.report_page import report_page

_MOST_OPERATIONS = 12


@dataclass(frozen=True, slots=True)
class AttemptView:
    """One attempt as the report shows it: plain data out of `spec.yaml`, `check.json` and `audit.json`."""

    path: str
    spec: AttemptSpec
    evidence: dict[str, Any]
    results: list[dict[str, Any]]

    @property
    def violated(self) -> bool:
        """Whether a checker found a violation."""
        return any(result["valid"] is False for result in self.results)

    @property
    def faults(self) -> list[dict[str, Any]]:
        """The faults of this attempt: whether each landed, and the signals that moved, computed again."""
        found = []
        for recorded in self.evidence["landings"]:
            signals = tuple(Signal(**signal) for signal in recorded["signals"])
            landing = Landing(**{**recorded, "targets": tuple(recorded["targets"]), "signals": signals})
            moved = [plain(signal) for signal in signals if signal.moved]
            found.append({**recorded, "moved": moved, "landed": landing.landed})
        return found


@dataclass(frozen=True, slots=True)
class ScenarioView:
    """One scenario as the report shows it."""

    entry: ScenarioEntry
    reasons: list[dict[str, str]]
    claims: list[dict[str, str]]
    attempts: list[AttemptView] = field(default_factory=list)

    @property
    def failing(self) -> AttemptView | None:
        """The first attempt in which something was violated."""
        return next((attempt for attempt in self.attempts if attempt.violated), None)

    @property
    def shown(self) -> AttemptView | None:
        """The attempt whose evidence stands for the scenario: the failing one, else the first run."""
        runs = (attempt for attempt in self.attempts if attempt.spec.mode == "run")
        return self.failing or next(runs, None)


def render_report(session: Session) -> str:
    """The whole report as Markdown. Raises SessionError where a file that it needs is missing or damaged."""
    plan = read_plan(session.folder / "plan.md")
    views = [_view(session, plan, entry) for entry in session.index.scenarios.values()]
    return _template("report.md.j2").render(session=session, index=session.index, plan=plan, scenarios=views)


def write_report(session: Session) -> Path:
    """Writes `report.md`, the same as a page, and two pages for each finding; the path of `report.md`."""
    plan = read_plan(session.folder / "plan.md")
    for entry in session.index.scenarios.values():
        if entry.verdict.startswith("FAIL"):
            view = _view(session, plan, entry)
            text = _template("finding.md.j2").render(session=session, index=session.index, scenario=view)
            write_text(session.folder / "findings" / f"{entry.id}.md", text)
            if view.failing is not None:
                page = attempt_page(
                    session.folder / view.failing.path,
                    recorded_conflicts(view.failing.results),
                    title=f"{entry.id}: {entry.name}",
                    answer=f"{entry.verdict}, attempt {view.failing.spec.attempt}",
                )
                write_text(session.folder / "findings" / f"{entry.id}.html", page)
    path = session.folder / "report.md"
    text = render_report(session)
    write_text(session.folder / "report.html", report_page(text))
    write_text(path, text)
    return path


def _view(session: Session, plan: Plan, entry: ScenarioEntry) -> ScenarioView:
    verdict_path = session.scenario_folder(entry.id) / "verdict.json"
    reasons = read_json(verdict_path)["reasons"] if verdict_path.is_file() else []
    claims = [
        {"id": claim, "text": plan.claims[claim].text if claim in plan.claims else ""}
        for claim in entry.falsifies
    ]
    return ScenarioView(entry, reasons, claims, list(_attempts(session, entry.id)))


def _attempts(session: Session, scenario: str) -> Iterator[AttemptView]:
    for folder in session.attempts(scenario):
        if (folder / "check.json").is_file():
            yield AttemptView(
                folder.relative_to(session.folder).as_posix(),
                AttemptSpec.read(folder / "spec.yaml"),
                read_json(folder / "audit.json")["evidence"],
                read_json(folder / "check.json")["results"],
            )


def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(resources.folder("prompts") / "documents"),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # Markdown: every foreign text goes through `cell`
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"cell": _cell, "operations": _operation_rows, "reading": _reading}
    return environment.get_template(name)


def _cell(value: Any, limit: int = 240) -> str:
    """The value on one line of a table: what a system answered is quoted and must not shape the report."""
    text = value if isinstance(value, str) else _json(value)
    text = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("`", "'")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _json(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _reading(signal: dict[str, Any]) -> str:
    after = "" if signal["after"] is None else f" → {_cell(signal['after'], 40)}"
    readings = f"{_cell(signal['before'], 40)} → {_cell(signal['during'], 40)}{after}"
    return f"{_cell(signal['name'], 80)} at {_cell(signal['source'], 60)}: {readings}"


def _operation_rows(operations: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Rows of a table of operations, times in milliseconds from the first invocation."""
    if not operations:
        return []
    start = min(operation["invoked_ns"] for operation in operations)
    rows = []
    for operation in operations[:_MOST_OPERATIONS]:
        end = operation["completed_ns"]
        key = "" if operation["key"] is None else f" {_cell(operation['key'], 40)}"
        rows.append(
            {
                "process": _cell(str(operation["process"])),
                "node": _cell(operation["node"] or ""),
                "what": f"{_cell(operation['kind'])}{key} {_cell(operation['input'], 80)}".strip(),
                "outcome": operation["outcome"],
                "answer": _cell(operation["output"], 80) or _cell(operation["error"] or "", 80),
                "from_ms": f"{(operation['invoked_ns'] - start) / 1e6:.1f}",
                "to_ms": "" if end is None else f"{(end - start) / 1e6:.1f}",
            }
        )
    return rows
