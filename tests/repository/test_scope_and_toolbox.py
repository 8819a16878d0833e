"""What a change touches, and how a repository is tested."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.repository.change_scope import revision_to_open, scope_change
from refute.repository.mirror import open_repository
from refute.repository.models import ChangeScope, Toolbox
from refute.repository.problems import RepositoryError
from refute.repository.repository_map import map_repository
from refute.repository.toolbox import discover_toolbox
from tests.repository.repositories import commit_files, git

STORE = """package store

// Append writes the entry. An acknowledged entry must never be lost after a crash.
func Append(entry Entry) error {
\tif err := file.Sync(); err != nil {
\t\treturn err
\t}
\treturn nil
}
"""
SERVER = """package server

func Handle(request Request) error {
\treturn store.Append(request.Entry)
}
"""
TESTS = """package store

func TestAppendSurvivesCrash(t *testing.T) {
\tcrash()
\tif got != want { t.Fatal("lost") }
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "store/store.go": STORE,
        "server/server.go": SERVER,
        "store/store_test.go": TESTS,
        "README.md": "# x\n",
    }
    return commit_files(tmp_path / "product", files)


def scope_of(folder: Path, change: str) -> ChangeScope:
    with open_repository(
        folder, cache=folder.parent / "cache", revision=revision_to_open(change)
    ) as snapshot:
        return scope_change(snapshot, change)


def test_a_change_of_product_code_names_symbols_claims_callers_and_tests(folder: Path) -> None:
    commit_files(folder, {"store/store.go": STORE.replace("file.Sync()", "file.Flush()")})
    found = scope_of(folder, "HEAD")
    assert found.needs_distributed_test
    assert [file.symbols for file in found.files] == [("Append",)]
    assert [item.path for item in found.callers] == ["server/server.go"]
    assert [test.name for test in found.tests] == ["TestAppendSurvivesCrash"]
    assert found.tests[0].strength == "under fault"
    commit_files(folder, {"store/store.go": STORE.replace("never be lost", "not be lost")})
    touched = scope_of(folder, "HEAD").claims
    assert {(claim.symbol, claim.channel) for claim in touched} == {
        ("Append", "doc-comment"),
        ("Append", "code"),
    }


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"README.md": "# y\nWrites are always kept.\n"}, "Only documents changed"),
        ({"store/store.go": STORE.replace("writes the entry", "appends the entry")}, "Only comments"),
        ({"store/store.go": STORE.replace("\treturn nil", "\n\treturn nil")}, "Only comments, formatting"),
        ({"store/store_test.go": TESTS.replace("lost", "gone")}, "Only tests changed"),
        ({".github/workflows/ci.yml": "on: push\n"}, "Only build files, CI"),
    ],
)
def test_a_quiet_change_needs_no_distributed_test(folder: Path, files: dict[str, str], why: str) -> None:
    commit_files(folder, files)
    found = scope_of(folder, "HEAD")
    assert not found.needs_distributed_test
    assert why in found.why


PYTHON = """class Broker:
    def enqueue(self, message):
        \"\"\"Puts a message on the queue.\"\"\"
        return self.client.push(message)  # blocks
"""


@pytest.mark.parametrize(
    ("before", "after", "needed"),
    [
        ("Puts a message", "Appends a message", False),
        ("queue.", "queue.\n\n        It is persisted.\n        ", False),
        ("# blocks", "# may block", True),  # the line holds code as well
        ("push(message)", "push(message, 1)", True),
    ],
)
def test_a_doc_string_is_a_comment_and_code_beside_one_is_not(
    folder: Path, before: str, after: str, needed: bool
) -> None:
    commit_files(folder, {"broker.py": PYTHON})
    commit_files(folder, {"broker.py": PYTHON.replace(before, after)})
    assert scope_of(folder, "HEAD").needs_distributed_test is needed


@pytest.mark.parametrize("path", ["store.gemspec", "pyproject.toml", "docs/conf.py"])
def test_manifests_and_the_code_of_documents_are_not_the_product(folder: Path, path: str) -> None:
    commit_files(folder, {path: "x = 1\n"})
    assert "Only build files" in scope_of(folder, "HEAD").why


def test_a_comment_that_a_compiler_obeys_is_code(folder: Path) -> None:
    commit_files(folder, {"store/store.go": "//go:build linux\n\n" + STORE})
    assert scope_of(folder, "HEAD").needs_distributed_test


def test_a_comment_mark_inside_code_is_not_a_quiet_change(folder: Path) -> None:
    commit_files(folder, {"store/store.go": STORE.replace("\treturn nil\n}", "\t// return nil\n}")})
    assert scope_of(folder, "HEAD").needs_distributed_test


def test_ranges_branches_and_renames_are_understood(folder: Path) -> None:
    git(folder, "checkout", "-q", "-b", "topic")
    git(folder, "mv", "server/server.go", "server/handle.go")
    commit_files(folder, {})
    commit_files(folder, {"store/store.go": STORE.replace("Sync", "Flush")})
    assert {file.path for file in scope_of(folder, "topic").files} == {"server/handle.go", "store/store.go"}
    assert {file.path for file in scope_of(folder, "main..topic").files} == {
        "server/handle.go",
        "store/store.go",
    }
    assert [file.status for file in scope_of(folder, "HEAD~1").files] == ["renamed"]
    assert not scope_of(folder, "HEAD~1").needs_distributed_test


def test_a_file_that_becomes_a_link_keeps_the_lines_of_its_neighbours_apart(folder: Path) -> None:
    (folder / "server/server.go").unlink()
    (folder / "server/server.go").symlink_to("../store/store.go")
    commit_files(folder, {"store/store.go": STORE.replace("Sync", "Flush"), "a.bin": b"\0\1"})
    found = {file.path: (file.status, file.added, file.removed) for file in scope_of(folder, "HEAD").files}
    assert found["store/store.go"] == ("modified", 1, 1)
    assert found["server/server.go"] == ("modified", 1, 5)
    assert found["a.bin"] == ("added", 0, 0)


def test_the_first_commit_has_a_scope(folder: Path) -> None:
    assert len(scope_of(folder, "HEAD").files) == 4


@pytest.mark.parametrize("change", ["", "nonsense", "-p", "HEAD..nonsense"])
def test_a_change_that_is_none_is_refused(folder: Path, change: str) -> None:
    with open_repository(folder, cache=folder.parent / "cache") as snapshot, pytest.raises(RepositoryError):
        scope_change(snapshot, change)


WORKFLOW = """name: nightly
on:
  schedule:
    - cron: '0 3 * * *'
jobs:
  chaos:
    steps:
      - uses: retry
        with:
          max_attempts: 3
      - run: make chaos SEED=7
"""


@pytest.fixture
def toolbox(tmp_path: Path) -> Toolbox:
    files = {
        "Makefile": "build:\n\tgo build\n\ntest: build\n\tgo test ./...\n\nchaos:\n\t./chaos.sh\n",
        ".github/workflows/nightly.yml": WORKFLOW,
        "deploy/docker-compose.yml": "services: {}\n",
        "tests/robustness/kill_test.go": TESTS,
        "tools/bridge-faults/README.md": "# Deprecated\nThis is deprecated.\n",
        "tools/bridge-faults/faults.sh": "#!/bin/sh\nkill -9 $1\n",
        "store/store.go": STORE.replace("\tif err", "\t// gofail: var beforeSync struct{}\n\tif err"),
        "docs/operations/disaster-recovery.md": "# Recovery\nRestore the backup.\n",
        "AGENTS.md": "Run make test.\n",
        "server/cluster_test.go": TESTS,
        "server/parser_fuzz_test.go": "package server\n\nfunc FuzzParser(f *testing.F) {\n\tf.Fatal()\n}\n",
        "harness/ChaosContainer.java": "class ChaosContainer {\n  void pause() {\n  }\n}\n",
        "microbenchmarks/Run.java": "class Run {\n  void run() {\n  }\n}\n",
        "runtest": "#!/bin/sh\nexec ./run\n",
        "spec/queue.tla": "---- MODULE queue ----\n",
    }
    folder = commit_files(tmp_path / "product", files)
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        return discover_toolbox(snapshot)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("Makefile", "test-runner"),
        ("Makefile", "fault-injection"),
        ("runtest", "test-runner"),
        (".github/workflows/nightly.yml", "ci"),
        ("deploy/docker-compose.yml", "compose"),
        ("tests/robustness", "linearizability"),
        ("tools/bridge-faults/faults.sh", "fault-injection"),
        ("store/store.go", "fault-hook"),
        ("docs/operations/disaster-recovery.md", "runbook"),
        ("AGENTS.md", "agent-instructions"),
        ("server/cluster_test.go", "integration"),
        ("server/parser_fuzz_test.go", "fuzz"),
        ("harness/ChaosContainer.java", "fault-injection"),
        ("microbenchmarks", "benchmark"),
        ("spec/queue.tla", "formal-model"),
    ],
)
def test_the_toolbox_finds(toolbox: Toolbox, path: str, kind: str) -> None:
    assert (path, kind) in {(entry.path, entry.kind) for entry in toolbox.entries}


def test_an_entry_says_command_line_trigger_and_status(toolbox: Toolbox) -> None:
    by_kind = {(entry.path, entry.kind): entry for entry in toolbox.entries}
    make = by_kind["Makefile", "test-runner"]
    assert (make.command, make.line) == ("make test", 4)
    nightly = by_kind[".github/workflows/nightly.yml", "ci"]
    assert nightly.command.startswith("make chaos")
    assert nightly.trigger == "schedule (0 3 * * *)"
    assert nightly.status.startswith("masked by retries")
    assert "deprecated" in by_kind["tools/bridge-faults/faults.sh", "fault-injection"].status
    assert "simulation" in toolbox.absent


def test_an_entry_says_what_judges_it_what_breaks_and_which_ci_runs_it(toolbox: Toolbox) -> None:
    by_kind = {(entry.path, entry.kind): entry for entry in toolbox.entries}
    chaos = by_kind["Makefile", "fault-injection"]
    assert (chaos.command, chaos.trigger) == ("make chaos", "CI: .github/workflows/nightly.yml")
    assert chaos.oracle
    assert by_kind["Makefile", "test-runner"].trigger == ""
    assert by_kind["server/parser_fuzz_test.go", "fuzz"].oracle.startswith("no crash")


def test_the_inventory_counts_tests_under_fault(toolbox: Toolbox) -> None:
    group = next(group for group in toolbox.inventory if group.subsystem == "tests/robustness")
    assert (group.tests, group.under_fault) == (1, 1)


def test_the_map_names_surfaces_persistence_and_where_to_start(folder: Path, tmp_path: Path) -> None:
    commit_files(
        folder, {"api/api.proto": 'syntax = "proto3";\nservice KV {\n  rpc Put (A) returns (B);\n}\n'}
    )
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        found = map_repository(snapshot)
    kinds = {item.kind: item for item in found.items}
    assert kinds["rpc"].path == "api/api.proto"
    assert kinds["persistence"].path == "store/store.go"
    assert {part.path for part in found.components} == {"store", "server", "api"}
    assert [place.path for place in found.entry_documents] == ["README.md"]
    assert "[storage]" in found.diagram
    assert "auth" in found.absent
