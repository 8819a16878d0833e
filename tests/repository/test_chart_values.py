"""A value of a chart, and the README beside it that states another."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.repository.chart_values import values_in
from refute.repository.claims import extract_claims
from refute.repository.mirror import open_repository
from tests.repository.repositories import commit_files

README = "# Chart\n\n| Parameter | Description | Default |\n|---|---|---|\n| `{}` | what it does | `{}` |\n"
VALUES = "# replicas of the store\nreplicaCount: 3\nstore:\n  fsync: true\n  lease: 15m\n"


def found_in(folder: Path, files: dict[str, str]) -> list[tuple[str, int, str, int]]:
    commit_files(folder, files)
    with open_repository(folder, cache=folder.parent / "cache") as snapshot:
        rows = extract_claims(snapshot).contradictions
    assert {row.kind for row in rows} <= {"default differs"}
    return [(row.a.path, row.a.line, row.b.path, row.b.line) for row in rows]


@pytest.mark.parametrize(
    ("name", "said", "line"),
    [
        ("replicaCount", "1", 2),
        ("replicaCount", "3", 0),
        ("store.fsync", "false", 4),
        ("store.fsync", "true", 0),
        ("store.lease", "15m", 0),
        ("store.lease", "20m", 5),
        ("store.absent", "1", 0),
        ("other.fsync", "false", 0),  # the same last name of another value
    ],
)
def test_a_readme_is_compared_with_the_values_beside_it(
    tmp_path: Path, name: str, said: str, line: int
) -> None:
    files = {"charts/kv/README.md": README.format(name, said), "charts/kv/values.yaml": VALUES}
    expected = [("charts/kv/README.md", 5, "charts/kv/values.yaml", line)] if line else []
    assert found_in(tmp_path / "a", files) == expected


def test_the_chart_rules_over_the_chart_within_it(tmp_path: Path) -> None:
    inner = "charts/kv/charts/store/values.yaml"
    files = {"charts/kv/README.md": README.format("store.fsync", "false"), inner: "fsync: true\n"}
    assert found_in(tmp_path / "a", files) == [("charts/kv/README.md", 5, inner, 1)]
    ruled = {**files, "charts/kv/values.yaml": "store:\n  fsync: false\n"}
    assert found_in(tmp_path / "b", ruled) == []


def test_a_readme_of_another_folder_is_of_another_chart(tmp_path: Path) -> None:
    files = {"charts/kv/README.md": README.format("replicaCount", "1"), "charts/queue/values.yaml": VALUES}
    assert found_in(tmp_path / "a", files) == []


@pytest.mark.parametrize(
    "text",
    [
        "a: [",
        "",
        "- 1",
        "a: &a {b: *a}",
        "x: &x {k: 1}\n" + "".join(f"y{n}: &y{n} {{a: *x, b: *x}}\n" for n in range(9)),
        "{a: " * 600 + "1" + "}" * 600,
    ],
)
def test_values_that_cannot_be_read_are_none(text: str) -> None:
    assert set(values_in(text)) <= {"x.k"}


def test_values_are_named_by_their_path() -> None:
    assert values_in(VALUES) == {
        "replicaCount": ("3", 2),
        "store.fsync": ("true", 4),
        "store.lease": ("15m", 5),
    }
