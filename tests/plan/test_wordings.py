"""Rules on words find what people write in their own words, and leave alone what reads alike and is right."""

from __future__ import annotations

import pytest

from refute.plan.families import families_in_words
from refute.plan.rules.outcomes import answers_taken_for_failures, only_went_well
from refute.plan.rules.wording import ABSOLUTE, COMPARISON, HUMAN_ORACLE
from tests.plan.plans import STORE, check, rules_tripped
from tests.plan.sentences import is_found, sentences

NO_ORACLE = [
    "nothing suspicious in the logs",
    "the system recovers",
    "the cluster is healthy",
    "all pods are Running",
    "metrics look stable",
    "the service stays available",
    "no alerts fire",
    "error-free logs",
    "the UI loads",
    "QA signs off",
    "everything is fine",
    "consumers keep consuming",
    "the queue drains normally",
    "the log contains no ERROR lines",
    "the liveness probe passes",
    "Grafana shows no spikes",
    "an operator confirms that data is there",
    "users do not notice anything",
    "lag stays reasonable",
    "performance is acceptable",
    "the application keeps working",
    "responses look plausible",
    "no stack traces",
    "redis-cli PING answers PONG",
    "we compare the dashboards before and after",
    "spot check of a few rows",
    "no errors",
    "the health check is green",
    "logs look fine",
    "redis-cli PING replies PONG",
    "/healthz answers 200",
    "the journal of the gateway is quiet",
    "Grafana stays flat",
    "the run ends without stack traces",
    "everything is back to normal after a minute",
    "customers report no trouble",
    "the process has not crashed",
]
ORACLE = [
    "no-lost-acknowledged-write",
    "linearizable",
    "fairness: Jain's index at least 0.9",
    "p99 below 50 ms over 60 s",
    "every acknowledged id is read back exactly once",
    "the count of rows equals the count of acknowledged inserts",
    "at most one holder per lease epoch",
    "an empty list, never another tenant's rows",
    "403 or 404, never 200",
    "refused with 403",
    "error rate below 0.1 %",
    "fewer than 5 errors in 10,000",
    "the sum over all accounts is the same in every read",
    "offsets of each partition are without gaps",
    "consumers read the log of each partition in the same order, without exceptions",
    "every node that has not crashed holds the same entries",
    "/healthz answers 503 within 2 s of the cut",
]
CERTAIN = [
    "there is no way that data is lost",
    "we are certain that it holds",
    "the system will not lose data",
    "nothing can go wrong",
    "exhaustively tested",
    "this eliminates the risk of loss",
    "no possibility of duplicates",
    "fully verified",
    "safe under all circumstances",
    "100% coverage",
    "duplicates are ruled out",
    "we have proven that failover is correct",
    "data loss is not possible",
    "correct in all cases",
    "beyond doubt",
    "always consistent",
    "we know that it works",
    "zero risk",
    "complete coverage of all failure modes",
    "split brain can't happen",
    "writes cannot be lost",
    "definitely holds",
    "split brain cannot\nhappen",
    "we can guarantee that no job is lost",
    "this leaves zero residual risk",
    "the queue is provably correct",
    "there will be no loss",
]
MODEST = [
    "moderate: 3 seeds, 9 landed faults",
    "a loss of more than 1 in 10,000 writes would have been noticed",
    "high for C1, which rests on 30 failovers",
    "a violation that needs two faults at once would go unnoticed",
    "C1 cannot be tested here",
    "uncertainty remains about disks",
    "it cannot be tested without root",
    "this does not prove that the code is right",
    "passing runs are no proof of it",
    "we are not certain that the timer matters",
    "a stale read cannot be ruled out",
    "four proven faults a scenario",
    "the guarantee of C3 stays untested",
    "how sure a passing run would make one",
    "nothing is guaranteed about order across keys",
    "we cannot guarantee that disks tell the truth",
    "there will be no release run before a lab is found",
]
TIMEOUT_AS_FAILURE = [
    "timeouts are treated as errors",
    "A timeout counts as a failure",
    "Timed-out requests: failed",
    "504 = failure",
    "timeouts are considered unsuccessful",
    "no reply within 5 s means the write was not applied",
    "a request that times out is recorded as failed",
    "deadline exceeded -> fail",
    "timeouts\nare taken as failed",
    "a push whose reply does not come within 2 s has failed",
    "if the gateway gives no answer, the push did not take place",
]
TIMEOUT_AS_UNKNOWN = [
    "a timeout (504, or a connection that ends without an answer) leaves the outcome unknown",
    "504 and no answer are unknown; 421 and 503 are failures",
    "no answer in 2 s is unknown",
    "a timeout is info, never fail",
    "a timeout may have happened: info",
    "fail: the server refused; timeouts stay open",
    "a push whose reply does not come within 2 s may have failed",
]
COMMAND_WORKED = [
    "docker pause returned 0",
    "the tc command succeeds",
    "the API call to Chaos Mesh succeeded",
    "kubectl apply reports success",
    "the script finished without error",
    "the experiment was injected",
    "iptables exits with 0",
    "kill(1) exits 0",
    "kill -9 postgres returned 0",
    "the request to Chaos Mesh came back with 200",
    'the helper printed "done"',
]
SIGNAL = [
    "exit status of the process; the term rises at the others",
    "bytes held per link at the proxy; the term rises at the others",
    "state `T` and no CPU time; the term at the others increases",
    "packets dropped by the nft rule; under-replicated partitions at another broker",
    "kill -9: wait status of the process, exit status 137; the term rises at the others",
    "the tool prints the counter of dropped packets before and after",
]


def test_an_oracle_that_no_machine_evaluates_is_found_in_any_words() -> None:
    assert [text for text in NO_ORACLE if not HUMAN_ORACLE.search(text)] == []
    assert [text for text in ORACLE if HUMAN_ORACLE.search(text)] == []


@pytest.mark.parametrize("text", ORACLE[2:])
def test_an_oracle_in_words_holds_a_comparison(text: str) -> None:
    assert COMPARISON.search(text)


def test_certainty_is_found_in_any_words_and_doubt_is_left_alone() -> None:
    def tripped(text: str) -> bool:
        return "absolute-confidence" in rules_tripped(
            STORE.replace("moderate for C1", f"{text}, moderate for C1")
        )

    assert [text for text in CERTAIN if not tripped(text)] == []
    assert [text for text in MODEST if tripped(text)] == []
    assert any(ABSOLUTE.search(text) for text in MODEST), "some are right only because they deny it"


def test_a_timeout_that_is_taken_for_a_failure_is_found() -> None:
    def wrong(text: str) -> bool:
        return any(True for _ in answers_taken_for_failures(text))

    assert [text for text in TIMEOUT_AS_FAILURE if not wrong(text)] == []
    assert [text for text in TIMEOUT_AS_UNKNOWN if wrong(text)] == []


def test_the_success_of_a_command_is_no_landing_evidence() -> None:
    assert [text for text in COMMAND_WORKED if not only_went_well(text)] == []
    assert [text for text in SIGNAL if only_went_well(text)] == []


@pytest.mark.parametrize(
    ("claim", "missing"),
    [
        ("p99 of a push is below 20 ms at 500 pushes/s", ["window"]),
        ("99.9 % of pushes are answered in 20 ms", ["window", "load"]),
        ("p99 of a push is below 20 ms over each minute", ["load"]),
        ("p99 of a push is below 20 ms over each minute at 500 small jobs per second", []),
        ("p99 of a push is below 20 ms over 5 minutes at 500 pushes a second", []),
    ],
)
def test_window_and_load_of_a_service_level_are_read_in_any_unit(claim: str, missing: list[str]) -> None:
    row = f"| C9 | {claim} | performance | README.md:10@0123abc |\n"
    place = STORE.index("| C1 |")
    said = [
        defect.what
        for defect in check(STORE[:place] + row + STORE[place:]).defects
        if defect.rule == "incomplete-slo"
    ]
    assert said == ([f"C9 states {', '.join(f'no {part}' for part in missing)}"] if missing else [])


@pytest.mark.parametrize(
    ("threat", "family"),
    [
        ("the disk fills up", "disk-full"),
        ("the rack loses electricity", "power-loss"),
        ("a link is slow", "delay"),
        ("asymmetric reachability", "partition"),
        ("two halves lose sight of each other", "partition"),
        ("members join", "membership"),
        ("a switch drops packets", "packet-loss"),
    ],
)
def test_a_threat_is_known_by_the_words_that_people_use(threat: str, family: str) -> None:
    assert families_in_words(threat) == {family}


def test_a_table_of_claims_that_is_not_read_is_named_with_its_columns() -> None:
    text = STORE.replace("| id | claim | category | source |", "| name | vow | category | source |")
    found = [defect for defect in check(text).defects if defect.rule == "no-claims"]
    assert [defect.line for defect in found] == [text[: text.index("| name | vow |")].count("\n") + 1]
    assert "name, vow, category, source" in found[0].what


def _judged(name: str) -> tuple[int, int, list[str]]:
    """How many sentences there are to find, how many were found, and those that were accused wrongly."""
    found = wanted = 0
    accused: list[str] = []
    for rule, lists in sentences(name).items():
        wanted += len(lists["found"])
        found += sum(is_found(rule, text) for text in lists["found"])
        accused += [text for text in lists["spared"] if is_found(rule, text)]
    return wanted, found, accused


def test_sentences_by_which_the_lists_of_words_were_widened_are_found() -> None:
    for name in ("first", "second", "third"):
        wanted, found, accused = _judged(name)
        assert found >= 0.95 * wanted, name
        assert len(accused) <= 1, accused


def test_of_sentences_that_were_held_out_four_in_five_are_found_and_none_is_accused() -> None:
    # benchmarks/score_wordings.py prints the figures rule by rule
    wanted, found, accused = _judged("fourth")
    assert found >= 0.8 * wanted
    assert accused == []
