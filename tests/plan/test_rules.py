"""Every rule has a plan that trips it and one that does not; clean plans trip none."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from refute.plan.check import check_plan_file
from refute.plan.rules import RULES
from refute.plan.rules.form import READING
from tests.plan.plans import FLEET, STORE, check, rules_tripped, with_changes

Change = tuple[str, ...]


def _section(text: str, number: str) -> str:
    found = re.search(rf"^## {number}\. .*?(?=^## |\Z)", text, re.M | re.S)
    assert found, number
    return found[0]


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 9)
)

ALSO_ALL_READS = "check: [no-lost-acknowledged-write, {linearizable: {model: register}}]"

# rule -> plan, then what stands in it and what trips the rule instead, in pairs
CHANGES: dict[str, Change] = {
    # reading
    "bad-yaml": (STORE, "id: S1\n", "id: [S1\n"),
    "yaml-too-large": (STORE, "```yaml\nid: S1\n", f"```yaml\n{BOMB}id: S1\n"),
    "duplicate-key": (STORE, "id: S1\n", "id: S1\nid: S1\n"),
    "unknown-key": (STORE, "sweep:", "swep:"),
    "missing-key": (STORE, "falsifies: C2\n", ""),
    "missing-id": (STORE, "| C2 | Reads", "|  | Reads"),
    "wrong-type": (STORE, "clients: 5", "clients: five"),
    "bad-value": (STORE, "rate: 200/s", "rate: 200"),
    "bad-step": (STORE, "kill: leader", "kil: leader"),
    "duplicate-id": (STORE, "| H2 | A write", "| H1 | A write"),
    "unknown-claim": (STORE, "falsifies: C2", "falsifies: C7"),
    "unknown-hypothesis": (STORE, "hypotheses: H1", "hypotheses: H7"),
    "unknown-system": (STORE, "system: three-nodes\nsweep", "system: four\nsweep"),
    "unknown-operation": (STORE, "- export: {via", "- exprot: {via"),
    "unknown-node": (STORE, "resume: old", "resume: odl"),
    "not-a-spare": (STORE, "kill: leader, for", "fault: {plane: membership, kind: add, node: n3, command: join, undo: leave, members: members}, for", "clients:\n  kv:", "commands: {join: j, leave: l, members: m}\nspares: 1\nclients:\n  kv:"),
    "unknown-state": (STORE, "{leader: known, every", "{leder: known, every"),
    "unknown-client": (STORE, "via: leader, expect: ok}\n  - pause", "via: leader, client: x}\n  - pause"),
    "unknown-command": (STORE, "- sleep: {ms: $gap_ms}", "- run: compact"),
    "unknown-generator": (STORE, "generator: register", "generator: registre"),
    "unknown-template": (STORE, "{address.client}", "{adress.client}"),
    "unknown-version": (FLEET, "version: old, repeat", "version: older, repeat"),
    # form
    "missing-section": (STORE, _section(STORE, "7d"), ""),
    "missing-optional-section": (STORE, _section(STORE, "1c"), ""),
    "empty-section": (STORE, _section(STORE, "9"), "## 9. Open questions\n"),
    "todo-left": (STORE, "Nothing is said", "TODO(judge): is anything said"),
    "no-system": (STORE, "```yaml\nsystem: three", "```text\nsystem: three"),
    "no-scenario": (STORE, "```yaml\nid", "```text\nid"),
    "scenario-without-oracle": (STORE, "## 7b.", "### S4 something else\n\nWe kill nodes.\n\n## 7b."),
    "scenario-without-block": (STORE, "## 7b.", "### S4 something else\n\nIn prose.\n\n## 7b."),
    "unread-block": (STORE, "Three of them,", "```yaml\nfriend: of mine\n```\n\nThree of them,"),
    "heading-names-another-scenario": (STORE, "### S2 a", "### S3 a"),
    # claims
    "no-claims": (STORE, _section(STORE, "1b"), "## 1b. Claims\n\nSome.\n\n"),
    "empty-claim": (STORE, "| Reads from the leader are linearizable. |", "| Reads |"),
    "claim-category": (STORE, "| durability |", "| durable |"),
    "uncited-claim": (STORE, "`README.md:14@0123456789abcdef0123456789abcdef01234567`", "README"),
    "citation-without-commit": (STORE, "README.md:14@0123456789abcdef0123456789abcdef01234567", "README.md:14"),
    "claim-without-scenario": (FLEET, "falsifies: [K6, K8]", "falsifies: [K6]"),
    "claim-without-hypothesis": (FLEET, "claims: [K5]}", "claims: [K8]}"),
    # hypotheses
    "untethered-hypothesis": (STORE, "`ab`. | C3 |", "`ab`. |  |"),
    "hypothesis-without-scenario": (FLEET, "hypotheses: [H5, H7]", "hypotheses: [H5]"),
    "hypothesis-of-another-claim": (STORE, "hypotheses: [H2]", "hypotheses: [H3]"),
    "claim-without-its-hypothesis": (FLEET, "claims: K8}", "claims: K6}"),
    "scenario-without-hypothesis": (STORE, "hypotheses: [H2]\n", ""),
    "suspect-without-sequence": (STORE, "| write, kill the leader at once |", "|  |"),
    "suspect-without-lines": (STORE, "`store/export.py:5`", "`store/export.py`"),
    "suspect-without-condition": (STORE, ": wrong if it compares by prefix", ""),
    "sequence-without-steps": (FLEET, "claims: [K3, K4]}", "claims: [K3, K4], suspect: \"q.cc:4: wrong if\", sequence: go}"),
    "pitfall-not-considered": (STORE, "deposed-leader-serves-reads (H1), ", ""),
    # oracles
    "human-oracle": (STORE, "expect: none of them, oracle: tenant-isolation", "expect: none, oracle: the logs look fine"),
    "unknown-checker": (STORE, "check: [linearizable]", "check: [lineraizable]"),
    "unknown-checker-option": (FLEET, "{initial: 0}", "{inital: 0}"),
    "checker-cannot-judge-claim": (STORE, "check: [linearizable]", "check: [tenant-isolation]"),
    "checker-sees-nothing": (STORE, "check: [linearizable]", "check: [list-append]"),
    "history-lacks-field": (FLEET, "a counter; the idempotency_key of each booking", "a counter", ", extra: {idempotency_key: one}", ""),
    "checker-does-not-fit-model": (STORE, "| model | register |", "| model | transactions |"),
    "oracle-differs-from-block": (STORE, "| checker | linearizable |", "| checker | a look at the reads |"),
    # faults
    "unknown-fault": (FLEET, "kind: power-loss, node: all", "kind: power-los, node: all"),
    "fault-cannot-test-claim": (STORE, "pause: leader as old", "fault: {plane: clock, kind: skew, by: 1s, node: leader as old}", "| C2 | Reads from the leader are linearizable. | safety |", "| C2 | Reads from the leader are linearizable. | durability |"),
    "fault-without-landing-evidence": (FLEET, ", evidence: {node: any, state: term, rule: changes}}", "}"),
    "fault-without-system-signal": (STORE, "    evidence: {node: not old, state: term, rule: increases}\n", ""),
    "exit-code-as-evidence": (STORE, "exit status of the process; term", "the kill command exits with 0; term"),
    "evidence-of-another-mechanism": (STORE, "state `T` and no CPU time; term", "nft packet counters; term"),
    "kill-is-not-power-loss": (FLEET, "fault: {plane: storage, kind: power-loss, node: all}", "kill: all"),
    "loss-hidden-by-later-writes": (STORE, ALSO_ALL_READS, "check: [no-lost-acknowledged-write]"),
    "durability-without-power-loss": (STORE, "| C1 | loss of two disks", "| C3 | loss of two disks"),
    "clock-fault-on-static-program": (FLEET, "Five nodes in C++", "Five nodes in Go"),
    "claim-about-a-fault-not-injected": (STORE, "survives the loss of any one node", "is there after a network partition", "| C1 | loss of two", "| C3 | loss of two"),
    "symmetric-partitions-only": (FLEET, "{node: leader, direction: in}", "{node: leader}"),
    "one-way-claim-cut-both-ways": (FLEET, "{node: leader, direction: in}", "{node: leader}"),
    "fault-on-a-timer": (STORE, "{when: {leader: known}, kill", "{kill"),
    # threats
    "upgrade-without-mixed-versions": (FLEET, "restart: random, version: old", "restart: random"),
    "upgrade-without-rollback": (FLEET, "go back to the old version (rollback)", "are slower", "versions and a rollback keep", "versions keep", "and_a_rollback_keeps", "and_keep"),
    "fault-cannot-affect-serious-claim": (FLEET, "  - fault: {plane: clock, kind: jump, node: leader, by: 30s, back: true}\n    evidence: {node: leader, state: hits, rule: increases}\n", ""),
    "adequacy-not-injected": (STORE, "| paused leader | S2 | pause |", "| paused leader | S1 | pause |"),
    "adequacy-without-scenario": (STORE, "| paused leader | S2 | pause |", "| paused leader | S9 | pause |"),
    # rigour
    "serious-claim-without-7M": (FLEET, "#### 7.M\n\n| part | what |\n|---|---|\n| Model and", "#### Notes\n\n| part | what |\n|---|---|\n| Model and"),
    "incomplete-7M": (STORE, "| ambiguous outcomes | a timeout may have happened: info |\n", ""),
    "timeout-counted-as-failure": (FLEET, "fail: [409]", "fail: [409, 504]"),
    "one-seed": (STORE, "{seeds: 3, faults: 9}\n  release", "{seeds: 1, faults: 3}\n  release"),
    "one-failover": (STORE, "for: 3s, repeat: 3, ", "for: 3s, "),
    "unreachable-budget": (STORE, "{seeds: 3, faults: 9}\n  release", "{seeds: 3, faults: 10}\n  release"),
    "budget-missing": (STORE, "  release: {not_provided: the machine room is not there yet, revisit: before 1.0}\n", ""),
    "budget-not-explained": (STORE, "revisit: before 1.0", 'revisit: ""'),
    "one-topology": (STORE, "five nodes, and links cut one way | one topology of three nodes", "much | as ever"),
    "write-expects-nothing": (STORE, "{key: k, via: leader, expect: ok}\n  - pause", "{key: k, via: leader}\n  - pause"),
    "read-expects-nothing": (STORE, "  - read: {key: k, via: leader, extra: {tenant: ab}, expect: ok}", "  - read: {key: other, via: leader, extra: {tenant: ab}}"),
    "scenario-name": (STORE, "name: acknowledged_writes_survive_a_killed_leader", "name: chaos_test"),
    # arms
    "boundary-without-arms": (STORE, re.search(r"arms:\n(?:  - .*\n)+", STORE)[0], ""),  # type: ignore[index]
    "positive-controls-only": (STORE, "control: negative", "control: positive"),
    "negative-controls-only": (FLEET, "control: positive", "control: negative"),
    "arm-without-oracle": (STORE, ", expect: none of them, oracle: tenant-isolation", ", oracle: tenant-isolation"),
    "arm-oracle-not-run": (STORE, "expect: none of them, oracle: tenant-isolation", "expect: none, oracle: linearizable"),
    "arm-surface-not-listed": (STORE, "surfaces: [read, export]", "surfaces: [read]"),
    "boundary-surfaces-left-out": (STORE, "Admin API, metrics and logs", "Admin API"),
    "boundary-without-7MS": (STORE, "#### 7.M.S\n\nDoors: reading a key", "Doors: reading a key"),
    "unknown-surface": (STORE, "surfaces: [read, export]", "surfaces: [read, exprot]"),
    "boundary-without-confusable-names": (STORE, "object: ab, expect: none", "object: other, expect: none"),
    "scenario-to-be-split": (STORE, "check: [tenant-isolation]", "check: [tenant-isolation, linearizable, exactly-once]"),
    "fairness-without-formula": (FLEET, "Jain's index per tenant at least 0.9", "per tenant alike", "[{shares: {formula: jain, at_least: 0.9}}]", "[shares]"),
    "fairness-without-group": (FLEET, "Jain's index per tenant at least 0.9", "Jain's index"),
    # measures
    "incomplete-slo": (FLEET, "below 50 ms over 60 s at 200/s", "that is low", "duration: 60s, mix: {submit: 1, take: 1}}", "mix: {submit: 1, take: 1}}"),
    "exit-criterion-without-number": (FLEET, "- 30 landed faults\n", "- enough landed faults\n"),
    "exit-criteria-missing": (STORE, "Exit criteria: 0 FAIL", "Also 0 FAIL"),
    "absolute-confidence": (STORE, "moderate for C1", "data loss cannot happen; moderate for C1"),
    "confidence-without-ground": (STORE, _section(STORE, "7d"), "## 7d. Confidence\n\nHigh for C1, C2 and C3.\n\n"),
    # documents
    "matrix-incomplete": (STORE, "| C3 | H3 | S3 | none |", "| C2 | H1 | S2 | none |"),
    "matrix-disagrees": (STORE, "| C1 | H2 | S1 |", "| C1 | H1 | S1 |"),
    "matrix-test-not-listed": (STORE, "| C2 | H1 | S2 | `tests/test_store.py::test_put_get`", "| C2 | H1 | S2 | `test_more`"),
    "matrix-omits-test": (STORE, "| C2 | H1 | S2 | `tests/test_store.py::test_put_get`", "| C2 | H1 | S2 | `tests/test_store.py`", "## 4. Hypotheses", "| `tests/test_two.py` | C2 |\n\n## 4. Hypotheses"),
    "residual-names-nothing": (STORE, "| C1 | loss of two disks", "| C8 | loss of two disks"),
    "residual-without-reason": (STORE, "needs the power-loss plane as root", ""),
    "claim-without-confidence": (FLEET, "| K1-K8 | moderate", "| K1-K7 | moderate"),
    "scenario-without-adequacy": (STORE, "| paused leader | S2 | pause |\n", ""),
    "untested-surface": (FLEET, "Surfaces: submit, take, balance", "Surfaces: submit, take, purge"),
}  # fmt: skip


@pytest.mark.parametrize("text", [STORE, FLEET], ids=["store", "fleet"])
def test_a_clean_plan_trips_no_rule(text: str) -> None:
    assert check(text).defects == ()


def test_every_rule_has_a_plan_that_trips_it() -> None:
    outside = {"citation-not-found", "stale-citation", "moved-citation", "stale-suspect", "missing-file"}
    assert set(CHANGES) == (set(RULES) | set(READING)) - outside


@pytest.mark.parametrize("rule", CHANGES)
def test_a_rule_trips_on_its_fault_and_names_line_and_remedy(rule: str) -> None:
    text, *pairs = CHANGES[rule]
    changed = with_changes(text, *pairs)
    found = [defect for defect in check(changed).defects if defect.rule == rule]
    assert found
    assert all(defect.what for defect in found)
    assert all(0 <= defect.line <= changed.count("\n") + 1 for defect in found)
    if rule in RULES:
        assert found[0].severity == RULES[rule].severity
        assert RULES[rule].why and RULES[rule].mend
        assert rule not in rules_tripped(text)


@pytest.mark.parametrize(
    ("fault", "hides"),
    [
        ("kill: leader", True),
        ("restart: leader", True),
        ("terminate: leader", True),
        ("fault: {plane: process, kind: crash-loop, node: leader}", True),
        ("fault: {plane: docker, kind: kill, node: leader}", True),
        ("fault: {plane: storage, kind: power-loss, node: leader}", True),
        ("pause: leader", False),
        ("isolate: leader", False),
    ],
)
def test_later_writes_hide_a_loss_wherever_a_node_ends(fault: str, hides: bool) -> None:
    written = STORE.replace("kill: leader, for", f"{fault}, for")
    assert written != STORE or fault == "kill: leader"
    assert "loss-hidden-by-later-writes" not in rules_tripped(written)
    alone = written.replace(ALSO_ALL_READS, "check: [no-lost-acknowledged-write]")
    assert ("loss-hidden-by-later-writes" in rules_tripped(alone)) is hides
    growing = alone.replace("generator: register", "generator: set")
    assert "loss-hidden-by-later-writes" not in rules_tripped(growing)


COMMIT = "0123456789abcdef0123456789abcdef01234567"


def _repository(present: dict[str, list[str]]) -> Callable[[str, int, int, str], str | None]:
    def read(path: str, first: int, last: int, commit: str) -> str | None:
        lines = [f"line {number} of {path}" for number in range(1, 200)]
        if commit == "HEAD" and path in present:
            lines = present[path]
        return "\n".join(lines[first - 1 : last])

    return read


def test_a_citation_that_still_stands_is_not_stale() -> None:
    assert rules_tripped(STORE, _repository({})) == set()


def test_a_citation_whose_text_was_changed_is_stale() -> None:
    tripped = rules_tripped(STORE, _repository({"README.md": ["another text"] * 200}))
    assert tripped == {"stale-citation"}


def test_a_citation_whose_text_moved_is_a_warning() -> None:
    moved = ["new"] * 5 + [f"line {number} of README.md" for number in range(1, 200)]
    checked = check(STORE, _repository({"README.md": moved}))
    assert {defect.rule for defect in checked.defects} == {"moved-citation"}
    assert checked.ok and checked.warnings == 2


def test_suspect_code_that_was_changed_is_a_warning_and_code_that_moved_is_none() -> None:
    cited = STORE.replace("store/export.py:5", f"store/export.py:5@{COMMIT}")
    assert rules_tripped(cited, _repository({})) == set()
    moved = ["new", *(f"line {number} of store/export.py" for number in range(1, 200))]
    assert rules_tripped(cited, _repository({"store/export.py": moved})) == set()
    checked = check(cited, _repository({"store/export.py": ["another text"] * 200}))
    assert [(defect.rule, defect.subject) for defect in checked.defects] == [("stale-suspect", "H3")]
    assert checked.ok


def test_rules_look_at_every_arm_and_not_only_at_the_first() -> None:
    arm = "  - {arm: own key, control: positive, surface: read"
    first = (
        arm.replace("own key", "nothing happens", 1)
        + ", expect: its own value, oracle: tenant-isolation, steps: [{sleep: {ms: 1}}]}\n"
    )
    kills = (
        arm.replace("own key", "a kill", 1)
        + ", expect: its own value, oracle: tenant-isolation, steps: [{kill: leader}]}\n"
    )
    text = STORE.replace("arms:\n", f"arms:\n{first}{kills}", 1)
    tripped = {defect.rule: defect for defect in check(text).defects}
    assert {"fault-without-landing-evidence", "fault-on-a-timer"} <= set(tripped)
    line = text.split("\n")[tripped["fault-on-a-timer"].line - 1]
    assert "arm: a kill" in line


def test_a_citation_of_what_never_was_is_an_error() -> None:
    def nothing(path: str, first: int, last: int, commit: str) -> str | None:
        return None if path.startswith("docs") else _repository({})(path, first, last, commit)

    checked = check(STORE, nothing)
    assert [(defect.rule, defect.subject) for defect in checked.defects] == [("citation-not-found", "C3")]
    assert not checked.ok


def test_every_rule_has_a_title_of_one_sentence() -> None:
    for rule in RULES.values():
        assert rule.title.endswith("."), rule.id
        assert re.fullmatch(r"[a-z0-9]+(?:-[a-zA-Z0-9]+)*", rule.id)


_WORKED = STORE.replace(
    'command: "{python} -m store',
    'command: "{python} {plan_dir}/store.py --config {plan_dir}/etc/{node}.conf',
)


def test_a_file_that_does_not_stand_beside_the_plan_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text(_WORKED, encoding="utf-8")
    (found,) = [each for each in check_plan_file(tmp_path / "plan.md").defects if each.rule == "missing-file"]
    assert found.severity == "error"
    assert found.what == "command names store.py, which does not stand beside the plan"
    assert "{plan_dir}/store.py" in _WORKED.splitlines()[found.line - 1]
    (tmp_path / "store.py").touch()
    assert "missing-file" not in {each.rule for each in check_plan_file(tmp_path / "plan.md").defects}


def test_the_worker_of_a_client_is_looked_for_as_well(tmp_path: Path) -> None:
    text = re.sub(
        r"( +)http:\n(?:\1 +.*\n)+",
        r"\1worker: {command: ['{python}', '{plan_dir}/worker.py', '{modee}'], cwd: '{plan_dir}'}\n",
        STORE,
        count=1,
    )
    assert "worker.py" in text
    (tmp_path / "plan.md").write_text(text, encoding="utf-8")
    found = {each.rule: each for each in check_plan_file(tmp_path / "plan.md").defects}
    assert found["missing-file"].what.startswith("clients.")
    assert "worker.command names worker.py" in found["missing-file"].what
    assert "asks for {modee}" in found["unknown-template"].what
