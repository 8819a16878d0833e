"""A first plan says what was found, cites it, and leaves every judgement open."""

from __future__ import annotations

import re

import pytest

from refute.plan.reader import parse_plan
from refute.plan.scaffold import Found, FoundChange, FoundClaim, FoundTest, FoundThing, scaffold_plan
from tests.plan.plans import check

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CLAIMS = (
    FoundClaim(
        "An acknowledged write survives the loss of any one node.", "durability", f"README.md:3@{COMMIT}"
    ),
    FoundClaim(
        "Reads from the leader are linearizable.",
        "safety",
        f"README.md:9-10@{COMMIT}",
        (FoundTest("test_get", "tests/test_get.py:4", "under fault"),),
    ),
    FoundClaim("A tenant | never sees `another`\ntenant's keys.", "boundary", f"docs/tenants.md:7@{COMMIT}"),
    FoundClaim("A retried request is applied exactly once.", "idempotency", f"docs/api.md:70@{COMMIT}"),
)
FOUND = Found(
    name="store",
    commit=COMMIT,
    claims=CLAIMS,
    components=(FoundThing("component", "server", "server:1", "the nodes"),),
    surfaces=(FoundThing("http", "GET /kv", "server/http.py:40"),),
    toolbox=(
        FoundThing("cluster", "three nodes", "tools/cluster.sh:1", "starts three", "tools/cluster.sh up"),
    ),
    contradictions=(FoundThing("number differs", "", "README.md:3", "five against three"),),
    gaps=("no test kills a node",),
)


def test_a_first_plan_reads_and_is_refused_until_it_is_judged() -> None:
    first = scaffold_plan(FOUND, "store")
    plan = parse_plan(first.text)
    assert plan.slug == "store"
    assert first.needed
    tripped = {defect.rule for defect in check(first.text).defects if defect.severity == "error"}
    assert "todo-left" in tripped
    assert not {"missing-section", "empty-section", "uncited-claim", "claim-category"} & tripped


def test_it_states_the_claims_that_were_found_and_no_other() -> None:
    plan = parse_plan(scaffold_plan(FOUND, "store").text)
    assert [claim.source for claim in plan.claims.values()] == [claim.citation for claim in CLAIMS]
    for claim, found in zip(plan.claims.values(), CLAIMS, strict=True):
        assert claim.text == re.sub(r"\s+", " ", found.sentence)
        assert claim.category == found.category


def test_candidates_are_ranked_by_severity_times_gap() -> None:
    candidates = scaffold_plan(FOUND, "store").candidates
    scores = [candidate.score for candidate in candidates]
    assert scores == sorted(scores, reverse=True)
    places = {candidate.pitfall.id: place for place, candidate in enumerate(candidates)}
    # A lost write that nothing tests comes before a stale read that is tested under fault.
    assert places["acknowledged-before-replicated"] < places["deposed-leader-serves-reads"]
    assert {"identifier-taken-for-its-prefix", "deduplication-forgotten-on-restart"} <= set(places)


def test_each_kind_of_promise_has_a_candidate_written_out() -> None:
    first = scaffold_plan(FOUND, "store", scenarios=5)
    shown = {
        candidate.pitfall.categories[0]
        for candidate in first.candidates
        if f"### {candidate.id} " in first.text
    }
    assert {"durability", "safety", "boundary", "idempotency"} <= shown


def test_every_pitfall_is_judged_with_a_reason() -> None:
    first = scaffold_plan(FOUND, "store")
    assert {judgement.verdict for _, judgement in first.judged} == {"applies", "maybe", "not"}
    for pitfall, judgement in first.judged:
        assert judgement.reason
        assert pitfall.id in first.text


def test_a_candidate_tries_only_claims_of_the_plan() -> None:
    first = scaffold_plan(FOUND, "store")
    plan = parse_plan(first.text)
    for candidate in first.candidates:
        assert candidate.claims
        assert set(candidate.claims) <= set(plan.claims)


def test_the_system_of_a_first_plan_can_be_read_once_its_marks_are_decided() -> None:
    text = scaffold_plan(FOUND, "store").text
    decided = {
        "what the scenarios call it": "store",
        "how many": "3",
        "how one node is started": '"server --port {port.client} --data {data}"',
    }
    for mark, decision in decided.items():
        assert f"TODO(judge): {mark}\n" in text
        text = text.replace(f"TODO(judge): {mark}\n", f"{decision}\n")
    plan = parse_plan(text.replace("```text\nsystem:", "```yaml\nsystem:"))
    system = plan.systems["store"]
    assert list(system.states) == ["serving", "accepts"]
    assert system.clients["usual"].http is not None


def test_what_is_left_out_is_counted() -> None:
    first = scaffold_plan(FOUND, "store", claims=2)
    assert first.left_out == 2
    assert "2 more of lower rank were left out" in first.text
    assert list(parse_plan(first.text).claims) == ["C1", "C2"]


@pytest.mark.parametrize("needed", [True, False])
def test_a_change_that_needs_no_distributed_test_gets_no_plan(needed: bool) -> None:
    change = FoundChange("a" * 40, "b" * 40, ("README.md",), needed, "only words were changed")
    first = scaffold_plan(Found("store", COMMIT, CLAIMS, change=change), "store")
    assert first.needed is needed
    assert "only words were changed" in first.text
    assert ("## 1b. Claims" in first.text) is needed


def test_nothing_found_is_said_and_not_made_up() -> None:
    first = scaffold_plan(Found("empty", COMMIT, ()), "empty")
    plan = parse_plan(first.text)
    assert plan.claims == {} and plan.hypotheses == {} and first.candidates == ()
    assert "no-claims" in {defect.rule for defect in check(first.text).defects}
