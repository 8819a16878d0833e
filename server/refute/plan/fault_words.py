"""What words say of faults: which there are, how often, which way a cut goes, how versions change."""

from __future__ import annotations

import re

from refute.plan.families import FAMILIES

_DENIAL = re.compile(
    r"\b(?:no|not|never|without|nor|neither|instead of|rather than|unlike|excluding|except|besides)\b|n't\b",
    re.I,
)
_CLAUSE = re.compile(r"[.;:|,()\n]|\bbut\b|\band then\b")


def undenied(words: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The first place that matches and whose clause does not deny it (`no power is cut`)."""
    for found in words.finditer(text):
        before = _CLAUSE.split(text[max(0, found.start() - 60) : found.start()])[-1]
        if not _DENIAL.search(before):
            return found
    return None


_DONE: dict[str, str] = {
    # What is done or seen in a scenario, beside the words for threats.
    "upgrade": r"new (?:release|build|image)|install\w* v?\d|v\d[\w.]* (?:->|→|to) v?\d",
    "crash": (
        r"sigkill|sigterm|podchaos|pod[- ](?:kill|failure)|docker (?:kill|stop|rm)|pkill"
        r"|terminat\w+ (?:the |a |one |its )?\w+|deletes? (?:the |a |one )?(?:pod|container|instance)"
        r"|(?:stop|shut)s? (?:down )?(?:the |a |one )?(?:node|broker|server|leader|primary|process|instance)"
    ),
    "pause": r"sigstop|kill -stop|docker pause|suspend",
    "partition": (
        r"iptables|\bnft\b|nftables|networkchaos|network split|cut (?:between|the (?:link|network))"
        r"|cuts? (?:the |a |one )?\w+ off|sever\b|severs|severed|blocks? (?:all |the )?traffic|no route"
        r"|blockade|\bcut(?:s|ting)? (?:both|all|each|every) (?:directions?|ways|links?|connections?)"
        r"|\bcut(?:s|ting)? (?:\w+ ){1,4}between\b"
        r"|(?:cannot|can no longer|can neither) (?:send|reach|talk|hear|receive|see)"
    ),
    "delay": r"netem",
    "clock": r"faketime|ld_preload|timechaos|date -s|time travel",
    "power-loss": r"pull\w* the plug|unplug|lazyfs|dm-(?:flakey|log-writes)|sysrq|hard (?:reset|power)",
    "disk-full": r"fallocate|fill\w* (?:up )?the (?:disk|volume)",
    "io-error": r"dm-error|iochaos|charybdefs",
    "resource": r"stress(?:-ng|chaos)|cgroup",
}
_FAMILIES = {
    name: re.compile(rf"{family.words.pattern}" + (rf"|\b(?:{_DONE[name]})" if name in _DONE else ""), re.I)
    for name, family in FAMILIES.items()
}


def faults_told(text: str) -> frozenset[str]:
    """The families of the faults that a text says are injected; what it denies is left out."""
    return frozenset(name for name, words in _FAMILIES.items() if undenied(words, text))


_HEARS = r"(?:hears?|sees?|reach(?:es)?|receiv\w+|gets?|sends?|talks?|answers?|is heard|be heard)"
_LINK = r"(?:links?|connections?|routes?|paths?|pairs?)"
ONE_WAY = re.compile(
    r"one[ -](?:way|direction\w*|sided)|asymmetr\w+|uni-?directional|simplex|half[ -]open"
    r"|partial(?:ly)?[ -](?:network[ -])?(?:partition|connect|cut)|partly[ -]connect"
    r"|(?:non|not|no longer)[ -]?transitiv|\bbridge\b|\bring\b|\bring topology"
    r"|(?:in|to|for|of) (?:only |just )?(?:one|a single|that|1) (?:direction|side|way)\b"
    r"|\bdirection\W{1,3}(?:to|from|in|out)\b|\bone direction of\b"
    r"|\b(?:incoming|outgoing|inbound|outbound|ingress|egress)\b|\b(?:input|output)\b[^.;"
    r"|\n]{0,20}\b(?:chain|drop)\b"
    r"|-A (?:INPUT|OUTPUT)\b|\b\w+\s*->\s*\w+[^.;|\n]{0,20}(?:block|drop|cut|down|lost)"
    r"|\b(?:deaf|mute|muted)\b|\breturn path\b|\bblack-?hol\w+ (?:in|on) one"
    # What goes one way and what does not go the other.
    rf"|\b(?:can|may|does|still|is able to) (?:still )?{_HEARS}\w*[^.;|\n]{{0,60}}"
    r"\b(?:but|and|yet|while|though|without)\b[^.;|\n]{0,30}(?:\bnot\b|cannot|can't|no longer|never"
    r"|nothing|without|heard)"
    rf"|\b{_HEARS}\b[^.;|\n]{{0,50}}(?:\bbut\b|\byet\b|\band\b|\bwhile\b|\bwithout\b|,)[^.;|\n]{{0,40}}"
    rf"(?:\bnot\b|cannot|can't|no longer|nothing back|without being|has lost)"
    rf"|(?:\bnot\b|cannot|can't|no longer|never)[^.;|\n]{{0,30}}{_HEARS}[^.;|\n]{{0,40}}"
    rf"\b(?:but|yet|while|though|although)\b[^.;|\n]{{0,40}}(?:{_HEARS}|deliver|pass)"
    r"|\b(?:requests?|heartbeats?|messages?|appends?|replies|answers|responses|ack\w*)\b[^.;|\n]{0,60}"
    r"(?:\bbut\b|\byet\b|\band\b|\bwhile\b|,)[^.;|\n]{0,30}"
    r"\b(?:requests?|replies|answers|responses|ack\w*|replication|heartbeats?|are not|do not)\b"
    r"|\bonly (?:the )?(?:replies|answers|acknowledg\w+|heartbeats|requests|packets from)\b"
    r"|\b(?:replies|answers|responses|ack\w*)\b[^.;|\n]{0,40}\b(?:never arrive|are lost|swallowed|dropped"
    r"|vanish)"
    r"|\bfrom [\w.-]+ to [\w. -]+[^.;|\n]{0,30}(?:,|\bwhile\b|\bbut\b|\band\b)[^.;"
    r"|\n]{0,30}\bfrom [\w.-]+ to\b"
    r"|\bfrom [\w.-]+ to [\w.-]+ only\b|\bonly\b[^.;|\n]{0,30}\bfrom (?:the )?[\w.-]+ to\b"
    r"|\btowards?\b[^.;|\n]{0,40}\b(?:own|other)\b[^.;|\n]{0,20}\bnot\b"
    r"|\bon the way to\b[^.;|\n]{0,40}\bnot\b"
    r"|\bnot (?:the other (?:way|direction)|vice versa|the reverse|back|each other|see each other)\b"
    r"|\b(?:lost|void|drop\w*|block\w*|discard\w*|not|no)\b[^.;|\n]{0,60}\bstill (?:receiv|flow|arriv|hear"
    r"|get|send|deliver|see)"
    r"|\b(?:do|does) not \w+[^.;|\n]{0,30}\bwhile\b[^.;|\n]{0,30}\b(?:do|does)\b|\b(?:leaving"
    r"|entering) the \w+"
    r"|\bfrom [\w.-]+ to [\w.-]+, (?:leav|but|not)|\bcut (?:off )?from \w+ only\b"
    # Some pairs of nodes are cut and others not.
    rf"|\b(?:half of|some(?: but not all)?(?: of)?|(?:one|two|three|\d+) (?:of|out of) (?:the "
    rf"|its )?(?:\w+ )?)(?: the| its)?"
    rf" ?{_LINK}\b|\b(?:link|connection) to \w+ alone\b"
    rf"|\b(\w+\d)-(\w+\d) (?:is|are) (?:down|cut)\b[^.;|\n]{{0,40}}\b(?:up|fine|alive)\b",
    re.I,
)
"""A cut that is not whole: one direction only, or between some pairs of nodes."""


def cuts_one_way(text: str) -> bool:
    """Whether a text speaks of a cut that is not whole."""
    return any(
        not _DENIAL.search(_CLAUSE.split(text[max(0, found.start() - 60) : found.start()])[-1])
        for found in ONE_WAY.finditer(text)
    )


_MIXED = re.compile(
    r"mixed|rolling|one (?:\w+ )?(?:at a time|by one|after (?:another|the other))|both versions"
    r"|two versions|versions? (?:side by side|together|coexist)|side by side|canary|half (?:of )?the"
    r"|while the (?:others?|rest)|in turn\b|some (?:nodes|brokers|replicas|servers) (?:on|run|of) the",
    re.I,
)


def mixes_versions(text: str) -> bool:
    """Whether a text says that two versions run together."""
    return undenied(_MIXED, text) is not None


ROLLBACK = re.compile(
    r"roll(?:s|ed|ing)?[ -]?back|downgrad|revert"
    r"|back (?:again )?(?:to|onto) (?:the )?(?:first|old|former|previous|v?\d)|goes? back\b"
    r"|re-?install\w* the (?:old|former|previous)",
    re.I,
)

_NUMBERS = {
    **dict.fromkeys(("a", "an", "one", "once", "single"), 1),
    "two": 2,
    "twice": 2,
    "three": 3,
    "thrice": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "twenty": 20,
    "several": 3,
    "many": 3,
}
_NUMBER = rf"(\d{{1,6}}|{'|'.join(_NUMBERS)})"
_RUN = r"(?:seeds?|runs?|repetitions?|iterations?)\b"
_RUNS = re.compile(
    rf"\b{_NUMBER} (?:\w+ )?{_RUN}"
    rf"|\b{_RUN}\s*[:=×x]?\s*(?:is |are |of )?{_NUMBER}\b(?![.,]?\d)"
    r"|\b(?:is |are |was |be )?(?:run|runs|executed|performed|done) (?:only |just |exactly )?(once|twice)\b",
    re.I,
)
_FIXED_SEED = re.compile(
    r"\b(?:fixed|same|constant|hard-?coded) (?:random )?seed\b|\bseed \d+\b(?! and)", re.I
)


def _number(word: str) -> int:
    return _NUMBERS.get(word.lower(), int(word) if word.isdigit() else 0)


def runs_told(cell: str, text: str) -> int | None:
    """How many seeds or runs a text speaks of, the most of them; None where it speaks of none."""
    found = [_number(next(filter(None, each.groups()))) for each in _RUNS.finditer(text)]
    if cell and (first := re.match(rf"\W*{_NUMBER}\b", cell, re.I)):
        found.append(_number(first[1]))
    if undenied(_FIXED_SEED, text):
        return 1 if not found or max(found) < 2 else max(found)
    return max(found, default=None)


_ONCE = re.compile(
    r"\b(?:once|one time|a single time)\b(?!\s+(?:the|it|a|every|all|each)\b)"
    r"|\b(?:one|a single|1) (?:fail-?over|kill|crash|restart|partition|outage|election|fault|cut|pause"
    r"|injection)\b",
    re.I,
)
_OFTEN = re.compile(
    r"\b(?:\d+|two|three|four|five|six|seven|eight|nine|ten|several|many) (?:times|fail-?overs|kills|crashes"
    r"|restarts|partitions|elections|faults|cuts|cycles|rounds)\b|\bevery (?:\d|minute|few|second)"
    r"|\brepeat(?:ed|s)?\b|\btwice\b|\bagain and again\b|\bin turn\b|\bcontinuous|\bloop",
    re.I,
)


def times_told(cell: str, text: str) -> int | None:
    """How many faults of one run a text speaks of: 1, or 2 for several; None where it does not say."""
    if cell and (first := re.match(rf"\W*{_NUMBER}\b", cell, re.I)):
        return _number(first[1])
    if undenied(_OFTEN, text):
        return 2
    return 1 if undenied(_ONCE, text) else None


_SIZES = re.compile(
    rf"(?<![\w-]){_NUMBER}[ -](?:(?!(?:the|an?|its|each)\b)\w+[ -])?"
    r"(?:nodes?|brokers?|replicas?|servers?|members?|instances?|voters?|pods?|machines?|hosts?|workers?)\b",
    re.I,
)


def sizes_told(text: str) -> set[int]:
    """The sizes of clusters that a text speaks of (`three brokers`); `one node` is part of a cluster."""
    return {size for found in _SIZES.finditer(text) if (size := _number(found[1])) > 1}
