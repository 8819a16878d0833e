"""Renders the documents that refute writes from the templates under prompts/."""

from __future__ import annotations

import json
import re
import shlex
from functools import cache
from typing import TYPE_CHECKING, Any

from refute.resources import folder

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, **values: Any) -> str:
    """The text of `prompts/<template>` with these values; a missing value is an error."""
    return environment().get_template(template).render(**values)


@cache
def environment() -> Environment:
    """The templates' environment: strict, with filters for table cells, string literals and shells."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # Markdown and source code are written here, never HTML.
    made = Environment(
        loader=FileSystemLoader(folder("prompts")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    made.filters |= {"cell": cell, "quoted": quoted, "shell": shlex.quote}
    return made


def cell(value: Any) -> str:
    """Text that fits into one cell of a Markdown table: one line, pipes escaped."""
    return re.sub(r"\s+", " ", str(value)).replace("|", "\\|").strip()


def quoted(value: Any) -> str:
    """A string literal that Python, Go, Rust, Java and TypeScript all read alike."""
    text = str(value)
    if not text.isprintable():
        raise ValueError(f"{text!r} cannot be written into a test: it holds control characters")
    return json.dumps(text, ensure_ascii=False)
