"""The score counts what a reader would count."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.repository.scoring import read_rows, score

GOLD = Path(__file__).parent / "gold"
LISTED = {
    "id": "X-1",
    "path": "a.md",
    "line": 10,
    "end_line": 12,
    "category": "safety",
    "also_category": ["ordering"],
}
TEXTS = {"a.md": "\n" * 9 + "leader commits entries only\nfrom its current term and\nnever earlier ones\n",
         "b.md": "The leader commits entries only from its current term and never others.\n"}  # fmt: skip


def row(
    path: str, line: int, category: str = "safety", also: tuple[dict[str, object], ...] = ()
) -> dict[str, object]:
    return {"path": path, "line": line, "end_line": line, "category": category, "also_at": list(also)}


@pytest.mark.parametrize(
    ("predicted", "found", "right"),
    [
        (row("a.md", 11), 1, 1),
        (row("a.md", 14, "ordering"), 1, 1),
        (row("a.md", 15), 0, 0),
        (row("a.md", 8, "fairness"), 1, 0),
        (row("b.md", 1), 1, 1),
        (row("c.md", 1, also=({"path": "a.md", "line": 12, "end_line": 12},)), 1, 1),
    ],
)
def test_a_listed_claim_is_found_by_its_lines_or_by_most_of_its_words(
    predicted: dict[str, object], found: int, right: int
) -> None:
    result = score([LISTED], [predicted], TEXTS, cut=10)
    assert (result.found, result.right) == (found, right)


def test_rows_behind_the_cut_do_not_count() -> None:
    assert score([LISTED], [row("z.md", 1), row("a.md", 11)], TEXTS, cut=1).missed == ("X-1",)


@pytest.mark.parametrize("place", sorted(GOLD.glob("toolbox*/*.jsonl")), ids=lambda place: place.stem)
def test_the_lists_of_tools_are_well_formed(place: Path) -> None:
    rows = read_rows(place)
    places = {(entry["path"], entry["kind"]) for entry in rows}
    assert len({entry["id"] for entry in rows}) == len(places) == len(rows) >= 10
    assert all({"id", "repo", "commit", "kind", "path", "what"} <= set(entry) for entry in rows)
    assert all(len(entry["what"]) < 100 for entry in rows)


@pytest.mark.parametrize(
    "place",
    sorted([*GOLD.glob("*.jsonl"), *GOLD.glob("untuned/*.jsonl")]),
    ids=lambda place: place.stem,
)
def test_the_lists_are_well_formed_and_hold_no_text_of_others(place: Path) -> None:
    rows = read_rows(place)
    assert len({claim["id"] for claim in rows}) == len(rows) >= 15
    for claim in rows:
        assert set(claim) <= {
            "id",
            "repo",
            "commit",
            "claim",
            "category",
            "also_category",
            "path",
            "line",
            "end_line",
        }
        assert 1 <= claim["line"] <= claim["end_line"] <= claim["line"] + 12
        assert len(claim["claim"]) < 100
