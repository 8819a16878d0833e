"""Plans as other people write them: of other systems, in tables only, in their own words, and weak."""

from __future__ import annotations

from pathlib import Path

from refute.plan.check import check_plan_file

FOLDER = Path(__file__).parent


def rules(name: str) -> set[str]:
    return {defect.rule for defect in check_plan_file(FOLDER / name).defects}


def lines(name: str, rule: str) -> list[int]:
    return [defect.line for defect in check_plan_file(FOLDER / name).defects if defect.rule == rule]


def test_a_plan_of_tables_is_read_and_its_weaknesses_are_found() -> None:
    text = (FOLDER / "kafka.md").read_text(encoding="utf-8").split("\n")
    assert {
        *("no-system", "no-scenario", "scenario-without-block"),  # what the runner would miss
        *("claim-without-scenario", "serious-claim-without-7M", "one-failover", "symmetric-partitions-only"),
        *("untethered-hypothesis", "incomplete-slo", "pitfall-not-considered"),
        *("absolute-confidence", "exit-criterion-without-number"),
    } <= rules("kafka.md")
    untested = [text[line - 1].split("|")[1].strip() for line in lines("kafka.md", "untested-surface")]
    assert untested == ["admin REST"], "producers and consumers are at work in every scenario"
    weak = [text[line - 1].split("|")[1].strip() for line in lines("kafka.md", "human-oracle")]
    assert weak == ["broker crash", "network split"], "the third is an oracle"
    proven = [text[line - 1].split("|")[1].strip() for line in lines("kafka.md", "exit-code-as-evidence")]
    assert proven == ["broker crash", "network split"]
    assert "regarded as failed" in text[lines("kafka.md", "timeout-counted-as-failure")[0] - 1]


def test_a_boundary_plan_that_tries_one_door_is_refused_for_the_right_reasons() -> None:
    found = rules("workspaces.md")
    assert {
        *("positive-controls-only", "boundary-surfaces-left-out", "untested-surface"),
        *("boundary-without-confusable-names", "boundary-without-7MS", "history-lacks-field"),
        *(
            "fairness-without-formula",
            "fairness-without-group",
            "confidence-without-ground",
            "exit-criteria-missing",
        ),
    } <= found
    assert "checker-sees-nothing" not in found, "these checkers consume operations of any kind"
    said = [defect.what for defect in check_plan_file(FOLDER / "workspaces.md").defects]
    assert not any("'search API'" in what for what in said), "searching is what S1 does"
