"""Of one sentence in several editions of a document, the current one is cited."""

from __future__ import annotations

import pytest

from refute.repository.editions import age_of, newest_first
from refute.repository.ranking import Candidate
from refute.repository.statement import Statement


def said(path: str, text: str = "Committed messages are never lost.", worth: float = 1.0) -> Candidate:
    return Candidate(path, "blob", Statement(text, 1, 1, "document", 3.0, 0, promise=1.0, domain=1.0), worth)


def test_editions_are_ordered_by_their_numbers_and_the_current_one_is_the_newest() -> None:
    paths = [
        "site/versioned_docs/version-v0.9.0-alpha/a.md",
        "site/versioned_docs/version-v0.9.0/a.md",
        "site/versioned_docs/version-v0.10.0-beta/a.md",
        "docs/1.2.x/a.md",
        "docs/v3/a.md",
        "docs/a.md",
    ]
    assert sorted(paths, key=age_of) == paths


@pytest.mark.parametrize(
    "path", ["www/posts/2013/08/a.md", "docs/a-1.2.md", "CHANGELOG/CHANGELOG-3.1.md", "v2beam/a.md", "a.md"]
)
def test_other_numbers_are_no_edition(path: str) -> None:
    assert age_of(path) == age_of("docs/a.md")


def test_the_newest_edition_of_the_same_sentence_heads_its_cluster_with_its_worth() -> None:
    old, new = said("d/version-1.0/a.md", worth=2.0), said("d/version-1.10/a.md", worth=1.5)
    other = said("d/version-2.0/a.md", "Committed messages are never lost or duplicated.")
    (cluster,) = newest_first([[old, new, other]])
    assert [row.path for row in cluster] == [new.path, old.path, other.path]
    assert cluster[0].worth == 2.0


def test_what_stands_in_no_edition_keeps_its_place() -> None:
    head, copy = said("docs/a.md"), said("docs/version-9.0/a.md")
    assert newest_first([[head, copy]]) == [[head, copy]]
