"""A first plan of a real repository holds only claims whose citations can be read, and judges nothing by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.plan.check import check_plan
from refute.plan.reader import parse_plan
from refute.plan.scaffold import FirstPlan, scaffold_plan
from refute.repository.change_scope import scope_change
from refute.repository.claims import extract_claims
from refute.repository.mirror import open_repository
from refute.repository.repository_map import map_repository
from refute.repository.toolbox import discover_toolbox
from refute.tools.found import citation_reader, found_of
from tests.repository.repositories import commit_files, git

ROOT = Path(__file__).resolve().parents[2]
README = "# Store\n\nAn acknowledged write survives the crash of any one node.\n\nReads are linearizable.\n"
CITED = {
    "citation-not-found",
    "stale-citation",
    "moved-citation",
    "uncited-claim",
    "claim-category",
    "empty-claim",
}


def first_plan(root: Path, cache: Path, change: str | None = None) -> FirstPlan:
    with open_repository(root, cache=cache) as snapshot:
        claims = extract_claims(snapshot)
        scope = scope_change(snapshot, change) if change else None
        found = found_of(claims, map_repository(snapshot), discover_toolbox(snapshot, claims=claims), scope)
    return scaffold_plan(found, "first")


def cited_wrongly(text: str, root: Path) -> set[str]:
    return {defect.rule for defect in check_plan(text, read_citation=citation_reader(root)).defects} & CITED


def test_every_claim_of_the_bundled_store_is_cited_and_found(tmp_path: Path) -> None:
    root = ROOT / "examples" / "quorumkv"
    first = first_plan(root, tmp_path)
    plan = parse_plan(first.text)
    assert len(plan.claims) >= 10
    assert len(first.candidates) >= 5
    assert cited_wrongly(first.text, root) == set()


def test_a_claim_that_was_reworded_since_is_stale(tmp_path: Path) -> None:
    root = commit_files(tmp_path / "store", {"README.md": README, "store.py": "def put():\n    pass\n"})
    text = first_plan(root, tmp_path / "cache").text
    assert parse_plan(text).claims
    assert cited_wrongly(text, root) == set()
    commit_files(root, {"README.md": README.replace("any one node", "a follower")})
    assert cited_wrongly(text, root) == {"stale-citation"}
    commit_files(root, {"README.md": "Moved down.\n\n" + README})
    assert cited_wrongly(text, root) == {"moved-citation"}
    commit_files(root, {"README.md": "Nothing.\n"})
    assert cited_wrongly(text, root) == {"stale-citation"}


def test_a_citation_of_a_commit_that_never_was_is_not_found(tmp_path: Path) -> None:
    root = commit_files(tmp_path / "store", {"README.md": README})
    commit = git(root, "rev-parse", "HEAD")
    text = first_plan(root, tmp_path / "cache").text
    assert commit[:12] in text
    assert cited_wrongly(text.replace(commit[:12], "0123456789ab"), root) == {"citation-not-found"}


def test_a_change_of_words_gets_no_plan(tmp_path: Path) -> None:
    root = commit_files(tmp_path / "store", {"README.md": README, "NOTES.md": "one\n"})
    commit_files(root, {"NOTES.md": "two\n"})
    first = first_plan(root, tmp_path / "cache", "HEAD~1..HEAD")
    assert not first.needed
    assert "calls for no distributed test" in first.text


SOURCES = {
    "log.go": "package log\n\n// Append never acknowledges an entry before a majority has synced it to disk.\n"
    "func Append(entry []byte) error { return nil }\n",
    "src/lib.rs": "/// A committed entry is never lost, even if the leader crashes right after the answer.\n"
    "pub fn commit(index: u64) -> bool { index > 0 }\n",
    "src/Log.java": "/** Reads from the leader are linearizable: they never return an overwritten value. */\n"
    "class Log { long read() { return 0; } }\n",
}


@pytest.mark.parametrize("path", SOURCES)
def test_a_promise_in_the_code_of_any_language_is_cited_where_it_stands(path: str, tmp_path: Path) -> None:
    root = commit_files(tmp_path / "store", {path: SOURCES[path]})
    text = first_plan(root, tmp_path / "cache").text
    plan = parse_plan(text)
    assert [claim.source.split(":")[0] for claim in plan.claims.values()] == [path]
    assert cited_wrongly(text, root) == set()
