"""The chat prompts and the catalogs, as a server shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from refute.checkers import CATALOG
from refute.errors import InputError
from refute.nemesis.mechanisms import list_faults
from refute.plan.chat_prompts import ChatPrompt, chat_prompts, render_prompt
from refute.resources import folder
from refute.session.record import Session


def listed() -> tuple[ChatPrompt, ...]:
    """Every chat prompt."""
    return tuple(chat_prompts().values())


def rendered(name: str, arguments: dict[str, str]) -> str:
    """The text of a prompt. Raises PromptError."""
    return render_prompt(name, arguments)


def fault_catalog() -> list[dict[str, Any]]:
    """Every fault of the catalog in full, not probed."""
    return list_faults(probing=False)


def checker_catalog() -> list[dict[str, Any]]:
    """Every checker: what it proves, which operations it consumes, its options."""
    return [
        {
            "name": entry.name,
            "summary": entry.summary,
            "properties": list(entry.properties),
            "kinds": list(entry.kinds),
            "fields": list(entry.fields),
            "options": dict(entry.options or {}),
        }
        for entry in CATALOG.values()
    ]


def bundled_plan(slug: str) -> str:
    """The text of a bundled plan. Raises InputError where there is none of that name."""
    plans = {path.stem: path for path in folder("testing-plans").glob("*.md") if path.stem != "README"}
    if slug not in plans:
        raise InputError(f"there is no bundled plan {slug!r}", hint=f"there are: {', '.join(sorted(plans))}")
    return plans[slug].read_text(encoding="utf-8")


def report_of(slug: str, stamp: str, root: str = "test-sessions") -> str:
    """The report of a session below the session root. Raises InputError where there is none."""
    place = Path(root).resolve()
    found = (place / slug / stamp).resolve()
    if not found.is_relative_to(place):
        raise InputError("lies outside of the session root", where=f"{slug}/{stamp}")
    report = Session.open(found).folder / "report.md"
    if not report.is_file():
        raise InputError("has no report yet", where=f"{slug}/{stamp}")
    return report.read_text(encoding="utf-8")
