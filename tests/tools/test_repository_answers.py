"""What an agent pays for an answer about a repository: text and data together, whatever is in it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from refute.repository.mirror import open_repository
from refute.repository.repository_map import map_repository as chart_of
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

_TOKENS_AT_MOST = 8_000
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
            "many claims": extract_claims(ExtractClaimsRequest(repository=repository, top=600)),
            "toolbox": discover_toolbox(RepositoryRequest(repository=repository)),
            "scope": scope_change(ScopeChangeRequest(repository=repository)),
        }


@pytest.mark.parametrize("name", ["map", "claims", "many claims", "toolbox", "scope"])
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


def test_a_cut_answer_says_where_it_goes_on_and_its_end_is_there(answers: dict[str, RepositoryFacts]) -> None:
    shown = answers["many claims"].text()
    assert re.search(r"more lines left out: ask again with start=\d+", shown)
    assert shown.splitlines()[-1].startswith("left out: ")


def test_the_pages_of_an_answer_hold_every_line_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))
    files: dict[str, str | bytes] = {
        f"d{at}/{'n' * 200}.go": 'package a\n\nvar x = os.Getenv("A")\n' for at in range(80)
    }
    folder = commit_files(tmp_path / "p", files)
    with open_repository(folder) as snapshot:
        chart = chart_of(snapshot)
    whole = chart.text(10**9).splitlines()
    pages, start = [], 0
    while True:
        page = chart.text(3_000, start=start)
        assert len(page) <= 3_000
        pages += [
            line for line in page.splitlines()[1:] if not line.startswith(("...", "no sign of", "left out"))
        ]
        onward = re.search(r"start=(\d+)", page)
        if onward is None:
            break
        assert int(onward.group(1)) > start
        start = int(onward.group(1))
    assert pages == [line for line in whole[1:] if not line.startswith(("no sign of", "left out"))]


def test_a_later_page_repeats_no_rows_as_data(answers: dict[str, RepositoryFacts]) -> None:
    later = answers["claims"].model_copy(update={"start": 5})
    assert later.data()["rows"] == []
    assert RepositoryFacts.model_validate(later.data())
