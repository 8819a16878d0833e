"""A client that shows text alone misses nothing that the data of an answer say."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.repository.change_scope import scope_change
from refute.repository.claim_lines import Width, claim_lines, claims_as_lines
from refute.repository.contradictions import find_contradictions
from refute.repository.falsifiers import falsifier_of
from refute.repository.mirror import open_repository
from refute.repository.models import DEFAULT_TEXT_CHARACTERS, Claim, ClaimSet, Place, RelatedTest, Threshold
from refute.repository.ranking import candidates
from refute.repository.repository_map import map_repository
from refute.repository.survey import survey
from refute.repository.toolbox import discover_toolbox
from tests.repository.repositories import commit_files

SAID = "An acknowledged write is never lost, unless the disk fails within 60 s (default: 60 s)."


def claim(**changed: object) -> Claim:
    known: dict[str, object] = {
        "id": "C-1", "rank": 1, "score": 1.0, "sentence": SAID, "quote": SAID, "path": "a.md", "line": 1, "end_line": 1,
        "commit": "c" * 40, "heading": "Durability > Writes", "channel": "document", "category": "durability",
        "polarity": "guarantee", "conditions": ("unless the disk fails within 60 s",), "default": "60 s",
        "threshold": Threshold(value="60", unit="s"), "confidence": 0.84, "falsified_by": falsifier_of("durability", SAID),
    }  # fmt: skip
    return Claim.model_validate(known | changed)


def test_heading_confidence_and_channel_stand_in_the_text() -> None:
    assert "; under Durability > Writes; " in claim_lines(claim())[1]
    assert claim_lines(claim())[1].endswith("; conf 0.84 as document")


def test_what_the_quotation_shows_is_not_said_again() -> None:
    head, facts = claim_lines(claim())
    assert SAID in head
    assert "unless" not in facts and "60 s" not in facts


def test_what_the_quotation_was_cut_before_is_said() -> None:
    facts = claim_lines(claim(), Width(quotation=30))[1]
    assert "; unless the disk fails within 60 s; 60 s; default 60 s; " in facts


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"threshold": Threshold(value="500", unit="millisecond")}, "500 millisecond"),
        ({"default": "30"}, "default 30"),
        ({"sentence": "It waits 60 s.", "default": "60"}, "default 60"),
    ],
)
def test_what_the_quotation_spells_otherwise_is_said(changed: dict[str, object], said: str) -> None:
    assert f"; {said}; " in claim_lines(claim(**changed))[1]


def test_a_heading_of_any_length_takes_a_part_of_a_line() -> None:
    assert "…; conf" in claim_lines(claim(heading="Of leases " * 40))[1]


def test_tests_are_named_with_their_places_and_the_others_counted() -> None:
    tests = tuple(
        RelatedTest(name=f"Test{at}", place=Place(path="a_test.go", line=at, end_line=9), strength="asserts")
        for at in range(1, 5)
    )
    facts = claim_lines(claim(related_tests=tests))[1]
    assert "tests Test1 (a_test.go:1, asserts" in facts and ") +2; " in facts


def test_where_claims_do_not_fit_all_stand_there_with_shorter_quotations() -> None:
    claims = [claim(rank=rank, sentence="A write is never lost. " * 30) for rank in range(1, 11)]
    wide, narrow = claims_as_lines(claims, 10_000), claims_as_lines(claims, 3_500)
    assert len(wide) == len(narrow) == 20
    assert sum(len(line) + 1 for line in narrow) <= 3_500 < sum(len(line) + 1 for line in wide)


def test_an_answer_of_many_pages_keeps_quotations_of_a_moderate_length() -> None:
    claims = [claim(rank=rank, sentence="A write is never lost. " * 30) for rank in range(1, 11)]
    paged, whole = claims_as_lines(claims, 100), claims_as_lines(claims, 100_000)
    assert len(paged) == len(whole) == 20
    assert all(f"«{'A write is never lost. ' * 10}" in line for line in paged[::2])


def test_the_map_says_what_a_component_is_for_and_where_else_a_kind_shows(tmp_path: Path) -> None:
    purpose = "Package lease never gives one lease to two holders."
    code = f"// {purpose}\npackage lease\n\nfunc a() {{ http.ListenAndServe(x) }}\n\nfunc b() {{ http.ListenAndServe(y) }}\n"
    with open_repository(commit_files(tmp_path / "a", {"lease/doc.go": code}), cache=tmp_path / "c") as found:
        text = map_repository(found).text()
    assert f"; «{purpose}»" in text
    assert "1 file (go)" in text
    assert "also on 6" in text


def test_the_toolbox_says_faults_oracles_and_what_tests_pin(tmp_path: Path) -> None:
    test = "package a\n\nfunc TestLeaderIsKilled(t *testing.T) {\n\tkillLeader()\n\trequire.True(t, ok)\n}\n"
    files = {
        "scripts/kill_test.sh": "#!/bin/sh\n# SEED=7\nkill -9 1\n",
        "a_test.go": test,
        "go.mod": "module a\n",
    }
    with open_repository(commit_files(tmp_path / "a", files), cache=tmp_path / "c") as found:
        text = discover_toolbox(found).text()
    assert "; faults: kill" in text, text
    assert "seed: «# SEED=7»" in text
    assert "  fault-injection: assertions of the tests after the fault" in text
    assert (
        "1 test, 1 under fault, 0 without an assertion; pins «test leader is killed», first at a_test.go:3"
        in text
    )


def test_a_change_counts_one_file_as_one_and_says_what_moved(tmp_path: Path) -> None:
    folder = commit_files(
        tmp_path / "a", {"a.go": "package a\n\nfunc f() {\n\tg()\n}\n", "b.go": "package a\n"}
    )
    commit_files(folder, {"a.go": "package a\n\nfunc f() {\n\th()\n}\n"})
    with open_repository(folder, cache=tmp_path / "c") as found:
        text = scope_change(found, "HEAD").text()
    assert ": 1 file. " in text
    assert "modified a.go (code) +1 -1; lines 4; in f" in text


def test_a_change_counts_the_tests_that_its_text_does_not_name(tmp_path: Path) -> None:
    folder = commit_files(tmp_path / "a", {"a_test.go": "package a\n"})
    tests = "".join(f"\nfunc TestLease{at}(t *testing.T) {{\n\trequire.True(t, x)\n}}\n" for at in range(23))
    commit_files(folder, {"a_test.go": f"package a\n{tests}"})
    with open_repository(folder, cache=tmp_path / "c") as found:
        text = scope_change(found, "HEAD").text()
    assert "TestLease19 (" in text and "TestLease20 (" not in text
    assert "  3 more in the JSON" in text


def test_what_a_first_commit_promises_is_new_and_what_is_edited_is_reworded(tmp_path: Path) -> None:
    folder = commit_files(tmp_path / "a", {"README.md": "An acknowledged write is never lost.\n"})
    with open_repository(folder, cache=tmp_path / "c") as found:
        assert "1 claim is new: read what is promised now." in scope_change(found, "HEAD").why
    commit_files(folder, {"README.md": "An acknowledged write must never be lost.\n"})
    with open_repository(folder, cache=tmp_path / "c") as found:
        assert "1 claim was reworded: read whether" in scope_change(found, "HEAD").why


def test_one_copy_of_a_contradiction_is_one(tmp_path: Path) -> None:
    files = {
        "a.md": "The leader lease of a session expires after 10 seconds without a heartbeat of its holder.\n",
        "b.md": "The leader lease of a session expires after 30 seconds without a heartbeat of its holder.\n",
        "c.md": "The leader lease of a session expires after 30 seconds without a heartbeat of its holder.\n",
    }
    with open_repository(commit_files(tmp_path / "a", files), cache=tmp_path / "c") as found:
        surveyed = survey(found)
        notes = [row.note for row in find_contradictions(found, surveyed, candidates(surveyed.files))]
    assert any("The same for one copy, " in note for note in notes), notes


def test_the_default_answer_holds_every_claim_that_it_says_it_shows() -> None:
    deep = f"clients/src/main/java/org/example/{'consumer/' * 2}Group.java"
    test = RelatedTest(name="a" * 50, place=Place(path=deep, line=1, end_line=2), strength="under fault")
    claims = tuple(
        claim(rank=rank, id=f"C-{rank:010}", sentence="A write is never lost. " * 30, path=deep, related_tests=(test, test),
              heading="Of consumers > Of groups > Of rebalancing > Of members", conditions=("if a member has left it",))
        for rank in range(1, 41)
    )  # fmt: skip
    found = ClaimSet(
        name="a", commit="c" * 40, top=40, promising=40, claims=claims, counts={"durability": 40}
    )
    text = found.text()
    assert len(text) <= DEFAULT_TEXT_CHARACTERS
    assert all(f"\n{row.rank}. {row.id} " in text for row in claims)
    assert "more lines left out" not in text
