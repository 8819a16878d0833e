"""The claims that a repository makes: found, compared, ranked, cited, and each citation checked."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from refute.repository.clusters import near_duplicates
from refute.repository.contradictions import find_contradictions
from refute.repository.descriptions import plain
from refute.repository.editions import newest_first
from refute.repository.falsifiers import falsifier_of
from refute.repository.fingerprint import room_version
from refute.repository.learned_category import category_in
from refute.repository.learned_worth import by_learned_worth
from refute.repository.lexicon import CATEGORIES
from refute.repository.models import Claim, ClaimSet, Place, Threshold
from refute.repository.notices import notices
from refute.repository.polarity import polarity_of
from refute.repository.ranking import Candidate, candidates, ranked
from refute.repository.related_tests import TestIndex
from refute.repository.sentences import words_of
from refute.repository.snapshot import RepositorySnapshot
from refute.repository.store import FactStore
from refute.repository.survey import Survey, survey
from refute.repository.telling_code import RULES as CODE_RULES
from refute.repository.weighing import conditions_of, default_of, threshold_of

_MOST_COMPARED = 6000
MOST_SHOWN, LEAST_SHOWN = 40, 15
# The first answer is as long as the mean confidence of its claims is this: where a repository promises little
# it is short, and the rest waits to be asked for. Of claims so chosen four in five belonged in a test plan.
LIKELY = 0.7
_RULES = {
    "assertion": "an assertion or panic says what must hold",
    "error": "an error message says what is refused",
    "test-name": "the name of a test says what it pins",
    "log": "a warning says what should not happen",
}


def extract_claims(snapshot: RepositorySnapshot, *, top: int | None = None, keep: int = 600) -> ClaimSet:
    """The claims of a snapshot in rank order: `top` are shown, `keep` are held for those who ask on.

    Without `top`, as many are shown as are likely to belong in a test plan: at most 40, at least 15.

    Every quote has been compared with the lines at its citation, read anew; one that differs is withheld and
    counted. The answer for the same content is remembered, so that asking again is quick.
    """
    key = _key(snapshot, keep)
    with FactStore(snapshot.cache) as store:
        for _, text in store.get_many([key]):
            remembered = ClaimSet.model_validate_json(text)
            return remembered.model_copy(
                update={
                    "top": _shown(remembered.promising, top),
                    "commit": snapshot.label,
                    "name": snapshot.name,
                    "notes": notices(snapshot),
                }
            )
    found = claims_of(snapshot, survey(snapshot), top=top, keep=keep)
    if not found.left_out.get("missing objects"):  # else they may be there the next time
        with FactStore(snapshot.cache) as store:
            store.put_many([(key, found.model_dump_json())])
    return found


def _key(snapshot: RepositorySnapshot, keep: int) -> str:
    parts = [
        "claims",
        snapshot.tree,
        snapshot.label,
        str(keep),
        room_version(),
        json.dumps(dict(snapshot.left_out), sort_keys=True),
    ]
    return "claims:" + hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()


def _shown(promising: int, top: int | None) -> int:
    return top if top is not None else max(LEAST_SHOWN, min(MOST_SHOWN, promising))


def _promising(confidences: Sequence[float]) -> int:
    """How many of the first are shown unasked: the most whose mean confidence is high enough."""
    sums = accumulate(confidences[:MOST_SHOWN])
    return max((count for count, total in enumerate(sums, 1) if total >= LIKELY * count), default=0)


def claims_of(
    snapshot: RepositorySnapshot, surveyed: Survey, *, top: int | None = None, keep: int
) -> ClaimSet:
    """As `extract_claims`, from a survey that is at hand."""
    rows = candidates(surveyed.files)
    clusters = newest_first(near_duplicates(by_learned_worth(rows[:_MOST_COMPARED])))
    order = ranked(clusters, keep)
    tests = TestIndex(snapshot, surveyed.files)
    quotes = _Quotes(snapshot, order)
    claims: list[Claim] = []
    withheld = 0
    for cluster in order:
        claim = _claim(cluster, len(claims) + 1, snapshot, quotes, tests)
        if claim is None:
            withheld += 1
        else:
            claims.append(claim)
    promising = _promising([claim.confidence for claim in claims])
    counted = Counter(claim.category for claim in claims)
    notes = list(notices(snapshot))
    if surveyed.cache_problem:
        notes.append(surveyed.cache_problem)
    return ClaimSet(
        name=snapshot.name,
        commit=snapshot.label,
        top=_shown(promising, top),
        promising=promising,
        claims=tuple(claims),
        counts={category: counted.get(category, 0) for category in CATEGORIES},
        contradictions=tuple(find_contradictions(snapshot, surveyed, rows)),
        candidates=len(rows),
        withheld=withheld,
        left_out=surveyed.left_out,
        without_grammar=surveyed.without_grammar,
        notes=tuple(notes),
    )


class _Quotes:
    """The lines of every cited file, read from the snapshot once more, apart from how they were found."""

    def __init__(self, snapshot: RepositorySnapshot, clusters: Sequence[Sequence[Candidate]]) -> None:
        wanted = {cluster[0].path for cluster in clusters}
        files = [file for file in snapshot.files if file.path in wanted]
        self._lines: dict[str, list[str]] = {}
        for file, data in snapshot.contents(files):
            text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
            self._lines[file.path] = text.split("\n")

    def quote(self, path: str, line: int, end_line: int, sentence: str) -> str | None:
        """The cited lines, if every word of the sentence stands in them in its order; else None."""
        lines = self._lines.get(path, [])
        if not 1 <= line <= end_line <= len(lines):
            return None
        text = "\n".join(lines[line - 1 : end_line])
        shown = plain(text) if path.endswith(".json") else text
        if path.endswith((".sql", ".yaml", ".yml")):
            shown = text.replace("''", "'")  # as a string of SQL or YAML writes an apostrophe
        alike = _in_order(sentence, shown) or _in_order(_MARKS.sub("", sentence), _MARKS.sub("", text))
        return text if alike else None


# what may stand within a word: `Session`'s, [Session]s
_MARKS = re.compile(r"[`*\[\]]|</?[a-zA-Z][^<>]{0,80}>")


def _in_order(sentence: str, text: str) -> bool:
    """Whether the words of the sentence stand in the text, in their order."""
    rest = iter(words_of(text))
    return all(word in rest for word in words_of(sentence))


def _claim(
    cluster: Sequence[Candidate], rank: int, snapshot: RepositorySnapshot, quotes: _Quotes, tests: TestIndex
) -> Claim | None:
    head = cluster[0]
    row = head.statement
    said = row.text
    if (
        row.channel == "setting" and row.default and f"defaults to {row.default}" in said
    ) or " (default " in said:
        said = re.sub(r" \(default [^)]*\):| defaults to ", " ", said)
    quote = quotes.quote(head.path, row.line, row.end_line, said.removeprefix("assert "))
    if quote is None:
        return None
    top, secondary = (
        (row.category, row.secondary) if row.channel == "code" else category_in(row.text, row.category)
    )
    category = CATEGORIES[top]
    threshold = threshold_of(row.text)
    places = [
        Place(path=other.path, line=other.statement.line, end_line=other.statement.end_line)
        for other in cluster[1:]
    ]
    verb = "shows" if row.channel == "code" else "says"
    reasons = [f"{row.channel}", *(f"{verb} {name!r}" for name in row.reasons[:4])]
    if len(places):
        reasons.append(f"said {len(places) + 1} times")
    default = row.default or default_of(row.text)
    return Claim(
        id="C-"
        + hashlib.sha256(
            f"{head.path}\0{' '.join(words_of(row.text))}".encode("utf-8", "replace")
        ).hexdigest()[:10],
        rank=rank,
        score=round(head.worth, 2),
        sentence=row.text,
        quote=quote,
        path=head.path,
        line=row.line,
        end_line=row.end_line,
        commit=snapshot.label,
        symbol=row.symbol,
        heading=row.heading,
        channel=row.channel,
        category=category,
        secondary=tuple(CATEGORIES[at] for at in secondary),
        polarity=polarity_of(row.text, row.channel),
        conditions=() if row.channel == "code" else conditions_of(row.text),
        default=default or None,
        threshold=Threshold(value=threshold[0], unit=threshold[1]) if threshold else None,
        explicit=row.channel not in _RULES and row.channel != "code",
        rule=CODE_RULES.get(row.reasons[0], "") if row.channel == "code" else _RULES.get(row.channel, ""),
        confidence=round(1 / (1 + math.exp(-head.worth)), 2),
        reasons=tuple(reasons),
        falsified_by=falsifier_of(category, row.text),
        also_at=tuple(places),
        related_tests=tests.related(row),
    )
