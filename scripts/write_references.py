"""Writes the references of the design skill from the catalogs, and the table of fault tests from the tests.

`--check` says whether they are up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fault_tests import collected, rendered

from refute.plan.skill_references import NOTE, SKILL, rendered_references

ROOT = Path(__file__).resolve().parents[1]


def wanted() -> dict[Path, str]:
    """Every file that is written, with its text; the plan format is the page under docs/."""
    shown = collected()
    folder = ROOT / "skills" / SKILL / "references"
    files = {folder / name: text for name, text in rendered_references().items()}
    files[folder / "plan-format.md"] = NOTE + (ROOT / "docs" / "plans.md").read_text(encoding="utf-8")
    files[ROOT / "docs" / "fault-tests.md"] = rendered(shown)
    return files


def main() -> int:
    """Exit code: 1 where `--check` finds an old file."""
    texts = wanted()
    old = [
        path for path, text in texts.items() if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    if "--check" not in sys.argv[1:]:
        for path in old:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts[path], encoding="utf-8")
    for path in old:
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
    return int(bool(old) and "--check" in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
