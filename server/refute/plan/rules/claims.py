"""Rules on claims: each is a promise somebody made, at a place that still says so, and something tries it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from refute.plan.citation import Citation, citations_in, places_in
from refute.plan.document import CATEGORIES, Claim
from refute.plan.rules.rule import Hit, Review, categories_of, rule


@rule(
    "no-claims",
    "error",
    why="a plan tests promises; without one there is nothing to falsify",
    mend="list the promises in section 1b: id, claim, category, source",
)
def no_claims(review: Review) -> Iterator[Hit]:
    """Section 1b holds no claim."""
    if not review.plan.claims:
        section = review.plan.section("1b")
        unread = next((table for table in review.plan.tables if table.section == "1b" and table.rows), None)
        if unread:
            columns = ", ".join(unread.header)
            what = f"no claim is read from this table: it needs columns id and claim, and has {columns}"
            yield unread.line, "1b", "", what
        else:
            yield section.line if section else 0, "1b", "", "no claim is listed"


@rule(
    "empty-claim",
    "error",
    why="a claim that says nothing cannot be falsified",
    mend="write the promise in one sentence, as the product makes it",
)
def empty_claim(review: Review) -> Iterator[Hit]:
    """A claim has an id and no words."""
    for claim in review.plan.claims.values():
        if len(re.findall(r"\w+", claim.text)) < 2:
            yield claim.line, "1b", claim.id, f"claim {claim.id} says nothing"


@rule(
    "claim-category",
    "error",
    why="the category decides which oracles and which rules a claim gets",
    mend=f"one of {', '.join(CATEGORIES)}",
)
def claim_category(review: Review) -> Iterator[Hit]:
    """A claim has no category that the field knows."""
    for claim in review.plan.claims.values():
        named = categories_of(claim)
        for name in named or ("",):
            if name not in CATEGORIES:
                near = difflib.get_close_matches(name, CATEGORIES, n=1)
                hint = f"; did you mean {near[0]}?" if near else ""
                what = (
                    f"claim {claim.id} has the category {name!r}{hint}"
                    if name
                    else f"claim {claim.id} has none"
                )
                yield claim.line, "1b", claim.id, what


@rule(
    "uncited-claim",
    "error",
    why="a promise that nobody can look up may be one that nobody made",
    mend="cite path:lines@commit, or a URL",
)
def uncited_claim(review: Review) -> Iterator[Hit]:
    """A claim cites no place."""
    for claim in review.plan.claims.values():
        if not places_in(claim.source):
            yield claim.line, "1b", claim.id, f"claim {claim.id} cites no place"


@rule(
    "citation-without-commit",
    "warning",
    why="lines move; without the commit nobody can tell whether the promise still stands there",
    mend="write path:lines@commit",
)
def citation_without_commit(review: Review) -> Iterator[Hit]:
    """A citation names no commit."""
    for claim in review.plan.claims.values():
        for citation in citations_in(claim.source):
            if not citation.commit:
                yield claim.line, "1b", claim.id, f"{citation.path}:{citation.first} names no commit"


def _places(review: Review) -> Iterator[tuple[int, str, str, Citation]]:
    for claim in review.plan.claims.values():
        for citation in citations_in(claim.source):
            yield claim.line, "1b", claim.id, citation
    for hypothesis in review.plan.hypotheses.values():
        for citation in citations_in(hypothesis.suspect):
            yield hypothesis.line, "4", hypothesis.id, citation


@rule(
    "citation-not-found",
    "error",
    why="what a plan cites must be there, or its claims are hearsay",
    mend="cite the lines that say it",
)
def citation_not_found(review: Review) -> Iterator[Hit]:
    """A cited place does not exist in the repository."""
    if review.read_citation is None:
        return
    for line, section, subject, place in _places(review):
        text = review.read_citation(place.path, place.first, place.last, place.commit or "HEAD")
        if text is None or not text.strip():
            at = f"{place.path}:{place.first}-{place.last}@{place.commit or 'HEAD'}"
            yield line, section, subject, f"{at} is not there, or holds nothing"


@rule(
    "stale-citation",
    "error",
    why="the text was changed since: the promise may no longer be made, or no longer in these words",
    mend="read the new text, mend the claim, cite the present commit",
)
def stale_citation(review: Review) -> Iterator[Hit]:
    """The cited text of a claim is no longer in its file."""
    yield from _reads_otherwise(review, "1b")


@rule(
    "moved-citation",
    "warning",
    why="the text still stands in the file, at other lines: readers who follow the citation miss it",
    mend="cite the present lines and commit",
)
def moved_citation(review: Review) -> Iterator[Hit]:
    """The cited text of a claim has moved within its file."""
    for line, section, subject, place, moved in _changed(review):
        if moved and section == "1b":
            yield (
                line,
                section,
                subject,
                f"{place.path}:{place.first}-{place.last} has moved since {place.commit[:12]}",
            )


@rule(
    "stale-suspect",
    "warning",
    why="the code was changed since: what would have had to be true there may not be so any more",
    mend="read the code as it is now, mend or drop the hypothesis, cite the present commit",
)
def stale_suspect(review: Review) -> Iterator[Hit]:
    """The suspect code is no longer in its file."""
    yield from _reads_otherwise(review, "4")


def _reads_otherwise(review: Review, section: str) -> Iterator[Hit]:
    for line, cited_in, subject, place, moved in _changed(review):
        if not moved and cited_in == section:
            what = f"{place.path}:{place.first}-{place.last} reads otherwise than at {place.commit[:12]}"
            yield line, section, subject, what


def _changed(review: Review) -> Iterator[tuple[int, str, str, Citation, bool]]:
    read = review.read_citation
    if read is None:
        return
    for line, section, subject, place in _places(review):
        then = read(place.path, place.first, place.last, place.commit) if place.commit else None
        if not then or not then.strip():
            continue
        now = read(place.path, place.first, place.last, "HEAD")
        if now is None or _words(now) != _words(then):
            whole = read(place.path, 1, 10_000_000, "HEAD")
            yield line, section, subject, place, whole is not None and _words(then) in _words(whole)


def _words(text: str) -> str:
    return " ".join(text.split())


def _residual(review: Review, claim: Claim) -> bool:
    return review.names(review.text_of("7c", "8"), claim.id)


@rule(
    "claim-without-scenario",
    "error",
    why="a reader takes a listed claim for a tested one",
    mend=(
        "write a scenario that tries to falsify it, or a row in 7c on why it stays uncertain and when to "
        "revisit"
    ),
)
def claim_without_scenario(review: Review) -> Iterator[Hit]:
    """A claim has neither a scenario nor a row of residual uncertainty."""
    for claim in review.plan.claims.values():
        if not review.trials_of(claim.id) and not _residual(review, claim):
            yield (
                claim.line,
                "1b",
                claim.id,
                f"no scenario tries to falsify {claim.id}, and 7c does not name it",
            )


@rule(
    "claim-without-hypothesis",
    "warning",
    why="a scenario without a suspicion is random noise; a suspicion aims it",
    mend="write in section 4 how this claim could be false in this very code",
)
def claim_without_hypothesis(review: Review) -> Iterator[Hit]:
    """A claim that scenarios test is named by no hypothesis."""
    named = {name for hypothesis in review.plan.hypotheses.values() for name in hypothesis.claims}
    for claim in review.plan.claims.values():
        if claim.id not in named and review.trials_of(claim.id):
            yield claim.line, "1b", claim.id, f"no hypothesis says how {claim.id} could be false"
