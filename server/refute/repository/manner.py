"""Lowers what is worded like a claim and is none: advice, fragments, settings run together, mere defaults.

These are the kinds of noise that a reader found in the first thirty claims of repositories that nobody had tuned to.
Each is told by how a sentence is said, not by what it is about.
"""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from functools import lru_cache

from refute.repository.ranking import Candidate
from refute.repository.sieve import Sieve


def _compiled(*rows: tuple[float, str]) -> tuple[tuple[float, re.Pattern[str]], ...]:
    return tuple((worth, re.compile(pattern, re.I)) for worth, pattern in rows)


# taken off wherever it is said
_MANNERS = _compiled(
    # advice and examples
    (-0.9, r"^(?:if you (?:want|need more|would like|wish|know|don't care)|you (?:can|could|might|may) (?:also |then )?(?:say|want|estimate|use|set|pass|configure|specify)|"
           r"for (?:instance|example)|imagine|suppose|in (?:the above|this) example|with this configuration|yes,|(?:you )?might also want|please remember|consider )"),
    (-1.0, r"^@(?:returns?|param|throws|var|see)\b|\bmust be called (?:while|with) (?:having|holding) "),
    # a flag whose default stands in the code, and what an option's type is, and nothing that it does
    (-0.6, r"\bmust be (?:an? )?(?:positive |non-?negative |valid |strictly )*(?:integers?|numbers?|strings?|booleans?|positive|non-?negative|valid)\b"),
    (-0.5, r"^[\w.-]+ \(default (?:[\w]+\.\w+|\W*)\):"),
    (-0.5, r"^(?:dispatched|emitted|fired|marker|marks|represents|holds|contains|stores|thrown) "),
    # what a name stands for, rather than what holds of it
    (-0.8, r"^(?:an? |the )?(?:errors? (?:that|which) (?:can|may|could) occur|invoked (?:to|when)|used (?:to|by|for|in)|it'?s used to|describes|defines|specifies (?:the|a)|builds?|"
           r"builder (?:for|of)|list of|name of|type of|kind of|set of|configuration (?:for|of)|options? (?:for|to)|wrapper|helper|number of \w+ (?:before|after|until)|number of \w+ to|"
           r"only relevant (?:if|when|for))\b"),
    (-0.6, r"^\w+ (?:is|are) (?:an?|the) (?:default )?(?:\w+ ){0,2}(?:term|function|func|type|struct|class|interface|callback|option|flag|field|helper|wrapper|alias|builder|handler|constant|config\w*)\b"),
    (-0.7, r"\b(?:is|are) (?:only )?(?:set|used|relevant|available|considered|valid|meaningful) only (?:in|if|when|for|by)\b.{0,40}$|^\w+ is used (?:if|when|by|for)\b|\bis used if (?:one|none) is not\b"),
    (-0.7, r"^returns? (?:an? |the )?(?:promise|future|task|list|map|array|number|count|boolean|true|false|iterator|observable)\b|\breturned promise\b|\breturns a promise that resolves\b"),
    (-0.8, r"\b(?:in your|to your) gem ?file\b|\bif you(?:'re| are) (?:upgrading|migrating|coming) from\b|\bin development mode\b|\b(?:run|use) the (?:upgrade|install) (?:generator|script|command)\b|"
           r"\bmust be created (?:externally|manually|beforehand)\b|\bcan be used to (?:create|manage|configure|run|start)\b|\bcode of conduct\b|\bprovides a beautiful\b"),
    # of an event, what it tells
    (-0.6, r"^(?:this|the) (?:queue|event|worker|client|instance)(?: \w+)? (?:has |was |is )?(?:emitted|fired|raised|triggered|processed \w+, but)\b"),
    # programmers to programmers: what was left out and why, the order in which their threads end
    (-0.6, r"\bwe (?:simply|(?:will )?go ahead)\b|\bon purpose\b|\bgoroutines?\b|\bpage size|\b\d+ ?KiB? pages?\b"),
    (-0.4, r"^(?:see|cf\.|refer to|similar to|same as|alias (?:of|for)|like `?\w+`?, but)\b"),

)  # fmt: skip
# taken off a sentence that stands alone: among others that promise something, it does no harm
_MANNERS_ALONE = _compiled(
    (-0.5, r"\b(?:you could say|can be thought of|think of it as|acting like)\b"),
    (-0.5, r"\b(?:for instance|in the above example|say we|let us say|you might also want|rule of thumb|in my experience|i personally)\b"),
    # how good it is, rather than what holds
    (-0.7, r"\b(?:may be advantageous|tends? to|historically|(?:more|most) efficient(?:ly)?|(?:performance|significant) boost|improves? (?:space|speed|performance)|"
           r"memory consumption|fragmentation than|cheaper than|faster than|not a cheap operation|expensive operation)\b"),
    # a lead whose list is elsewhere, a sentence cut short
    (-1.0, r"(?:\b(?:if|when|that|and|or|the|a|an|of|to|by|because|with|following|includes?)|:)\s*$"),
    # advice on how to use it, set it up and move to it
    (-0.7, r"\b(?:it is|it's) (?:a good idea|generally )?(?:recommended|advisable|good practice|best practice|worth)\b|\bwe (?:strongly )?(?:recommend|suggest|advise)\b|"
           r"\byou (?:may|might) (?:also )?(?:wish|want|like|prefer) (?:to\b)?|\bit'?s a good idea\b|\binstead of (?:listening|calling|using) .{0,40}\bconsider\b|\bchances are\b|^(?:tl;?dr|tip)\b"),
)  # fmt: skip
_PATTERNS = {str(at): pattern for at, (_, pattern) in enumerate((*_MANNERS, *_MANNERS_ALONE))}
_WORTH = {str(at): worth for at, (worth, _) in enumerate((*_MANNERS, *_MANNERS_ALONE))}
_ALONE = frozenset(list(_WORTH)[len(_MANNERS) :])
_SEVERAL = re.compile(r"[.!?:] +[A-Z].*[.!?:]")
_MERE = frozenset({"default", "threshold", "bound", "until", "should"})
# A double of the product, that its tests are made of, promises nothing of the product.
_DOUBLE = re.compile(
    r"(?:^|[._:])(?:\w*_)?(?:fixtures?|mock(?:s|ed)?|fakes?|stubs?|dummy)(?:_|[._:]|$)|(?:Mock|Fake|Stub|Fixture)(?:[A-Z._]|$)"
)
_STUBS = re.compile(r"\.d\.ts$|(^|/)\.github/|(^|/)(?:typings|type[-_]?stubs)/")


# What goes wrong, and what becomes of the work or the data then: the promises that a fault can put to the test.
_GOES_WRONG = re.compile(
    r"\b(?:crash\w*|dies|die|died|killed|kill -9|sigkill|sigterm|power (?:loss|failure|outage)|goes down|shut(?:s|ting)? down|shutdown|terminat\w+|"
    r"disconnect\w*|partition(?:ed|s)?|unreachable|restart\w*|fail(?:s|ed|ure|ures)?|times? out|timed out|timeout|expire[sd]?|lost connection|throws|panics|network)\b",
    re.I)  # fmt: skip
_BECOMES = re.compile(
    r"\b(?:(?:be|is|are|get|gets) (?:\w+ )?(?:lost|retried|redelivered|re-?queued|re-?enqueued|re-?tried|executed (?:again|twice|more)|discarded|dropped|deleted|kept|archived|moved|"
    r"released|rolled back|recovered|restored|replayed|aborted|rejected|marked|duplicated|processed (?:again|twice|more)|picked up|rescued|ignored|skipped|resent|retained|stale|corrupt\w*)|"
    r"never|at[- ](?:least|most)[- ]once|exactly[- ]once|data loss|duplicates?|no guarantee|not guarantee\w*|guarantee[sd]?|survives?|los(?:e|es|ing)|retries|rolls? back|stays? locked|remains?|unsafe|more than once)\b",
    re.I)  # fmt: skip


_FAILING, _BECOMING = "goes wrong", "becomes"
_SIEVE = Sieve({**_PATTERNS, _FAILING: _GOES_WRONG, _BECOMING: _BECOMES})


@lru_cache(maxsize=20_000)
def _possible(text: str) -> tuple[str, ...]:
    """The patterns that can match: most sentences have none of these words, and each pattern costs a walk."""
    return tuple(_SIEVE.possible(text))


def under_failure(text: str) -> float:
    """How much more it is worth that a sentence says what becomes of work or data when something goes wrong."""
    possible = _possible(text)
    said = _FAILING in possible and _BECOMING in possible and _GOES_WRONG.search(text)
    return 0.2 if said and _BECOMES.search(text) else 0.0


def manner(row: Candidate) -> float:
    """At most 0: how much less a sentence is worth for the way in which it speaks, in the scale of the ranking."""
    said = row.statement
    among_others = bool(_SEVERAL.search(said.text))
    worth = 0.0
    for name in _possible(said.text):
        if name in _WORTH and _PATTERNS[name].search(said.text):
            worth += 0.0 if among_others and name in _ALONE else _WORTH[name]
    if said.text.count(" # ") >= 2 or said.text.count("::") >= 3:
        worth -= 1.8  # settings, or the rows of a table, run together
    elif said.channel == "document" and said.text.count("; ") >= 2 and "." not in said.text:
        worth -= 0.7  # a row of a table, its cells apart by semicolons
    if _STUBS.search(row.path):
        worth -= 1.0
    if _DOUBLE.search(said.symbol):
        worth -= 1.5
    if "default" in said.reasons and set(said.reasons) <= _MERE and len(said.text.split()) < 16:
        worth -= 0.6
    return max(worth, -2.5)
