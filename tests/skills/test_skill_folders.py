"""Both skills are valid, and the validator notices each way in which a copy of one is spoilt."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.skills.skill_folder import front_matter, skill_faults

SKILLS = Path(__file__).resolve().parents[2] / "skills"
FOLDERS = sorted(path.parent for path in SKILLS.glob("*/SKILL.md"))
NAMES = ["designing-distributed-system-tests", "executing-distributed-system-tests"]


def _edit(old: str, new: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        text = (folder / "SKILL.md").read_text(encoding="utf-8")
        assert old in text
        (folder / "SKILL.md").write_text(text.replace(old, new, 1), encoding="utf-8")

    return edit


def _append(text: str) -> Callable[[Path], None]:
    def append(folder: Path) -> None:
        with (folder / "SKILL.md").open("a", encoding="utf-8") as file:
            file.write(text)

    return append


def _lead_on(folder: Path) -> None:
    reference = next(iter(sorted((folder / "references").glob("*.md"))))
    reference.write_text("[more](deeper/more.md)\n", encoding="utf-8")


SPOILT: dict[str, tuple[Callable[[Path], None], str]] = {
    "another name": (_edit("name: ", "name: x-"), "is not the folder's"),
    "a name in capitals": (_edit("name: ", "name: X"), "lower-case"),
    "no description": (_edit("description:", "compatibility:"), "description of 0"),
    "a long description": (_edit("description: >-\n", "description: >-\n  " + "word " * 210 + "\n"), "desc"),
    "an unknown key": (_edit("license:", "mood: good\nlicense:"), "unknown key mood"),
    "no front matter": (_edit("---\n", "\n"), "description of 0"),
    "500 lines": (_append("a\n" * 500), "body of"),
    "5,000 tokens": (_append("word " * 4000), "body of"),
    "a link to nothing": (_append("[a](references/none.md)\n"), "none.md, which is not there"),
    "a link out of the folder": (_append("[a](../../README.md)\n"), "more than one level deep"),
    "a reference that leads on": (_lead_on, "leads on to deeper/more.md"),
    "a reference that nobody opens": (lambda folder: (folder / "references/z.md").touch() or None, "z.md"),
    "a reference that is gone": (
        lambda folder: next(iter((folder / "references").glob("*.md"))).unlink(),
        "which is not there",
    ),
    "no SKILL.md": (lambda folder: (folder / "SKILL.md").unlink(), "no SKILL.md"),
}


def test_there_are_two_skills() -> None:
    assert [folder.name for folder in FOLDERS] == NAMES


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_skill_is_valid(folder: Path) -> None:
    assert skill_faults(folder) == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
@pytest.mark.parametrize("spoilt", SPOILT)
def test_the_validator_notices(folder: Path, spoilt: str, tmp_path: Path) -> None:
    copy = tmp_path / folder.name
    shutil.copytree(folder, copy)
    spoil, complaint = SPOILT[spoilt]
    spoil(copy)
    assert complaint in " ".join(skill_faults(copy))


def test_each_skill_says_when_the_other_one_is_meant() -> None:
    for folder, other in zip(FOLDERS, reversed(NAMES), strict=True):
        head = front_matter((folder / "SKILL.md").read_text(encoding="utf-8"))
        assert other in str(head["description"])
