"""Oracles in words: which checkers they name, which claims they can judge, which fields they need."""

from __future__ import annotations

import re
from collections.abc import Mapping

from refute.checkers.catalog import CheckerEntry

_AS_CATEGORIES = {
    "consistency": ("safety", "ordering"),
    "linearizability": ("safety", "ordering"),
    "transactions": ("isolation", "safety"),
    "latency": ("performance",),
    "availability": ("performance", "liveness"),
    "session": ("ordering", "safety"),
    "uniqueness": ("safety",),
    "security": ("boundary",),
    "integrity": ("safety",),
    "locking": ("safety", "isolation"),
    "freshness": ("safety", "performance"),
    "convergence": ("durability", "safety"),
}


def categories_judged(entry: CheckerEntry) -> set[str]:
    """The claim categories that a checker can falsify; some rows of the catalog name a property instead."""
    return {category for name in entry.properties for category in _AS_CATEGORIES.get(name, (name,))}


_CALLED: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(words, re.I), checker)
    for words, checker in (
        (r"\bnon-?lineari[sz]able|\blineari[sz]ab\w+|\bknossos\b|\bporcupine\b", "linearizable"),
        (r"\belle\b|\blist[ -]append", "list-append"),
        (r"\bexactly[- ]once checker", "exactly-once"),
        (r"\bmutual[- ]exclusion checker", "mutual-exclusion"),
    )
)
"""What people call checkers beside their names in the catalog."""


def checkers_called(checkers: Mapping[str, CheckerEntry], text: str) -> frozenset[str]:
    """The checkers that a text names, by their own names or by those of well-known tools."""
    named = {name for name in checkers if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)}
    return frozenset(named | {name for words, name in _CALLED if name in checkers and words.search(text)})


_MEASURES = re.compile(
    r"\b(?:p\d{2,3}|percentiles?|latenc\w+|throughput|response times?|error rate|availab\w+|uptime|qps|rps"
    r"|cpu|memory|heap|load average|lag|utili[sz]ation|disk usage|iops|goroutines?|threads? count)\b",
    re.I,
)
_OF_DATA = re.compile(
    r"\b(?:acknowledg|acked|written|writes?\b|reads?\b|rows?\b|records?\b|values?\b|keys?\b|ids?\b|order|offset"
    r"|lost|loss|miss|duplicat|twice|once\b|sum\b|balance|ledger|entries|events|jobs?\b|messages?|equal|same"
    r"|identical|checksum|digest|refus|denied|40[134]\b|other\b|another|share|jain|histor|payments?|transfers?)\w*",
    re.I,
)
_OF_SERVICE = frozenset({"performance", "operational", "liveness", "fairness"})
_FILLING = re.compile(
    r"\b(?:the|a|an|by|with|of|on|over|in|for|checker|check|checks|model|register|history|is|are|result|tool|jepsen"
    r"|and|analysis|must|pass|passes|whole|per|key|all|every|each)\b",
    re.I,
)


def judged_by(checkers: Mapping[str, CheckerEntry], said: str) -> frozenset[str]:
    """The categories of claims that an oracle in words can judge; empty where the words leave it open.

    They do where more stands there than the name of a checker: a comparison of data may judge anything.
    Numbers of load and of machines alone judge the service and nothing of its data.
    """
    if called := checkers_called(checkers, said):
        bare = said
        for words in (*(words for words, _ in _CALLED), *(re.compile(re.escape(name)) for name in called)):
            bare = words.sub(" ", bare)
        if re.search(r"[A-Za-z]{2}", _FILLING.sub(" ", bare)):
            return frozenset()
        return frozenset(name for each in called for name in categories_judged(checkers[each]))
    return _OF_SERVICE if _MEASURES.search(said) and not _OF_DATA.search(said) else frozenset()


_TIMES = re.compile(
    r"\b(?:invo|complet|start|begin|end\b|ends\b|finish|time|when\b|interval|real.time|duration|latenc)\w*",
    re.I,
)
_IN_REAL_TIME = frozenset({"linearizable", "mutual-exclusion"})
_WHOLE = re.compile(r"\b(?:whole|complete|every operation|each operation|all operations|as recorded)\b", re.I)


def lacks_fields(checkers: Mapping[str, CheckerEntry], oracle: str, history: str) -> str:
    """What a history in words lacks for its oracle in words; empty where nothing does, or nobody can tell.

    Of times only a list of fields is judged: `invocations and completions` or `everything` hold them.
    """
    called = checkers_called(checkers, oracle)
    for name in sorted(called):
        for needed in checkers[name].fields:
            bare = needed.removeprefix("extra.").replace("_", "[ _-]?")
            if not re.search(rf"\b{bare}", history, re.I):
                return f"{name} needs {needed}, which the history does not hold"
    fields = [part for part in re.split(r"[,;/+]|\band\b", history) if part.strip()]
    listed = len(fields) > 1 or re.search(r"\b(?:only|just)\b", history, re.I)
    if called & _IN_REAL_TIME and listed and not _TIMES.search(history) and not _WHOLE.search(history):
        names = ", ".join(sorted(called & _IN_REAL_TIME))
        return f"{names} needs when each operation began and ended; recorded are: {history[:80]}"
    return ""
