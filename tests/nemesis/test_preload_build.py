"""The shim is built by this machine's compiler; where that cannot be, a person is told why."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.nemesis import compiled
from refute.nemesis.errors import NemesisError
from refute.nemesis.mechanisms import probe
from refute.nemesis.preload import build


def test_without_a_compiler_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path))
    monkeypatch.setattr(compiled.shutil, "which", lambda _: None)
    found = probe("clock", "jump")
    assert not found.works
    assert "there is no C compiler" in found.reason


def test_a_compiler_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))
    compiler = tmp_path / "bad cc"
    compiler.write_text("#!/bin/sh\necho no such dialect >&2; exit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    with pytest.raises(NemesisError, match="no such dialect"):
        build.built_shim()
    assert not list((tmp_path / "cache" / "preload").iterdir())


def test_a_cache_folder_that_cannot_be_looked_at_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / ("x" * 300)))
    with pytest.raises(NemesisError, match="there is no cache folder"):
        build.built_shim()
