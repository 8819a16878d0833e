"""How tests are run in each language's build: commands, tasks, working directories, and what is no harness."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.repository.build_targets import tasks_in
from refute.repository.harnesses import harness_of, is_part_of_a_harness
from refute.repository.mirror import open_repository
from refute.repository.models import Toolbox, ToolboxEntry
from refute.repository.test_commands import BuildFiles, command_for
from refute.repository.toolbox import discover_toolbox
from tests.repository.repositories import commit_files


def toolbox_of(tmp_path: Path, files: dict[str, str]) -> Toolbox:
    folder = commit_files(tmp_path / "product", {"README.md": "x\n", **files})
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        return discover_toolbox(snapshot)


def runner_of(tmp_path: Path, files: dict[str, str]) -> ToolboxEntry:
    """The one test runner of a repository with these files."""
    found = [entry for entry in toolbox_of(tmp_path, files).entries if entry.kind == "test-runner"]
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("path", "others", "command", "where"),
    [
        ("src/test/java/LogTest.java", ("build.gradle", "gradlew"), "./gradlew test --tests '*LogTest'", "."),
        ("src/test/java/LogTest.java", ("pom.xml", "mvnw"), "./mvnw test -Dtest=LogTest", "."),
        ("client/src/test/LogTest.java", ("client/pom.xml",), "mvn test -Dtest=LogTest", "client"),
        ("src/test/kotlin/LogTest.kt", ("build.gradle.kts",), "gradle test --tests '*LogTest'", "."),
        ("src/test/java/LogTest.java", ("BUILD.bazel",), "", "."),
        ("spec/log_spec.rb", ("Gemfile",), "bundle exec rspec spec/log_spec.rb", "."),
        ("test/log_test.rb", ("Gemfile",), "bundle exec ruby -Itest test/log_test.rb", "."),
        ("test/log_test.exs", ("mix.exs",), "mix test test/log_test.exs", "."),
        ("test/test_helper.exs", ("mix.exs",), "", "."),
        ("demo/test/log_test.exs", ("mix.exs", "demo/mix.exs"), "mix test test/log_test.exs", "demo"),
        ("tests/LogTest.php", ("composer.json",), "vendor/bin/phpunit tests/LogTest.php", "."),
        ("tests/LogTest.php", ("composer.json", "tests/Pest.php"), "vendor/bin/pest tests/LogTest.php", "."),
        ("tests/A/LogTests.cs", ("tests/A/A.csproj",), "dotnet test --filter FullyQualifiedName~LogTests", "tests/A"),
        ("Tests/ATests/LogTests.swift", ("Package.swift",), "swift test --filter LogTests", "."),
        ("src/log.zig", ("build.zig",), "zig build test", "."),
        ("store/log_test.go", ("go.mod",), "go test ./store", "."),
        ("tools/x/log_test.go", ("go.mod", "tools/go.mod"), "go test ./x", "tools"),
    ],
)  # fmt: skip
def test_the_command_fits_the_build_around_a_test(
    path: str, others: tuple[str, ...], command: str, where: str
) -> None:
    assert command_for(path, path, BuildFiles.of((path, *others))) == (command, where)


@pytest.mark.parametrize(
    ("name", "text", "asked", "tasks"),
    [
        (
            "build.zig",
            'const a = b.step("test", "Run");\nb.step("fuzz", "x");\n',
            "zig build",
            ["test", "fuzz"],
        ),
        ("build.sbt", 'addCommandAlias(\n  "testAll", "test")\n', "sbt", ["testAll"]),
        (
            "mix.exs",
            'def project do\n  [\n    aliases: ["test.all": ["test", "test.pools"], "test.pools": &pools/1]\n  ]\n',
            "mix",
            ["test.all", "test.pools"],
        ),
        (
            "mix.exs",
            'defp aliases do\n  [\n    "test.ci": ["format", "test"],\n    bench: "run bench.exs"\n  ]\nend\n',
            "mix",
            ["test.ci", "bench"],
        ),
        ("composer.json", '{"scripts": {"test": "phpunit", "fix": "x"}}', "composer", ["test", "fix"]),
        ("composer.json", '{"scripts": []}', "composer", []),
        (
            "rakefile",
            "RSpec::Core::RakeTask.new(:spec)\nRake::TestTask.new do |t|\nend\ntask :chaos do\nend\n",
            "bundle exec rake",
            ["spec", "test", "chaos"],
        ),
    ],
)
def test_tasks_of_build_files_are_named(name: str, text: str, asked: str, tasks: list[str]) -> None:
    found_asked, found = tasks_in(name, text)
    assert (found_asked, [task for task, _ in found]) == (asked, tasks)
    assert all(task in text.split("\n")[line - 1].lower() for task, line in found if task.islower())


@pytest.mark.parametrize(
    ("files", "command", "where"),
    [
        ({"Product.slnx": "<Solution/>\n"}, "dotnet test Product.slnx", "."),
        ({".rspec": "--require spec_helper\n"}, "bundle exec rspec", "."),
        ({"composer.json": '{"scripts": {"test": "phpunit"}}', "a/b/c/composer.json": "{}"}, "composer test", "."),
        ({"Rakefile": "RSpec::Core::RakeTask.new(:spec)\n"}, "bundle exec rake spec", "."),
        ({"part/build.gradle.kts": "plugins {}\n", "gradlew": "#!/bin/sh\n"}, "./gradlew -p part test", "."),
        ({"part/build.gradle": "x\n", "part/gradlew": "#!/bin/sh\n"}, "./gradlew test", "part"),
    ],
)  # fmt: skip
def test_a_runner_is_found_with_the_command_that_works(
    tmp_path: Path, files: dict[str, str], command: str, where: str
) -> None:
    found = runner_of(tmp_path, files)
    assert (found.command, found.working_directory) == (command, where)


def test_a_folder_without_tests_has_no_command(tmp_path: Path) -> None:
    files = {"bench/Load.cs": "class Load {\n  void Run() {\n  }\n}\n", "bench/bench.csproj": "<Project/>\n"}
    found = [entry for entry in toolbox_of(tmp_path, files).entries if entry.path == "bench"]
    assert [(entry.kind, entry.command) for entry in found] == [("benchmark", "")]


def test_a_job_that_installs_a_runner_does_not_run_it(tmp_path: Path) -> None:
    steps = "jobs:\n  a:\n    steps:\n      - run: pip install pytest mypy\n      - uses: gradle/actions/wrapper-validation@v6\n      - run: mix test.all\n"
    found = toolbox_of(tmp_path, {".github/workflows/ci.yml": "on: push\n" + steps}).entries
    assert [entry.command for entry in found if entry.kind == "ci"] == ["mix test.all"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("DependencyInjectionTest.kt", None),
        ("ModuleParametersInjector.kt", None),
        ("iosSimulatorArm64.", None),
        ("FaultInjectionTest.kt", "fault-injection"),
        ("ErrorInjector.cs", "fault-injection"),
        ("NetworkSimulator.swift", "simulation"),
    ],
)
def test_what_wires_objects_or_shows_a_phone_is_no_harness(name: str, kind: str | None) -> None:
    assert harness_of(name) == kind
    assert is_part_of_a_harness(name) is (kind == "fault-injection")
