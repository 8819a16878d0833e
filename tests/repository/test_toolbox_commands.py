"""The commands of the toolbox would run, where it says; what only sounds like a harness is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.repository.mirror import open_repository
from refute.repository.models import Toolbox, ToolboxEntry
from refute.repository.runners import entries_of_file
from refute.repository.test_cases import tests_in as cases_in
from refute.repository.test_commands import BuildFiles, command_for
from refute.repository.toolbox import discover_toolbox
from tests.repository.repositories import commit_files

GRADLE = ("gradlew", "build.gradle", "settings.gradle", "a/a.gradle", "b/build.gradle.kts")


@pytest.mark.parametrize(
    ("place", "example", "files", "command", "folder"),
    [
        # a choice of tests fails the build of every module that has none of them
        ("a/src/test/java/XTest.java", "", GRADLE, "./gradlew -p a test --tests '*XTest'", "."),
        ("b/src/integrationTest/kotlin/XTest.kt", "", GRADLE, "./gradlew -p b integrationTest --tests '*XTest'", "."),
        ("b/src/commonTest/kotlin/XTest.kt", "", GRADLE, "./gradlew -p b jvmTest --tests '*XTest'", "."),
        ("a/src/test", "a/src/test/java/XTest.java", GRADLE, "./gradlew -p a test", "."),
        ("a/src/main/java/XTest.java", "", GRADLE, "", "."),  # inherited by the tests of other modules
        ("src/test/scala/XTest.scala", "", GRADLE, "./gradlew test --tests '*XTest'", "."),
        ("m/src/test/java/XTest.java", "", ("pom.xml", "m/pom.xml"), "mvn test -pl m -am -Dtest=XTest -Dsurefire.failIfNoSpecifiedTests=false", "."),
        ("m/src/test/java/XIT.java", "", ("pom.xml", "m/pom.xml"), "mvn verify -pl m -am -Dit.test=XIT -Dfailsafe.failIfNoSpecifiedTests=false", "."),
        ("src/test/java/XTest.java", "", ("pom.xml",), "mvn test -Dtest=XTest", "."),
        # a module of its own is not part of the one at the root
        ("tests", "tests/e2e/x_test.go", ("go.mod", "tests/go.mod"), "go test ./...", "tests"),
        ("tests", "tests/e2e/x_test.go", ("go.mod", "tests/e2e/go.mod"), "", "."),
        ("src/cart/tests", "src/cart/tests/XTests.cs", ("src/cart/tests/t.csproj",), "dotnet test", "src/cart/tests"),
        ("src/test", "src/test/A/XTests.cs", ("src/test/A/t.csproj",), "", "."),
        ("c/d/tests/heavy.rs", "", ("Cargo.toml", "c/d/Cargo.toml"), "cargo test --test heavy", "c/d"),
        ("c/d/tests/e2e/main.rs", "", ("Cargo.toml", "c/d/Cargo.toml"), "cargo test --test e2e", "c/d"),
        ("c/d/tests/e2e/part.rs", "", ("Cargo.toml", "c/d/Cargo.toml"), "cargo test", "c/d"),
        ("c/d/benches/log.rs", "", ("c/d/Cargo.toml",), "cargo bench --bench log", "c/d"),
        ("c/x.rs", "", (), "", "."),
        ("p/test/a.test.ts", "", ("package.json", "p/package.json", "p/vitest.config.ts"), "npx vitest run test/a.test.ts", "p"),
        ("test/a.test.ts", "", ("package.json", ".mocharc.json"), "npx mocha test/a.test.ts", "."),
        ("test/a.test.ts", "", ("package.json",), "npm test -- test/a.test.ts", "."),
        ("Tests/NetTests", "Tests/NetTests/ATests.swift", ("Package.swift",), "swift test --filter NetTests", "."),
    ],
)  # fmt: skip
def test_the_command_is_that_of_the_package(
    place: str, example: str, files: tuple[str, ...], command: str, folder: str
) -> None:
    assert command_for(place, example or place, BuildFiles.of([*files, example or place])) == (
        command,
        folder,
    )


@pytest.mark.parametrize(
    ("path", "text", "executable", "command"),
    [
        ("scripts/chaos.sh", "#!/bin/bash\nkill -9 1\n", True, "./scripts/chaos.sh"),
        ("scripts/chaos.sh", "#!/bin/bash\nkill -9 1\n", False, "bash scripts/chaos.sh"),
        ("scripts/chaos.py", "#!/usr/bin/env python3\n", False, "python3 scripts/chaos.py"),
        ("scripts/chaos.rb", "Kill.all\n", True, "ruby scripts/chaos.rb"),
        ("scripts/run-test", "kill -9 1\n", False, ""),
    ],
)
def test_a_script_is_started_as_the_system_can(path: str, text: str, executable: bool, command: str) -> None:
    assert [entry.command for entry in entries_of_file(path, text, executable=executable)] == [command]


def test_code_of_a_library_about_tests_is_no_script() -> None:
    assert not list(entries_of_file("lib/redlock/testing.rb", "module Redlock\nend\n"))
    assert list(entries_of_file("lib/redlock/verify.rb", "#!/usr/bin/env ruby\nputs 1\n"))


WORKFLOW = """\
on: push
jobs:
  skip:
    continue-on-error: true
    steps:
      - run: echo
  unit:
    description: "arguments of swift test in this job"
    steps:
      - run: mix test
"""


def test_what_masks_another_job_or_is_said_of_a_command_is_not_told_of_the_tests() -> None:
    (entry,) = entries_of_file(".github/workflows/a.yml", WORKFLOW)
    assert (entry.command, entry.line, entry.status) == ("mix test", 10, "active")
    forgiven = WORKFLOW.replace("    description", "    continue-on-error: true\n    description")
    (entry,) = entries_of_file(".github/workflows/a.yml", forgiven)
    assert entry.status == "masked by retries (line 8)"


def toolbox_of(folder: Path, files: dict[str, str]) -> Toolbox:
    commit_files(folder, files)
    with open_repository(folder, cache=folder.parent / "cache") as snapshot:
        return discover_toolbox(snapshot)


def entry_at(found: Toolbox, path: str) -> ToolboxEntry | None:
    return next((entry for entry in found.entries if entry.path == path), None)


def test_what_only_sounds_like_a_harness(tmp_path: Path) -> None:
    code = "public class X {\n  void run() { go(); }\n}\n"
    found = toolbox_of(
        tmp_path / "product",
        {
            "src/main/java/a/StageInjectionTransform.java": code,
            "src/main/java/a/LatencyInjector.java": code,
            "src/main/java/a/OracleImageFinder.java": code,
            "src/main/java/a/HistoryChecker.java": code,
            "src/main/java/a/jackson/mixin/PipelineMixin.java": code,
            "shop/testing.py": "class InMemory:\n    def run(self):\n        go()\n",
            "src/test/java/a/KafkaFixture.java": code,
            "src/test/java/a/PlatformSuite.java": code,
            "src/loadgenerator/locustfile.py": "def run():\n    pass\n",
            "grafana/dash.json": "{}\n",
            "skaffold.yaml": "apiVersion: a\n",
            "pom.xml": "<project/>\n",
        },
    )
    kinds = {entry.path.rpartition("/")[2]: entry.kind for entry in found.entries}
    assert kinds["LatencyInjector.java"] == "fault-injection"
    assert kinds["HistoryChecker.java"] == "oracle"
    assert kinds["PlatformSuite.java"] == "integration"
    assert kinds["testing.py"] == "integration"  # what stands in for a part, no hook and no script
    assert kinds["dash.json"] == "monitoring"
    assert kinds["locustfile.py"] == "benchmark"
    assert not {"StageInjectionTransform.java", "OracleImageFinder.java", "PipelineMixin.java"} & kinds.keys()
    fixture, cluster = entry_at(found, "src/test/java/a/KafkaFixture.java"), entry_at(found, "skaffold.yaml")
    assert fixture is not None
    assert fixture.command == ""  # it holds no test
    assert cluster is not None
    assert cluster.command == "skaffold run"


@pytest.mark.parametrize(
    ("body", "broken"),
    [
        ("enqueue()\n  assert received()\n  stop_process(sup)", False),
        ("stop_process(leader)\n  assert elected()", True),
        ("kill(leader)\n  wait()", True),
        ("assert owner_of(partitions[3]) == partition_owner", False),
        ("network_partition(a, b)\n  assert a.count(1) == 2", True),
        ("partition_leader()\n  assert elected()", True),
        ("FlakyConnection.set_latency(conn, 1000)\n  enqueue()", True),
    ],
)
def test_something_breaks_while_something_is_looked_at(body: str, broken: bool) -> None:
    text = f'test "a long enough name" do\n  {body}\nend'
    (case,) = cases_in(text.split("\n"), "elixir", ())
    assert case.under_fault is broken
