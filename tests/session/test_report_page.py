"""The report as a page: it says what the Markdown says, and nothing in it can shape or call anything."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from refute.session.record import Session
from refute.session.report_page import report_page


class Page(HTMLParser):
    """What a browser would make of it: tags, their attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def test_a_run_leaves_the_page_beside_the_report(failing: Session) -> None:
    page = Page((failing.folder / "report.html").read_text())
    assert "FAIL-reproducible" in page.text
    assert "stale read" in page.text
    assert ("a", {"href": "findings/S1.html"}) in page.tags
    assert {"class": "verdict FAIL"} in [attributes for tag, attributes in page.tags if tag == "strong"]


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[press](javascript:alert(1))",
        "![](http://example.com/x.png)",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "{{ 7 * 7 }}",
        "<strong>PASS-hardening</strong>",
    ],
)
def test_foreign_text_stays_text(hostile: str) -> None:
    page = Page(report_page(f"# Findings: {hostile}\n\n| a |\n|---|\n| {hostile} |\n"))
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "iframe", "object", "form"}
    assert not [
        attributes for tag, attributes in page.tags if any(name.startswith("on") for name in attributes)
    ]
    assert not [a for tag, a in page.tags if tag == "a" and str(a.get("href")).startswith("javascript")]
    assert not [a for tag, a in page.tags if tag == "strong" and "verdict" in str(a.get("class"))]
    assert "49" not in page.text


def test_the_page_may_load_nothing() -> None:
    page = Page(report_page("# Findings: x\n\n![](http://example.com/x.png)\n"))
    (policy,) = [a["content"] for tag, a in page.tags if tag == "meta" and a.get("http-equiv")]
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_all_words_of_the_markdown_are_in_the_page(failing: Session) -> None:
    page = Page((failing.folder / "report.html").read_text())
    for line in (failing.folder / "report.md").read_text().splitlines():
        if line.startswith("- `"):
            code, _, sentence = line[3:].partition("`: ")
            assert code in page.text
            assert " ".join(sentence.split())[:40] in page.text
