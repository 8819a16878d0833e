"""How a repository is tested today: runners, harnesses, fault hooks, CI, compose files, runbooks."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from refute.repository.claims import claims_of
from refute.repository.facts import FileFacts
from refute.repository.file_kinds import role_of
from refute.repository.harness_places import places_for_tests
from refute.repository.models import ClaimSet, Place, TestInventory, Toolbox, ToolboxEntry
from refute.repository.notices import notices
from refute.repository.related_tests import strength_of
from refute.repository.runners import entries_of_file, is_opened
from refute.repository.sentences import words_of
from refute.repository.snapshot import RepositorySnapshot
from refute.repository.source_file import SourceFile
from refute.repository.survey import Survey, survey
from refute.repository.test_commands import BuildFiles
from refute.repository.toolbox_order import ranked

_EXPECTED = (
    "linearizability",
    "simulation",
    "fault-injection",
    "fuzz",
    "e2e",
    "integration",
    "ci",
    "compose",
    "fault-hook",
    "runbook",
)

# A folder with more than this says nothing of subsystems: its files do.
_FILES_OF_A_CROWD, _TESTS_OF_A_CROWD = 3, 40


def discover_toolbox(snapshot: RepositorySnapshot, *, claims: ClaimSet | None = None) -> Toolbox:
    """The ways to test the product that are there, ranked; the tests by subsystem; what has no test."""
    surveyed = survey(snapshot)
    claimed = claims if claims is not None else claims_of(snapshot, surveyed, keep=200)
    opened = {
        file.path: data.decode("utf-8", "replace")
        for file, data in snapshot.contents(f for f in snapshot.files if is_opened(f.path))
    }
    executable = {file.path for file in snapshot.files if file.executable}
    entries: list[ToolboxEntry] = []
    builds = BuildFiles.of(file.path for file in snapshot.files)
    for path, text in opened.items():
        entries += entries_of_file(path, text, builds, executable=path in executable)
    entries += places_for_tests(snapshot.files, surveyed, builds)
    kept = [_filled(entry, opened) for entry in ranked(_marked_deprecated(entries, opened))]
    present = {entry.kind for entry in kept} | {also for entry in kept for also in entry.also}
    notes = list(notices(snapshot))
    return Toolbox(
        name=snapshot.name,
        commit=snapshot.label,
        entries=tuple(kept),
        inventory=tuple(_inventory(surveyed)),
        gaps=tuple(_gaps(claimed)),
        absent=tuple(kind for kind in _EXPECTED if kind not in present),
        left_out=surveyed.left_out,
        notes=tuple(notes),
    )


def _marked_deprecated(entries: Iterable[ToolboxEntry], opened: dict[str, str]) -> Iterable[ToolboxEntry]:
    old = {path.rpartition("/")[0] for path, text in opened.items()
           if path.rsplit("/", 1)[-1].lower().startswith("readme") and re.search(r"\bdeprecated\b|no longer maintained|unmaintained", text[:1500], re.I)}  # fmt: skip
    for entry in entries:
        folder = entry.path if entry.path in old else entry.path.rpartition("/")[0]
        yield (
            entry.model_copy(update={"status": "deprecated (its README says so)"})
            if folder and folder in old
            else entry
        )


_ORACLES = {
    "linearizability": "a checker of the recorded history",
    "simulation": "invariants of the simulator, replayed by its seed",
    "fault-injection": "assertions of the tests after the fault",
    "fuzz": "no crash and no failed assertion on any input",
    "formal-model": "the invariants of the model",
    "benchmark": "none: it measures",
}
_FAULT_NAMED = re.compile(
    r"kill|crash|partition|restart|disconnect|pause|corrupt|latency|slow|disk|clock|netsplit|failover|drop|delay|upgrade|fenc",
    re.I,
)


def _filled(entry: ToolboxEntry, opened: dict[str, str]) -> ToolboxEntry:
    """The entry with its oracle, the faults that its name tells, and the CI files that run it."""
    told = tuple(dict.fromkeys(found.lower() for found in _FAULT_NAMED.findall(f"{entry.path} {entry.name}")))
    update: dict[str, object] = {
        "oracle": entry.oracle or _ORACLES.get(entry.kind, ""),
        "faults": entry.faults if entry.faults and not told else told,
    }
    if entry.kind not in ("ci", "runbook", "agent-instructions", "monitoring") and not entry.trigger:
        asked = [
            text
            for text in (
                entry.command if len(entry.command) > 8 else "",
                entry.path if "/" in entry.path else "",
            )
            if text
        ]
        runs = [
            path
            for path, text in opened.items()
            if role_of(path) == "ci" and any(word in text for word in asked)
        ]
        update["trigger"] = f"CI: {', '.join(runs[:3])}" if runs else ""
    return entry.model_copy(update=update)


def _inventory(surveyed: Survey) -> Iterable[TestInventory]:
    folders: dict[str, list[tuple[SourceFile, FileFacts]]] = defaultdict(list)
    for file, facts in surveyed.files:
        if facts.tests:
            folders["/".join(file.path.split("/")[:-1][:3]) or "."].append((file, facts))
    groups: dict[str, list[tuple[SourceFile, FileFacts]]] = {}
    for folder, rows in folders.items():
        if len(rows) >= _FILES_OF_A_CROWD and sum(len(facts.tests) for _, facts in rows) >= _TESTS_OF_A_CROWD:
            groups.update({file.path: [(file, facts)] for file, facts in rows})
        else:
            groups[folder] = rows
    for name, rows in sorted(
        groups.items(), key=lambda group: -sum(len(facts.tests) for _, facts in group[1])
    )[:40]:
        cases = [(file, case) for file, facts in rows for case in facts.tests]
        ordered = sorted(
            cases, key=lambda row: (not row[1].under_fault, not row[1].asserts, -len(words_of(row[1].name)))
        )
        where, case = ordered[0]
        yield TestInventory(
            subsystem=name,
            tests=len(cases),
            asserting=sum(strength_of(case) != "name only" for _, case in cases),
            under_fault=sum(strength_of(case) == "under fault" for _, case in cases),
            pins=tuple(dict.fromkeys(" ".join(words_of(case.name)) for _, case in ordered))[:5],
            example=Place(path=where.path, line=case.line, end_line=case.end_line),
        )


def _gaps(claims: ClaimSet) -> Iterable[str]:
    """Claims of the first hundred for which no test was found that asserts while something breaks."""
    for claim in claims.claims[:100]:
        strengths = {test.strength for test in claim.related_tests}
        if claim.category in ("performance", "operational", "boundary") or "under fault" in strengths:
            continue
        missing = "only tests without a fault" if "asserts" in strengths else "no test found"
        yield f"{claim.id} ({claim.category}; {missing}): {claim.sentence[:140]}"
