"""Judges one sentence: how much it promises, about what, with which number."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from refute.repository.lexicon import CATEGORIES, categories_of_word, is_mechanics, promises_in
from refute.repository.sentences import pieces
from refute.repository.sieve import Sieve

_TOKEN = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:['’-][A-Za-z]+)*")
_COMPOUNDS = re.compile(
    r"\b(exactly|at least|at most)[ -](once)\b|\b(split)[ -](brain)|\b(out)[ -]of[ -](order)|\b(step)(?:s|ped|ping)?[ -](down)|"
    r"\b(write)[ -](ahead)|\b(round)[ -](robin)|\b(back)[ -](pressure)|\b(in)[ -](flight)|\b(rate)[ -](limit)\w*|"
    r"\b(re)[ -]?(?:run|processed|executed|issued|sent)\b|\b(time)[ -](?:limit|out)s?\b|\b(multiple) times\b|"
    r"\b(?:run|executed|processed|delivered|issued) (again)\b|\b(?:node|server|peer|cluster|group)\b.*\b(unique)\b|"
    r"\b(unique)\b.*\b(?:node|server|peer|cluster|group)\b|\b(read)[ -]?only mode|"
    r"\b(dead)[ -](letter)\w*|\b(dirty)[ -](read|write)s?|\b(at most one|only one|exactly one|one and only one|single (?:unique )?instance|at-most-one)\b|"
    r"\b(conf)(?:ig|iguration)?[ -]?(change)|\b(acknowledged)[ -](writes?)|\b(compare)[ -]and[ -](swap|set)", re.I)  # fmt: skip
_MEANT = {
    "re": "redelivered",
    "again": "redelivered",
    "multiple": "twice",
    "time": "timeout",
    "unique": "member",
    "read": "readonly",
    "dirty-write": "dirty-read",
    "at most one": "mutual-exclusion",
    "at-most-one": "mutual-exclusion",
    "only one": "mutual-exclusion",
    "exactly one": "mutual-exclusion",
    "one and only one": "mutual-exclusion",
    "single instance": "mutual-exclusion",
    "single unique instance": "mutual-exclusion",
}
_NUMBER = re.compile(
    r"(?<![\w.])(\d+(?:[._,]\d+)*)\s*(ms|milliseconds?|µs|us|microseconds?|ns|s|secs?|seconds?|m|min|minutes?|h|hours?|days?|"
    r"%|percent|[kmgt]i?b|bytes?|[KMGT]i?B|times|retries|attempts|nodes?|members?|replicas?|ops/s|req/s|qps|entries|messages|connections)(?![\w])")  # fmt: skip
# 30 * time.Second; Duration.ofSeconds(30), Duration::from_secs(30), TimeSpan.FromSeconds(30); 30.seconds
_DURATION = re.compile(
    r"(?<![\w.])(\d+) ?\* ?time\.((?:Milli|Micro|Nano)?[Ss]econd|Minute|Hour)\b|"
    r"\b(?:Duration|TimeSpan)(?:\.|::)(?:of|from_|From)((?i:millis(?:econds)?|secs?|seconds|mins|minutes|hours|days))\((\d+)\)|"
    r"(?<![\w.])(\d+)\.(milliseconds|seconds|minutes|hours|days)\b")  # fmt: skip
_DEFAULT = re.compile(
    r"(?:\bdefaults? (?:to|is|value(?: is|:)?|of)|\bdefaults?:|\bby default,?|\(default:?|\[default:?|default=)\s*(?:it is |is |to )?"
    r"[\"'`]?([-\w.%/:]+(?: (?:ms|seconds?|minutes?|hours?|days?|bytes|[kmg]i?b))?)?", re.I)  # fmt: skip
_CONDITION = re.compile(
    r"\b((?:unless|except (?:if|when|for)|only (?:if|when|after|once)|as long as|provided(?: that)?|even (?:if|when)|"
    r"until|if|when|whenever|while|in case|by default|after|before)\b[^,.;:()]{3,90})", re.I)  # fmt: skip
_NEGATIVE = re.compile(
    r"\b(no guarantee|not guarantee\w*|(?:can|may|might|could) (?:\w+ )?(?:be )?(?:lost|lose|dropped|stale|duplicated|reordered|"
    r"redelivered|overwritten|corrupted|diverge|block|hang|fail|executed twice|happen)|does not guarantee|do not guarantee|not safe|"
    r"unsafe|not linearizable|not durable|not atomic|best[- ]effort|data loss|without notice|silently|will lose|is lost|are lost|"
    r"no longer guaranteed|not supported|at your own risk|risk of|possible to lose|not idempotent)\b", re.I)  # fmt: skip
_CHATTER = re.compile(
    r"\b(todo|fixme|xxx|hack|let's|lets|we'll|i think|for example|e\.g\.|see (?:also|the|https?|below|above)|click|thanks|tutorial|"
    r"in this (?:section|guide|document|article|example)|copyright|licen[sc]e|pull request|unit test|github|stack overflow|blog|"
    r"screenshot|npm|pip install|brew|sponsor|contribut\w+|donat\w+|this (?:test|file|class|method|function|module|struct|type) (?:is|contains|implements|defines))\b|"
    r"https?://|^returns?\b|^@(?:param|return|see|since|author)|^\w+ returns ", re.I)  # fmt: skip
# how threads of one process keep out of each other's way: true, and nothing that a fault outside could break
_PLUMBING = re.compile(
    r"\b(?:mu|mutex\w*|goroutines?|wait ?group|spin ?lock|rwlock)\b|\w+\.(?:mu|lock)\b|\block(?:ing)? order|"
    r"\block(?:s|ed)? (?:is |are |be |must be )?(?:held|acquired first)|\bhold(?:s|ing)? (?:the |its )?(?:\w+ )?(?:lock|mutex)\b|"
    r"\bmain thread\b|\bthread[- ]?safe\b|\bevent loop\b", re.I)  # fmt: skip
_ASKS = re.compile(r"\?\s*$")
_CODEY = re.compile(r"[{}$;=\\|]|->|=>|\(\)|::|\[\]|</")

_SIEVE = Sieve(
    {
        "compounds": _COMPOUNDS,
        "number": _NUMBER,
        "chatter": _CHATTER,
        "plumbing": _PLUMBING,
        "asks": _ASKS,
        "negative": _NEGATIVE,
        "codey": _CODEY,
    }
)

_TELLING_KINDS = (("guarantee", 0.4), ("never", 0.2), ("default", 0.2), ("comparison", 0.1), ("unless", 0.1))


@dataclass(frozen=True, slots=True)
class Weighed:
    """What one sentence is worth, before it is known where it stands."""

    score: float
    category: int
    secondary: tuple[int, ...]
    promise: float
    domain: float
    reasons: tuple[str, ...]
    sums: tuple[float, ...] = ()


def weigh(text: str) -> Weighed | None:
    """The worth of a sentence, or None where it promises nothing about anything of the field. Linear."""
    length = len(text)
    if length < 12 or length > 1200:
        return None
    tokens = [piece for word in _TOKEN.findall(text) for piece in _parts(word)]
    if len(tokens) < 3:
        return None
    possible = _SIEVE.possible(text)
    for match in _COMPOUNDS.finditer(text) if "compounds" in possible else ():
        compound = "-".join(part.lower() for part in match.groups() if part)
        tokens.append(_MEANT.get(compound, compound))
    sums = [0.0] * len(CATEGORIES)
    seen: set[str] = set()
    mechanics = 0
    domain = 0.0
    for token in tokens:
        if token in seen:
            continue
        seen.add(token)
        rows = categories_of_word(token)
        for at, weight in rows:
            sums[at] += weight * weight
        if rows:
            domain += max(weight for _, weight in rows) - 0.6
        if is_mechanics(token):
            mechanics += 1
    if domain < 1.2:
        return None
    found = promises_in(text)
    promise = sum(sorted((weight for _, weight in found), reverse=True)[:5])
    reasons = [name for name, _ in found]
    if "number" in possible and _NUMBER.search(text):
        promise += 0.6
        reasons.append("threshold")
    if promise <= 0:
        return None
    words = len(tokens)
    density = domain / math.sqrt(max(words, 8))
    # past a few words of the field, more of them make a sentence long and not more of a promise
    score = math.log1p(promise) * 1.6 + math.log1p(min(domain, 4.0)) * 1.2 + min(density, 2.0) * 0.1
    kinds = {name for name, _ in found}
    score += sum(worth for name, worth in _TELLING_KINDS if name in kinds)
    score -= 0.28 * min(mechanics, 6) + (0.8 if mechanics > words * 0.3 else 0.0)
    if "chatter" in possible and _CHATTER.search(text):
        score -= 1.3
    if "plumbing" in possible and _PLUMBING.search(text):
        score -= 1.0
    if "asks" in possible and _ASKS.search(text):
        score -= 1.0
    if "negative" in possible and _NEGATIVE.search(text):
        score += 0.5
    codey = len(_CODEY.findall(text)) if "codey" in possible else 0
    score -= min(0.12 * codey, 1.2)
    if words < 6:
        score -= 0.7
    elif words > 60:
        score -= 0.5
    adjusted = _adjusted(sums, kinds)
    top, secondary = category_of(adjusted)
    return Weighed(
        round(score, 3), top, secondary, round(promise, 2), round(domain, 2), tuple(reasons), adjusted
    )


def _parts(word: str) -> tuple[str, ...]:
    low = word.lower()
    if "-" in low and categories_of_word(low):
        return (low,)
    return pieces(word)


_LEANING = {"safety": 1.1, "operational": 0.7, "membership": 0.9, "isolation": 0.9}


def _adjusted(sums: list[float], kinds: set[str]) -> tuple[float, ...]:
    """The weight of each category, after what the words cannot say alone."""
    adjusted = [weight * _LEANING.get(CATEGORIES[at], 1.0) for at, weight in enumerate(sums)]
    if "loss" in kinds and adjusted[2] > 0:
        adjusted[2] += 2.5
    if "bound" in kinds and adjusted[3] > 0:
        adjusted[3] += 1.5
    return tuple(round(weight, 2) for weight in adjusted)


def category_of(adjusted: Sequence[float]) -> tuple[int, tuple[int, ...]]:
    """The category of greatest weight, and at most two more that weigh nearly as much."""
    order = sorted(range(len(adjusted)), key=lambda at: -adjusted[at])
    best = adjusted[order[0]]
    return order[0], tuple(at for at in order[1:3] if adjusted[at] >= max(0.6 * best, 2.0))


def threshold_of(text: str) -> tuple[str, str] | None:
    """The first number that has a unit, as `(value, unit)`; a duration may be written as code does."""
    found = _NUMBER.search(text)
    if found:
        return found.group(1), found.group(2)
    coded = _DURATION.search(text)
    if not coded:
        return None
    value, unit = (row for row in coded.groups() if row)
    return (value, unit.lower()) if value[0].isdigit() else (unit, value.lower())


def default_of(text: str) -> str | None:
    """What the sentence says that the default is; `stated` where it says so without naming the value."""
    found = _DEFAULT.search(text)
    if not found:
        return None
    value = (found.group(1) or "").strip(".,;:")
    return value if value and value.lower() not in ("the", "a", "an", "this", "it", "is", "to") else "stated"


def conditions_of(text: str) -> tuple[str, ...]:
    """The clauses under which it holds, as they stand in the sentence; at most three."""
    return tuple(match.group(1).strip() for match in _CONDITION.finditer(text))[:3]
