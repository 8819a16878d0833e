"""Repositories as they come: empty, shallow, broken, plain, with links and submodules; all are answered."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from refute.repository.claims import extract_claims
from refute.repository.mirror import open_repository
from refute.repository.problems import RepositoryError
from refute.repository.repository_map import map_repository
from refute.repository.source_file import MOST_BYTES_A_FILE, shown_path
from refute.repository.toolbox import discover_toolbox
from tests.repository.repositories import commit_files, git

CLAIM = "An acknowledged write must never be lost, unless the disk fails.\n"


def test_a_plain_folder_without_git_is_read(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "README.md").write_text(CLAIM)
    with open_repository(tmp_path / "plain", cache=tmp_path / "cache") as snapshot:
        found = extract_claims(snapshot)
        assert map_repository(snapshot).files == 1
        assert discover_toolbox(snapshot).commit == "unversioned"
    assert [claim.citation for claim in found.claims] == ["README.md:1@unversioned"]
    assert any("Not a git commit" in note for note in found.notes)


def test_an_empty_repository_is_answered(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path / "empty")], check=True)
    with open_repository(tmp_path / "empty", cache=tmp_path / "cache") as snapshot:
        found = extract_claims(snapshot)
        assert map_repository(snapshot).components == ()
        assert discover_toolbox(snapshot).entries == ()
    assert found.claims == ()
    assert set(found.counts.values()) == {0}
    assert found.text()


def test_a_shallow_clone_is_read_and_says_so(tmp_path: Path) -> None:
    folder = commit_files(tmp_path / "whole", {"README.md": "first\n"})
    commit_files(folder, {"README.md": CLAIM})
    subprocess.run(
        ["git", "clone", "-q", "--depth", "1", f"file://{folder}", str(tmp_path / "shallow")], check=True
    )
    with open_repository(tmp_path / "shallow", cache=tmp_path / "cache") as snapshot:
        assert snapshot.shallow
        assert len(extract_claims(snapshot).claims) == 1
        with pytest.raises(RepositoryError, match="no commit is called"):
            snapshot.resolve("HEAD~1")


def test_missing_trees_and_blobs_are_counted(tmp_path: Path) -> None:
    folder = commit_files(tmp_path / "broken", {"README.md": CLAIM, "lost/a.md": "x\n", "b.md": "y\n"})
    for name in ("HEAD:lost", "HEAD:b.md"):
        found = git(folder, "rev-parse", name)
        (folder / ".git/objects" / found[:2] / found[2:]).unlink()
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        assert snapshot.left_out["missing objects"] == 2
        assert [claim.path for claim in extract_claims(snapshot).claims] == ["README.md"]


def test_a_corrupt_object_does_not_hide_those_behind_it(tmp_path: Path) -> None:
    folder = commit_files(tmp_path / "broken", {"a.md": "x\n", "b.md": CLAIM})
    found = git(folder, "rev-parse", "HEAD:a.md")
    place = folder / ".git/objects" / found[:2] / found[2:]
    place.chmod(0o644)
    place.write_bytes(b"not zlib")
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        assert [claim.path for claim in extract_claims(snapshot).claims] == ["b.md"]


def test_links_out_of_the_tree_and_submodules_are_counted_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("A secret write must never be lost.\n")
    inner = commit_files(tmp_path / "inner", {"x.md": CLAIM})
    folder = tmp_path / "outer"
    folder.mkdir()
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    commit_files(folder, {"README.md": CLAIM})
    add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "inner"]
    subprocess.run(["git", "-C", str(folder), *add], check=True, capture_output=True)
    commit_files(folder, {})
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        assert snapshot.left_out == {"symbolic links": 1, "submodules": 1}
        assert snapshot.submodules == ("inner",)
        assert not any("secret" in claim.sentence for claim in extract_claims(snapshot).claims)
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "link.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / "plain" / "folder").symlink_to(tmp_path / "inner", target_is_directory=True)
    with open_repository(tmp_path / "plain", cache=tmp_path / "cache") as snapshot:
        assert snapshot.files == ()
        assert snapshot.left_out["symbolic links"] == 2


def test_a_long_line_a_large_file_and_invalid_utf8_are_answered_and_counted(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "long.js": "var x = '" + "a" * 100_000 + "';\n",
        "huge.js": "x" * (MOST_BYTES_A_FILE + 1),
        "latin.md": b"caf\xe9. " + CLAIM.encode(),
        "binary.go": b"\0\1\2",
        "broken.go": "func ( { // An acknowledged write must never be lost.\n",
    }
    folder = commit_files(tmp_path / "odd", files)
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        found = extract_claims(snapshot)
    assert found.left_out["files over 1.5 MB"] == 1
    assert found.left_out["a line over 20,000 characters"] == 1
    assert found.left_out["invalid UTF-8"] == 1
    assert found.left_out["binary"] == 1
    assert found.left_out["syntax errors"] == 1
    assert {claim.path for place in [found] for claim in place.claims} | {
        place.path for claim in found.claims for place in claim.also_at
    } == {"latin.md", "broken.go"}


def test_a_dirty_working_tree_is_said_and_the_commit_is_read(tmp_path: Path) -> None:
    folder = commit_files(tmp_path / "dirty", {"README.md": CLAIM})
    (folder / "README.md").write_text("nothing\n")
    (folder / "new.md").write_text("new\n")
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        assert (snapshot.work_tree.modified, snapshot.work_tree.untracked) == (1, 1)
        found = extract_claims(snapshot)
    assert len(found.claims) == 1
    assert any("1 changed and 1 untracked" in note for note in found.notes)


def test_a_touched_but_unchanged_file_is_not_dirty(tmp_path: Path) -> None:
    folder = commit_files(tmp_path / "clean", {"README.md": CLAIM})
    (folder / "README.md").write_text(CLAIM)
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        assert (snapshot.work_tree.modified, snapshot.work_tree.untracked) == (0, 0)


def test_a_worktree_a_bare_clone_and_a_subfolder_are_found(tmp_path: Path) -> None:
    folder = commit_files(tmp_path / "main", {"README.md": CLAIM, "part/doc.md": CLAIM})
    git(folder, "worktree", "add", "-q", str(tmp_path / "tree"))
    subprocess.run(["git", "clone", "-q", "--bare", str(folder), str(tmp_path / "bare.git")], check=True)
    for place in (tmp_path / "tree", tmp_path / "bare.git"):
        with open_repository(place, cache=tmp_path / "cache") as snapshot:
            assert {file.path for file in snapshot.files} == {"README.md", "part/doc.md"}
    with open_repository(folder / "part", cache=tmp_path / "cache") as snapshot:
        assert [file.path for file in snapshot.files] == ["part/doc.md"]


def test_a_repository_with_sha256_names_is_read_as_a_plain_folder(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--object-format=sha256", str(tmp_path / "wide")], check=True)
    folder = commit_files(tmp_path / "wide", {"README.md": CLAIM})
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        found = extract_claims(snapshot)
    assert [claim.citation for claim in found.claims] == ["README.md:1@unversioned"]
    with pytest.raises(RepositoryError, match="SHA-256"), open_repository(folder, revision="HEAD~1"):
        pass


def test_what_is_no_folder_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "nowhere", tmp_path / "file"):
        with pytest.raises(RepositoryError), open_repository(place):
            pass
    folder = commit_files(tmp_path / "repo", {"a.md": "x\n"})
    for revision in ("no-such-branch", "--output=x", "HEAD~7"):
        with pytest.raises(RepositoryError), open_repository(folder, revision=revision):
            pass


def test_a_one_file_change_reads_one_file(tmp_path: Path) -> None:
    from refute.repository.survey import survey

    folder = commit_files(tmp_path / "repo", {f"doc{n}.md": f"Write {n} is never lost.\n" for n in range(20)})
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        assert survey(snapshot).read_now == 20
    commit_files(folder, {"doc3.md": "Write three is always kept on disk.\n"})
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        assert survey(snapshot).read_now == 1


def test_values_in_the_cache_that_are_not_ours_are_read_over(tmp_path: Path) -> None:
    folder = commit_files(tmp_path / "repo", {"README.md": CLAIM})
    for value in (None, 5, "text", b"no zip"):
        with open_repository(folder, cache=tmp_path / "cache") as snapshot:
            assert len(extract_claims(snapshot).claims) == 1
        with closing(sqlite3.connect(tmp_path / "cache/repository-facts.sqlite")) as facts, facts:
            facts.execute("UPDATE facts SET value = ?", (value,))
            assert facts.execute("SELECT count(*) FROM facts").fetchone()[0] >= 2
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        assert len(extract_claims(snapshot).claims) == 1


@pytest.mark.parametrize("name", [b"a\nb.md", b"inv\xff.md", b"turn\xe2\x80\xae.md", b"back\\nslash.md"])
def test_a_name_that_no_line_holds_is_read_in_a_plain_folder_too(name: bytes, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    try:
        (folder / os.fsdecode(name)).write_text(CLAIM)
    except OSError:  # a file system that takes Unicode alone
        assert name == b"inv\xff.md"
        return
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        found = extract_claims(snapshot)
        assert [claim.path for claim in found.claims] == [shown_path(name)]
        assert snapshot.text(shown_path(name)) == CLAIM
    assert found.left_out == {}


def test_a_cache_that_cannot_be_used_is_said_and_the_answer_is_whole(tmp_path: Path) -> None:
    folder = commit_files(tmp_path / "repo", {"README.md": CLAIM})
    (tmp_path / "cache").write_text("in the way")
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        found = extract_claims(snapshot)
    assert len(found.claims) == 1
    assert any("cache cannot be used" in note for note in found.notes)


def test_where_git_is_missing_a_repository_says_so_and_a_plain_folder_is_read(tmp_path: Path) -> None:
    commit_files(tmp_path / "repo", {"README.md": CLAIM})
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "README.md").write_text(CLAIM)
    script = (
        "import sys; from refute.errors import UnavailableError; from refute.repository import mirror\n"
        "with mirror.open_repository(sys.argv[1]) as snapshot: print(len(snapshot.files))\n"
        "try:\n    mirror.open_repository(sys.argv[2]).__enter__()\n"
        "except UnavailableError as error: print(error)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "plain"), str(tmp_path / "repo")],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.splitlines() == ["1", "git is not installed (install git, or pass a plain folder)"]
