"""A repository whose every setting tries to run a program: nothing of it runs, in any function."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import git as git_python
import pytest

from refute.repository.change_scope import scope_change
from refute.repository.claims import extract_claims
from refute.repository.mirror import open_repository
from refute.repository.problems import RepositoryError
from refute.repository.repository_map import map_repository
from refute.repository.snapshot import RepositorySnapshot
from refute.repository.toolbox import discover_toolbox
from tests.repository.repositories import commit_files, git

FUNCTIONS: dict[str, Callable[[RepositorySnapshot], object]] = {
    "map": map_repository,
    "claims": extract_claims,
    "toolbox": discover_toolbox,
    "scope": lambda snapshot: scope_change(snapshot, "HEAD~1..HEAD"),
}


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """The folder in which every program that the repository names leaves a file of its own name."""
    folder = tmp_path / "canary"
    folder.mkdir()
    return folder


def program(canary: Path, name: str) -> str:
    """A program that leaves a trace."""
    place = canary.parent / f"run-{name}"
    place.write_text(f"#!/bin/sh\ntouch {canary}/{name}\ncat\n")
    place.chmod(0o755)
    return str(place)


def make_hostile(folder: Path, canary: Path) -> Path:
    """Two commits, a dirty working tree, a submodule, and a trap in every place that git reads."""
    commit_files(
        folder, {"README.md": "Writes must never be lost.\n", "a.txt": "one\n", "sub.go": "package a\n"}
    )
    inner = commit_files(folder.parent / "inner", {"x.md": "Reads are never stale.\n"})
    subprocess.run(
        [
            "git",
            "-C",
            str(folder),
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "add",
            "-q",
            str(inner),
            "inner",
        ],
        check=True,
        capture_output=True,
    )
    commit_files(
        folder, {"README.md": "Writes must never be lost, unless the disk is full.\n", "a.txt": "two\n"}
    )
    (folder / ".gitattributes").write_text("* filter=evil diff=evil merge=evil ident\n")
    (folder / ".git/info/attributes").write_text("* filter=evil diff=evil\n")
    (folder / "a.txt").write_text("three\n")
    settings = {
        "core.fsmonitor": program(canary, "fsmonitor"),
        "core.sshCommand": program(canary, "ssh"),
        "core.gitProxy": program(canary, "proxy"),
        "core.pager": program(canary, "pager"),
        "core.editor": program(canary, "editor"),
        "core.askPass": program(canary, "askpass"),
        "core.hooksPath": str(canary.parent / "hooks"),
        "core.alternateRefsCommand": program(canary, "alternaterefs"),
        "filter.evil.clean": program(canary, "clean"),
        "filter.evil.smudge": program(canary, "smudge"),
        "filter.evil.process": program(canary, "process"),
        "filter.evil.required": "true",
        "diff.evil.textconv": program(canary, "textconv"),
        "diff.evil.command": program(canary, "diffcommand"),
        "diff.external": program(canary, "external"),
        "merge.evil.driver": program(canary, "merge"),
        "uploadpack.packObjectsHook": program(canary, "packobjects"),
        "remote.origin.url": f"ext::{program(canary, 'ext')} x",
        "remote.origin.uploadpack": program(canary, "uploadpack"),
        "remote.origin.promisor": "true",
        "extensions.partialClone": "origin",
        "credential.helper": f"!{program(canary, 'credential')}",
        "gpg.program": program(canary, "gpg"),
        "log.showSignature": "true",
        "alias.cat-file": f"!{program(canary, 'alias')}",
        "include.path": str(canary.parent / "included.config"),
    }
    (canary.parent / "included.config").write_text(f"[core]\n\tfsmonitor = {program(canary, 'included')}\n")
    names = (
        "post-checkout", "pre-auto-gc", "post-index-change", "reference-transaction", "fsmonitor-watchman",
        "post-update", "update", "pre-receive",
    )  # fmt: skip
    for hooks in (folder / ".git/hooks", canary.parent / "hooks"):
        hooks.mkdir(exist_ok=True)
        for name in names:
            (hooks / name).write_text(f"#!/bin/sh\ntouch {canary}/hook-{name}\n")
            (hooks / name).chmod(0o755)
    lines = [(folder / ".git/config").read_text(), "[core]\n\trepositoryformatversion = 1\n"]
    for key, value in settings.items():
        section, _, name = key.rpartition(".")
        head, _, middle = section.partition(".")
        shown = f'{head} "{middle}"' if middle else head
        lines.append(f'[{shown}]\n\t{name} = "{value}"\n')
    (folder / ".git/config").write_text("\n".join(lines))
    (folder / ".git/modules/inner/config").write_text(
        (folder / ".git/modules/inner/config").read_text()
        + f"[core]\n\tfsmonitor = {program(canary, 'inner')}\n"
    )
    return folder


def test_the_traps_work_so_that_silence_means_something(tmp_path: Path, canary: Path) -> None:
    folder = make_hostile(tmp_path / "hostile", canary)
    subprocess.run(["git", "-C", str(folder), "status"], capture_output=True, check=False)
    subprocess.run(["git", "-C", str(folder), "diff"], capture_output=True, check=False)
    sprung = {place.name for place in canary.iterdir()}
    assert "fsmonitor" in sprung or "included" in sprung
    assert sprung & {"external", "diffcommand", "clean", "process"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nothing_of_a_hostile_repository_runs(name: str, tmp_path: Path, canary: Path) -> None:
    folder = make_hostile(tmp_path / "hostile", canary)
    for place in canary.iterdir():
        place.unlink()  # what making it has sprung
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        assert snapshot.commit == (folder / ".git/refs/heads/main").read_text().strip()
        assert FUNCTIONS[name](snapshot)
    assert [place.name for place in canary.iterdir()] == []


@pytest.mark.parametrize(
    "asked",
    [["map"], ["claims"], ["toolbox"], ["scope", "--change", "HEAD~1..HEAD"]],
    ids=lambda asked: asked[0],
)
def test_nothing_of_it_runs_from_the_command_line_started_inside_it(
    asked: list[str], tmp_path: Path, canary: Path
) -> None:
    folder = make_hostile(tmp_path / "hostile", canary)
    for place in canary.iterdir():
        place.unlink()
    done = subprocess.run(
        [sys.executable, "-m", "refute.faces.cli", asked[0], ".", *asked[1:]],
        cwd=folder,
        env={**os.environ, "REFUTE_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
    assert list(canary.iterdir()) == []


@pytest.mark.parametrize("command", ["map", "claims", "toolbox", "scope"])
def test_modules_of_the_repository_do_not_stand_in_for_ours(
    command: str, tmp_path: Path, canary: Path
) -> None:
    """Large enough for readers of their own process, which Python would start from the working directory."""
    trap = f"open({str(canary / 'module')!r}, 'w').close()\n"
    modules = ("refute/__init__.py", "refute/repository/worker.py", "pickle.py", "queue.py", "pydantic.py")
    long = f"{'The sky is blue. ' * 400}\n\n" * 90
    folder = commit_files(
        tmp_path / "hostile", {**dict.fromkeys(modules, trap), **{f"{name}.md": long for name in "abc"}}
    )
    subprocess.run([sys.executable, "-c", "import refute"], cwd=folder, check=True)
    assert [place.name for place in canary.iterdir()] == ["module"], "the trap works"
    (canary / "module").unlink()
    done = subprocess.run(
        [sys.executable, "-P", "-m", "refute.faces.cli", command, "."],
        cwd=folder,
        env={**os.environ, "REFUTE_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list(canary.iterdir()) == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gitpython_opens_and_starts_git_in_our_directory_alone(
    name: str, tmp_path: Path, canary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_hostile(tmp_path / "hostile", canary)
    opened: list[Path] = []
    started: list[Path] = []
    init, execute = git_python.Repo.__init__, git_python.Git.execute

    def recorded_init(self: git_python.Repo, path: Any = None, *rest: Any, **named: Any) -> None:
        opened.append(Path(path))
        init(self, path, *rest, **named)

    def recorded_execute(self: git_python.Git, *rest: Any, **named: Any) -> Any:
        started.append(Path(self.working_dir or ""))
        return execute(self, *rest, **named)

    monkeypatch.setattr(git_python.Repo, "__init__", recorded_init)
    monkeypatch.setattr(git_python.Git, "execute", recorded_execute)
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        FUNCTIONS[name](snapshot)
    assert len(opened) == 1
    assert started
    assert {place.name for place in (*opened, *started)} == {"mirror.git"}
    assert not any(place.is_relative_to(folder) for place in (*opened, *started))


def test_attributes_of_the_repository_cannot_hide_a_change(tmp_path: Path) -> None:
    folder = commit_files(tmp_path / "shy", {".gitattributes": "* -diff -text\n", "a.go": "package a\n"})
    (folder / ".git/info/attributes").write_text("* -diff\n")
    commit_files(folder, {"a.go": "package a\n\nfunc Drop() {}\n"})
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        found = scope_change(snapshot, "HEAD")
    assert [(file.path, file.added) for file in found.files] == [("a.go", 2)]
    assert found.needs_distributed_test


def test_a_missing_object_is_not_fetched_from_where_the_repository_says(tmp_path: Path, canary: Path) -> None:
    folder = commit_files(tmp_path / "hostile", {"a.md": "Writes must never be lost.\n", "b.md": "x\n"})
    blob = git(folder, "rev-parse", "HEAD:b.md")
    (folder / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with (folder / ".git/config").open("a") as config:
        config.write(
            "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin\n"
            f'[remote "origin"]\n\tpromisor = true\n\turl = "ext::{program(canary, "ext")} x"\n'
            "[protocol]\n\tallow = always\n"
        )
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        found = extract_claims(snapshot)
    assert found.left_out["missing objects"] == 1
    assert [claim.path for claim in found.claims] == ["a.md"]
    assert list(canary.iterdir()) == []


def test_the_environment_of_the_caller_does_not_reach_git(
    tmp_path: Path, canary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = commit_files(tmp_path / "plain", {"a.md": "Writes must never be lost.\n"})
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", program(canary, "env-diff"))
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_NAMESPACE"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", program(canary, "env-fsmonitor"))
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        assert scope_change(snapshot, "HEAD").files
    assert list(canary.iterdir()) == []


def test_an_object_directory_of_the_caller_is_named_as_what_stands_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = commit_files(tmp_path / "plain", {"a.md": "Writes must never be lost.\n"})
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "elsewhere"))
    with pytest.raises(RepositoryError, match="unset GIT_OBJECT_DIRECTORY"), open_repository(folder):
        pass


def test_nothing_is_written_into_the_repository(tmp_path: Path) -> None:
    folder = commit_files(tmp_path / "plain", {"a.md": "Writes must never be lost.\n"})
    (folder / "a.md").write_text("changed\n")

    def state() -> dict[str, tuple[int, int]]:
        return {
            str(place): (place.stat().st_mtime_ns, place.stat().st_size)
            for place in sorted(folder.rglob("*"))
            if place.is_file()
        }

    before = state()
    for function in FUNCTIONS.values():
        with open_repository(folder, cache=tmp_path / "cache") as snapshot:
            if function is not FUNCTIONS["scope"]:
                function(snapshot)
    assert state() == before
