"""Changes as they come: where nothing can be compared, and where what changed is no line of code."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from refute.repository.change_scope import revision_to_open, scope_change
from refute.repository.mirror import open_repository
from refute.repository.models import ChangeScope
from refute.repository.problems import RepositoryError
from tests.repository.repositories import commit_files, git

CODE = "package store\n\nfunc Append() error {\n\tsync()\n\tacknowledge()\n\treturn nil\n}\n"


def scope_of(folder: Path, change: str = "HEAD") -> ChangeScope:
    with open_repository(
        folder, cache=folder.parent / "cache", revision=revision_to_open(change)
    ) as snapshot:
        return scope_change(snapshot, change)


def test_a_plain_folder_cannot_be_compared_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.go").write_text(CODE)
    found = scope_of(tmp_path / "plain")
    assert found.needs_distributed_test is None
    assert "cannot be told" in found.why
    assert found.left_out["files not compared"] == 1
    assert "do not leave it out" in found.text()
    with pytest.raises(RepositoryError, match="no revisions"):
        scope_of(tmp_path / "plain", "HEAD~1..HEAD")


def test_without_a_commit_nothing_has_changed(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path / "empty")], check=True)
    found = scope_of(tmp_path / "empty")
    assert found.needs_distributed_test is False
    assert "no commit yet" in found.why


def test_a_shallow_clone_lacks_the_parent_and_says_what_to_do(tmp_path: Path) -> None:
    folder = commit_files(tmp_path / "whole", {"a.go": "package a\n"})
    parent = git(folder, "rev-parse", "HEAD")
    commit_files(folder, {"a.go": CODE})
    shallow = tmp_path / "shallow"
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{folder}", str(shallow)], check=True)
    found = scope_of(shallow)
    assert (found.base, found.needs_distributed_test, found.files) == (parent, None, ())
    assert "shallow clone" in found.why
    assert "git fetch --deepen 1" in found.why
    with pytest.raises(RepositoryError, match="no commit is called"):
        scope_of(shallow, "HEAD~1..HEAD")


def test_a_lost_parent_and_a_lost_tree_are_no_empty_change(tmp_path: Path) -> None:
    folder = commit_files(tmp_path / "broken", {"a.go": "package a\n"})
    commit_files(folder, {"a.go": CODE})

    def lose(name: str) -> None:
        found = git(folder, "rev-parse", name)
        (folder / ".git/objects" / found[:2] / found[2:]).unlink()

    lose("HEAD~1^{tree}")
    with pytest.raises(RepositoryError, match="objects are missing"):
        scope_of(folder)
    lose("HEAD~1")
    found = scope_of(folder)
    assert found.needs_distributed_test is None
    assert "not in this repository" in found.why


def test_a_missing_blob_leaves_the_name_of_the_file(tmp_path: Path) -> None:
    folder = commit_files(tmp_path / "partial", {"a.go": "package a\n", "b.md": "old\n"})
    lost = git(folder, "rev-parse", "HEAD:a.go")
    commit_files(folder, {"a.go": CODE, "b.md": "new\n"})
    (folder / ".git/objects" / lost[:2] / lost[2:]).unlink()
    found = scope_of(folder)
    assert {file.path: file.unread for file in found.files} == {
        "a.go": "missing objects",
        "b.md": "missing objects",
    }
    assert found.left_out["changed files not compared (missing objects)"] == 2
    assert found.needs_distributed_test


def test_the_first_commit_a_merge_and_an_octopus_say_what_was_compared(tmp_path: Path) -> None:
    folder = commit_files(tmp_path / "product", {"a.go": CODE})
    first = scope_of(folder)
    assert [(file.path, file.status, file.added) for file in first.files] == [("a.go", "added", 7)]
    assert any("first commit" in note for note in first.notes)
    for name in ("one", "two"):
        git(folder, "checkout", "-q", "-b", name, "main")
        commit_files(folder, {f"{name}.go": CODE})
    git(folder, "checkout", "-q", "main")
    commit_files(folder, {"c.go": CODE})
    git(folder, "merge", "-q", "--no-ff", "-m", "octopus", "one", "two")
    found = scope_of(folder)
    assert {file.path for file in found.files} == {"one.go", "two.go"}
    assert found.base == git(folder, "rev-parse", "HEAD^1")
    assert any("merge of 3 parents, compared with the first" in note for note in found.notes)


def test_branches_without_a_common_past_are_compared_as_they_are_and_it_is_said(tmp_path: Path) -> None:
    folder = commit_files(tmp_path / "product", {"a.go": CODE})
    git(folder, "checkout", "-q", "--orphan", "other")
    commit_files(folder, {"a.go": CODE + "\nfunc Drop() {}\n"})
    assert any("No common ancestor" in note for note in scope_of(folder, "other").notes)


def test_a_submodule_that_moved_needs_a_test_and_is_not_entered(tmp_path: Path) -> None:
    inner = commit_files(tmp_path / "inner", {"x.go": CODE})
    folder = commit_files(tmp_path / "outer", {"a.go": CODE})
    add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "inner"]
    subprocess.run(["git", "-C", str(folder), *add], check=True, capture_output=True)
    commit_files(folder, {})
    commit_files(folder / "inner", {"x.go": CODE.replace("sync", "flush")})
    commit_files(folder, {})
    found = scope_of(folder)
    assert [(file.path, file.unread) for file in found.files] == [("inner", "submodule")]
    assert found.needs_distributed_test
    assert "ubmodules moved (inner)" in found.why


@pytest.mark.parametrize(
    ("before", "after", "needed"),
    [
        ("store/a.go", "store/b.go", False),
        ("store/a_test.go", "store/a.go", True),  # it is compiled into the product now
        ("conf/old.yaml", "conf/new.yaml", True),  # the product may look for it by name
        ("migrations/2_b.sql", "migrations/1_b.sql", True),
    ],
)
def test_a_rename_alone_is_quiet_where_nobody_looks_for_the_name(
    tmp_path: Path, before: str, after: str, needed: bool
) -> None:
    folder = commit_files(tmp_path / "product", {before: CODE, "README.md": "x\n"})
    (folder / after).parent.mkdir(exist_ok=True)
    git(folder, "mv", before, after)
    commit_files(folder, {})
    found = scope_of(folder)
    assert [(file.status, file.old_path, file.path) for file in found.files] == [("renamed", before, after)]
    assert found.needs_distributed_test is needed


def test_a_mode_alone_is_quiet_in_every_language(tmp_path: Path) -> None:
    folder = commit_files(tmp_path / "product", {"a.py": "x = 1\n", "a.go": CODE})
    for name in ("a.py", "a.go"):
        (folder / name).chmod(0o755)
    commit_files(folder, {})
    found = scope_of(folder)
    assert len(found.files) == 2
    assert found.needs_distributed_test is False


@pytest.mark.parametrize(
    ("path", "needed"),
    [("store/a.go", True), ("lib/raft.jar", True), ("logo.png", False), ("docs/a.md", False)],
)
def test_a_binary_file_is_quiet_only_where_no_program_runs_it(
    tmp_path: Path, path: str, needed: bool
) -> None:
    folder = commit_files(tmp_path / "product", {path: b"\0\1\2"})
    commit_files(folder, {path: b"\0\1\3"})
    found = scope_of(folder)
    assert found.files[0].unread == "binary"
    assert found.left_out["changed files not compared (binary)"] == 1
    assert found.needs_distributed_test is needed


@pytest.mark.parametrize(
    ("path", "before", "after", "needed"),
    [
        # the order of an acknowledgement and of what it vouches for
        ("a.go", "\tsync()\n\tacknowledge()\n", "\tacknowledge()\n\tsync()\n", True),
        ("a.go", "\tsync()\n", "\tsync( )\n", False),
        ("a.c", "  *head = 1;\n", "  *head = 2;\n", True),  # a line of C that begins as a comment might
        ("a.c", "  --left;\n", "  --right;\n", True),
        ("a.c", "/* one */\n", "/* two */\n", False),
        ("a.c", "int a; /* one */ int b;\n", "int a; /* one */ int c;\n", True),
        ("a.js", "a = 'x y'\n", "a = 'xy'\n", True),
        ("a.conf", "# one\n", "# two\n", False),
        ("a.conf", "fsync yes\n", "fsync no\n", True),
        ("a.php", '/**\n * @Route("/a")\n */\n', '/**\n * @Route("/b")\n */\n', True),
        ("go.mod", "require go.etcd.io/raft v3.5.0\n", "require go.etcd.io/raft v3.6.0\n", True),
        ("tools/go.mod", "require a.b/lint v3.5.0\n", "require a.b/lint v3.6.0\n", False),
        ("pyproject.toml", 'version = "1.0"\n', 'version = "1.1"\n', False),
        ("server/limits.json", '{"retries": 3}\n', '{"retries": 4}\n', True),
        (".gitignore", "a\n", "b\n", False),
        (".golangci.yml", "a: 1\n", "a: 2\n", False),
        ("requirements/default.txt", "kombu>=5.3\n", "kombu>=5.6\n", True),
        ("requirements/test.txt", "pytest>=8.1\n", "pytest>=9.0\n", False),
        ("bin/daemon", "#!/bin/sh\nrun\n", "#!/bin/sh\nrun -f\n", True),
        ("go.sum", "a.b/raft v3.5.0 h1:a=\n", "a.b/raft v3.6.0 h1:b=\n", False),
        ("Cargo.lock", 'checksum = "12ab"\n', 'checksum = "34cd"\n', True),
        ("vendor/raft/raft.go", CODE, CODE.replace("sync", "flush"), True),
        ("lib/queue/web/application.rb", "retry_all\n", "drop_all\n", True),
        (
            "src/main/java/server/util/Timer.java",
            "class A { int a = 1; }\n",
            "class A { int a = 2; }\n",
            True,
        ),
        ("scripts/build/release.py", "a = 1\n", "a = 2\n", None),  # what it makes is shipped
        ("src/scripts/ci.zig", "const a = 1;\n", "const a = 2;\n", False),
        ("api/a.proto", "/*\n * one\n */\nmessage A {}\n", "/*\n * two\n */\nmessage A {}\n", False),
        ("api/a.proto", "message A {} // one\n", "message B {} // one\n", True),
        ("a.lua", "-- one\nx = 1\n", "-- two\nx = 1\n", False),
        ("a.yaml", "a: |\n  # one\nb: 1\n", "a: |\n  # two\nb: 1\n", True),  # the text of a setting
        ("a.yaml", "a: |\n  x\n# one\nb: 1\n", "a: |\n  x\n# two\nb: 1\n", False),
        ("run.sh", "cat <<EOF\n# one\nEOF\n", "cat <<EOF\n# two\nEOF\n", True),
        ("run.sh", "cat <<EOF\nx\nEOF\n# one\n", "cat <<EOF\nx\nEOF\n# two\n", False),
        ("a.py", "# coding: latin-1\nx = 1\n", "# coding: utf-8\nx = 1\n", True),
    ],
)
def test_what_looks_like_layout_or_a_comment(
    tmp_path: Path, path: str, before: str, after: str, needed: bool | None
) -> None:
    around = "<?php\n%s\nfunction f() {}\n" if path.endswith("php") else "%s"
    folder = commit_files(tmp_path / "product", {path: around % before, "README.md": "x\n"})
    commit_files(folder, {path: around % after})
    assert scope_of(folder).needs_distributed_test is needed


@pytest.mark.parametrize(
    ("path", "before", "after", "needed"),
    [
        ("Dockerfile", "FROM alpine:3.18\n", "FROM alpine:3.20\n", True),
        ("Dockerfile", "# one\nFROM a\n", "# two\nFROM a\n", False),
        ("tests/Dockerfile", "FROM alpine:3.18\n", "FROM alpine:3.20\n", False),
        ("Makefile", "CFLAGS = -O2\n", "CFLAGS = -O3\n", True),
        ("Makefile", "test:\n\tgo test ./...\n", "test:\n\tgo test -v ./...\n", False),
        ("Makefile", "all:\n\t./make-it a\n", "all:\n\t./make-it b\n", None),
        ("cmake/testing.cmake", "a(1)\n", "a(2)\n", False),
        ("Cargo.toml", "[profile.release]\npanic = 1\n", "[profile.release]\npanic = 2\n", True),
        ("Cargo.toml", '[package]\ndescription = "a"\n', '[package]\ndescription = "b"\n', False),
        ("rust-toolchain.toml", 'channel = "1.80"\n', 'channel = "1.81"\n', True),
        (".tool-versions", "erlang 26\n", "erlang 27\n", True),
        (".bazelrc", "build --copt=-O2\n", "build --copt=-O3\n", True),
        ("a.csproj", '<ProjectReference Include="a" />\n', '<ProjectReference Include="b" />\n', True),
        ("rabbitmq-deps.mk", "dep_a = hex 1.0.0\n", "dep_a = hex 1.1.0\n", True),
        ("bin/server-start.sh", "HEAP=-Xmx1g\n", "HEAP=-Xmx2g\n", True),
        ("config/jvm.options", "-Xmx1g\n", "-Xmx2g\n", True),
        ("charts/server/values.yaml", "replicas: 3\n", "replicas: 1\n", True),
        ("charts/server/README.md", "a\n", "b\n", False),
        ("packaging/server.service", "LimitNOFILE=1\n", "LimitNOFILE=2\n", True),
        ("tools/schema/2_b.sql", "CREATE TABLE a (b int);\n", "CREATE TABLE a (b text);\n", True),
        ("src/main/resources/flags.txt", "new_store=off\n", "new_store=on\n", True),
        ("gen/a.pb.go", CODE, CODE.replace("sync", "flush"), True),
        (".github/workflows/release.yml", "run: ./ship a\n", "run: ./ship b\n", None),
        (".github/workflows/tests.yml", "image: erlang:26\n", "image: erlang:27\n", None),
        (".github/workflows/tests.yml", "run: ./t a\n", "run: ./t b\n", False),
        ("scripts/package.sh", "tar a\n", "tar b\n", None),
        ("scripts/stats.sh", "count a\n", "count b\n", False),
    ],
)
def test_what_is_built_deployed_or_started_is_never_called_quiet(
    tmp_path: Path, path: str, before: str, after: str, needed: bool | None
) -> None:
    folder = commit_files(tmp_path / "product", {path: before, "README.md": "x\n"})
    commit_files(folder, {path: after})
    found = scope_of(folder)
    assert found.needs_distributed_test is needed
    assert bool(re.search(r"no (?:new )?distributed test", found.why)) is (needed is False)


def test_what_cannot_be_told_beside_product_code_does_not_hide_it(tmp_path: Path) -> None:
    folder = commit_files(tmp_path / "product", {"a.go": CODE, "Makefile": "all:\n\t./make-it a\n"})
    commit_files(folder, {"a.go": CODE.replace("sync", "flush"), "Makefile": "all:\n\t./make-it b\n"})
    assert scope_of(folder).needs_distributed_test is True


def test_a_caller_is_named_once_a_line_and_names_that_are_not_looked_for_are_told(tmp_path: Path) -> None:
    code = "package a\n" + "".join(
        f"\nfunc {name}() int {{ return 1 }}\n" for name in ("Get", "Renew", "Hold")
    )
    uses = "package b\n\nfunc f() int { return Renew() + Renew() + Get() }\n"
    everywhere = "package c\n\nfunc g() {\n" + "\tHold()\n" * 61 + "}\n"
    folder = commit_files(tmp_path / "product", {"a/a.go": code, "b/b.go": uses, "c/c.go": everywhere})
    commit_files(folder, {"a/a.go": code.replace("return 1", "return 2")})
    found = scope_of(folder)
    assert [(item.path, item.line) for item in found.callers] == [("b/b.go", 3)]
    assert "Callers of names that are short or everywhere are not told: Get, Hold." in found.notes
