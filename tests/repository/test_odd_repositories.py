"""Repositories of every make, and some made to hang a reader: all are answered, or refused in a sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from refute.repository.change_scope import scope_change
from refute.repository.claims import extract_claims
from refute.repository.mirror import open_repository
from refute.repository.problems import RepositoryError
from refute.repository.repository_map import map_repository
from refute.repository.toolbox import discover_toolbox
from tests.repository.repositories import commit_files, git

CLAIM = "An acknowledged write must never be lost, unless the disk fails.\n"
_LONG_ENOUGH_S = 120


@pytest.fixture(autouse=True)
def ends() -> Iterator[None]:
    """A reader that waits for a pipe fails the test instead of holding it up."""

    def hangs(_number: int, _frame: Any) -> None:
        raise AssertionError("it waits for what never comes")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(_LONG_ENOUGH_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return commit_files(
        commit_files(tmp_path / "product", {"README.md": "x\n"}), {"README.md": CLAIM, "a.md": "y\n"}
    )


def read(folder: Path) -> tuple[str | None, int, int]:
    """The commit, how many claims, and how many files its last commit changed."""
    with open_repository(folder, cache=folder.parent / "cache") as snapshot:
        found = extract_claims(snapshot)
        map_repository(snapshot)
        discover_toolbox(snapshot)
        return snapshot.commit, len(found.claims), len(scope_change(snapshot, "HEAD").files)


def detached(folder: Path) -> Path:
    git(folder, "checkout", "-q", "--detach")
    return folder


def packed(folder: Path) -> Path:
    git(folder, "gc", "-q")
    assert not (folder / ".git/refs/heads/main").exists()
    return folder


def pointed_to(folder: Path) -> Path:
    (folder / ".git").rename(folder.parent / "elsewhere")
    (folder / ".git").write_text("gitdir: ../elsewhere\n")
    return folder


def borrowing(folder: Path) -> Path:
    place = folder.parent / "shared"
    subprocess.run(["git", "clone", "-q", "--shared", str(folder), str(place)], check=True)
    return place


def bare(folder: Path) -> Path:
    place = folder.parent / "bare.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(folder), str(place)], check=True)
    return place


def in_a_worktree(folder: Path) -> Path:
    git(folder, "worktree", "add", "-q", str(folder.parent / "tree"))
    return folder.parent / "tree"


def borrowing_from_itself(folder: Path) -> Path:
    (folder / ".git/objects/info/alternates").write_text(f"{folder}/.git/objects\n")
    return folder


@pytest.mark.parametrize(
    "made", [detached, packed, pointed_to, borrowing, bare, in_a_worktree, borrowing_from_itself]
)
def test_every_make_is_read_whole(made: Callable[[Path], Path], folder: Path) -> None:
    commit = git(folder, "rev-parse", "HEAD")
    assert read(made(folder)) == (commit, 1, 2)


@pytest.mark.parametrize("make", ["sha256", "reftable"])
def test_a_history_that_cannot_be_read_is_said_and_the_files_are(make: str, tmp_path: Path) -> None:
    place = tmp_path / "new"
    if make == "sha256":
        subprocess.run(["git", "init", "-q", "--object-format=sha256", str(place)], check=True)
    commit_files(place, {"README.md": CLAIM})
    if make == "sha256":
        git(place, "pack-refs", "--all")
    else:
        (place / ".git/reftable").mkdir()  # git 2.45 makes one; the reader only looks whether it is there
    with open_repository(place, cache=tmp_path / "cache") as snapshot:
        answers = [
            extract_claims(snapshot),
            map_repository(snapshot),
            discover_toolbox(snapshot),
            scope_change(snapshot, "HEAD"),
        ]
    for answer in answers:
        assert any("history was not read" in note for note in answer.notes), answer
        assert "history was not read" in answer.text()
    assert len(answers[0].claims) == 1
    assert answers[3].needs_distributed_test is None
    with pytest.raises(RepositoryError, match="pass a checkout"), open_repository(place / ".git"):
        pass


def test_a_head_that_names_nothing_tells_what_there_is_to_ask_for(folder: Path) -> None:
    (folder / ".git/HEAD").write_text("ref: refs/heads/none\n")
    with open_repository(folder, cache=folder.parent / "cache") as snapshot:
        found = scope_change(snapshot, "HEAD")
        assert "ask for a revision that there is: main" in map_repository(snapshot).text()
    assert found.needs_distributed_test is None
    with open_repository(folder, cache=folder.parent / "cache", revision="main") as snapshot:
        assert len(extract_claims(snapshot).claims) == 1


def pipe(place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    os.mkfifo(place)


@pytest.mark.parametrize(
    "name",
    [
        "refs/heads/other",
        "packed-refs",
        "shallow",
        "index",
        "config",
        "commondir",
        "info/attributes",
        "info/exclude",
    ],
)
def test_a_pipe_among_the_files_of_git_is_not_waited_for(name: str, folder: Path) -> None:
    commit = git(folder, "rev-parse", "HEAD")
    pipe(folder / ".git" / name)
    assert read(folder) == (commit, 1, 2)


def test_a_pipe_in_place_of_head_or_of_git_is_no_repository(folder: Path, tmp_path: Path) -> None:
    pipe(folder / ".git/HEAD")
    assert read(folder)[0] is None
    pipe(tmp_path / "other" / ".git")
    assert read(tmp_path / "other") == (None, 0, 0)


@pytest.mark.parametrize("name", ["info/alternates", "pack/pack-1.idx", "object"])
def test_a_pipe_among_the_objects_is_refused(name: str, folder: Path) -> None:
    blob = git(folder, "rev-parse", "HEAD:a.md")
    pipe(folder / ".git/objects" / (f"{blob[:2]}/{blob[2:]}" if name == "object" else name))
    with pytest.raises(RepositoryError, match="holds what is no file"), open_repository(folder):
        pass
    other = commit_files(folder.parent / "other", {"README.md": CLAIM})
    (other / ".git/objects/info/alternates").write_text(f"{folder}/.git/objects\n")
    with pytest.raises(RepositoryError, match="holds what is no file"), open_repository(other):
        pass


def test_names_that_no_line_holds_are_read_and_compared(tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    names = [b"a\nb.md", b"bad\xff.md", b'quote".md', b" diff --git a b.md", b"-rf.md", b"..md"]
    for name in names:
        (folder / os.fsdecode(name)).write_text(CLAIM)
    commit_files(folder, {})
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        found = scope_change(snapshot, "HEAD")
        claims = extract_claims(snapshot)
    assert {file.path for file in found.files} == {
        name.decode("utf-8", "backslashreplace").replace("\n", "\\n") for name in names
    }
    assert all(file.added == 1 for file in found.files)
    assert sum(1 + len(claim.also_at) for claim in claims.claims) == len(names)
    assert "a\nb.md" not in found.text()


def test_a_name_cannot_forge_a_line_of_the_answer(tmp_path: Path) -> None:
    folder = tmp_path / "sly"
    (folder / "x\ndistributed test: not needed").mkdir(parents=True)
    (folder / "x\ndistributed test: not needed" / "a.go").write_text("package a\n\nfunc A() {}\n")
    commit_files(folder, {"a_test.exs": 'test "one\ndistributed test: not needed" do\n  assert 1\nend\n'})
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        shown = [map_repository(snapshot).text(), scope_change(snapshot, "HEAD").text()]
    for text in shown:
        assert "distributed test: not needed" in text
        assert not any(line.startswith("distributed test: not") for line in text.split("\n"))


def test_brackets_and_folders_far_too_deep_are_answered(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.js": "(" * 5_000 + "\n", "b.go": "package a\n" + "{\n" * 5_000, "c.c": "[" * 5_000, "d.md": CLAIM,
    }  # fmt: skip
    folder = commit_files(tmp_path / "deep", files)
    deep = tmp_path / "deep"
    for _ in range(40):  # as deep as one path of the system may be
        deep /= "d" * 60
    deep.mkdir(parents=True)
    (deep / "e.md").write_text(CLAIM)
    commit_files(folder, {})
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        assert map_repository(snapshot).files == 5
        found = extract_claims(snapshot)
    assert [len(claim.also_at) for claim in found.claims] == [1]


def test_folders_deeper_than_any_path_of_the_system_are_compared(tmp_path: Path) -> None:
    folder = commit_files(tmp_path / "deep", {"a.md": CLAIM})
    rows = f"100644 blob {git(folder, 'rev-parse', 'HEAD:a.md')}\tleaf.md\n"
    for _ in range(120):
        made = subprocess.run(
            ["git", "-C", str(folder), "mktree"], input=rows, capture_output=True, text=True, check=True
        )
        rows = f"040000 tree {made.stdout.strip()}\t{'d' * 60}\n"
    git(
        folder, "update-ref", "refs/heads/main", git(folder, "commit-tree", "-m", "deep", made.stdout.strip())
    )
    assert read(folder)[1:] == (1, 1)


def test_a_blob_that_is_not_what_its_name_says_is_left_out_and_remembered_by_nobody(tmp_path: Path) -> None:
    """Git reads such an object without a word, and facts are kept by the name of the blob."""
    said = "# Store\n\nAn acknowledged write must never be lost.\n"
    honest = commit_files(tmp_path / "honest", {"README.md": said})
    liar = commit_files(tmp_path / "liar", {"README.md": said})
    name = git(liar, "rev-parse", "HEAD:README.md")
    lie = said.replace("must never", "may always").encode()
    place = liar / ".git/objects" / name[:2] / name[2:]
    place.chmod(0o644)
    place.write_bytes(zlib.compress(b"blob %d\0" % len(lie) + lie))
    cache = tmp_path / "cache"
    with open_repository(liar, cache=cache) as snapshot:
        found = extract_claims(snapshot)
        assert found.claims == ()
        assert found.left_out["missing objects"] == 1
    with open_repository(honest, cache=cache) as snapshot:
        assert [claim.quote for claim in extract_claims(snapshot).claims] == [said.splitlines()[-1]]
