"""What names tell of harnesses, and what is found where names tell nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.repository.file_kinds import role_of
from refute.repository.harnesses import (
    drives_tests,
    guide_of,
    harness_of,
    is_diagnostic,
    is_oracle,
    is_part_of_a_harness,
    spoken,
    telling,
)
from refute.repository.mirror import open_repository
from refute.repository.models import Toolbox, ToolboxEntry
from refute.repository.syntax import Definition
from refute.repository.test_cases import tests_in as cases_in
from refute.repository.toolbox import discover_toolbox
from refute.repository.toolbox_order import ranked
from tests.repository.repositories import commit_files


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("TestSplitBrain.java", "fault-injection"),
        ("linearizable_read_test.go", "linearizability"),
        ("detsim.", "simulation"),
        ("multi-jvm.", "integration"),
        ("microbenchmarks.", "benchmark"),
        ("e2e-harness.ts", "e2e"),
        ("default_config.go", None),  # no fault in "default"
        ("FlowKillSwitchSpec.scala", None),  # a switch of a stream, not a killed process
        ("operators.md", None),
        ("prevote_test.rs", None),
    ],
)
def test_the_words_of_a_name_say_what_harness_it_is(name: str, kind: str | None) -> None:
    assert harness_of(name) == kind


def test_names_are_cut_at_case_signs_and_numbers() -> None:
    assert spoken("tests/TestHTTPSplitBrain_v2.go") == "test http split brain v 2"
    assert spoken("e2e.") == "e2e"


def test_a_name_tells_more_the_more_faults_and_guarantees_it_speaks_of() -> None:
    names = ["config_test.go", "lease_test.go", "crash_test.go", "crash_recovery_lease_test.go"]
    assert [telling(name) for name in names] == [0.0, 0.5, 1.0, 2.5]


@pytest.mark.parametrize(
    ("path", "guide"),
    [
        ("docs/ops/split-brain-resolver.md", "operating"),
        ("docs/multi-node-testing.md", "testing"),
        ("docs/troubleshooting/data.md", "operating"),
        ("docs/categories/actor-interop-operators.md", ""),
        ("docs/style.md", ""),
    ],
)
def test_a_guide_is_for_operating_for_testing_or_neither(path: str, guide: str) -> None:
    assert guide_of(path) == guide


def test_parts_of_harnesses_are_told_from_product_code() -> None:
    assert is_part_of_a_harness("FailureInjectorTransportAdapter.scala")
    assert is_part_of_a_harness("sync_point.h")
    assert not is_part_of_a_harness("TransportAdapter.scala")
    assert is_oracle("expected_state.cc")
    assert not is_oracle("token_state.cc")
    assert is_diagnostic("check_disk.go")
    assert not is_diagnostic("disk.go")
    assert drives_tests("client-steps.ts")
    assert not drives_tests("client.ts")


@pytest.fixture
def toolbox(tmp_path: Path) -> Toolbox:
    suite = (
        "crash_leader(Config) ->\n    rabbit:kill(leader),\n    assert(elected).\n\n"
        "restart(Config) ->\n    ?assert(true).\n"
    )
    scala = 'class StressSpec {\n  "a cluster" must {\n    "survive a crashed node" in {\n      assert(true)\n    }\n  }\n}\n'
    files = {
        "deps/broker/test/quorum_SUITE.erl": suite,
        "deps/jemalloc/test/stress.c": "int main(void) { return 0; }\n",
        "cluster/src/multi-jvm/scala/StressSpec.scala": scala,
        "crash_test.mk": "crash_test:\n\tpython crash.py\n\ncrash_test_with_txn:\n\tpython crash.py --txn\n",
        "Makefile": "include erlang.mk\n",
        "scripts/nightly": "#!/bin/sh\ncargo test --release\n",
        "scripts/check-license": "#!/bin/sh\ngrep -L Copyright *.go\n",
        "internal/monkey.go": "//go:build product_monkeytest\n\npackage internal\n\nfunc Hold() {\n}\n",
        "internal/calm.go": "//go:build !product_monkeytest\n\npackage internal\n\nfunc Hold() {\n}\n",
        "tests/fixtures/router.py": 'import os\n\nDELAY = os.environ["SEND_DELAY"]\n\n\ndef send():\n    return DELAY\n',
        "cmd/tools/test-runner/main.go": "package main\n\nfunc main() {\n}\n",
        "tools/logdump/log_dump.go": "package main\n\nfunc main() {\n}\n",
        "SAFETY.md": "# Hazards\nData may be lost.\n",
        "docs/man/product-upgrade.8": ".TH UPGRADE 8\nDrain the node.\n",
    }
    folder = commit_files(tmp_path / "product", files)
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        return discover_toolbox(snapshot)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("deps/broker/test/quorum_SUITE.erl", "fault-injection"),
        ("cluster/src/multi-jvm", "integration"),
        ("cluster/src/multi-jvm/scala/StressSpec.scala", "e2e"),
        ("crash_test.mk", "fault-injection"),
        ("Makefile", "test-runner"),
        ("scripts/nightly", "test-runner"),
        ("internal/monkey.go", "fault-hook"),
        ("tests/fixtures/router.py", "fault-hook"),
        ("cmd/tools/test-runner/main.go", "test-runner"),
        ("tools/logdump/log_dump.go", "diagnostic"),
        ("SAFETY.md", "runbook"),
        ("docs/man/product-upgrade.8", "runbook"),
    ],
)
def test_the_toolbox_finds_what_stands_outside_of_the_usual_places(
    toolbox: Toolbox, path: str, kind: str
) -> None:
    assert (path, kind) in {(entry.path, entry.kind) for entry in toolbox.entries}


@pytest.mark.parametrize("path", ["deps/jemalloc/test/stress.c", "scripts/check-license", "internal/calm.go"])
def test_the_toolbox_leaves_out_what_tests_nothing(toolbox: Toolbox, path: str) -> None:
    assert path not in {entry.path for entry in toolbox.entries}


def test_only_the_erlang_of_a_folder_named_deps_is_the_products_own() -> None:
    assert role_of("deps/broker/src/queue.erl") == "code"
    assert role_of("deps/jemalloc/src/arena.c") == "vendored"


@pytest.mark.parametrize(
    "path", ["src/sqlite3.h", "include/stb_ds.h", "lib/http_parser.c", "www/jquery-3.7.js"]
)
def test_a_library_of_one_file_is_another_products_wherever_it_was_copied_to(path: str) -> None:
    assert role_of(path) == "vendored"
    assert role_of(f"{path.rsplit('/', 1)[0]}/our_{path.rsplit('/', 1)[1]}") != "vendored"


def test_a_test_of_scala_is_found_with_its_sentence() -> None:
    lines = ['"the shard" must {', '  "hand over after a crash" in {', "    assert(true)", "  }", "}"]
    assert [(case.name, case.line, case.under_fault) for case in cases_in(lines, "scala", [])] == [
        ("hand over after a crash", 2, True)
    ]


def test_the_first_of_each_family_comes_before_its_copies() -> None:
    jobs = [
        ToolboxEntry(kind="ci", name=path, path=path, line=1, end_line=1)
        for path in (".github/nightly-1.0.yml", ".github/nightly-1.1.yml", ".github/timing-tests.yml")
    ]
    order = [entry.path for entry in ranked(jobs)]
    assert order.index(".github/timing-tests.yml") < order.index(".github/nightly-1.1.yml")


def test_a_long_toolbox_leaves_room_for_the_inventory_and_counts_the_rest(toolbox: Toolbox) -> None:
    entry = toolbox.entries[0]
    long = toolbox.model_copy(update={"entries": (entry,) * 80})
    shown = long.text(20_000)
    assert f"20 more entries: {entry.kind} 20" in shown
    assert "tests by subsystem (" in shown


@pytest.mark.parametrize(
    ("body", "under_fault"),
    [
        ("cluster.kill(leader)", True),
        ("network.partition(nodes)", True),
        ("pause_node(one)", True),
        ("drop_messages(one, two)", True),
        ("topic.pause()", False),  # what the product does
        ("server.shutdown()", False),  # the end of any test
        ("assert latency(ms) < 5", False),
    ],
)
def test_a_test_is_under_fault_where_something_breaks(body: str, under_fault: bool) -> None:
    lines = ["def test_it():", f"    {body}", "    assert True"]
    definition = Definition("test_it", "function", 1, 3)
    assert [case.under_fault for case in cases_in(lines, "python", [definition])] == [under_fault]


def test_a_test_stands_where_it_is_named_below_its_annotations() -> None:
    lines = ["@Test", "@Timeout(5)", "void leaderIsElectedOnce() {", "  assertTrue(true);", "}"]
    definition = Definition("leaderIsElectedOnce", "method", 1, 5)
    assert [(case.name, case.line) for case in cases_in(lines, "java", [definition])] == [
        ("leaderIsElectedOnce", 3)
    ]


def test_a_crowded_folder_of_tests_is_told_by_its_files(tmp_path: Path) -> None:
    def tests_of(topic: str, count: int) -> str:
        return "".join(f"def test_{topic}_{at}():\n    assert True\n\n\n" for at in range(count))

    files = {f"tests/test_{topic}.py": tests_of(topic, 20) for topic in ("lease", "lock", "retry")}
    files |= {f"checks/test_{topic}.py": tests_of(topic, 2) for topic in ("one", "two", "three")}
    folder = commit_files(tmp_path / "product", files)
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        inventory = discover_toolbox(snapshot).inventory
    assert {(group.subsystem, group.tests) for group in inventory} == {
        ("tests/test_lease.py", 20),
        ("tests/test_lock.py", 20),
        ("tests/test_retry.py", 20),
        ("checks", 6),
    }
