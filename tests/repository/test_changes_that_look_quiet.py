"""Changes that look like words, layout, names, tests or tools, and alter what runs: none may be called harmless."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.repository.change_scope import revision_to_open, scope_change
from refute.repository.file_kinds import role_of
from refute.repository.mirror import open_repository
from tests.repository.repositories import commit_files, git

ROWS = "x = 1\ny = 2\nz = 3\n" * 5


def needed_after(folder: Path) -> bool | None:
    with open_repository(
        folder, cache=folder.parent / "cache", revision=revision_to_open("HEAD")
    ) as snapshot:
        return scope_change(snapshot, "HEAD").needs_distributed_test


def is_needed(folder: Path, path: str, before: str, after: str) -> bool | None:
    commit_files(folder, {path: before, "README.md": "x\n"})
    commit_files(folder, {path: after})
    return needed_after(folder)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.go", 'package a\n\n// #cgo LDFLAGS: -lone\nimport "C"\n', 'package a\n\n// #cgo LDFLAGS: -ltwo\nimport "C"\n'),
        ("a.go", "package a\n\n//export Stop\nfunc Stop() {}\n", "package a\n\n// Stop ends it.\nfunc Stop() {}\n"),
        ("api/a.go", "package a\n\n// +kubebuilder:default=3\ntype A int\n", "package a\n\n// +kubebuilder:default=5\ntype A int\n"),
        ("db/2.sql", "-- +goose Down\nSELECT 2;\n", "SELECT 2;\n"),
        ("store/q.sql", "-- name: Held :one\nSELECT 1;\n", "-- name: Held :many\nSELECT 1;\n"),
        ("store/q.sql", "/*+ INDEX(a) */\nSELECT 1;\n", "/*+ FULL(a) */\nSELECT 1;\n"),
        ("Package.swift", "// swift-tools-version:5.5\nlet a = 1\n", "// swift-tools-version:6.0\nlet a = 1\n"),
        ("Dockerfile", "# escape=\\\nFROM a\n", "# escape=`\nFROM a\n"),
        ("a.c", "// one \\\nint x;\n", "// one\nint x;\n"),
        ("deploy/a.yaml", "# {{- if .x }}\na: 1\n", "# {{- if .y }}\na: 1\n"),
    ],
)  # fmt: skip
def test_a_comment_that_something_obeys_is_no_comment(
    tmp_path: Path, path: str, before: str, after: str
) -> None:
    assert is_needed(tmp_path / "product", path, before, after)


@pytest.mark.parametrize(
    ("path", "before", "after", "needed"),
    [
        ("a.go", "package a\nfunc f() {\n\t// then\n\tsync()\n}\n", "package a\nfunc f() {\n\t// then sync()\n}\n", True),
        ("run.sh", "#!/bin/sh\nexec a\nb\n", "#!/bin/sh\nexec a b\n", True),
        ("a.js", "function f() {\n  return {\n    a: 1 };\n}\n", "function f() {\n  return\n  { a: 1 };\n}\n", True),
        ("a.kt", "val x = a + b\n", "val x = a\n+ b\n", True),
        ("a.c", "#define X 1\nint y;\n", "#define X 1 int y;\n", True),
        ("a.c", "int f() { return i++ + j; }\n", "int f() { return i + ++j; }\n", True),
        ("a.go", "package a\nvar s = `\na:\n  b: 1\n`\n", "package a\nvar s = `\na:\nb: 1\n`\n", True),
        ("A.java", 'class A { String s = """\n  a\n    b\n  """; }\n', 'class A { String s = """\n  a\n  b\n  """; }\n', True),
        ("a.rb", "x = <<~E\n  a:\n    b\nE\n", "x = <<~E\n  a:\n  b\nE\n", True),
        ("a.js", "f({ a: 1, b: 2 });\n", "f({\n  a: 1,\n  b: 2\n});\n", False),
        ("a.js", "f(a, b);\n", "f(\n  a,\n  b\n);\n", False),
        ("A.java", "class A { int f() { return a + b; } }\n", "class A {\n  int f() {\n    return a\n      + b;\n  }\n}\n", False),
        ("a.cpp", "template <class T> int f(T a) { return a; }\n", "template <class T>\nint f(T a) {\n  return a;\n}\n", False),
        ("a.json", '{"a": 1}\n', '{\n  "a": 1\n}\n', False),
    ],
)  # fmt: skip
def test_layout_is_what_a_compiler_does_not_see(
    tmp_path: Path, path: str, before: str, after: str, needed: bool
) -> None:
    assert is_needed(tmp_path / "product", path, before, after) is needed


@pytest.mark.parametrize(
    ("before", "after", "needed"),
    [
        ("store/disk.go", "store/disk_linux.go", True),  # built for one system only now
        ("store/disk.go", "store/block.go", False),
        ("db/migrate/1_a.rb", "db/migrate/3_a.rb", True),  # run in another order
        ("app/migrations/2_a.py", "app/migrations/3_a.py", True),
        ("lib/plugins/a.rb", "lib/plugins/b.rb", True),
    ],
)
def test_a_name_that_tells_what_is_built_or_when_it_is_run_is_no_name_alone(
    tmp_path: Path, before: str, after: str, needed: bool
) -> None:
    folder = commit_files(tmp_path / "product", {before: ROWS, "README.md": "x\n"})
    git(folder, "mv", before, after)
    commit_files(folder, {})
    assert needed_after(folder) is needed


@pytest.mark.parametrize(
    ("path", "needed"),
    [
        ("util/env_posix.cc", True),  # where LevelDB and RocksDB keep what syncs files
        ("utils/lock.py", True),
        ("tools/util/lint.py", False),
        ("web/server.py", True),
        ("docs/web/server.py", False),
        ("src/scripts/acquire.lua", True),
        ("bench/post.lua", False),
        ("spec/protocol.proto", True),
        ("src/spec/raft.go", True),
        ("spec/lock_spec.rb", False),
        ("src/main/java/com/example/orders/Orders.java", True),
        ("examples/orders/Orders.java", False),
        ("trace/sampler.go", True),
        ("raft/demotion.go", True),
        ("conf/security.policy", True),
        ("SECURITY.md", False),
        ("src/server/templates/index.html", True),
        ("docs/index.html", False),
        (".dockerignore", None),
        (".babelrc", True),
    ],
)
def test_a_folder_or_a_name_alone_makes_nothing_harmless(
    tmp_path: Path, path: str, needed: bool | None
) -> None:
    assert is_needed(tmp_path / "product", path, "a(1)\n", "a(2)\n") is needed


def test_a_module_that_is_replaced_without_a_version_is_another(tmp_path: Path) -> None:
    assert is_needed(tmp_path / "product", "go.mod", "replace a => ../b\n", "replace a => ../c\n")


def test_the_word_example_is_a_word() -> None:
    assert [role_of(path) for path in ("a/example.go", "a/example_a.go", "a/DemoServer.java", "samples/a.py")] == ["example"] * 4  # fmt: skip
    assert [role_of(path) for path in ("a/examples2.go", "a/samples.py", "src/com/example/A.java", "dotnet/samples/A.cs")] == ["example", "code", "code", "example"]  # fmt: skip
