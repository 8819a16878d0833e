"""The report as a page: the very Markdown of `report.md`, rendered, without network or scripts."""

from __future__ import annotations

import re

import jinja2
from markdown_it import MarkdownIt
from markupsafe import Markup

from refute import resources

# A verdict in bold is the only bold text that begins so; its colour follows its name.
_VERDICT = re.compile(r"<strong>((PASS|FAIL|INCONCLUSIVE|PARTIAL|NOT-RUN)[A-Za-z-]*)</strong>")


def report_page(markdown: str) -> str:
    """One self-contained HTML page that says what the Markdown says.

    HTML within the Markdown is shown as text, so that nothing that a system answered can shape the page.
    """
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    body = _VERDICT.sub(r'<strong class="verdict \2">\1</strong>', reader.render(markdown))
    title = markdown.partition("\n")[0].lstrip("# ")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(resources.folder("prompts") / "documents"),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
    )
    body = body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
    return environment.get_template("report.html.j2").render(title=title, body=Markup(body))
