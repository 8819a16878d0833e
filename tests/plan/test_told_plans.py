"""Plans without a yaml block: what tables and prose say is judged by the rules that judge yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.plan.check import check_plan
from refute.plan.fault_words import sizes_told
from refute.plan.reader import parse_plan
from tests.plan.plans import with_changes

FOLDER = Path(__file__).parent
PAYMENTS = (FOLDER / "payments.md").read_text(encoding="utf-8")
CLUSTER = (FOLDER / "cluster.md").read_text(encoding="utf-8")
FOR_THE_RUNNER = {"no-system", "no-scenario", "scenario-without-block"}

# A plan, then what stands in it and what is written instead, in pairs; the rule that must say so comes first.
SPOILT: list[tuple[str, ...]] = [
    ("kill-is-not-power-loss", PAYMENTS, "power of the primary is cut at the PDU", "kill -9 of postgres"),
    ("clock-fault-on-static-program", PAYMENTS, "A gateway in Java", "A gateway in Go",
     "one merchant with 1000 exports", "libfaketime moves the clock of the gateway"),
    ("symmetric-partitions-only", PAYMENTS,
     "the standby hears the primary but not the other way round, iptables in one direction",
     "iptables drops all packets between both"),
    ("one-topology", PAYMENTS, "| C2 | two standbys | one topology in the lab |", "| C2 | disks | they are new |"),
    ("one-seed", PAYMENTS, "| linearizable | 5 | 4 |", "| linearizable | 1 | 4 |"),
    ("one-failover", PAYMENTS, "| exactly-once | 3 | 9 |", "| exactly-once | 3 | 1 |"),
    ("upgrade-without-mixed-versions", PAYMENTS, "one at a time under load, then",
     "while all of them are stopped, then"),
    ("upgrade-without-rollback", PAYMENTS, "under load, then rolled back", "under load"),
    ("positive-controls-only", PAYMENTS,
     "another merchant's list, export, admin search and metrics hold none of its ids: 403 or empty",
     "the owner's list, export, admin search and metrics hold its 3 ids"),
    ("boundary-surfaces-left-out", PAYMENTS, "list, export, admin search and metrics hold", "list and export hold"),
    ("fairness-without-formula", PAYMENTS, "Jain's index over jobs per merchant at least 0.9",
     "every merchant gets its jobs done"),
    ("fairness-without-group", PAYMENTS, "Jain's index over jobs per merchant at least 0.9",
     "Jain's index at least 0.9"),
    ("incomplete-slo", PAYMENTS, "is below 80 ms over 5 minutes at 300 payments/s", "is low",
     "in each window of 5 minutes at 300 payments/s", "as before"),
    ("timeout-counted-as-failure", PAYMENTS, "A timeout leaves the outcome open.", "A timeout counts as failed."),
    ("timeout-counted-as-failure", PAYMENTS, "| a timeout is unknown | fewer clients |",
     "| a timeout counts as failed | fewer clients |"),
    ("serious-claim-without-7M", PAYMENTS, "| S2 | register per account |", "| S9 | register per account |"),
    ("incomplete-7M", PAYMENTS, "| a timeout is unknown | fewer clients |", "| a timeout is unknown | |"),
    ("claim-without-scenario", PAYMENTS, "| C7 | H6 | the primary", "| C6 | H6 | the primary"),
    ("scenario-without-oracle", PAYMENTS, "| linearizable | 5 |", "| | 5 |"),
    ("human-oracle", PAYMENTS, "| linearizable | 5 |", "| the primary comes back healthy | 5 |"),
    ("untethered-hypothesis", PAYMENTS, "old balance. | C2 |", "old balance. | |"),
    ("checker-cannot-judge-claim", PAYMENTS, "every acknowledged payment id is read back | 3 | 5",
     "p99 stays below 80 ms | 3 | 5"),
    ("checker-cannot-judge-claim", PAYMENTS, "every acknowledged payment id is read back | 3 | 5",
     "fairness | 3 | 5"),
    ("checker-does-not-fit-model", PAYMENTS, "| S7 | queue of payments |", "| S7 | register |"),
    ("history-lacks-field", PAYMENTS, "| client, key, value, start and end of each request |", "| only key and value |"),
    ("history-lacks-field", PAYMENTS, "id, idempotency key, start", "id, start"),
    ("exit-criterion-without-number", PAYMENTS, "3 seeds and 9 landed faults a scenario, 0 FAIL", "enough quiet runs"),
    ("adequacy-not-injected", PAYMENTS, "| asymmetric partition | S2 |", "| asymmetric partition | S7 |"),
    ("adequacy-without-scenario", PAYMENTS, "| asymmetric partition | S2 |", "| asymmetric partition | S12 |"),
    ("absolute-confidence", PAYMENTS, "Moderate for C1-C7", "A payment cannot be lost. Moderate for C1-C7"),
    ("untested-surface", PAYMENTS, "admin console, metrics.", "admin console, metrics, webhooks."),
    ("fault-without-landing-evidence", PAYMENTS,
     "exit status of the process; the standby's timeline increases", ""),
    ("exit-code-as-evidence", PAYMENTS, "exit status of the process; the standby's timeline increases",
     "kill returned 0"),
    ("evidence-of-another-mechanism", PAYMENTS,
     "exit status of the process; the standby's timeline increases", "packets dropped by the nft rule"),
    # The same faults in headings, labels and sentences.
    ("kill-is-not-power-loss", CLUSTER, "We cut the power of one node", "We SIGKILL one node",
     "| power loss | S1 |", "| crash | S1 |"),
    ("clock-fault-on-static-program", CLUSTER, "pause the leader with SIGSTOP",
     "pause the leader with SIGSTOP and skew its clock with libfaketime"),
    ("symmetric-partitions-only", CLUSTER, "cannot send to the others but still hears them",
     "can neither send nor receive"),
    ("one-topology", CLUSTER, "and with seven nodes", ""),
    ("one-seed", CLUSTER, "Every scenario runs with 5 seeds", "Every scenario runs once"),
    ("one-failover", CLUSTER, "ten times in a row", "once"),
    ("upgrade-without-mixed-versions", CLUSTER, "one node at a time", "with the whole cluster stopped"),
    ("upgrade-without-rollback", CLUSTER, "and roll back afterwards", ""),
    ("timeout-counted-as-failure", CLUSTER, "A request that times out may have happened.",
     "A request that times out is recorded as failed."),
    ("serious-claim-without-7M", CLUSTER, "#### 7.M", "#### Notes", "- **Model**: register per key\n", "",
     "- **History**: invocation and completion, client, key, value\n", "",
     "- **Ambiguous outcomes**: a timeout is info\n", "", "- **Reduction**: fewer clients\n", ""),
    ("incomplete-7M", CLUSTER, "- **Reduction**: fewer clients\n", ""),
    ("history-lacks-field", CLUSTER, "invocation and completion, client, key, value", "key, value"),
    ("human-oracle", CLUSTER, "- **Oracle**: linearizable", "- **Oracle**: the cluster recovers gracefully"),
    ("scenario-without-oracle", CLUSTER, "Oracle: every write that was acknowledged is read back from each node.", ""),
    ("exit-code-as-evidence", CLUSTER, "the counter of dropped packets rises", "iptables exits with 0"),
    ("fault-without-landing-evidence", CLUSTER,
     "Landing evidence: state T of the process; the term rises at the others.", ""),
    ("adequacy-not-injected", CLUSTER, "| power loss | S1 |", "| power loss | S3 |"),
    ("claim-without-scenario", CLUSTER, "Claims: C3", "Claims: C2"),
]  # fmt: skip


def tripped(text: str) -> set[str]:
    return {defect.rule for defect in check_plan(text).defects}


@pytest.mark.parametrize("text", [PAYMENTS, CLUSTER], ids=["payments", "cluster"])
def test_a_good_plan_of_tables_lacks_only_what_the_runner_needs(text: str) -> None:
    assert tripped(text) == FOR_THE_RUNNER


@pytest.mark.parametrize(("rule", "text", "changes"), [(each[0], each[1], each[2:]) for each in SPOILT])
def test_what_is_weak_in_words_is_found_by_the_rule_for_it(
    rule: str, text: str, changes: tuple[str, ...]
) -> None:
    spoilt = with_changes(text, *changes)
    found = [defect for defect in check_plan(spoilt).defects if defect.rule == rule]
    assert found
    assert all(0 < defect.line <= spoilt.count("\n") + 1 for defect in found)


def test_prose_without_any_structure_is_judged_as_one_scenario() -> None:
    begin, end = PAYMENTS.index("| id | scenario |"), PAYMENTS.index("## 7b.")
    prose = "We kill the primary once with SIGKILL while clients write (C1), and look whether all is fine."
    found = {
        defect.rule: defect.section
        for defect in check_plan(PAYMENTS[:begin] + prose + "\n\n" + PAYMENTS[end:]).defects
    }
    assert {"one-failover", "kill-is-not-power-loss", "fault-without-landing-evidence"} <= set(found)
    assert found["one-failover"] == "7"


def test_a_candidate_that_is_still_to_be_decided_is_no_scenario() -> None:
    open_place = with_changes(PAYMENTS, "| exactly-once | 3 | 9 |", "| TODO(judge): which checker | 1 | 1 |")
    found = {(defect.rule, defect.subject) for defect in check_plan(open_place).defects}
    assert ("claim-without-scenario", "C7") in found
    assert not {rule for rule, subject in found if subject == "S7"} & {"one-seed", "one-failover"}


def test_scenarios_in_a_list_are_read_one_by_one() -> None:
    begin, end = PAYMENTS.index("| id | scenario |"), PAYMENTS.index("### 7.M")
    items = (
        "- S1: acknowledged payments survive (claim: C1). Fault: kill -9 of postgres. Oracle: linearizable.\n"
        "- S2: balances stay linearizable. Claim: C2. Fault: both are partitioned, once. Oracle: it looks right.\n"
    )
    found = {
        (defect.rule, defect.subject)
        for defect in check_plan(PAYMENTS[:begin] + items + PAYMENTS[end:]).defects
    }
    assert {("kill-is-not-power-loss", "S1"), ("one-failover", "S2"), ("human-oracle", "S2")} <= found


HASTY = """# Orders on Kafka

## 1. Claims

| id | claim | category |
|----|-------|----------|
| C1 | An acknowledged order is never lost | durability |
| C2 | Each order is charged exactly once | idempotency |

## 2. Scenarios

| id | scenario | claims | fault | oracle |
|----|----------|--------|-------|--------|
| S1 | power failure of a broker | C1 | kill -9 the broker, restart it | no-lost-acknowledged-write |
| S2 | retries | C2 | cut both directions between broker and client | requests that timed out count as not charged |
"""


@pytest.mark.parametrize(
    "rule", ["kill-is-not-power-loss", "symmetric-partitions-only", "timeout-counted-as-failure"]
)
def test_a_plan_written_in_haste_under_numbers_of_its_own_is_judged_too(rule: str) -> None:
    assert rule in {defect.rule for defect in check_plan(HASTY).defects}


def test_the_nine_of_a_signal_is_no_size_of_a_cluster() -> None:
    assert sizes_told("kill -9 the broker, kill -9 two brokers at once; three brokers in 5 racks") == {2, 3}


LISTED = """# Session store

## Guarantees

1. G1: A session that was written at QUORUM is readable afterwards,
   also when a rack is down (safety), docs/consistency.md:10-14@abcdef1.
2. **G2**: A node can be upgraded without downtime. [operational]

## Hypotheses

- H1 (G1): hinted handoff replays an old value
- H2: a step of the clock extends a lease (G1, G2)

## Test scenarios

### T1 rack failure (G1, H1)

Stop all three nodes of rack 1 for 60 seconds. Afterwards check that the cluster is healthy in nodetool status.

### T2 upgrade (G2)

Stop the whole cluster, install 4.1, start it again, and compare the Go sidecar's leases under libfaketime.

## Exit criteria

All scenarios green.
"""


def test_claims_and_hypotheses_may_be_listed() -> None:
    plan = parse_plan(LISTED)
    first, second = plan.claims.values()
    assert (first.id, first.category, first.source, first.line) == (
        *("G1", "safety", "docs/consistency.md:10-14@abcdef1"), 5,
    )  # fmt: skip
    assert (
        first.text == "A session that was written at QUORUM is readable afterwards, also when a rack is down"
    )
    assert (second.id, second.category, second.source) == ("G2", "operational", "")
    assert {name: each.claims for name, each in plan.hypotheses.items()} == {
        "H1": ("G1",),
        "H2": ("G1", "G2"),
    }


@pytest.mark.parametrize(
    "rule",
    [
        *("human-oracle", "upgrade-without-mixed-versions", "upgrade-without-rollback"),
        *("clock-fault-on-static-program", "exit-criterion-without-number", "uncited-claim"),
        "serious-claim-without-7M",
    ],
)
def test_a_plan_of_lists_and_headings_is_judged_too(rule: str) -> None:
    assert rule in {defect.rule for defect in check_plan(LISTED).defects}


@pytest.mark.parametrize("rule", ["no-claims", "claim-without-scenario", "exit-criteria-missing"])
def test_what_a_plan_of_lists_says_is_not_missed(rule: str) -> None:
    assert rule not in {defect.rule for defect in check_plan(LISTED).defects}
