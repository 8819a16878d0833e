"""Matrices made from a plan's data: claim by fault family, claim by evidence, and what the scenarios need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from refute.plan.document import Claim, Plan
from refute.plan.families import FAMILIES, families_of, faults_of, steps_of
from refute.plan.rules.rule import Review
from refute.plan.step import CommandStep
from refute.plan.writer import table_row

SUMMARY_FROM = 50
"""A plan with more claims than this gets a summary instead of being read row by row."""

GAPS = (
    "no scenario",
    "no hypothesis",
    "no fault",
    "stated as uncertain",
    "not run",
    "failed",
    "inconclusive",
    "none",
)
"""Kinds of gap in the coverage matrix, the widest first; a claim has the first that holds."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A table of strings; `markdown()` is what a plan or a report holds."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """The matrix as a Markdown table."""
        rule = "|" + "|".join("---" for _ in self.header) + "|"
        return "\n".join([table_row(self.header), rule, *(table_row(row) for row in self.rows)]) + "\n"


def fault_matrix(plan: Plan) -> Matrix:
    """Claim by fault family: which scenarios try this claim under it. O(claims × families).

    Only families that some scenario injects have a column; the last column lists the scenarios without fault.
    """
    injected = {scenario.id: families_of(scenario) for scenario in plan.scenarios.values()}
    used = [name for name in FAMILIES if any(name in families for families in injected.values())]
    used += sorted({name for families in injected.values() for name in families} - set(FAMILIES))
    rows = []
    for claim in plan.claims.values():
        trying = [scenario.id for scenario in plan.scenarios.values() if claim.id in scenario.falsifies]
        cells = [", ".join(name for name in trying if family in injected[name]) or "-" for family in used]
        calm = ", ".join(name for name in trying if not injected[name]) or "-"
        rows.append((claim.id, *cells, calm))
    return Matrix(("claim", *used, "no fault"), tuple(rows))


def coverage_matrix(plan: Plan, verdicts: Mapping[str, str] | None = None) -> Matrix:
    """Claim by hypotheses, scenarios, existing tests, verdict and kind of gap (see GAPS).

    `verdicts` maps scenarios to the names of verdicts; without it every scenario counts as not run.
    """
    return Matrix(
        ("claim", "hypotheses", "scenarios", "existing tests", "verdict", "gap"),
        tuple(_coverage(plan, claim, verdicts or {}) for claim in plan.claims.values()),
    )


def _coverage(plan: Plan, claim: Claim, verdicts: Mapping[str, str]) -> tuple[str, ...]:
    review = Review(plan)
    about = [hypothesis.id for hypothesis in plan.hypotheses.values() if claim.id in hypothesis.claims]
    trying = review.scenarios_of(claim.id)
    given = [verdicts.get(scenario.id, "NOT-RUN") for scenario in trying]
    return (
        claim.id,
        ", ".join(about) or "-",
        ", ".join(scenario.id for scenario in trying) or "-",
        ", ".join(_existing_tests(plan, review, claim)) or "-",
        ", ".join(dict.fromkeys(given)) or "-",
        _gap(review, claim, bool(about), given),
    )


def _existing_tests(plan: Plan, review: Review, claim: Claim) -> list[str]:
    named = [
        row.cells[0]
        for table in plan.tables
        if table.section == "3"
        for row in table.rows
        if any(review.names(cell, claim.id) for cell in row.cells[1:])
    ]
    return named + [text for key, text in claim.extra.items() if "test" in key]


def _gap(review: Review, claim: Claim, suspected: bool, given: list[str]) -> str:
    trying = review.scenarios_of(claim.id)
    if not trying:
        return "stated as uncertain" if review.names(review.text_of("7c"), claim.id) else "no scenario"
    if any(verdict.startswith("FAIL") for verdict in given):
        return "failed"
    if not suspected:
        return "no hypothesis"
    if not any(review.families[scenario.id] for scenario in trying):
        return "no fault"
    if all(verdict == "NOT-RUN" for verdict in given):
        return "not run"
    return "none" if all(verdict.startswith("PASS") for verdict in given) else "inconclusive"


def claim_summary(plan: Plan, verdicts: Mapping[str, str] | None = None) -> Matrix:
    """Claims counted by category: how many there are, are tried, are stated as uncertain, and by kind of gap.

    For plans with more than SUMMARY_FROM claims, where the matrices are too long to be read.
    """
    counts: dict[str, dict[str, int]] = {}
    for claim in plan.claims.values():
        gap = _coverage(plan, claim, verdicts or {})[-1]
        row = counts.setdefault(claim.category or "-", {})
        row[gap] = row.get(gap, 0) + 1
    gaps = [gap for gap in GAPS if any(gap in row for row in counts.values())]
    rows = [
        (category, str(sum(row.values())), *(str(row.get(gap, 0)) for gap in gaps))
        for category, row in sorted(counts.items())
    ]
    total = [sum(row.get(gap, 0) for row in counts.values()) for gap in gaps]
    rows.append(("all", str(len(plan.claims)), *map(str, total)))
    return Matrix(("category", "claims", *gaps), tuple(rows))


_NEEDS = {
    "process": "processes of our own",
    "proxy": "nothing: TCP proxies between nodes",
    "netns": "Linux; user namespaces or root; nft",
    "storage": "depends on the fault; power loss needs root and loop mounts, or FUSE",
    "clock": "a program that links the C library (not Go, not static)",
    "resource": "writable cgroups",
    "toxiproxy": "a running toxiproxy",
    "chaos-mesh": "Kubernetes with Chaos Mesh",
}


def environment_requirements(plan: Plan) -> Matrix:
    """What the scenarios need of a machine, each with the scenarios that need it."""
    needed: dict[str, list[str]] = {}
    for scenario in plan.scenarios.values():
        for fault, _ in faults_of(scenario):
            need = _NEEDS.get(fault.plane, "see the fault catalog")
            needed.setdefault(f"fault plane {fault.plane}: {need}", []).append(scenario.id)
        if any(isinstance(step, CommandStep) for step, _ in steps_of(scenario)):
            needed.setdefault(f"the commands of {scenario.system}", []).append(scenario.id)
        if system := plan.systems.get(scenario.system):
            nodes, ports = len(system.everyone), len(system.everyone) * len(system.ports)
            program = system.command[0] if system.command else ""
            needed.setdefault(f"{nodes} processes of {program}, {ports} free ports", []).append(scenario.id)
            for name in system.versions:
                needed.setdefault(f"the version {name} of {scenario.system}", []).append(scenario.id)
            for client in system.clients.values():
                if client.worker:
                    needed.setdefault(f"the worker {client.worker.command[0]}", []).append(scenario.id)
    rows = tuple((need, ", ".join(dict.fromkeys(names))) for need, names in sorted(needed.items()))
    return Matrix(("needed", "by"), rows)
