"""Rules on the sections that argue: matrix, residual uncertainty, confidence, untested surfaces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from refute.plan.recorded_operations import kinds_of
from refute.plan.references import operation_kinds
from refute.plan.rows import ids_in
from refute.plan.rules.rule import Hit, Review, rule


@rule(
    "matrix-incomplete",
    "error",
    why="who reads the matrix takes what is absent for what does not exist",
    mend="add a row for the claim, or generate the matrix: `refute plan check --matrices`",
)
def matrix_incomplete(review: Review) -> Iterator[Hit]:
    """The coverage matrix leaves out a claim."""
    tables = [table for table in review.plan.tables if table.section == "5"]
    text = "\n".join(" ".join(row.cells) for table in tables for row in table.rows)
    for claim in review.plan.claims.values() if tables else ():
        if not review.names(text, claim.id):
            yield tables[0].line, "5", claim.id, f"{claim.id} is not in the coverage matrix"


@rule(
    "matrix-disagrees",
    "error",
    why="the matrix is what gets read, and it says otherwise than the plan",
    mend="mend the row, or generate the matrix",
)
def matrix_disagrees(review: Review) -> Iterator[Hit]:
    """A row of the coverage matrix names a claim, hypothesis or scenario that does not belong together."""
    plan = review.plan
    for table in plan.tables:
        if table.section != "5":
            continue
        for row in table.rows:
            names = {name for cell in row.cells for name in ids_in(cell)}
            claims = names & set(plan.claims)
            for name in sorted(names & set(plan.hypotheses)):
                if claims and not claims & set(plan.hypotheses[name].claims):
                    yield row.line, "5", name, f"{name} is not about {', '.join(sorted(claims))}"
            named = {trial.id: trial for name in names if (trial := review.trial_named(name))}
            for name, trial in sorted(named.items()):
                if claims and trial.claims and not claims & set(trial.claims):
                    yield row.line, "5", name, f"{name} does not try to falsify {', '.join(sorted(claims))}"
            for first in ids_in(row.cells[0])[:1]:
                if _like(first, plan.claims) and first not in plan.claims:
                    yield row.line, "5", first, f"{first} is no claim of section 1b"


@rule(
    "matrix-test-not-listed",
    "error",
    why="coverage by a test that section 3 does not list cannot be looked up",
    mend="list the test in section 3, or correct its name",
)
def matrix_test_not_listed(review: Review) -> Iterator[Hit]:
    """The coverage matrix leans on an existing test that section 3 does not list."""
    listed = review.text_of("3")
    for table in review.plan.tables:
        if table.section != "5":
            continue
        at = next((place for place, name in enumerate(table.header) if "test" in name.lower()), None)
        for row in table.rows if at is not None else ():
            for name in re.findall(r"`([^`]+)`", row.cells[at or 0]):
                if name not in listed:
                    yield row.line, "5", "", f"{name} is not listed in section 3"


@rule(
    "matrix-omits-test",
    "warning",
    why="section 3 says that a test covers the claim, and whoever reads the matrix does not hear of it",
    mend="name the test in the row of the claim, or correct section 3",
)
def matrix_omits_test(review: Review) -> Iterator[Hit]:
    """Section 3 lists a test for a claim whose row in the coverage matrix does not name it."""
    named = {claim: _tests_of_row(review, claim) for claim in review.plan.claims}
    for table in review.plan.tables:
        if table.section != "3":
            continue
        for row in table.rows:
            tests = set(re.findall(r"`([^`]+)`", row.cells[0]))
            said = " ".join(row.cells[1:])
            for claim, (line, cell) in named.items():
                if tests and line and "`" in cell and review.names(said, claim):
                    for test in sorted(test for test in tests if test not in cell):
                        yield line, "5", claim, f"{test} is listed in section 3 for {claim}"


def _tests_of_row(review: Review, claim: str) -> tuple[int, str]:
    """Line and tests of a claim's row in the coverage matrix; 0 and nothing where there is none."""
    for table in review.plan.tables:
        at = next((place for place, name in enumerate(table.header) if "test" in name.lower()), None)
        if table.section == "5" and at is not None:
            for row in table.rows:
                if review.names(row.cells[0], claim):
                    return row.line, row.cells[at]
    return 0, ""


@rule(
    "residual-names-nothing",
    "error",
    why="a row of 7c about a claim that does not exist hides the one that it was meant for",
    mend="name a claim of section 1b",
)
def residual_names_nothing(review: Review) -> Iterator[Hit]:
    """A row of residual uncertainty names a claim that does not exist."""
    for table in review.plan.tables:
        if table.section != "7c":
            continue
        for row in table.rows:
            for name in ids_in(row.cells[0]):
                if _like(name, review.plan.claims) and name not in review.plan.claims:
                    yield row.line, "7c", name, f"{name} is no claim of section 1b"


@rule(
    "residual-without-reason",
    "warning",
    why="what stays uncertain without a reason and a date stays uncertain for good",
    mend="fill the row: what stays unknown, why, when it is looked at again",
)
def residual_without_reason(review: Review) -> Iterator[Hit]:
    """A row of residual uncertainty has an empty cell."""
    for table in review.plan.tables:
        if table.section == "7c":
            for row in table.rows:
                if any(row.cells) and not all(row.cells):
                    empty = [name for name, cell in zip(table.header, row.cells, strict=True) if not cell]
                    yield row.line, "7c", "", f"nothing under {', '.join(empty)}"


@rule(
    "claim-without-confidence",
    "warning",
    why="7d is where somebody decides to ship: a claim that it does not name was not weighed",
    mend="say in 7d how sure the plan makes one of this claim, alone or in a range",
)
def claim_without_confidence(review: Review) -> Iterator[Hit]:
    """7d does not name a claim that scenarios test."""
    section = review.plan.section("7d")
    for claim in review.plan.claims.values() if section else ():
        if review.trials_of(claim.id) and not review.names(review.text_of("7d"), claim.id):
            yield section.line if section else 0, "7d", claim.id, f"7d does not weigh {claim.id}"


@rule(
    "scenario-without-adequacy",
    "warning",
    why=(
        "7b argues that the scenarios together are enough: one that it does not lean on is not part of the "
        "argument"
    ),
    mend="add a row to 7b: threat, scenario, fault",
)
def scenario_without_adequacy(review: Review) -> Iterator[Hit]:
    """7b leans on some scenarios and leaves out one that injects a fault."""
    section = review.plan.section("7b")
    text = review.text_of("7b")
    for trial in review.trials if section else ():
        if trial.families and not any(_spoken(review, text, name) for name in trial.names):
            yield section.line if section else 0, "7b", trial.id, f"7b does not lean on {trial.id}"


def _spoken(review: Review, text: str, name: str) -> bool:
    return review.names(text, name) or (" " in name and name.casefold() in text.casefold())


@rule(
    "untested-surface",
    "error",
    why="what no scenario touches may break every promise unnoticed",
    mend="use it in a scenario, or name it in 7d (or 8) as untested",
)
def untested_surface(review: Review) -> Iterator[Hit]:
    """A surface of the system is used by no scenario and not named in 7d."""
    plan = review.plan
    said = review.text_of("7c", "7d", "8")
    used: set[str] = set()
    everything = ""
    for scenario, _ in review.scenarios:
        used |= kinds_of(scenario, plan.systems.get(scenario.system))
        used |= {*scenario.surfaces, *(arm.surface or "" for arm in scenario.arms_)}
        everything += review.scenario_text(scenario.id)
    told = "\n".join(trial.text for trial in review.told)
    for name, system in plan.systems.items() if plan.scenarios else ():
        block = plan.system_blocks[name]
        for kind in sorted(operation_kinds(system) - used):
            if not review.names(said, kind) and not re.search(rf"\b{re.escape(kind)}:", everything):
                path = next(("clients", client, "http", "operations", kind) for client in system.clients)
                yield (
                    block.line_of(*path),
                    block.section,
                    name,
                    f"no scenario does {kind}, and 7d does not name it",
                )
    for line, surface in _listed_surfaces(review) if review.trials else ():
        # `search API` is used where `search` is done.
        by_a_word = any(review.names(surface, name) for name in used) or (
            told and (_BY_ANY_LOAD.fullmatch(surface) or _speaks_of(told, surface))
        )
        if surface not in used and not by_a_word and not review.names(said, surface):
            yield line, "1", "", f"the surface {surface!r} is neither tested nor named in 7d"


_BY_ANY_LOAD = re.compile(
    r"(?:get|put|read|write|set|delete|produce|consume|publish|subscribe|send|receive|query|insert|update)s?"
    r"(?: api)?|api|clients?",
    re.I,
)
"""What load in words uses without saying so."""


def _speaks_of(told: str, surface: str) -> bool:
    """Whether scenarios in words speak of a surface, in any form of its first word (`export`, `exports`)."""
    word = re.match(r"\w+", surface)
    stem = re.sub(r"(?:ing|es|s|e)$", "", word[0]) if word else ""
    return len(stem) > 2 and bool(re.search(rf"\b{re.escape(stem)}", told, re.I))


def _listed_surfaces(review: Review) -> Iterator[tuple[int, str]]:
    """Surfaces that sections 0 to 2 list: in a line `Surfaces: a, b`, or in a table with such a column."""
    for section in review.plan.sections:
        if section.number in ("0", "1", "2"):
            for number, line in section.lines:
                if found := re.search(r"\bsurfaces\W*:\s*([^.]*)", line, re.I):
                    for name in re.split(r",|;|\band\b", found[1]):
                        if bare := name.strip(" .`*_"):
                            yield number, bare
    for table in review.plan.tables:
        header = [name.lower() for name in table.header]
        if table.section in ("0", "1", "2") and "surface" in header:
            for row in table.rows:
                if bare := row.cells[header.index("surface")].strip(" `*_"):
                    yield row.line, bare


def _like(name: str, known: Iterable[str]) -> bool:
    """Whether a name is written like the ids of a plan's claims: same letters, then a number."""
    letters = {re.sub(r"\d.*", "", each) for each in known}
    return bool(re.fullmatch(r"[A-Za-z]+-?\d+\w*", name)) and re.sub(r"\d.*", "", name) in letters
