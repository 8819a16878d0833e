"""Tells in which sense a sentence is a claim: kept, not kept, asked of the caller, kept inside, or background.

- negative guarantee: what is not promised, or what can be lost, doubled, stale, stuck or unavailable, and when.
- caller's obligation: what a user, operator or implementer must do for it to hold.
- internal invariant: what the code must keep true of itself, said to those who maintain it.
- background: theory, another product, the reason for a design; nothing that this product would break.
- guarantee: what the product does, keeps, bounds or refuses, as seen from outside.

Where a sentence is several of these, the first of this list counts: a promise with its exception is negative.
"""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from typing import Literal

from refute.repository.lexicon import promises_in

Polarity = Literal[
    "guarantee", "negative guarantee", "caller's obligation", "internal invariant", "background"
]

_HARM = (
    r"(?:data |message |partial )?(?:loss|lost|los(?:e|es|ing)|inconsisten\w+|corrupt\w*|duplicat\w*|stale|divergen?\w*|split[- ]brain|"
    r"deadlock\w*|unavailab\w*|outage\w*|downtime|panic\w*|stuck|reordered|old data|missing|overwritten|data races?)"
)
# harm that is named to say that it does not come about
_AVERTED = re.compile(
    r"\b(?:without|no|not|never|n't|cannot|avoid\w*|prevent\w*|protect\w* (?:from|against)|against|instead of|rather than|resist\w*|survives?|surviving|detect\w*|"
    r"recover\w* from|tolerat\w+|minimi[sz]e\w*|in order not to|otherwise|because (?:otherwise|if))\b"
    rf"(?:[^.;,]{{0,40}}?)\b{_HARM}\b(?:(?: or|,| and)(?: \w+)? {_HARM}\b)?|"
    r"\bNot \w+ing\b[^.]*|\bif (?:\w+ ){1,4}(?:could|does|do|can) ?not guarantee\b|"
    rf"\b(?:no|not|never|n't)\b[^.;,]{{0,30}}\b(?:be|get|become) {_HARM}\b", re.I)  # fmt: skip
_NEGATIVE = re.compile(
    # what is not promised
    r"\bno(?: \w+){0,2} guarantees?\b|\bnot (?:a )?(?:\d+ ?% )?g(?:ua|au)r[ae]ntee\w*|(?<!you do)(?<!you don)(?<!you did)(?:n't|not) (?:g(?:ua|au)r[ae]ntee|imply|provide|preserve|comply|promise|ensure)\b|"
    r"\bno longer guaranteed\b|\b(?:is|are|be) (?:\w+ )?(?:not|n't) (?:\w+ )?(?:safe|atomic|durable|linearizable|idempotent|reliable|supported|persisted|replicated|transactional|accurate|visible|(?:fully )?compatible)\b|"
    r"\bnot be considered reliable\b|\bnot (?:_|\*)*(?:linearizable|durable|atomic|safe|idempotent)|\bunsafe\b|\bbest[- ]effort\b|\bat your own risk\b|\bno such guarantee\b|\bnot (?:a )?fully compatible\b|\bnot comply\b|"
    # what may be the harm
    rf"\b(?:may|might|can|could|would|will|to|possibly)\b(?: \w+){{0,4}}? (?:be |become |get |lead to |leading to |result in |cause |causes |see |have |create )(?:\w+ ){{0,3}}?{_HARM}\b|"
    r"\b(?:may|might|can|could) (?:\w+ )?(?:be )?(?:dropped|redelivered|executed twice|delivered (?:after|twice|more than once|out of)|processed twice|block|hang|diverge|happen|be (?:seen|run) twice|wait indefinitely|never)\b|"
    r"\b(?:will|would|may|might|can|could|is|are|gets?|been|possibly|to|of) (?:\w+ )?(?:lost|lose|losing)\b|\b(?:is|are|be) (?:silently )?(?:lost|discarded without|dropped silently)\b|"
    r"\b(?:lead|leads|leading) to (?:\w+ ){0,3}(?:inconsisten|loss|corrupt|duplic|stale)\w*|"
    r"\brisk (?:of|for)\b|\bdata loss\b|\bwithout notice\b|\bsilently\b|\bat the cost of\b|\bpossible to lose\b|"
    r"\baffect\w* (?:\w+ ){0,3}availab\w+|\bindefinitely\b|\bnever relinquish\b|\block(?:ed)? out\b|\bmay not (?:be |\w+ )?(?:write|written|persist\w*|sync\w*|flush\w*|reach\w*|see|reflect\w*|observe|receive)\b|"
    r"\b(?:there )?(?:may|might|could|can) be (?:two|multiple|several|more than one|fewer)\b|\bnot (?:be )?reflected\b|\bcould prevent\b|\brace condition\b|"
    r"\bnot (?:\w+ )?(?:visible|available) on other\b|\bmay (?:only )?(?:see|receive|observe) (?:\w+ ){0,2}(?:old|stale|duplicate|outdated)\b", re.I)  # fmt: skip

_WHO = r"(?:you|users?|callers?|clients?|applications?|operators?|administrators?|embedders?|implementations?|implementers?|consumers?|developers?)"
_DUTY = re.compile(
    rf"\b{_WHO}\b(?:'s)?(?: \w+){{0,4}} (?:must|should|shall|need to|needs to|have to|has to|are required|is required|are responsible)\b|"
    r"\b(?:tasks?|jobs?|handlers?)\b[^.,;]{0,40}\b(?:must|should) (?:be )?(?:idempotent|re-?entrant|finali[sz]e|finish)\b|"
    r"\b(?:it is|it's|is) (?:strongly |highly )?(?:recommended|important|your responsibility|necessary|required) (?:to|that|not to|for)\b|"
    r"\b(?:\w+'s|user|caller|client(?:-side)?|application) responsib\w+|\bup to the (?:caller|user|application|client)\b|"
    r"\b(?:make sure|be sure|take care|ensure that you|remember) (?:to|that|you|both|all|the)\b|"
    r"\b(?:must|should) (?:not |never |only |always )?be (?:set|called|unique|implemented|invoked|used|configured|greater|larger|less|smaller|lower|higher|the same|on|enabled|disabled|run|the first|equal|at least|closed|provided|specified)\b|"
    r"\bmust (?:provide|specify|call|set|implement|correspond)\b|\bshould (?:correspond|return)\b|\bmust not be (?:newer|older|less|greater)\b|\bshould (?:\([^)]*\) )?be safely\b|\bmust be exactly one\b", re.I)  # fmt: skip
_ASKED_OF_CALLERS = re.compile(rf"\b{_WHO}\b[^.]{{0,50}}\b(?:must|should|have to|has to|need)\b", re.I)

_TO_MAINTAINERS = frozenset({"assertion", "code-comment"})
# how maintainers speak to each other in comments on a symbol
_INSIDE = re.compile(
    r"\b(?:we|let's|our)\b[^.]{0,60}\b(?:must|need|cannot|can't|can not|have to|force|ensure|should|shouldn't|shall|won't|don't|apply|guarantee|know|reset|wait|update)\b|"
    r"\binvariants?\b|<=|>=|≤|≥|\bassert|\b\w+ < \w+ is|\bwhile holding\b|\bmake sure that the replicas\b|\benforced via\b", re.I)  # fmt: skip
_ELSEWHERE = re.compile(
    r"\b(?:Amazon|AWS|Azure|FLP|in theory|in general|the (?:Raft|Paxos) paper|was proved|proved that|cannot be achieved|is impossible|"
    r"for example, imagine|imagine|in practical terms|behaviou?r used to)\b", re.I)  # fmt: skip


def polarity_of(text: str, channel: str) -> Polarity:
    """guarantee, negative guarantee, caller's obligation, internal invariant or background; linear."""
    if _NEGATIVE.search(_AVERTED.sub(" ", text)) and not (
        channel in _TO_MAINTAINERS and _INSIDE.search(text)
    ):
        return "negative guarantee"
    if channel in _TO_MAINTAINERS:
        return "caller's obligation" if _ASKED_OF_CALLERS.search(text) else "internal invariant"
    if _DUTY.search(text):
        return "caller's obligation"
    if channel == "doc-comment" and _INSIDE.search(text):
        return "internal invariant"
    return "background" if _ELSEWHERE.search(text) or not promises_in(text) else "guarantee"
