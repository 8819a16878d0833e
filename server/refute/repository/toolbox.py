"""How a repository is tested today: runners, harnesses, fault hooks, CI, compose files, runbooks."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from refute.repository.claims import claims_of
from refute.repository.facts import FileFacts
from refute.repository.file_kinds import role_of
from refute.repository.mirror import RepositorySnapshot, SourceFile
from refute.repository.models import ClaimSet, Place, TestInventory, Toolbox, ToolboxEntry
from refute.repository.related_tests import strength_of
from refute.repository.runners import entries_of_file, is_opened
from refute.repository.sentences import words_of
from refute.repository.survey import Survey, survey

# Folder and file names that say what kind of harness lives below, the most telling first.
HARNESSES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("linearizability", re.compile(r"(jepsen|lineari[sz]ab|elle|knossos|porcupine|robustness|consistency[-_]?(?:test|check)|maelstrom)", re.I)),
    ("simulation", re.compile(r"(simulat|antithesis|\bdst\b|deterministic|madsim|turmoil|\bloom\b|shuttle|vopr|interaction[-_]?env|model[-_]?check)", re.I)),
    ("fault-injection", re.compile(r"(fault|failpoint|chaos|failover|nemesis|toxiproxy|local[-_]tester|kill|partition|crash|disrupt|lazyfs|gofail|"
                                   r"(?<![a-z])operations(?=/|$)|split[-_]?brain|byteman|buggify|sabotage|netem|blockade|recovery|resilien|disconnect)", re.I)),
    ("fuzz", re.compile(r"(fuzz|proptest|quickcheck|property[-_]?test|swarm)", re.I)),
    ("e2e", re.compile(r"(e2e|end[-_]to[-_]end|smoke|acceptance|system[-_]?tests?|ducktape|stress|soak|longevity|upgrade[-_]?tests?|rolling|regression)", re.I)),
    ("integration", re.compile(r"(integration|itest|functional|cluster|sentinel|compat|multi[-_]?node|(?:^|/)it(?=/|$))", re.I)),
    ("benchmark", re.compile(r"(bench|perf(?:ormance)?(?![a-z])|load[-_]?test|jmh|throughput)", re.I)),
)  # fmt: skip
_TEST_NAMED = re.compile(
    r"(recover|dedup|redeliver|failover|chaos|partition|crash|idempot|lineariz|jepsen|corrupt|kill|restart|split|brain|reconnect|rebalanc|"
    r"snapshot|membership|reconfig|election|norace|consisten|durab|atomic|upgrade|downgrade|shutdown|stress|fuzz|paper|retry|lease|"
    r"quorum|disconnect|flow[-_]?control|cluster|raft|paxos|consensus|replicat|leader|fenc|fail(?:ure|over|ed)|chaos)", re.I)  # fmt: skip
_RUNBOOK = re.compile(
    r"(post[-_]?mortem|runbook|playbook|operat(?:ions?|ing|or)|troubleshoot|disaster|recovery|failure|failover|workers?(?=\.)|admin\w*|"
    r"maintenance|monitoring|upgrad\w+|downgrad\w+|backup|restore|production|deploy\w*|sentinel|capacity|tuning|faq|ha(?=\.)|incident|internals)", re.I)  # fmt: skip
_MONITORING = re.compile(
    r"(alert|prometheus|grafana|mixin|dashboard)[^/]*(/|\.(ya?ml|json|libsonnet|jsonnet|rules)$)", re.I
)
_COMPOSE = re.compile(r"(^|/)(docker-)?compose[^/]*\.ya?ml$|(^|/)docker-compose[^/]*$", re.I)
_AGENTS = re.compile(
    r"(^|/)(AGENTS|CLAUDE|GEMINI|\.cursorrules|copilot-instructions)(\.md)?$|(^|/)\.(cursor|claude)/[^/]+/[^/]+\.md[c]?$"
)
_HELPER = re.compile(r"chaos|fault[-_]?inject|nemesis|failpoint|toxiproxy|fuzz", re.I)
_FORMAL = re.compile(r"\.(tla|p|qnt|ivy|als|pml|dfy)$")
_ORDER = ("test-runner", "linearizability", "simulation", "fault-injection", "e2e", "integration", "fuzz", "formal-model", "ci", "compose",
          "fault-hook", "runbook", "monitoring", "benchmark", "unit", "agent-instructions")  # fmt: skip
_SHARE = {"test-runner": 20, "linearizability": 8, "simulation": 8, "fault-injection": 20, "e2e": 14, "integration": 18, "fuzz": 8, "formal-model": 4,
          "ci": 20, "compose": 8, "fault-hook": 8, "runbook": 18, "monitoring": 5, "benchmark": 8, "unit": 8, "agent-instructions": 4}  # fmt: skip
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


def discover_toolbox(snapshot: RepositorySnapshot, *, claims: ClaimSet | None = None) -> Toolbox:
    """The ways to test the product that are there, ranked; the tests by subsystem; what has no test."""
    surveyed = survey(snapshot)
    claimed = claims if claims is not None else claims_of(snapshot, surveyed, top=40, keep=200)
    opened = {
        file.path: data.decode("utf-8", "replace")
        for file, data in snapshot.contents(f for f in snapshot.files if is_opened(f.path))
    }
    entries: list[ToolboxEntry] = []
    for path, text in opened.items():
        entries += entries_of_file(path, text)
    entries += _harness_folders(surveyed)
    entries += _single_files(snapshot.files, surveyed)
    entries += _hooks(surveyed)
    kept = [_filled(entry, opened) for entry in _ranked(_marked_deprecated(entries, opened))]
    present = {entry.kind for entry in kept} | {also for entry in kept for also in entry.also}
    notes = [snapshot.work_tree.sentence()] if snapshot.work_tree.sentence() else []
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


def _harness_folders(surveyed: Survey) -> Iterable[ToolboxEntry]:
    """Folders of tests, each as deep as its name still says something new."""
    tests: dict[str, int] = defaultdict(int)
    faulty: dict[str, int] = defaultdict(int)
    first: dict[str, str] = {}
    for file, facts in surveyed.files:
        if role_of(file.path) not in ("test", "tooling", "example", "code"):
            continue
        parts = file.path.split("/")[:-1]
        for depth in range(1, min(len(parts), 8) + 1):
            folder = "/".join(parts[:depth])
            if role_of(folder + "/x.go") == "test" or _harness_of(parts[depth - 1]):
                tests[folder] += len(facts.tests)
                faulty[folder] += sum(case.under_fault for case in facts.tests)
                first.setdefault(folder, file.path)
    for folder in sorted(first):
        name = folder.rsplit("/", 1)[-1]
        parent = folder.rpartition("/")[0]
        own = _harness_of(name)
        if own is None and (parent in first or (tests[folder] < 3 and "/" in folder)):
            continue
        if (
            own is not None
            and not tests[folder]
            and role_of(folder + "/x.go") == "code"
            and own not in ("simulation", "linearizability", "fault-injection", "benchmark")
        ):
            continue
        kind = own or "unit"
        inherited = next(
            (found for part in reversed(parent.split("/")) if (found := _harness_of(part))), None
        )
        yield ToolboxEntry(
            kind=kind, name=f"{folder}/", path=folder, line=1, end_line=1, working_directory=".",
            what=f"{tests[folder]} tests, {faulty[folder]} while something breaks; first file {first[folder]}",
            also=tuple(k for k in (inherited,) if k and k != kind),
            faults=("see the tests",) if faulty[folder] else (),
            command=_command_for(folder, first[folder]),
        )  # fmt: skip


def _harness_of(name: str) -> str | None:
    return next((kind for kind, pattern in HARNESSES if pattern.search(name)), None)


def _command_for(folder: str, example: str) -> str:
    """A command that runs the tests of the folder (or of the one file, where the runner can)."""
    extension = example.rsplit(".", 1)[-1]
    return {"go": f"go test ./{folder.rpartition('/')[0]}" if folder == example else f"go test ./{folder}/...", "py": f"pytest {folder}", "rs": "cargo test", "rb": f"bundle exec rake test TEST='{folder}/**/*.rb'",
            "ex": f"mix test {folder}", "exs": f"mix test {folder}", "ts": f"npx jest {folder}", "js": f"npm test -- {folder}",
            "java": "mvn test", "cs": "dotnet test", "erl": "make ct", "tcl": "./runtest"}.get(extension, "")  # fmt: skip


def _single_files(files: Sequence[SourceFile], surveyed: Survey) -> Iterable[ToolboxEntry]:
    monitored: set[str] = set()
    for file in files:
        path = file.path
        role = role_of(path)
        if role in ("vendored", "generated"):
            continue
        name = path.rsplit("/", 1)[-1]
        if _COMPOSE.search(path):
            yield _entry(
                "compose",
                name,
                path,
                f"docker compose -f {path} up",
                "a local cluster in containers",
                needs=("docker",),
            )
        elif _AGENTS.search(path):
            yield _entry("agent-instructions", name, path, "", "instructions for coding agents: read as data")
        elif _FORMAL.search(path):
            yield _entry("formal-model", name, path, "", "a formal model of the design")
        elif _MONITORING.search(path):
            folder = path.rpartition("/")[0]
            if folder in monitored or name.startswith((".", "OWNERS")):
                continue
            monitored.add(folder)
            yield _entry(
                "monitoring", name, path, "", "alerts or dashboards: thresholds that operators rely on"
            )
        elif re.search(r"prow|buildkite|jenkins(?!file)|travis|circleci", name, re.I) and path.endswith(
            (".md", ".rst", ".txt")
        ):
            yield _entry("ci", name, path, "", "CI that lives outside of the usual folders")
        elif (
            path.endswith((".md", ".rst", ".adoc", ".txt"))
            and role in ("document", "reference", "entry")
            and _RUNBOOK.search(name if role != "document" else path)
        ):
            yield _entry("runbook", name, path, "", "a guide for those who operate it")
        elif role == "example" and re.search(r"(procfile|vagrantfile|\.tf$)", name, re.I):
            yield _entry("compose", name, path, "", "a local cluster")
    for file, facts in surveyed.files:
        name = file.path.rsplit("/", 1)[-1]
        if (
            re.search(r"bench", name, re.I)
            and role_of(file.path) in ("test", "tooling")
            and facts.definitions
        ):
            yield _entry("benchmark", name, file.path, "", "a benchmark")
        if (
            not facts.tests
            and facts.definitions
            and _HELPER.search(name)
            and role_of(file.path) in ("test", "code", "tooling")
        ):
            yield _entry(
                _harness_of(name) or "fault-injection", name, file.path, "", "what a harness is made of"
            )
        if role_of(file.path) == "test" and facts.tests and _TEST_NAMED.search(name):
            under = sum(case.under_fault for case in facts.tests)
            kind = (
                _harness_of(name)
                or _harness_of(file.path)
                or ("fault-injection" if under * 2 > len(facts.tests) else "integration")
            )
            yield _entry(kind, name, file.path, _command_for(file.path, file.path), f"{len(facts.tests)} tests, {under} while something breaks",
                         line=facts.tests[0].line)  # fmt: skip


def _entry(
    kind: str, name: str, path: str, command: str, what: str, *, needs: tuple[str, ...] = (), line: int = 1
) -> ToolboxEntry:
    return ToolboxEntry(
        kind=kind, name=name, path=path, line=line, end_line=line, command=command, what=what, needs=needs
    )


def _hooks(surveyed: Survey) -> Iterable[ToolboxEntry]:
    for file, facts in surveyed.files:
        if role_of(file.path) not in ("code", "interface"):
            continue
        hooks = [(line, shown) for kind, line, shown in facts.marks if kind == "fault hook"]
        if hooks:
            yield ToolboxEntry(kind="fault-hook", name=hooks[0][1][:80], path=file.path, line=hooks[0][0], end_line=hooks[-1][0],
                               what=f"{len(hooks)} or more hooks in product code", faults=("what the hook names",))  # fmt: skip


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


def _ranked(entries: Iterable[ToolboxEntry]) -> list[ToolboxEntry]:
    """Kinds in turn, each with its share, so that no kind drowns the others; the shallow paths first."""
    by_kind: dict[str, list[ToolboxEntry]] = defaultdict(list)
    seen: set[tuple[str, str]] = set()
    for entry in entries:
        if (entry.kind, entry.path) not in seen:
            seen.add((entry.kind, entry.path))
            by_kind[entry.kind].append(entry)
    for rows in by_kind.values():
        rows.sort(key=_worth)
    order: list[ToolboxEntry] = []
    for take in range(max(_SHARE.values())):
        for kind in _ORDER:
            rows = by_kind.get(kind, [])
            each = max(1, _SHARE[kind] // 6)
            order += rows[take * each : (take + 1) * each] if take * each < _SHARE[kind] else []
    return order


def _worth(entry: ToolboxEntry) -> tuple[float, str]:
    depth = entry.path.count("/")
    worth = depth * 0.6 - (1.5 if entry.kind == "test-runner" and entry.command else 0.0)
    worth -= 1.0 if entry.path.endswith("/") or "." not in entry.path.rsplit("/", 1)[-1] else 0.0
    found = re.match(r"(\d+) tests?, (\d+)", entry.what)
    if found:
        worth -= min(int(found.group(1)), 40) * 0.02 + min(int(found.group(2)), 20) * 0.05
    if entry.kind == "ci":
        worth -= (
            1.0
            if re.search(
                r"test|ci|build|main|package|smoke|integration|fuzz|chaos|e2e|nightly",
                entry.path.rsplit("/", 1)[-1],
                re.I,
            )
            else 0.0
        )
        worth += (
            2.0
            if re.search(
                r"lint|stale|label|release|docker|codeql|scorecard|changelog|docs|semgrep|pre-?commit",
                entry.path.rsplit("/", 1)[-1],
                re.I,
            )
            else 0.0
        )
    if entry.kind == "runbook":
        worth -= (
            1.5
            if re.search(r"post-?mortem|runbook|workers|operat|disaster|recovery", entry.path, re.I)
            else 0.0
        )
    return worth, entry.path


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
    groups: dict[str, list[tuple[SourceFile, FileFacts]]] = defaultdict(list)
    for file, facts in surveyed.files:
        if facts.tests:
            groups["/".join(file.path.split("/")[:-1][:3]) or "."].append((file, facts))
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
