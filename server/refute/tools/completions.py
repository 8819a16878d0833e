"""What an argument of a chat prompt may be completed with: slugs of plans, revisions, ids of scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from refute.errors import RefuteError
from refute.plan.chat_prompts import chat_prompts
from refute.plan.reader import parse_leniently, read_source
from refute.repository.revisions import revisions_of
from refute.resources import folder

PLANS = Path("docs") / "testing-plans"


def completions(prompt: str, argument: str, begun: str, given: Mapping[str, str]) -> tuple[str, ...]:
    """Everything that starts with what was typed; nothing where prompt, argument or repository is unknown.

    `given` are the arguments that are filled in already: `repository` (by default the working directory) and,
    for scenarios, `slug`.
    """
    known = chat_prompts().get(prompt)
    found = next((each for each in known.arguments if each.name == argument), None) if known else None
    if found is None or found.completes is None:
        return ()
    root = Path(given.get("repository") or ".").expanduser()
    try:
        if found.completes == "plan-slug":
            offered = _slugs(root)
        elif found.completes == "scenario-id":
            offered = _scenarios(root, given.get("slug", ""))
        else:
            return _revisions(root, begun)
    except (RefuteError, OSError):
        return ()
    return tuple(name for name in offered if name.startswith(begun))


def bundled_slugs() -> tuple[str, ...]:
    """The plans that travel with refute."""
    return tuple(sorted(path.stem for path in folder("testing-plans").glob("*.md") if path.stem != "README"))


def _slugs(root: Path) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (root / PLANS).glob("*.md") if path.stem != "README"))


def _scenarios(root: Path, slug: str) -> tuple[str, ...]:
    if slug not in _slugs(root):
        return ()
    plan, _ = parse_leniently(read_source(root / PLANS / f"{slug}.md"))
    return tuple(plan.scenarios)


def _revisions(root: Path, begun: str) -> tuple[str, ...]:
    """Revisions, and for a range such as `main..` what may stand behind its dots."""
    before, dots, last = begun.rpartition("..")
    return tuple(f"{before}{dots}{name}" for name in revisions_of(root) if name.startswith(last))
