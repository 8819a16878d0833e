"""Whether a job that runs by itself reaches a test: yes, no, or that it cannot be told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from refute.repository.ci_jobs import steps_in
from refute.repository.ci_reach import TestsInCi, ci_reach
from refute.repository.ci_yaml import UnreadableYamlError, read_yaml
from refute.repository.mirror import open_repository
from refute.repository.shell_text import commands_in
from tests.repository.repositories import commit_files

HEAD = "jobs:\n  test:\n    steps:\n"


def plain_folder(folder: Path, files: Mapping[str, str]) -> Path:
    """A folder that is no repository: nothing is started to read it."""
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return folder


def answers(tmp_path: Path, files: Mapping[str, str], *asked: str) -> list[str]:
    with open_repository(plain_folder(tmp_path / "a", files), cache=tmp_path / "cache") as snapshot:
        tests = TestsInCi(snapshot)
        return [tests.of(path).answer for path in asked]


def job(run: str, on: str = "push", more: str = "") -> dict[str, str]:
    return {".github/workflows/ci.yml": f"on: {on}\n{HEAD}      - run: {run}\n{more}"}


@pytest.mark.parametrize(
    ("run", "path", "answer"),
    [
        ("go test ./...", "a/b_test.go", "yes"),
        ("go test ./server/...", "server/x/a_test.go", "yes"),
        ("go test ./server/...", "client/a_test.go", "no"),
        ("go test ./server", "server/x/a_test.go", "no"),
        ("go test ./... -run TestLease", "a_test.go", "unknown"),
        ("go test -run=XXX -bench=. ./...", "a_test.go", "unknown"),  # no job runs tests at all
        ("cd server && go test ./...", "server/a_test.go", "yes"),
        ("cd server && go test ./...", "a_test.go", "no"),
        ("pytest tests/unit", "tests/unit/test_a.py", "yes"),
        ("pytest tests/unit", "tests/slow/test_a.py", "no"),
        ("pytest -k lease", "tests/test_a.py", "unknown"),
        ("mvn -B verify", "core/src/test/java/a/LeaseTest.java", "yes"),
        ("mvn -B verify", "core/src/test/java/a/LeaseIT.java", "unknown"),
        ("mvn -B test -pl core", "core/src/test/java/a/LeaseTest.java", "unknown"),
        ("./gradlew check", "core/src/test/java/a/LeaseTest.java", "yes"),
        ("./gradlew :core:test", "web/src/test/java/a/LeaseTest.java", "no"),
        ("bundle exec rspec", "spec/a_spec.rb", "yes"),
        ("mix test", "test/a_test.exs", "yes"),
        ("dotnet test", "tests/A/LeaseTests.cs", "yes"),
        ("dotnet test --filter Category=Fast", "tests/A/LeaseTests.cs", "unknown"),
        ("sbt test", "core/src/test/scala/a/LeaseSpec.scala", "yes"),
        ("vendor/bin/phpunit", "tests/LeaseTest.php", "yes"),
        ("swift test", "Tests/A/LeaseTests.swift", "yes"),
        ("rebar3 ct", "test/lease_SUITE.erl", "yes"),
        ("go test -test.run TestLease ./...", "a_test.go", "unknown"),
        ("swift test --filter=Lease", "Tests/A/LeaseTests.swift", "unknown"),
        ("./gradlew test --tests=Lease", "src/test/java/a/LeaseTest.java", "unknown"),
        ("./gradlew build -x :a:test", "a/src/test/java/a/LeaseTest.java", "unknown"),
        ("./gradlew test --dry-run", "src/test/java/a/LeaseTest.java", "unknown"),
        ("ctest", "tests/lease.cc", "unknown"),  # which of them are registered, the build says
        ("true || go test ./...", "a_test.go", "unknown"),
        ("cd a && go test ./...", "a/a_test.go", "yes"),
        ("test -n $FULL && go test ./...", "a_test.go", "unknown"),
        ("if make; then go test ./...; fi", "a_test.go", "unknown"),
        ("if go test ./...; then true; fi", "a_test.go", "yes"),
        ("if true; then true; fi; go test ./...", "a_test.go", "yes"),
        ("case $X in a) go test ./... ;; esac", "a_test.go", "unknown"),
        ("case $X in a) true ;; esac; go test ./...", "a_test.go", "yes"),
        ("test -d a && (true; true) && go test ./...", "a_test.go", "unknown"),
        ("which go || { true; exit 1; }; go test ./...", "a_test.go", "yes"),
        ("which go && { true; go test ./...; }", "a_test.go", "unknown"),
        ("exit 0; go test ./...", "a_test.go", "unknown"),
        ("test -d a || exit 1; go test ./...", "a_test.go", "yes"),
        ("test -d a && (cd a; go test ./...)", "a/a_test.go", "unknown"),
        ("go test ./...", "testdata/a_test.go", "no"),
        ("go test ./...", "vendor/x/a_test.go", "no"),
        ("go test ./...", "a_windows_test.go", "unknown"),
        ("npx jest lease", "src/lease.test.ts", "unknown"),
        ("npx jest", "src/lease.test.ts", "yes"),
        ("go list ./... | xargs go test", "a_test.go", "unknown"),
        ("|\n          ssh host go test ./...\n          go test ./b", "a_test.go", "unknown"),
        ("sudo timeout 60 go test ./...", "a_test.go", "yes"),
        ("./run-somewhere-else", "a_test.go", "unknown"),
        ("docker run image go test ./...", "a_test.go", "unknown"),
    ],
)
def test_a_command_reaches_what_it_says(tmp_path: Path, run: str, path: str, answer: str) -> None:
    assert answers(tmp_path, {**job(run), path: "\n"}, path) == [answer]


@pytest.mark.parametrize(
    ("on", "answer"),
    [
        ("push", "yes"),
        ("[pull_request]", "yes"),
        ("\n  schedule:\n  - cron: '0 0 * * *'", "yes"),
        ("workflow_dispatch", "unknown"),
        ("\n  push:\n    tags: ['v*']", "unknown"),
        ("release", "unknown"),
        ("\n  push:\n    paths: ['docs/**']", "unknown"),
        ("\n  push:\n    paths: ['docs/**']\n  pull_request:", "yes"),
        ("\n  push:\n    branches-ignore: ['**']", "unknown"),
        ("\n  pull_request:\n    types: [labeled]", "unknown"),
        ("\n  pull_request:\n    types: [closed]", "unknown"),
        ("\n  pull_request:\n    types: [opened, synchronize]", "yes"),
    ],
)
def test_only_what_runs_by_itself_counts(tmp_path: Path, on: str, answer: str) -> None:
    assert answers(tmp_path, {**job("go test ./...", on), "a_test.go": "\n"}, "a_test.go") == [answer]


@pytest.mark.parametrize("condition", ["false", "github.event_name == 'workflow_dispatch'"])
def test_a_step_that_is_switched_off_does_not_count(tmp_path: Path, condition: str) -> None:
    more = f"        if: {condition}\n      - run: go test ./other/...\n"
    files = {**job("go test ./...", more=more), "a_test.go": "\n", "other/a_test.go": "\n"}
    assert answers(tmp_path, files, "a_test.go", "other/a_test.go") == ["no", "yes"]


def test_a_condition_on_labels_leaves_it_unknown(tmp_path: Path) -> None:
    more = "        if: contains(github.event.pull_request.labels.*.name, 'e2e')\n"
    assert answers(tmp_path, {**job("go test ./...", more=more), "a_test.go": "\n"}, "a_test.go") == [
        "unknown"
    ]


@pytest.mark.parametrize(
    ("of_the_job", "answer"),
    [
        ("    if: false\n", "unknown"),
        ("    if: always()\n", "yes"),
        ("    if: needs.changes.outputs.go == 'true'\n", "unknown"),
        ("    needs: never\n", "unknown"),
        ("    needs: never\n    if: always()\n", "yes"),
    ],
)
def test_the_condition_of_a_job_and_of_what_it_needs_counts(
    tmp_path: Path, of_the_job: str, answer: str
) -> None:
    never = "  never:\n    if: false\n    steps: []\n"
    text = f"on: push\njobs:\n{never}  t:\n{of_the_job}    steps:\n      - run: go test ./...\n"
    files = {".github/workflows/ci.yml": text, "a_test.go": "\n"}
    assert answers(tmp_path, files, "a_test.go") == [answer]


def test_that_a_failure_is_forgiven_is_told_unless_another_job_forgives_none(tmp_path: Path) -> None:
    more = "        continue-on-error: true\n      - run: go test ./b\n"
    files = {**job("go test ./...", more=more), "a_test.go": "\n", "b/b_test.go": "\n"}
    with open_repository(plain_folder(tmp_path / "a", files), cache=tmp_path / "c") as snapshot:
        tests = TestsInCi(snapshot)
        assert tests.of("a_test.go").by == ".github/workflows/ci.yml:5, where a failure is forgiven"
        assert tests.of("b/b_test.go").by == ".github/workflows/ci.yml:7"


@pytest.mark.parametrize(
    ("run", "forgiven"),
    [
        ("go test ./... || true", True),
        ("go test ./... || exit 0", True),
        ("make test", True),
        ("go test ./... || exit 1", False),
        ("go test ./... || echo failed && exit 1", False),
    ],
)
def test_a_failure_that_the_script_forgives_is_told(tmp_path: Path, run: str, forgiven: bool) -> None:
    files = {**job(run), "Makefile": "test:\n\t-go test ./...\n", "a_test.go": "\n"}
    with open_repository(plain_folder(tmp_path / "a", files), cache=tmp_path / "c") as snapshot:
        reach = TestsInCi(snapshot).of("a_test.go")
    assert (reach.answer, "a failure is forgiven" in reach.by) == ("yes", forgiven)


def test_what_a_matrix_excludes_is_not_run(tmp_path: Path) -> None:
    matrix = "        where: [a, b]\n        exclude:\n          - where: b\n"
    text = f"on: push\njobs:\n  t:\n    strategy:\n      matrix:\n{matrix}    steps:\n      - run: go test ./${{{{ matrix.where }}}}\n"
    files = {".github/workflows/ci.yml": text, "a/a_test.go": "\n", "b/b_test.go": "\n"}
    assert answers(tmp_path, files, "a/a_test.go", "b/b_test.go") == ["yes", "no"]


def test_the_checkout_of_another_repository_is_not_this_one(tmp_path: Path) -> None:
    steps = (
        "      - uses: actions/checkout@v4\n        with: {repository: other/x}\n      - run: go test ./...\n"
    )
    files = {".github/workflows/ci.yml": f"on: push\n{HEAD}{steps}", "a_test.go": "\n"}
    assert answers(tmp_path, files, "a_test.go") == ["unknown"]


def test_without_jobs_it_cannot_be_told(tmp_path: Path) -> None:
    with open_repository(plain_folder(tmp_path / "a", {"a_test.go": "\n"}), cache=tmp_path / "c") as snapshot:
        reach = TestsInCi(snapshot).of("a_test.go")
    assert (reach.answer, reach.by) == ("unknown", "no CI jobs in this repository")


def test_the_line_of_the_job_is_told(tmp_path: Path) -> None:
    files = {**job("|\n          echo\n          go test ./..."), "a_test.go": "\n"}
    with open_repository(plain_folder(tmp_path / "a", files), cache=tmp_path / "c") as snapshot:
        assert TestsInCi(snapshot).of("a_test.go").by == ".github/workflows/ci.yml:6"


@pytest.mark.parametrize(
    ("run", "files", "path"),
    [
        ("make check", {"Makefile": "check: unit\n\nunit:\n\t@go test $(WHERE)\n\nWHERE = ./...\n"}, "a_test.go"),
        ("make", {"Makefile": "all: test\ntest:\n\t$(MAKE) -C sub test\n", "sub/Makefile": "test:\n\tgo test ./...\n"}, "sub/a_test.go"),
        ("npm test", {"package.json": '{"scripts": {"test": "npm run unit", "unit": "jest"}}'}, "src/a.test.ts"),
        ("./scripts/check.sh", {"scripts/check.sh": "#!/bin/sh\nunit() {\n  go test ./...\n}\nunit\n"}, "a_test.go"),
        ("tox", {"tox.ini": "[testenv]\ncommands =\n    coverage run -m pytest {posargs}\n"}, "tests/test_a.py"),
        ("nox", {"noxfile.py": "def tests(session):\n    session.run('pytest', 'tests')\n"}, "tests/test_a.py"),
        ("bundle exec rake", {"Rakefile": "RSpec::Core::RakeTask.new(:spec)\ntask default: :spec\n"}, "spec/a_spec.rb"),
        ("composer test", {"composer.json": '{"scripts": {"test": ["@unit"], "unit": "phpunit"}}'}, "tests/LeaseTest.php"),
        ("cargo test --workspace", {"Cargo.toml": "[workspace]\n", "a/Cargo.toml": '[package]\nname = "a"\n'}, "a/src/lib.rs"),
        ("cargo test -p a", {"Cargo.toml": "[workspace]\n", "x/Cargo.toml": '[package]\nname = "a"\n'}, "x/tests/lease.rs"),
    ],
)  # fmt: skip
def test_what_a_command_calls_is_followed(tmp_path: Path, run: str, files: dict[str, str], path: str) -> None:
    assert answers(tmp_path, {**job(run), **files, path: "\n"}, path) == ["yes"]


@pytest.mark.parametrize(
    ("run", "files", "path", "answer"),
    [
        ("cargo test", {"Cargo.toml": '[package]\nname = "r"\n[workspace]\n', "a/Cargo.toml": '[package]\nname = "a"\n'}, "a/src/lib.rs", "no"),
        ("cargo test -p b", {"Cargo.toml": "[workspace]\n", "a/Cargo.toml": '[package]\nname = "a"\n'}, "a/src/lib.rs", "no"),
        ("go test ./...", {"go.mod": "module a\n", "tools/go.mod": "module b\n"}, "tools/a_test.go", "no"),
        ("pytest", {"pytest.ini": "[pytest]\naddopts = -ra -m 'not slow'\n"}, "tests/test_a.py", "unknown"),
        ("pytest", {"pytest.ini": "[pytest]\ntestpaths =\n    unit\n"}, "tests/test_a.py", "no"),
        ("pytest", {"pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['tests', 'unit']\n"}, "tests/test_a.py", "yes"),
        ("pytest tests", {"pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['unit']\n"}, "tests/test_a.py", "yes"),
        ("cargo test --workspace", {"Cargo.toml": '[workspace]\nmembers = ["b"]\nexclude = ["a"]\n', "a/Cargo.toml": '[package]\nname = "a"\n'}, "a/src/lib.rs", "no"),
        ("make tests", {"Makefile": "test:\n\tgo test ./...\n"}, "a_test.go", "unknown"),
        ("./scripts/test.sh", {"scripts/test.sh": "#!/bin/sh\nfor p in $PASSES; do ${p}_pass; done\n"}, "a_test.go", "unknown"),
        ("python scripts/run_tests.py", {"scripts/run_tests.py": "main()\n"}, "tests/test_a.py", "unknown"),
    ],
)  # fmt: skip
def test_what_a_command_does_not_reach_is_not_promised(
    tmp_path: Path, run: str, files: dict[str, str], path: str, answer: str
) -> None:
    assert answers(tmp_path, {**job(run), **files, path: "\n"}, path) == [answer]


def test_a_file_of_go_behind_a_tag_needs_the_tag(tmp_path: Path) -> None:
    files = {
        "a_test.go": "//go:build integration\n\npackage a\n",
        "b_test.go": "//go:build linux\n\npackage a\n",
    }
    assert answers(tmp_path, {**job("go test ./..."), **files}, "a_test.go", "b_test.go") == ["no", "yes"]
    with_tag = job("go test -tags integration ./...")
    assert answers(tmp_path / "b", {**with_tag, **files}, "a_test.go") == ["yes"]


def test_a_matrix_a_folder_and_a_called_workflow_are_followed(tmp_path: Path) -> None:
    files = {
        ".github/workflows/ci.yml": "on: push\njobs:\n  a:\n    uses: ./.github/workflows/t.yml\n    with: {tool: go}\n",
        ".github/workflows/t.yml": "on:\n  workflow_call:\n    inputs: {tool: {type: string}}\njobs:\n  t:\n    strategy:\n      matrix:\n"
        "        where: [server, client]\n    defaults:\n      run:\n        working-directory: ${{ matrix.where }}\n"
        "    steps:\n      - run: ${{ inputs.tool }} test ./...\n",
        "server/a_test.go": "\n", "client/a_test.go": "\n", "other/a_test.go": "\n",
    }  # fmt: skip
    asked = ("server/a_test.go", "client/a_test.go", "other/a_test.go")
    assert answers(tmp_path, files, *asked) == ["yes", "yes", "no"]


@pytest.mark.parametrize(
    ("path", "text", "answer"),
    [
        (".gitlab-ci.yml", "test:\n  script:\n    - go test ./...\n", "yes"),
        (".gitlab-ci.yml", ".base:\n  script: go test ./...\ntest:\n  extends: .base\n", "yes"),
        (".gitlab-ci.yml", "test:\n  when: manual\n  script: go test ./...\n", "unknown"),
        (".gitlab-ci.yml", "test:\n  rules: [{if: $FULL}]\n  script: go test ./...\n", "unknown"),
        (".gitlab-ci.yml", "test:\n  rules: [{if: $FULL}, {when: always}]\n  script: go test ./...\n", "yes"),
        (".gitlab-ci.yml", "test:\n  only: [tags]\n  script: go test ./...\n", "unknown"),
        (".gitlab-ci.yml", "test:\n  only: [master]\n  except: [tags]\n  script: go test ./...\n", "yes"),
        (".circleci/config.yml", "jobs:\n  t:\n    steps:\n      - run: go test ./...\nworkflows:\n  w:\n    jobs: [hold: {type: approval}, t: {requires: [hold]}]\n", "unknown"),
        (".circleci/config.yml", "jobs:\n  t:\n    steps:\n      - run: go test ./...\nworkflows:\n  w:\n    when: << parameters.x >>\n    jobs: [t]\n", "unknown"),
        (".circleci/config.yml", "jobs:\n  t:\n    steps:\n      - run: {command: go test ./..., when: on_fail}\nworkflows:\n  w:\n    jobs: [t]\n", "unknown"),
        ("azure-pipelines.yml", "steps:\n  - script: go test ./...\n    condition: eq(variables.X, 1)\n", "unknown"),
        ("azure-pipelines.yml", "steps:\n  - script: go test ./...\n    condition: succeeded()\n", "yes"),
        (".cirrus.yml", "task:\n  only_if: $CIRRUS_TAG != ''\n  test_script: go test ./...\n", "unknown"),
        (".buildkite/pipeline.yml", "steps:\n  - command: go test ./...\n    skip: true\n", "unknown"),
        (".drone.yml", "steps:\n  - commands: [go test ./...]\n    when: {event: [tag]}\n", "unknown"),
        ("Jenkinsfile", "pipeline { triggers { cron('@daily') }\n// sh 'go test ./...'\n }\n", "unknown"),
        ("Jenkinsfile", "pipeline { triggers { cron('@daily') } when { branch 'x' } steps { sh 'go test ./...' } }\n", "unknown"),
        (".travis.yml", "language: go\n", "yes"),
        (".travis.yml", "language: go\nbranches: {only: [master]}\nscript: go test ./...\n", "yes"),
        (".travis.yml", "script:\n  - go test ./...\n", "yes"),
        (".circleci/config.yml", "jobs:\n  t:\n    steps:\n      - run: go test ./...\nworkflows:\n  w:\n    jobs: [t]\n", "yes"),
        (".circleci/config.yml", "jobs:\n  t:\n    steps:\n      - run: go test ./...\n  u:\n    steps: []\nworkflows:\n  w:\n    jobs: [u]\n", "unknown"),
        ("azure-pipelines.yml", "steps:\n  - script: go test ./...\n", "yes"),
        ("azure-pipelines.yml", "trigger: none\npr: none\nsteps:\n  - script: go test ./...\n", "unknown"),
        (".cirrus.yml", "task:\n  test_script: go test ./...\n", "yes"),
        (".cirrus.yml", "task:\n  trigger_type: manual\n  test_script: go test ./...\n", "unknown"),
        (".semaphore/semaphore.yml", "blocks:\n  - task:\n      jobs:\n        - commands: [checkout, go test ./...]\n", "yes"),
        (".buildkite/pipeline.yml", "steps:\n  - command: go test ./...\n", "yes"),
        (".drone.yml", "steps:\n  - commands: [go test ./...]\n", "yes"),
        ("Jenkinsfile", "pipeline { stages { stage('t') { steps { sh 'go test ./...' } } } }\n", "unknown"),
        ("Jenkinsfile", "pipeline { triggers { cron('@daily') } stages { steps { sh 'go test ./...' } } }\n", "yes"),
    ],
)  # fmt: skip
def test_other_systems_are_read(tmp_path: Path, path: str, text: str, answer: str) -> None:
    assert answers(tmp_path, {path: text, "a_test.go": "\n"}, "a_test.go") == [answer]


def test_a_left_over_of_travis_beside_workflows_promises_nothing(tmp_path: Path) -> None:
    files = {**job("go vet ./..."), ".travis.yml": "language: go\n", "a_test.go": "\n"}
    assert answers(tmp_path, files, "a_test.go") == ["unknown"]


def test_what_was_found_is_remembered_as_it_was(tmp_path: Path) -> None:
    files = {
        **job("go test -tags x ./..."),
        "Cargo.toml": "[workspace]\n",
        "go.mod": "module a\n",
        "a_test.go": "\n",
    }
    folder = commit_files(tmp_path / "a", files)
    with open_repository(folder, cache=tmp_path / "c") as snapshot:
        first = ci_reach(snapshot)
        assert first.runs
        assert ci_reach(snapshot) == first


@pytest.mark.parametrize(
    "text",
    [
        "a: [" + "[" * 5_000,
        "a: &a [x, x]\n" + "".join(f"{chr(98 + at)}: &{chr(98 + at)} [" + f"*{chr(97 + at)}, " * 9 + "]\n" for at in range(9)),
        "a: &a\n  b: *a\n",
        "\t: [",
    ],
    ids=["deep", "many aliases", "itself", "no YAML"],
)  # fmt: skip
def test_a_hostile_file_is_refused_and_counted(tmp_path: Path, text: str) -> None:
    with pytest.raises(UnreadableYamlError):
        read_yaml(text)
    files = {**job("go vet ./..."), ".github/workflows/x.yml": text, "a_test.go": "\n"}
    assert answers(tmp_path, files, "a_test.go") == ["unknown"]


def test_shell_text_is_split_as_a_shell_would() -> None:
    text = "A=server; (cd $A && make test) || exit 1\nif [[ -n x && ! -d y ]]; then go test \\\n  ./...; fi # make no\ncat <<EOF"
    found = [(command.words, command.folder) for command in commands_in(text, "", {})]
    assert (("make", "test"), "server") in found
    assert (("go", "test", "./..."), "") in found
    assert not any("no" in words for words, _ in found)


def test_templates_that_call_each_other_end(tmp_path: Path) -> None:
    files = {
        **job("make a"),
        "Makefile": "a: b\n\tmake a\nb: a\n\tsh s.sh\n",
        "s.sh": "sh s.sh\nmake a\n",
        "a_test.go": "\n",
    }
    assert answers(tmp_path, files, "a_test.go") == ["unknown"]


def test_a_loop_of_workflows_ends() -> None:
    call = "on: workflow_call\njobs:\n  a:\n    uses: ./.github/workflows/{}\n"
    files = {".github/workflows/a.yml": call.format("b.yml"), ".github/workflows/b.yml": call.format("a.yml")}
    assert all(step.automatic == "no" for step in steps_in(files))


def test_a_target_without_a_recipe_that_can_be_read_is_not_told_as_none(tmp_path: Path) -> None:
    makefile = "test::\ndefine one\n test:: ; cd $1 && go test ./...\nendef\n$(foreach m,$(all),$(eval $(call one,$m)))\n"
    files = {**job("|\n          make test\n          go test ./b"), "Makefile": makefile, "a_test.go": "\n"}
    assert answers(tmp_path, files, "a_test.go") == ["unknown"]


def test_arithmetic_arrays_handles_and_arms_are_no_commands() -> None:
    text = "n=$((n + 1))\nx=(a b)\ncase $y in\n  fast) go test ./... >&2 ;;\nesac\n"
    assert [command.words[0] for command in commands_in(text, "", {})] == ["case", "go", "esac"]


def test_few_lines_that_call_many_times_have_an_end() -> None:
    call = "on: push\njobs:\n" + "".join(
        f"  j{at}:\n    uses: ./.github/workflows/x.yml\n" for at in range(500)
    )
    assert len(list(steps_in({".github/workflows/x.yml": call}))) == 20_000


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("Makefile", "all: " + " ".join(f"t{at}" for at in range(3_000)) + "\n" + "".join(f"t{at}:\n\ttrue\n" for at in range(3_000))),
        ("Makefile", "a" + " " * 300_000 + "\nall:\n\ttrue\n"),
        ("s.sh", "((" * 150_000 + "\n"),
        ("s.sh", "${{" * 100_000 + "\n"),
        ("Jenkinsfile", "sh '''" * 50_000),
    ],
    ids=["targets", "blanks", "parentheses", "expressions", "quotations"],
)  # fmt: skip
def test_the_time_for_a_hostile_text_is_bounded(tmp_path: Path, path: str, text: str) -> None:
    files = {**job("|\n          make all\n          sh s.sh"), path: text, "a_test.go": "\n"}
    assert answers(tmp_path, files, "a_test.go") == ["unknown"]
