"""There is a chat prompt for each request that people make, and it says what is particular to it."""

from __future__ import annotations

import pytest

from refute.plan.chat_prompts import PromptError, chat_prompts, render_prompt

REQUESTS = (
    *("stability-plan", "fault-matrix", "release-validation-plan", "durability-plan", "partition-plan"),
    *("upgrade-plan", "crash-recovery-plan", "linearizability-plan", "deterministic-simulation-plan"),
    *("tenant-isolation-plan", "authz-boundary-plan", "namespace-isolation-plan", "multi-protocol-plan"),
    *("fairness-plan", "noisy-neighbor-plan", "what-should-we-test", "enough-coverage-plan"),
    *("holistic-test-plan", "test-this-change"),
)


def test_every_request_has_a_prompt_of_its_own() -> None:
    assert set(chat_prompts()) == set(REQUESTS)
    bodies = {render_prompt(name, {"repository": "/r", "change": "a..b"}) for name in REQUESTS}
    assert len(bodies) == len(REQUESTS)


@pytest.mark.parametrize("name", REQUESTS)
def test_a_prompt_names_the_repository_the_skill_and_the_tools(name: str) -> None:
    text = render_prompt(
        name, {"repository": "/srv/store", "slug": "store", "change": "v1..v2", "scenario": "S3"}
    )
    for word in (
        "/srv/store",
        "docs/testing-plans/store.md",
        "v1..v2",
        "S3",
        "designing-distributed-system-tests",
    ):
        assert word in text
    assert "scope_change" in text and "check_plan" in text


def test_slugs_revisions_and_scenarios_can_be_completed() -> None:
    for prompt in chat_prompts().values():
        completions = {argument.name: argument.completes for argument in prompt.arguments}
        assert completions == {
            "repository": None,
            "slug": "plan-slug",
            "change": "revision",
            "scenario": "scenario-id",
        }


def test_a_missing_or_unknown_argument_is_one_clear_error() -> None:
    with pytest.raises(PromptError, match="needs repository"):
        render_prompt("fault-matrix", {})
    with pytest.raises(PromptError, match="needs change"):
        render_prompt("test-this-change", {"repository": "/r"})
    with pytest.raises(PromptError, match="did you mean 'slug'"):
        render_prompt("fault-matrix", {"repository": "/r", "slugg": "x"})
    with pytest.raises(PromptError, match="did you mean 'fault-matrix'"):
        render_prompt("fault-matrx", {"repository": "/r"})
