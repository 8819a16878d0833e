"""Finds places where a repository contradicts itself, or promises what a default switches off.

Seven mechanisms, none of which knows a product: the same list in another order where one place says that the
order matters; near-duplicates whose numbers differ; near-duplicates of which one denies; "one at a time"
against "several at once" about the same thing; a protection that a document advertises while the code
turns an unset limit into none; a setting with another default where it is documented than where it is set;
and a value of a chart that its README states otherwise.
"""

# ruff: noqa: E501  (patterns)
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from refute.repository.chart_values import differing_chart_values
from refute.repository.differing_defaults import differing_defaults
from refute.repository.differing_sentences import duplicates_that_differ
from refute.repository.file_kinds import role_of
from refute.repository.lexicon import categories_of_word
from refute.repository.models import Contradiction, Place
from refute.repository.ranking import Candidate
from refute.repository.sentences import pieces, stem, stems_of
from refute.repository.sieve import Sieve
from refute.repository.snapshot import RepositorySnapshot
from refute.repository.statement_index import StatementIndex, contradiction, place_of
from refute.repository.survey import Survey

_MOST = 12
_LIST = re.compile(r"\b([A-Z]\w+), (?:the )?([A-Z]\w+),? (?:and|then) (?:the )?([A-Z]\w+)\b")
_ORDER = re.compile(r"\b(in (?:this |that |the following )?order|first\b.*\bthen|before|after)\b", re.I)
_ONE = re.compile(r"\bone (?:\w+ )?at a time\b|\bonly one (?:\w+ ){1,3}(?:at (?:a|any) time|may|can)\b", re.I)
_MANY = re.compile(
    r"\b(multiple|several|arbitrary(?! (?:ways?|orders?|points?|moments?|times?)\b)|more than one|any number of|simultaneous\w*)\b",
    re.I,
)
# What holds in one of several modes denies nothing of the others.
_OF_A_MODE = re.compile(r"\b(?:in|under|with) (?:this|that|such a|the \w+|\w+) mode\b", re.I)
# A limit on how many says nothing of how large, and the other way round.
_HOW_MANY = re.compile(r"#\s*of\b|\bnumber of\b|\bcounts?\b", re.I)
_HOW_LARGE = frozenset({"bytes", "size", "length"})
_PROTECTS = re.compile(r"\b(protect\w*|prevent\w*|guard\w*|safeguard\w*|limit\w*|bound(?:ed|s)?)\b", re.I)
_UNSET = re.compile(r"\bif\s*\(?\s*(?:\w+(?:\.|->))?(\w+)\s*(?:==|<=|===)\s*(?:0|nil|null|None)\b")
_NO_LIMIT = re.compile(
    r"\b(\w+)\s*=\s*[\w.:]*(?:no_?limit|unlimited|no_?max|math\.Max\w+|MAX_VALUE|u64::MAX|usize::MAX|Infinity|SIZE_MAX|UINT64_MAX)\b", re.I)  # fmt: skip
_OFF_BY_DEFAULT = Sieve({"unset": _UNSET, "no limit": _NO_LIMIT})


def find_contradictions(
    snapshot: RepositorySnapshot, surveyed: Survey, rows: Sequence[Candidate]
) -> Iterator[Contradiction]:
    """The contradictions, the surest first, at most twelve; near-linear in the number of statements."""
    said = [row for row in rows if _counts(row)][:5000]
    index = StatementIndex(said)
    found = [
        *_order_differs(said, index),
        *_one_against_many(said, index),
        *duplicates_that_differ(said, index),
        *_protection_that_is_off(snapshot, surveyed, said, index),
        *differing_defaults(surveyed.files),
        *differing_chart_values(snapshot, surveyed.files),
    ]
    found.sort(key=lambda row: (-row.confidence, str(row.a), str(row.b)))
    yield from _once_each(found)[:_MOST]


def _once_each(found: Iterable[Contradiction]) -> list[Contradiction]:
    """Copies of one sentence that differ from the same other place are one contradiction, with a count."""
    kept: list[list[Contradiction]] = []
    for row in found:
        copied = row.kind in ("polarity differs", "number differs", "one against many")
        ends = {str(row.a), str(row.b)}
        same = next(
            (
                rows
                for rows in kept
                if copied and rows[0].kind == row.kind and ends & {str(rows[0].a), str(rows[0].b)}
            ),
            None,
        )
        if same is None:
            kept.append([row])
        else:
            same.append(row)
    return [_with_copies(rows) for rows in kept]


def _with_copies(rows: list[Contradiction]) -> Contradiction:
    """The first, whose note counts the others."""
    if len(rows) == 1:
        return rows[0]
    others = f"one copy, {rows[1].a}" if len(rows) == 2 else f"{len(rows) - 1} copies, first {rows[1].a}"
    return rows[0].model_copy(update={"note": f"{rows[0].note} The same for {others}."})


def _counts(row: Candidate) -> bool:
    return role_of(row.path) in ("entry", "document", "reference", "code", "interface", "settings") and (
        row.statement.channel in ("document", "doc-comment", "code-comment", "setting")
    )


def _order_differs(rows: Sequence[Candidate], index: StatementIndex) -> Iterator[Contradiction]:
    lists: dict[frozenset[str], list[tuple[tuple[str, ...], int]]] = defaultdict(list)
    for at, row in enumerate(rows):
        for found in _LIST.finditer(row.statement.text):
            names = tuple(name.lower() for name in found.groups())
            if len(set(names)) == 3:
                lists[frozenset(names)].append((names, at))
    for held in lists.values():
        done: set[tuple[str, str]] = set()
        for names, at in held:
            for other_names, other in held:
                a, b = rows[at], rows[other]
                if names == other_names or a.path == b.path or (a.path, b.path) in done:
                    continue
                ordered = _ORDER.search(a.statement.text) and not _ORDER.search(b.statement.text)
                alike = index.alike(index.stems[at], index.stems[other])
                if ordered and alike >= 0.35:
                    done.update({(a.path, b.path), (b.path, a.path)})
                    note = f"One says that the order matters ({', '.join(names)}); the other lists {', '.join(other_names)}."
                    yield contradiction("order differs", a, b, note, 0.6 + 0.4 * alike)


def _one_against_many(rows: Sequence[Candidate], index: StatementIndex) -> Iterator[Contradiction]:
    plain = frozenset(
        map(stem, ("one", "time", "multiple", "several", "arbitrary", "only", "single", "many"))
    )
    for at, row in enumerate(rows):
        found = _ONE.search(row.statement.text)
        if not found or _MANY.search(row.statement.text) or _OF_A_MODE.search(row.statement.text):
            continue
        topic = _clause_around(row.statement.text, found.start(), found.end())
        best: tuple[float, int] | None = None
        for other in index.near(at, most=200, rarest=20):
            many = _MANY.search(rows[other].statement.text)
            if not many or rows[other].path == row.path:
                continue
            about = _clause_around(rows[other].statement.text, many.start(), many.end())
            common = (topic & about) - plain
            strong = any(weight >= 3 for word in common for _, weight in categories_of_word(word))
            if len(common) >= 2 and strong:
                weight = index.shared_weight(common, common)
                share = weight / max(sum(index.weight.get(word, 1.0) for word in topic - plain), 1.0)
                if share >= 0.25 and (best is None or share > best[0]):
                    best = (share, other)
        if best is not None:
            note = f"One place says {found.group()!r}, the other allows several."
            yield contradiction("one against many", row, rows[best[1]], note, 0.4 + 0.3 * best[0])


def _clause_around(text: str, start: int, end: int) -> frozenset[str]:
    """The words of the clause that the match stands in."""
    before = re.split(r"[.;:,()]| but | and ", text[:start])[-1]
    after = re.split(r"[.;:,()]| but ", text[end:])[0]
    return stems_of(f"{before} {text[start:end]} {after}")


def _protection_that_is_off(
    snapshot: RepositorySnapshot, surveyed: Survey, rows: Sequence[Candidate], index: StatementIndex
) -> Iterator[Contradiction]:
    """A protection named in a document, the code comment that serves it, and the limit that is off when unset."""
    unset = list(_limits_off_by_default(snapshot, surveyed))
    if not unset:
        return
    of_setting: dict[str, tuple[float, Contradiction]] = {}
    for at, row in enumerate(rows):
        if row.statement.channel != "document" or role_of(row.path) not in ("entry", "document"):
            continue
        if not _PROTECTS.search(row.statement.text) or re.search(
            r"\b(default|option|if set|can be|may be)\b", row.statement.text, re.I
        ):
            continue
        best: tuple[float, int, str, Place, str] | None = None
        for other in index.near(at, most=40, rarest=20):
            served = rows[other]
            if served.statement.channel == "document" or not served.statement.symbol:
                continue
            common = index.shared_weight(index.stems[at], index.stems[other])
            if (
                len(index.stems[at] & index.stems[other]) < 3
                or index.alike(index.stems[at], index.stems[other]) < 0.2
            ):
                continue
            named = {piece for piece in pieces(served.statement.symbol.rsplit(".", 1)[-1]) if len(piece) > 3}
            for name, place, shown in unset:
                both = named & {piece for piece in pieces(name) if len(piece) > 3}
                if _HOW_MANY.search(row.statement.text) and _HOW_LARGE & set(pieces(name)):
                    continue
                if len(both) >= 2 and (best is None or common > best[0]):
                    best = (common, other, name, place, shown)
        if best is not None:
            weight, other, name, place, shown = best
            made = Contradiction(
                kind="default is off",
                note=f"The document names a protection; {name}, which serves it "
                f"({place_of(rows[other])}), is without limit unless it is set.",
                a=place_of(row),
                a_quote=row.statement.text[:300],
                b=place,
                b_quote=shown,
                confidence=0.7,
            )
            if name not in of_setting or weight > of_setting[name][0]:
                of_setting[name] = (weight, made)
    yield from (made for _, made in of_setting.values())


def _limits_off_by_default(
    snapshot: RepositorySnapshot, surveyed: Survey
) -> Iterable[tuple[str, Place, str]]:
    """Lines of code that turn an unset limit into none: `if x == 0 { x = noLimit }`."""
    files = [file for file, facts in surveyed.files if role_of(file.path) == "code" and facts.definitions]
    for file, data in snapshot.contents(files):
        text = data.decode("utf-8", "replace")
        if len(_OFF_BY_DEFAULT.possible(text.replace("\r", " "))) < 2:
            continue
        lines = text.split("\n")
        for number, line in enumerate(lines, 1):
            found = _UNSET.search(line)
            if not found:
                continue
            for ahead in range(number, min(number + 3, len(lines) + 1)):
                set_to = _NO_LIMIT.search(lines[ahead - 1])
                if set_to and set_to.group(1) == found.group(1):
                    place = Place(path=file.path, line=number, end_line=ahead)
                    yield found.group(1), place, " ".join(part.strip() for part in lines[number - 1 : ahead])
                    break
