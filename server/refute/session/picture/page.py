"""One self-contained HTML page that shows a history: no network, no foreign code, everything escaped."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup

from refute import resources
from refute.history import FaultEvent, History, Landing
from refute.session.picture.bands import bands_of
from refute.session.picture.conflict import Conflict
from refute.session.picture.data import picture_data

MARK = "<!-- a picture by refute -->"
"""In the first line of every page, so that a picture never overwrites a file that is none."""

_SCRIPTS = ("data.js", "theme.js", "view.js", "paint.js", "overview.js", "graph.js", "panel.js", "main.js")


def timeline_page(
    history: History,
    conflicts: Sequence[Conflict],
    *,
    faults: Iterable[FaultEvent] = (),
    landings: Iterable[Landing] | None = None,
    title: str,
    answer: str = "",
) -> str:
    """The page: operations by process in time, faults as bands, the operations of each conflict lit.

    `answer` is a line on what the checkers said. The same arguments give the same bytes. Linear in the
    operations; about 50 bytes for each. The text of a history is data: it is escaped in the page and can
    neither end its element nor run, and the page's own policy lets nothing but its own script run.
    """
    data = picture_data(history, conflicts, bands_of(faults, landings), title=title)
    data["answer"] = answer
    folder = resources.folder("prompts") / "documents" / "timeline"
    style = _read(folder / "page.css")
    script = '"use strict";\n(() => {\n' + "".join(_read(folder / name) for name in _SCRIPTS) + "})();\n"
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("page.html.j2").render(
        mark=Markup(MARK),
        title=title,
        answer=answer,
        operations=len(history),
        conflicts=data["conflicts"],
        data=_embedded(data),
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


def _embedded(document: object) -> Markup:
    """JSON that can stand inside a script element: ASCII, and without the characters that could end it."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=True)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
