"""What an agent pays for an answer about a repository: text and data together, whatever is in it."""

from __future__ import annotations

import json

import pytest

from refute.tools.repositories import (
    ExtractClaimsRequest,
    RepositoryFacts,
    RepositoryRequest,
    ScopeChangeRequest,
    discover_toolbox,
    extract_claims,
    map_repository,
    scope_change,
)
from tests.repository.repositories import commit_files

_TOKENS_AT_MOST = 10_000
_CHARACTERS_A_TOKEN = 3.5


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RepositoryFacts]:
    """The default answers for a repository whose names and lines are as long as they may be."""
    folder = tmp_path_factory.mktemp("long") / "n"
    name = "n" * 200
    words = ("leader", "quorum", "lease", "fsync", "retry", "snapshot", "epoch", "session")
    files: dict[str, str | bytes] = {
        f"{name}{at}.md": f"The {word} {'verylongword' * 20} {at} must never be lost unless {'x' * 300} fails.\n"
        for at in range(80)
        for word in [words[at % 8] + str(at)]
    }
    files |= {
        f"d{at}/{name}_test.go": f"package a\n\nfunc Test{'F' * 400}{at}(t *testing.T) {{\n\tkill()\n}}\n"
        for at in range(80)
    }
    files["Makefile"] = "".join(f"test-{'m' * 200}{at}:\n\tgo test {'p' * 300}\n" for at in range(80))
    repository = str(commit_files(folder, files))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REFUTE_CACHE", str(folder.parent / "cache"))
        return {
            "map": map_repository(RepositoryRequest(repository=repository)),
            "claims": extract_claims(ExtractClaimsRequest(repository=repository)),
            "toolbox": discover_toolbox(RepositoryRequest(repository=repository)),
            "scope": scope_change(ScopeChangeRequest(repository=repository)),
        }


@pytest.mark.parametrize("name", ["map", "claims", "toolbox", "scope"])
def test_text_and_data_together_fit_an_agent(name: str, answers: dict[str, RepositoryFacts]) -> None:
    answer = answers[name]
    said = len(answer.text()) + len(json.dumps(answer.data()))
    assert said < _TOKENS_AT_MOST * _CHARACTERS_A_TOKEN
    assert RepositoryFacts.model_validate(answer.data())  # the schema that the server announces


def test_data_counts_the_rows_that_it_leaves_out(answers: dict[str, RepositoryFacts]) -> None:
    answer = answers["claims"]
    data = answer.data()
    assert data["found"]["claims"] == len(answer.rows)
    assert 0 < len(data["rows"]) < len(answer.rows)
    assert f"{len(answer.rows) - len(data['rows'])} rows are left out" in data["shown"]
    assert data["rows"][0]["line"] == answer.rows[0]["line"]
