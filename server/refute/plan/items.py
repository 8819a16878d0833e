"""Claims and hypotheses that a person lists as items, paragraphs or headings instead of rows of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from refute.plan.citation import places_in
from refute.plan.document import CATEGORIES, Claim, Hypothesis, Section
from refute.plan.labels import lines_of
from refute.plan.rows import ids_in, plain

_ITEM = re.compile(
    r"^ {0,3}(?:[-*+]\s+|\d{1,4}[.)]\s+|#{2,6}\s+)?[*_`]*(?P<id>[A-Z]{1,6}-?\d{1,4}[a-z]?)\b[*_`]*"
    r"\s*(?:[(\[](?P<about>[^)\]]{1,80})[)\]])?[*_`]*\s*[:.–—-][*_`]*\s+(?P<text>\S.*)$"
)
_NO_PROSE = ("|", "```", "~~~")
_CATEGORY = re.compile(
    rf"[(\[](?P<named>{'|'.join(CATEGORIES)})[)\]]|\b(?:category|kind|type)\W{{1,5}}(?P<said>{'|'.join(CATEGORIES)})\b",
    re.I,
)
_LEFT_OVER = re.compile(r"(?:\s*[,;])+\s*\.?$|\s+\.$")
"""What stood between the text of a claim, its category and its places."""


@dataclass(slots=True)
class _Item:
    id: str
    about: str
    line: int
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.lines).split())


def claims_listed(section: Section) -> Iterator[Claim]:
    """The claims of a section: `- C1: text (durability), README.md:10@0123abc`, each until the next."""
    for item in _items(section):
        text = item.text
        category = _CATEGORY.search(f"({item.about}) {text}")
        places = places_in(text)
        if category:
            text = text.replace(category[0], "")
        for place in places:
            text = text.replace(place, "")
        yield Claim(
            id=item.id,
            text=_LEFT_OVER.sub("", plain(" ".join(text.split()))),
            category=(category["named"] or category["said"]).lower() if category else "",
            source=", ".join(places),
            line=item.line,
        )


def hypotheses_listed(section: Section) -> Iterator[Hypothesis]:
    """The hypotheses of a section: `- H1 (C1, C2): text`; claims may also stand in brackets at the end."""
    for item in _items(section):
        found = re.search(r"\(([A-Z][^()]{0,80})\)\W*$", item.text)
        yield Hypothesis(
            id=item.id,
            text=item.text,
            claims=ids_in(item.about or (found[1] if found else "")),
            line=item.line,
        )


def _items(section: Section) -> Iterator[_Item]:
    item: _Item | None = None
    for number, line in lines_of(section):
        found = _ITEM.match(line)
        if found:
            if item:
                yield item
            item = _Item(found["id"], found["about"] or "", number, [found["text"]])
        elif item and (not line.strip() or line.lstrip().startswith(_NO_PROSE)):
            yield item
            item = None
        elif item:
            item.lines.append(line)
    if item:
        yield item
