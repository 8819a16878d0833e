"""Tests are written where the plan says, all or none, over nothing, outside of nothing, and git is left alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from refute.errors import RefuteError
from refute.plan.author import LANGUAGES
from refute.tools.authoring import AuthoredPlan, AuthorPlanRequest, author_plan
from tests.plan import plans
from tests.repository.repositories import commit_files, git

STORE = plans.STORE.replace("tenant-isolation", "boundary")
EVERY_LANGUAGE = ", ".join(f"{{language: {name}, path: tests/in_{name}}}" for name in LANGUAGES)


def repository(tmp_path: Path, author: str = EVERY_LANGUAGE, **files: str) -> Path:
    plan = f"---\nauthor: [{author}]\n---\n{STORE}"
    named = {name.replace("__", "."): text for name, text in files.items()}
    return commit_files(tmp_path / "repository", {"docs/store.md": plan, "README.md": "# Store\n", **named})


def author(root: Path, **options: object) -> AuthoredPlan:
    return author_plan(AuthorPlanRequest.model_validate({"plan": str(root / "docs/store.md"), **options}))


def untracked(root: Path) -> list[str]:
    return sorted(
        line[3:] for line in git(root, "status", "--porcelain", "--untracked-files=all").splitlines()
    )


def test_tests_are_written_and_git_is_left_alone(tmp_path: Path) -> None:
    root = repository(tmp_path)
    before = git(root, "rev-parse", "HEAD")
    answer = author(root)
    assert untracked(root) == sorted(file.path for file in answer.files)
    assert len(answer.files) == 3 * len(LANGUAGES)
    assert git(root, "diff", "--cached", "--name-only") == ""
    assert git(root, "rev-parse", "HEAD") == before
    for file in answer.files:
        text = (root / file.path).read_text(encoding="utf-8")
        assert f"refute: plan docs/store.md, scenario {file.scenario}, plan digest sha256:" in text
        assert os.access(root / file.path, os.X_OK) == (file.language == "shell")


def test_a_dry_run_writes_nothing_and_says_the_same(tmp_path: Path) -> None:
    root = repository(tmp_path)
    would = author(root, dry_run=True)
    assert untracked(root) == []
    assert would.files == author(root).files
    assert would.text().startswith("would write 18 files")


def test_one_file_that_is_there_keeps_all_from_being_written(tmp_path: Path) -> None:
    root = repository(tmp_path)
    path = next(
        file.path for file in author(root, dry_run=True, language="go").files if file.scenario == "S3"
    )
    theirs = root / path
    theirs.parent.mkdir(parents=True)
    theirs.write_text("package theirs\n")
    with pytest.raises(RefuteError, match="is there already"):
        author(root)
    assert untracked(root) == [path]
    assert theirs.read_text() == "package theirs\n"


def test_a_dangling_link_counts_as_a_file_that_is_there(tmp_path: Path) -> None:
    root = repository(tmp_path)
    path = author(root, dry_run=True).files[0].path
    (root / path).parent.mkdir(parents=True)
    (root / path).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RefuteError, match="is there already"):
        author(root)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("inside", [False, True])
def test_no_link_is_followed_and_nothing_stays_of_a_write_that_failed(tmp_path: Path, inside: bool) -> None:
    root = repository(tmp_path, "{language: python, path: tests/a/b}, {language: shell, path: linked/c}")
    (tmp_path / "outside").mkdir()
    (root / "real").mkdir()
    (root / "linked").symlink_to(root / "real" if inside else tmp_path / "outside")
    with pytest.raises(RefuteError, match="nothing was written"):
        author(root)
    assert untracked(root) == ["linked"]
    assert not (root / "tests").exists()
    assert list((tmp_path / "outside").iterdir()) == list((root / "real").iterdir()) == []


def test_a_plan_that_cannot_be_run_is_not_written_out(tmp_path: Path) -> None:
    root = repository(tmp_path)
    plan = root / "docs/store.md"
    plan.write_text(plan.read_text().replace("Nothing is said", "TODO(judge): is anything said"))
    with pytest.raises(RefuteError, match="todo-left"):
        author(root)
    assert not (root / "tests").exists()


def test_a_plan_outside_of_the_repository_is_refused(tmp_path: Path) -> None:
    root = repository(tmp_path)
    other = commit_files(tmp_path / "other", {"a": ""})
    with pytest.raises(RefuteError, match="outside of the repository"):
        author(root, repository=str(other))
    loose = tmp_path / "loose.md"
    loose.write_text(STORE)
    with pytest.raises(RefuteError, match="no git repository"):
        author_plan(AuthorPlanRequest(plan=str(loose)))


def prettier(root: Path, script: str) -> None:
    program = root / "node_modules/.bin/prettier"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


PACKAGE = {"package__json": '{"devDependencies": {"prettier": "3"}}', "__gitignore": "node_modules\nran\n"}


def test_the_formatter_of_a_repository_runs_only_where_a_person_allowed_it(tmp_path: Path) -> None:
    root = repository(tmp_path, "{language: typescript, path: e2e}", **PACKAGE)
    prettier(root, 'echo ran >> ran; eval "file=\\${$#}"; echo "// formatted" >> "$file"')
    answer = author(root, scenarios=["S1"])
    assert answer.files[0].format == "not formatted: package.json asks for prettier (--allow-format runs it)"
    assert not (root / "ran").exists()
    assert (
        author(root, scenarios=["S2"], dry_run=True, allow_format=True)
        .files[0]
        .format.startswith("prettier would")
    )
    assert not (root / "ran").exists()
    answer = author(root, scenarios=["S2"], allow_format=True)
    assert answer.files[0].format == "formatted by prettier"
    assert (root / "ran").read_text() == "ran\n"
    assert (root / answer.files[0].path).read_text().endswith("// formatted\n")


def test_a_formatter_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    root = repository(tmp_path, "{language: typescript, path: e2e}", **PACKAGE)
    prettier(root, 'eval "file=\\${$#}"; echo spoilt > "$file"; echo "no such rule" >&2; exit 2')
    file = author(root, scenarios=["S1"], allow_format=True).files[0]
    assert file.format == "not formatted: prettier ended with 2: no such rule"
    assert "spoilt" not in (root / file.path).read_text()


def test_ruff_leaves_a_python_test_as_it_is_written(tmp_path: Path) -> None:
    root = repository(
        tmp_path, "{language: python, path: tests}", pyproject__toml="[tool.ruff]\nline-length = 110\n"
    )
    file = author(root, scenarios=["S1"], dry_run=True).files[0]
    assert "pyproject.toml asks for ruff format" in file.format
    author(root)
    ruff = Path(sys.executable).parent / "ruff"
    checked = subprocess.run(
        [ruff, "format", "--check", "tests"], cwd=root, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout


def test_a_written_python_test_fails_unless_every_verdict_is_a_pass(tmp_path: Path) -> None:
    root = repository(tmp_path, "{language: python, path: tests}")
    path = author(root, scenarios=["S1"]).files[0].path
    program = tmp_path / "bin" / "refute"
    program.parent.mkdir()
    codes = {}
    for code in (0, 1, 2, 64):
        program.write_text(f"#!/bin/sh\necho $PWD $@ > {tmp_path}/called\nexit {code}\n")
        program.chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", path],
            cwd=root,
            env={**os.environ, "PATH": f"{program.parent}:/usr/bin:/bin", "PYTEST_ADDOPTS": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        codes[code] = done.returncode
    assert codes == {0: 0, 1: 1, 2: 1, 64: 1}
    called = (tmp_path / "called").read_text()
    assert called == f"{root} run docs/store.md --scenario S1 --budget smoke\n"


def test_the_command_line_writes_and_refuses(tmp_path: Path) -> None:
    root = repository(tmp_path, "{language: shell, path: tests}")
    command = [sys.executable, "-m", "refute.faces.cli", "plan", "author", str(root / "docs/store.md")]
    dry = subprocess.run([*command, "--dry-run", "--json"], capture_output=True, text=True, check=False)
    assert dry.returncode == 0 and len(json.loads(dry.stdout)["files"]) == 3
    assert untracked(root) == []
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    assert len(untracked(root)) == 3
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 64 and "is there already" in again.stderr


@pytest.mark.systems
def test_go_formats_and_vets_and_fails_a_go_test(tmp_path: Path) -> None:
    root = repository(tmp_path, "{language: go, path: e2e}", go__mod="module example.org/store\n\ngo 1.19\n")
    go = shutil.which("go")
    assert go, "install golang-go"
    answer = author(root)
    assert "go.mod asks for gofmt" in answer.files[0].format
    listed = subprocess.run(["gofmt", "-l", "e2e"], cwd=root, capture_output=True, text=True, check=True)
    assert listed.stdout == ""
    environment = {**os.environ, "GOFLAGS": "-mod=mod", "GOCACHE": str(tmp_path / "cache"), "GOPROXY": "off"}
    subprocess.run([go, "vet", "./..."], cwd=root, env=environment, check=True)
    program = tmp_path / "bin" / "refute"
    program.parent.mkdir()
    for code in (0, 2):
        program.write_text(f"#!/bin/sh\n[ -f docs/store.md ] || exit 9\nexit {code}\n")
        program.chmod(0o755)
        done = subprocess.run(
            [go, "test", "-count=1", "./..."],
            cwd=root,
            env={**environment, "PATH": f"{program.parent}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode == 0) == (code == 0), done.stdout + done.stderr
