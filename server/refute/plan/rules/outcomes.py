"""What words make of a missing answer, and of a command that succeeded: neither proves anything."""

from __future__ import annotations

import re
from collections.abc import Iterator

from refute.plan.document import Section
from refute.plan.rules.wording import EXIT_CODE, UNDECIDED, phrase

_FENCE = re.compile(r"^(?P<mark>```+|~~~+).*?(?:^(?P=mark)[ \t]*\r?$|\Z)", re.M | re.S)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[;|]|(?:\r\n|\r|\n)\s*(?:\r\n|\r|\n|[-*+|#])")

_ANSWER = r"(?:\w+ )?(?:repl(?:y|ies)|answers?|responses?|ack\w*|confirmations?|receipts?|feedback)"
_UNANSWERED = phrase(
    r"\btime(?:s|d)?[ -]?outs?\b|\btiming out\b|\b\w*(?-i:Timeout|TimedOut)\w*|\bsilen(?:ce|t)\b"
    r"|\bin flight\b|\b(?:still|left|remains?) (?:open|pending)\b|\bstatement_timeout\b"
    rf"|\bno {_ANSWER}\b|\bwithout (?:an? |any )?{_ANSWER}\b|\bunanswered\b"
    rf"|\b{_ANSWER} (?:(?:is|are|was|comes?|arrives?) )?(?:too )?(?:late|lost|missing|absent)\b"
    rf"|\b(?:lost|late|missing|absent) {_ANSWER}\b|\babsence of (?:an? |any )?{_ANSWER}\b"
    r"|\b(?:do|does|did)(?: not|n't) (?:return|answer|respond|come|arrive|reply)\b"
    rf"|\bno {_ANSWER} (?:comes?|arrives?)\b"
    r"|\b(?:broken|dropped|lost|reset|torn|closed) (?:\w+ )?connections?\b"
    r"|\bconnection (?:loss|resets?|breaks?|drops?|is (?:lost|broken|reset|dropped|closed))\b"
    r"|\btransport errors?\b|\b(?:50[24]|408)s?\b|\bhung\b|\bhang(?:s|ing)\b|\bunfinished\b"
    r"|\b(?:expired|slow|late|delayed) (?:requests?|calls?|operations?|writes?|commits?|payments?)\b"
    r"|\b(?:past|after|beyond|exceeds?|exceeding|misses|missed|passes|over) (?:the |its |their )?"
    r"(?:deadlines?|time limits?|\d+ ?m?s\b)|\bdeadline (?:exceeded|passes|passed|is over|expires?)\b"
    r"|\b(?:takes?|lasts?) (?:longer|more) than\b|\bwhat is (?:too )?late\b|\b(?:is|are|comes?) too late\b"
    r"|\bcut off by\b"
)
_FAILED = phrase(
    r"(?<![\w-]):?fail(?:ed|ures?|s|ing)?\b(?! (?:nodes?|brokers?|elections?|servers?|replicas?|primar|disks?"
    r"|detector|over|points?))(?!-?over)"
    r"|\berrors?\b|\bunsuccessful\b|\breject\w*|\babort\w*|\bnegative\b|\bdeclin\w+|\brefus\w+|\bvoid\b"
    r"|\broll(?:ed)?[ -]?back\b|\b(?:as|for) lost\b|\b(?:is|are|assumed|considered"
    r"|proves? that \w+ \w+ is) lost\b"
    r"|\bno effect\b"
    r"|\bnever happened\b|\bnothing was\b|\bas a no\b|\bno (?:message|write|entry|row|record)\b"
    r"|\b(?:is|are|was|were|has|have|had|did|does|as|means?|considered"
    r"|been) not (?:been )?(?:taken? (?:place|effect)"
    r"|happen\w*|reach\w*|inserted|written|stored|applied|committed|executed|done|there|landed|persisted"
    r"|processed)\b"
    r"|\bas not (?:having )?(?:been )?\w+(?:ed|en|ne|id)\b"
    r"|\bnot (?:applied|written|committed|executed|inserted|stored|done|happened|processed)\b"
)
_NOT_AS = re.compile(r"(?:\b(?:not|never|no|nor|neither|hardly)\b|n't\b)(?:\s+\w+){0,3}\s*$", re.I)
_NOT_TREATED = re.compile(
    r"\b(?:not|never|nobody|nowhere)\b\s+(?:\w+\s+)?(?:treat|count|consider|regard|tak|record|mark|map"
    r"|assum)\w*[^.;|]*$",
    re.I,
)
_OF_READS = re.compile(
    r"\breads?\b (?:that|which|timeouts?)|\b(?:timed[ -]out|unanswered|late) reads?\b", re.I
)
FARTHEST = 160
"""How many characters may stand between the missing answer and what is made of it."""


def prose_of(section: Section) -> str:
    """A section's text with its fenced blocks blanked out, so that offsets and lines stay."""
    return _FENCE.sub(lambda found: re.sub(r"[^\r\n]", " ", found[0]), section.text)


def answers_taken_for_failures(text: str) -> Iterator[tuple[int, str]]:
    """Offset and words of each place where an operation without an answer is said to have failed.

    Such a place says so within one sentence, the missing answer first, and neither denies it (`timeouts are
    not failures`) nor leaves it open (`unknown`, `may have happened`). Reads change nothing and are spared.
    """
    for begin, sentence in _sentences(text):
        for found in _UNANSWERED.finditer(sentence):
            near = sentence[found.end() : found.end() + FARTHEST]
            failed = _FAILED.search(near)
            if failed is None or UNDECIDED.search(
                sentence[: found.start()][-40:] + near[: failed.end() + 40]
            ):
                continue
            if _NOT_AS.search(near[: failed.start()]) or _NOT_TREATED.search(sentence[: found.start()]):
                continue
            if not _OF_READS.search(sentence):
                yield begin + found.start(), " ".join(sentence[found.start() :][:FARTHEST].split())
                break


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    begin = 0
    for end in _SENTENCE_END.finditer(text):
        yield begin, text[begin : end.start()]
        begin = end.end()
    yield begin, text[begin:]


_WENT_WELL = phrase(
    r"\bsucce\w+|\bcomplet\w+|\baccept\w*|\backnowledg\w*|\bconfirm\w*|\b(?:ok|okay|done|fine)\b"
    r"|\bin phase\b|\bwent (?:through|well|fine)\b|\bshows? up in\b|\breport\w* no\b"
    r"|\b(?:is|was|were|are|has been) (?:\w+ )?(?:running|injected|applied|created|issued|triggered"
    r"|started|executed"
    r"|launched|active|activated|scheduled|sent)\b|\bstatus (?:is |has )?(?:\w+ )?(?:running|injected"
    r"|active)\b"
    r"|\bfinish\w*|\b(?:runs?|ran) through\b|\bgreen\b|\bpass(?:ed|es)?\b|\bexits?\b|\bexited\b"
    r"|\bexit (?:code|status)\b"
    r"|\brc ?=|\b(?:returns?|returned|came back|comes back|worked|works)\b|\b(?:answer\w*|http|with) 20\d\b"
    r"|\b(?:print|logg?|report|says?|show|reply|replie)\w* \W?(?::?start|deleted|ok|success|done|on\b"
    r"|applied|killed)"
    r"|\bwithout (?:an? |any )?(?:errors?|complaints?|problems?)|\bno (?:errors?|complaints?)\b|\bexists?\b"
    r"|\bmatched\b|\bAllInjected\b|\bapplied\b|\bissued\b|\bsent to\b|\bstarted\b|\breport(?:s|ed) that\b"
    r"|\bprinted\b"
)
_SIGNAL = phrase(
    r"\bnobody\b|\bno (?!errors?\b|complaints?\b|problems?\b|trouble\b)\w+|\bcounters?\b|\bpackets?\b"
    r"|\bbytes\b|\bincreas\w+"
    r"|\brises?\b|\bgrow\w*|\bshrink\w*|\bfalls?\b"
    r"|\bterms?\b|\bepoch"
    r"|\bleaders?\b|\bprimary\b|\bstandby\b|\bISR\b|\blag\b|replicat|\bgossip|\bDN\b|\buptime\b|\bboot id\b"
    r"|\bstart time\b|\brestart count|\bUID\b|\bPID\b|\bwait status\b|\bsignal \d|\bstate `?T\b|\bCPU time\b"
    r"|\blatenc\w+|\bround trip|\bretransmit|\bheartbeats?\b|\boffsets?\b|\bthrottl|\bEIO\b|\bENOSPC\b"
    r"|\bfree space\b"
    r"|\bstrace\b|\bshut off\b|\bping\b|\bsessions?\b|\bthe others?\b|\bpeers?\b|\bvictim|\bexit(?:s"
    r"|ed)? (?:status )?"
    r"(?:with )?1(?:37|43)\b|\bexit (?:status|code) of the (?:node|process|server|broker|member)"
    r"|\bprocess (?:is|has) gone"
    r"|\bno longer\b|\bnew (?:one|process|start|uid)\b|\bversion\b|\bconnections?\b"
)


def only_went_well(evidence: str) -> str:
    """The words by which landing evidence is no more than the success of what applied the fault; else empty.

    A command that is named with its success is none even beside a signal; otherwise one clause that says more
    is enough.
    """
    if found := EXIT_CODE.search(evidence):
        return found[0]
    clauses = [clause for clause in re.split(r"[;,]", evidence) if clause.strip()]
    found = _WENT_WELL.search(evidence)
    for clause in clauses if found else ():
        if _SIGNAL.search(clause) or not _WENT_WELL.search(clause):
            return ""
    return found[0] if found else ""
