"""Reads the paragraphs of an HTML document, with their lines and the headings above them."""

from __future__ import annotations

from html.parser import HTMLParser

from refute.repository.prose import Paragraph

_BLOCKS = frozenset(
    {"p", "li", "dd", "dt", "td", "th", "div", "section", "blockquote", "br", "tr", "ul", "ol", "table"}
)
_HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_SILENT = frozenset({"script", "style", "pre", "nav", "header", "footer", "head", "svg", "code-block"})


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.done: list[Paragraph] = []
        self._held: list[tuple[int, str]] = []
        self._headings: dict[int, str] = {}
        self._heading = 0
        self._silent = 0
        self._kind = "text"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        if tag in _SILENT:
            self._silent += 1
        if tag in _BLOCKS or tag in _HEADINGS or tag in _SILENT:
            self.close_paragraph()
            self._kind = "item" if tag in ("li", "dd") else "row" if tag in ("td", "th") else "text"
        self._heading = _HEADINGS.get(tag, self._heading)

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        if tag in _HEADINGS:
            title = " ".join(text for _, text in self._held)
            self._headings = {level: name for level, name in self._headings.items() if level < self._heading}
            self._headings[self._heading] = title[:120]
            self._held, self._heading = [], 0
        elif tag in _BLOCKS:
            self.close_paragraph()

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        first = self.getpos()[0]
        for ahead, text in enumerate(data.split("\n")):
            if text.strip():
                self._held.append((first + ahead, " ".join(text.split())))

    def close_paragraph(self) -> None:
        if self._held and not self._heading:
            headings = tuple(self._headings[level] for level in sorted(self._headings))
            self.done.append(Paragraph(self._held, headings, self._kind))
            self._held = []


def html_paragraphs(text: str) -> list[Paragraph]:
    """The paragraphs in order, without scripts, styles, code and navigation; linear."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    reader.close_paragraph()
    return reader.done
