"""Tests are planned where the plan says, one for each scenario, and never over what is there."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from pathlib import Path, PurePosixPath

import pytest
from tree_sitter import Language, Parser

from refute.plan.author import LANGUAGES, plan_files, targets_of
from refute.plan.document import PlanError
from refute.plan.reader import parse_plan
from tests.plan.plans import STORE


def store(author: str, text: str = STORE) -> str:
    return f"---\nauthor: {author}\n---\n{text}"


def nothing_there(path: PurePosixPath) -> bool:
    return False


ALL = "[" + ", ".join(f"{{language: {name}, path: tests/{name}}}" for name in LANGUAGES) + "]"


def grammar(language: str) -> Language:
    if language == "typescript":
        import tree_sitter_typescript

        return Language(tree_sitter_typescript.language_typescript())
    module = __import__(f"tree_sitter_{language}")
    return Language(module.language())


def test_every_scenario_becomes_a_file_in_every_declared_place() -> None:
    plan = parse_plan(store(ALL))
    files = plan_files(plan, plan_path="docs/testing-plans/store.md", exists=nothing_there)
    assert len(files) == 3 * len(LANGUAGES)
    assert len({file.path for file in files}) == len(files)
    for file in files:
        assert file.path.parts[:2] == ("tests", file.language)
        head = "\n".join(file.text.splitlines()[:3])
        assert "docs/testing-plans/store.md" in head
        assert f"scenario {file.scenario}" in head
        assert plan.digest in head


@pytest.mark.parametrize("language", ["python", "go", "rust", "java", "typescript"])
def test_a_skeleton_is_a_program_of_its_language(language: str) -> None:
    odd = STORE.replace("{ms: $gap_ms}", '{ms: $gap_ms}\n    note: "*/ end \\" of \\u2028 it"')
    plan = parse_plan(store(ALL, odd))
    for file in plan_files(plan, plan_path='docs/a "plan".md', exists=nothing_there):
        if file.language == language:
            tree = Parser(grammar(language)).parse(file.text.encode())
            assert not tree.root_node.has_error, file.text


def test_python_and_shell_skeletons_are_accepted_by_their_own_parsers() -> None:
    plan = parse_plan(store(ALL))
    for file in plan_files(plan, plan_path="docs/it's a plan.md", exists=nothing_there):
        if file.language == "python":
            assert any(
                isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
                for node in ast.parse(file.text).body
            )
        if file.language == "shell":
            done = subprocess.run(["sh", "-n"], input=file.text, text=True, capture_output=True, check=False)
            assert done.returncode == 0, done.stderr
            assert file.executable


def test_a_shell_skeleton_runs_the_scenario_and_passes_its_exit_code_on(tmp_path: Path) -> None:
    plan = parse_plan(store("[{language: shell, path: tests}]"))
    file = plan_files(plan, plan_path="docs/a plan.md", exists=nothing_there, scenarios=["S2"])[0]
    refute = tmp_path / "refute"
    refute.write_text('#!/bin/sh\nprintf "%s\\n" "$PWD" "$@"\nexit 1\n')
    refute.chmod(0o755)
    script = tmp_path / "repository" / "tests" / "run.sh"
    script.parent.mkdir(parents=True)
    script.write_text(file.text)
    shell = shutil.which("sh") or "/bin/sh"
    done = subprocess.run(
        [shell, str(script)], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        str(tmp_path / "repository"),
        *("run", "docs/a plan.md", "--scenario", "S2", "--budget", "smoke"),
    ]
    missing = subprocess.run(
        [shell, str(script)], env={"PATH": "/nowhere"}, capture_output=True, text=True, check=False
    )
    assert missing.returncode == 69


def test_nothing_is_overwritten_and_all_that_is_there_is_named() -> None:
    plan = parse_plan(store("{language: go, path: e2e}"))
    with pytest.raises(PlanError) as raised:
        plan_files(plan, plan_path="p.md", exists=lambda path: "tenant" not in path.name)
    assert [defect.subject for defect in raised.value.defects] == ["S1", "S2", "S3"][
        : len(raised.value.defects)
    ]
    assert re.search(r"e2e/acknowledged_writes.*_test\.go: is there already", str(raised.value))


@pytest.mark.parametrize(
    "path", ["/etc", "../other", "tests/../../x", "", ".", ".git/hooks", "vendor/.GIT/x", "a\\b"]
)
def test_a_place_outside_of_the_repository_is_refused(path: str) -> None:
    plan = parse_plan(store(f"[{{language: python, path: '{path}'}}]"))
    with pytest.raises(PlanError, match="not a folder below the repository"):
        plan_files(plan, plan_path="p.md", exists=nothing_there)


@pytest.mark.parametrize("path", ["a\\nb", "a\\0b", "-rf", "tests/--config=x", "~root", "a\\u202eb"])
def test_a_place_that_is_no_path_as_people_write_them_is_refused(path: str) -> None:
    plan = parse_plan(store(f'[{{language: python, path: "{path}"}}]'))
    with pytest.raises(PlanError, match="not a folder below the repository"):
        plan_files(plan, plan_path="p.md", exists=nothing_there)


@pytest.mark.parametrize(
    ("author", "words"),
    [
        ("", "declares no place"),
        ("[{language: pyton, path: tests}]", "did you mean 'python'"),
        ("[{language: python}]", "no place for tests"),
    ],
)
def test_a_plan_that_declares_no_place_gets_no_tests(author: str, words: str) -> None:
    with pytest.raises(PlanError, match=words):
        plan_files(parse_plan(store(author)), plan_path="p.md", exists=nothing_there)


def test_an_unknown_scenario_is_refused() -> None:
    plan = parse_plan(store("[{language: python, path: tests}]"))
    with pytest.raises(PlanError, match="no scenario 'S9'"):
        plan_files(plan, plan_path="p.md", exists=nothing_there, scenarios=["S9"])


@pytest.mark.parametrize(
    ("name", "go_file"),
    [
        ("loop", "loop_holds_test.go"),
        ("no_write_is_lost_on_windows", "no_write_is_lost_on_windows_holds_test.go"),
    ],
)
def test_no_name_is_reserved_or_left_out_by_the_tools_of_a_language(name: str, go_file: str) -> None:
    text = STORE.replace("name: acknowledged_writes_survive_a_killed_leader", f"name: {name}")
    plan = parse_plan(store(ALL, text))
    files = plan_files(plan, plan_path="p.md", exists=nothing_there, scenarios=["S1"])
    assert go_file in [file.path.name for file in files]
    rust = next(file for file in files if file.language == "rust")
    assert f"fn {name}_holds()" in rust.text


def test_a_java_test_belongs_to_the_package_of_its_folder() -> None:
    plan = parse_plan(store("[{language: java, path: core/src/test/java/org/example/faults}]"))
    file = plan_files(plan, plan_path="p.md", exists=nothing_there, scenarios=["S1"])[0]
    assert "\npackage org.example.faults;\n" in file.text


def test_only_declared_places_can_be_chosen() -> None:
    plan = parse_plan(store("[{language: go, path: e2e}, {language: shell, path: e2e}]"))
    assert [str(target.path) for target in targets_of(plan, language="go")] == ["e2e"]
    with pytest.raises(PlanError, match=r"no place for go in other .*go in e2e, shell in e2e"):
        targets_of(plan, path="other", language="go")


def test_a_plan_that_declares_no_place_takes_the_one_that_is_asked_for() -> None:
    plan = parse_plan(STORE)
    assert len(targets_of(plan, path="e2e", language="go")) == 1
    with pytest.raises(PlanError, match="not a folder below"):
        targets_of(plan, path="../e2e", language="go")
    with pytest.raises(PlanError, match="declares no place"):
        targets_of(plan, path="e2e")
