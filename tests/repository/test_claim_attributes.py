"""What a claim carries beside its words: number, condition, what would falsify it, places, tests."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from refute.repository import fingerprint
from refute.repository.claims import extract_claims
from refute.repository.falsifiers import falsifier_of
from refute.repository.mirror import open_repository
from refute.repository.models import ClaimSet
from refute.repository.weighing import threshold_of, weigh
from tests.repository.repositories import commit_files


def claims(folder: Path, files: dict[str, str]) -> ClaimSet:
    with open_repository(commit_files(folder, files), cache=folder.parent / "cache") as snapshot:
        return extract_claims(snapshot)


@pytest.mark.parametrize(
    ("text", "threshold"),
    [
        ("DefaultLeaseTTL defaults to 30 * time.Second", ("30", "second")),
        ("the interval is 500*time.Millisecond", ("500", "millisecond")),
        ("lease defaults to Duration.ofSeconds(30)", ("30", "seconds")),
        ("lease defaults to Duration::from_secs(30)", ("30", "secs")),
        ("lease defaults to TimeSpan.FromMinutes(5)", ("5", "minutes")),
        ("lease defaults to 30.seconds", ("30", "seconds")),
        ("a lease of 10 s", ("10", "s")),
        ("2 * time.Now()", None),
        ("version 1.5.seconds", None),
    ],
)
def test_a_threshold_written_as_code_has_its_unit(text: str, threshold: tuple[str, str] | None) -> None:
    assert threshold_of(text) == threshold


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("A write that has been acknowledged is never lost.", "kill every node"),
        ("A put that is acknowledged survives the loss of any node.", "kill every node"),
        ("Acknowledged writes must never be lost.", "kill every node"),
        ("A message is redelivered unless the consumer acknowledges it.", "kill the consumer"),
    ],
)
def test_a_write_has_no_consumer_to_kill(text: str, fault: str) -> None:
    assert falsifier_of("safety", text).fault.startswith(fault)


def test_a_line_of_code_has_no_condition_in_words(tmp_path: Path) -> None:
    code = "package a\n\nfunc (s *S) Put() error {\n\tif err := s.f.Sync(); err != nil {\n\t\treturn err\n\t}\n\treturn nil\n}\n"
    (claim,) = claims(tmp_path / "a", {"a.go": code}).claims
    assert (claim.channel, claim.conditions) == ("code", ())


def test_all_places_of_one_sentence_are_named(tmp_path: Path) -> None:
    said = "An acknowledged write must never be lost, unless the disk fails.\n"
    (claim,) = claims(tmp_path / "a", {f"doc{number}.md": said for number in range(20)}).claims
    assert len({claim.path, *(place.path for place in claim.also_at)}) == 20
    assert "+16" in claims(tmp_path / "a", {}).text()


def test_a_test_that_jobs_run_says_so_in_the_text(tmp_path: Path) -> None:
    test = "package a\n\nfunc TestAcknowledgedWriteIsNeverLost(t *testing.T) {\n\tif lost { t.Fatal() }\n}\n"
    files = {"README.md": "An acknowledged write is never lost.\n", "a_test.go": test}
    assert "(a_test.go:3, asserts, CI unknown)" in claims(tmp_path / "a", files).text()
    job = "on: push\njobs:\n  test:\n    steps:\n    - run: go test ./...\n"
    assert "(a_test.go:3, asserts, in CI)" in claims(tmp_path / "a", {".github/workflows/ci.yml": job}).text()


def test_the_text_names_each_way_to_falsify_once(tmp_path: Path) -> None:
    said = "An acknowledged write must never be lost.\n\n# Locks\n\nA lease must never have two holders.\n"
    found = claims(tmp_path / "a", {"README.md": said})
    lines = found.text().splitlines()
    below = lines[lines.index("to falsify (by rank):") + 1 :]
    for claim in found.claims:
        (line,) = [line for line in below if claim.falsified_by.fault in line]
        assert line.startswith(f"  {claim.rank}: ") and line.endswith(claim.falsified_by.oracle)
    assert "to falsify" not in claims(tmp_path / "b", {"README.md": "Hello.\n"}).text()


def test_a_mark_of_byte_order_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    found = claims(tmp_path / "a", {"a.md": "\ufeff# Leases\n\nA lease must never have two holders.\n"})
    assert [claim.heading for claim in found.claims] == ["Leases"]
    found = claims(tmp_path / "b", {"a.md": "\ufeffA lease must never have two holders.\n"})
    assert [claim.sentence for claim in found.claims] == ["A lease must never have two holders."]
    assert [claim.quote for claim in found.claims] == ["\ufeffA lease must never have two holders."]


def test_comments_on_a_schema_are_claims_about_what_they_name(tmp_path: Path) -> None:
    schema = (
        "CREATE TABLE transfer (id bigint);\n"
        "COMMENT ON TABLE bank.transfer IS 'Transfers are atomic: both accounts\n"
        "  change or none does, even if the broker''s node fails.';\n"
        "COMMENT ON COLUMN transfer.id IS 'Must be unique: a duplicate request is rejected.';\n"
        "SELECT 'A write must never be lost' FROM transfer;\n"
    )
    found = claims(tmp_path / "a", {"schema.sql": schema})
    said = {claim.symbol: claim.sentence for claim in found.claims if claim.channel == "doc-comment"}
    assert said == {
        "transfer": "Transfers are atomic: both accounts change or none does, even if the broker's node fails.",
        "id": "Must be unique: a duplicate request is rejected.",
    }
    assert found.withheld == 0


def test_what_is_remembered_depends_on_every_module_that_reads() -> None:
    room = Path(fingerprint.__file__).parent
    reached, waiting = set(), ["facts"]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        for node in ast.walk(ast.parse((room / f"{name}.py").read_text(encoding="utf-8"))):
            module = str(node.module) if isinstance(node, ast.ImportFrom) else ""
            waiting += [module.rpartition(".")[2]] if module.startswith("refute.repository.") else []
    assert reached - {"fingerprint"} == set(fingerprint._READERS)


def test_a_mapping_on_one_line_describes_an_interface(tmp_path: Path) -> None:
    document = (
        "openapi: 3.0.0\n"
        "components:\n"
        "  schemas:\n"
        '    Lease: {type: object, description: "A lease must never have two holders, even if a node fails."}\n'
        "    Lock: { type: object, description: 'A client''s lock is released when its session expires.' }\n"
        "    Write: {description: An acknowledged write is never lost unless the disk fails, type: object}\n"
    )
    found = claims(tmp_path / "a", {"openapi.yaml": document})
    assert {claim.symbol: (claim.sentence, claim.line) for claim in found.claims} == {
        "Lease": ("A lease must never have two holders, even if a node fails.", 4),
        "Lock": ("A client's lock is released when its session expires.", 5),
        "Write": ("An acknowledged write is never lost unless the disk fails", 6),
    }
    assert found.withheld == 0


def test_a_balance_of_an_account_is_no_matter_of_fairness(tmp_path: Path) -> None:
    said = "The balance of an account must never be negative.\n\n# Load\n\nPartitions are always evenly balanced among consumers.\n"
    found = claims(tmp_path / "a", {"README.md": said})
    assert {claim.line: claim.category for claim in found.claims}[1] == "safety"
    assert {claim.line: claim.category for claim in found.claims}[5] == "fairness"


@pytest.mark.parametrize("state", ["becomes a candidate", "becomes the new leader", "become follower"])
def test_what_a_node_becomes_is_weighed(state: str) -> None:
    assert weigh(f"A follower that hears nothing from the leader {state}.") is not None
