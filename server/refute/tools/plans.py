"""Tools on plans: what a reviewer would find, and a first plan from what a repository holds."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from refute.plan.check import check_plan_file
from refute.plan.citation import citations_in
from refute.plan.document import Plan
from refute.plan.matrices import (
    SUMMARY_FROM,
    claim_summary,
    coverage_matrix,
    environment_requirements,
    fault_matrix,
)
from refute.plan.scaffold import scaffold_plan as scaffold
from refute.tools.answer import MOST_CHARACTERS, Answer, Request, bounded
from refute.tools.found import citation_reader, found_of


class CheckPlanRequest(Request):
    """A plan, and the repository that its citations point into (optional).

    With `matrices` the answer holds what follows from the plan's data: claim by fault family, claim by
    evidence (counted by category where there are more than 50 claims), and what the scenarios need.
    """

    plan: str
    repository: str | None = None
    limit: int = Field(default=40, ge=1, le=500)
    matrices: bool = False


class PlanFault(Answer):
    """One thing that is wrong: rule, severity, where, what, and how to mend it."""

    rule: str
    severity: Literal["error", "warning"]
    line: int
    section: str
    subject: str
    what: str
    mend: str


class CheckedPlan(Answer):
    """The findings, worst first; the plan is fit to run where there is no error.

    `unreadable` counts blocks that are no YAML: of what they hold, nothing was judged.
    """

    plan: str
    ok: bool
    errors: int
    warnings: int
    faults: list[PlanFault]
    left_out: int
    unreadable: int
    citations_read: bool
    matrices: dict[str, str] = Field(default_factory=dict)

    def text(self) -> str:
        """One line a finding, as compilers print them."""
        lines = [f"{self.plan}: {self.errors} errors, {self.warnings} warnings"]
        for fault in self.faults:
            place = " ".join(part for part in (f"section {fault.section}", fault.subject) if part)
            mend = f" ({fault.mend})" if fault.mend else ""
            where = f"{self.plan}:{fault.line}: {fault.severity}: {place}"
            lines.append(f"{where}: {fault.what}{mend} [{fault.rule}]")
        if self.left_out:
            lines.append(f"{self.left_out} more left out: mend these first, or ask for more (limit, --limit)")
        if self.unreadable:
            lines.append(f"of {self.unreadable} blocks that are no YAML nothing was judged: mend these first")
        if not self.citations_read:
            lines.append("its citations were not read again: name their repository (--repository)")
        for title, matrix in self.matrices.items():
            lines += ["", f"{title}:", "", matrix.rstrip()]
        return "\n".join(lines)


def check_plan(request: CheckPlanRequest) -> CheckedPlan:
    """What an experienced reviewer would find in a plan. Raises PlanError where it cannot be read."""
    reader = citation_reader(Path(request.repository)) if request.repository else None
    checked = check_plan_file(Path(request.plan), read_citation=reader, limit=request.limit)
    return CheckedPlan(
        plan=request.plan,
        ok=checked.ok,
        errors=checked.errors,
        warnings=checked.warnings,
        faults=[
            PlanFault(
                rule=defect.rule,
                severity=defect.severity,
                line=defect.line,
                section=defect.section,
                subject=defect.subject,
                what=defect.what,
                mend=defect.mend,
            )
            for defect in checked.defects
        ],
        left_out=checked.left_out,
        unreadable=checked.unreadable,
        citations_read=reader is not None or not any(citations_in(each) for each in _sources(checked.plan)),
        matrices=_matrices(checked.plan) if request.matrices else {},
    )


def _sources(plan: Plan) -> tuple[str, ...]:
    """What the claims and the suspects of a plan cite."""
    claims = (claim.source for claim in plan.claims.values())
    return (*claims, *(hypothesis.suspect for hypothesis in plan.hypotheses.values()))


def _matrices(plan: Plan) -> dict[str, str]:
    many = len(plan.claims) > SUMMARY_FROM
    made = {
        "faults by claim": fault_matrix(plan),
        "coverage": claim_summary(plan) if many else coverage_matrix(plan),
        "environment": environment_requirements(plan),
    }
    return {title: bounded(matrix.markdown(), MOST_CHARACTERS // len(made)) for title, matrix in made.items()}


class ScaffoldPlanRequest(Request):
    """A repository, a slug for the plan, and the change that it is about (none: the whole project)."""

    repository: str
    slug: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    change: str | None = None
    output: str | None = None


class ScaffoldedPlan(Answer):
    """A first plan: cited facts filled in, places left open for judgement; in `path` if one was given."""

    path: str | None
    needed: bool
    open_places: int
    plan: str


def scaffold_plan(request: ScaffoldPlanRequest) -> ScaffoldedPlan:
    """A first plan from claims, map, toolbox and change scope. Never replaces a file that is there."""
    from refute.repository.change_scope import revision_to_open, scope_change
    from refute.repository.claims import extract_claims
    from refute.repository.mirror import open_repository
    from refute.repository.repository_map import map_repository
    from refute.repository.toolbox import discover_toolbox
    from refute.tools.problems import ToolError

    revision = revision_to_open(request.change) if request.change else "HEAD"
    with open_repository(Path(request.repository), revision=revision) as snapshot:
        claims = extract_claims(snapshot)
        scope = scope_change(snapshot, request.change) if request.change else None
        found = found_of(claims, map_repository(snapshot), discover_toolbox(snapshot, claims=claims), scope)
    first = scaffold(found, request.slug)
    if request.output:
        path = Path(request.output)
        if path.exists() or path.is_symlink():  # a link to nowhere would be followed to some other place
            raise ToolError("the file is there already", where=path, hint="name another, or move it away")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(first.text, encoding="utf-8")
    return ScaffoldedPlan(
        path=request.output,
        needed=first.needed,
        open_places=first.text.count("TODO(judge)"),
        plan="" if request.output else first.text,
    )
