"""The references of the design skill, rendered from the catalogs that the tools read."""

from __future__ import annotations

from refute.checkers.catalog import CATALOG
from refute.plan.catalogs import read_catalog
from refute.plan.models import MODELS
from refute.plan.oracle_words import categories_judged
from refute.plan.pitfalls import pitfalls
from refute.plan.rules import RULES
from refute.plan.rules.form import READING
from refute.plan.templates import render

SKILL = "designing-distributed-system-tests"
NOTE = "<!-- Written by scripts/write_references.py from the catalogs; change those. -->\n\n"


def rendered_references() -> dict[str, str]:
    """File name below the skill's `references/` to its text."""
    made = {
        "suspects.md": render("documents/references/suspects.md.j2", suspects=read_catalog("suspects")),
        "pitfalls.md": render("documents/references/pitfalls.md.j2", pitfalls=pitfalls()),
        "techniques.md": render(
            "documents/references/techniques.md.j2", techniques=read_catalog("techniques")
        ),
        "models-and-checkers.md": render(
            "documents/references/models-and-checkers.md.j2",
            models=[
                {
                    "id": model.id,
                    "summary": model.summary,
                    "checkers": [name for name in model.checkers if name in CATALOG],
                    "history": model.history,
                    "judges": model.judges,
                    "cost": model.cost,
                }
                for model in MODELS.values()
            ],
            checkers=[
                (entry, sorted(categories_judged(entry)))
                for entry in sorted(CATALOG.values(), key=lambda entry: entry.name)
            ],
        ),
        "rules.md": render("documents/references/rules.md.j2", rules=list(RULES.values()), reading=READING),
    }
    return {name: NOTE + text.rstrip("\n") + "\n" for name, text in made.items()}
