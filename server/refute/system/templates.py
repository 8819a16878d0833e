"""Templates such as `{port.client}` in commands and environments, filled in with what is known of a node."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

from refute.plan.template_words import TEMPLATE
from refute.system.errors import ClusterInputError


def render(text: str, values: Mapping[str, str], *, where: str) -> str:
    """The text with every template replaced. Raises ClusterInputError naming one without a value."""

    def value(found: re.Match[str]) -> str:
        if found[1] not in values:
            near = difflib.get_close_matches(found[1], values, n=1)
            hint = f"did you mean {{{near[0]}}}?" if near else f"there are {', '.join(sorted(values))}"
            raise ClusterInputError(f"nothing is known as {{{found[1]}}}", where=where, hint=hint)
        return values[found[1]]

    return TEMPLATE.sub(value, text)


def render_words(words: Sequence[str], values: Mapping[str, str], *, where: str) -> list[str]:
    """The words of a command, each rendered on its own: a value with blanks stays one word."""
    return [render(word, values, where=where) for word in words]
