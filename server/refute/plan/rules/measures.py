"""Rules on numbers: objectives with threshold, window and load; exit criteria; no certainty."""

from __future__ import annotations

import re
from collections.abc import Iterator

from refute.plan.rules.rule import Hit, Review, categories_of, rule
from refute.plan.rules.wording import ABSOLUTE, said_in

_SLO = re.compile(
    r"\bSLO\b|\bSLA\b|\bp\d{2,3}\b|percentile|latenc|throughput|availab\w+ of|\d\s*%|requests? per second",
    re.I,
)
_THRESHOLD = re.compile(
    r"(?:[<>≤≥]=?|under|below|above|at (?:least|most)|within|less than|more than|up to|of)\s*\d|"
    r"\d+(?:\.\d+)?\s*(?:%|ms\b|s\b|µs\b)",
    re.I,
)
_WINDOW = re.compile(
    r"(?:over|for|during|in|per|within|window|every|rolling)[^.;|]{0,30}?\b\d+(?!\s*ms\b)\s*(?:s|sec|m|min"
    r"|h|d|"
    r"hour|minute|second|day|week)\w*|window:\s*\S+|duration:\s*\d+"
    r"|\b(?:over|in|within|during|for) (?:each|every|any|a|one) (?:minute|hour|day|week|month|quarter|year)\b"
    r"|\b(?:hourly|daily|weekly|monthly|quarterly|yearly)\b",
    re.I,
)
_LOAD = re.compile(
    r"\d+\s*(?:/s|/m|req|ops|rps|qps|requests|operations|clients|connections|users|writers|messages)|"
    r"\d(?!\s*(?:[mµ]?s|sec\w*|m|min\w*|h|hours?)\b)\s*[kM]?\s*(?:[a-z]+\s+)?[a-z]+\s*"
    r"(?:/\s*|\b(?:per|an?|each|every)\s+)(?:s|sec|seconds?|m|min|minutes?|h|hours?)\b|"
    r"rate:\s*\d|clients:\s*\d",
    re.I,
)


@rule(
    "incomplete-slo",
    "error",
    why="'p99 under 50 ms' says nothing until it says over which window and under which load",
    mend=(
        "state threshold, window and load in the claim or its scenario; where the claim promises no service "
        "level, correct its category or drop it"
    ),
)
def incomplete_slo(review: Review) -> Iterator[Hit]:
    """A service level claim lacks threshold, window or load."""
    for claim in review.plan.claims.values():
        if "performance" not in categories_of(claim) and not _SLO.search(claim.text):
            continue
        trying = review.trials_of(claim.id)
        said = claim.text + "\n" + "\n".join(trial.text for trial in trying)
        parts = (("threshold", _THRESHOLD), ("window", _WINDOW), ("load", _LOAD))
        missing = [name for name, words in parts if not words.search(said)]
        excused = not trying and review.names(review.text_of("7c", "8"), claim.id)
        if missing and not excused:
            yield claim.line, "1b", claim.id, f"{claim.id} states no {', no '.join(missing)}"


_TESTING = (
    r"(?:testing|tests?|the (?:test )?campaign|campaign|the plan|the run|runs|the work|we|the gate"
    r"|the release"
    r"|the test|the soak|the project|work)"
)
_ENDS = (
    r"(?:ends?|stops?|finish(?:es|ed)?|conclud\w+|completed?|done|over|passed|ready|fulfilled|closes?"
    r"|finished"
    r"|continues?"
    r"|run|repeated|open|goes out)"
)
_EXIT = re.compile(
    r"exit criteri\w+|\b(?:done|ship|release|finished|complete) (?:when|if|once)\b(?<!is done when)"
    r"|definition of done"
    r"|\b(?:stop(?:ping)?|abort|completion|release|acceptance|exit) (?:criteri\w+|rules?|conditions?|gate)\b",
    re.I,
)
"""What says that testing ends, wherever it stands."""
_EXIT_IN_7D = re.compile(
    rf"{_EXIT.pattern}"
    rf"|^\W*{_TESTING}(?: (?:is|are|will be|may|can|counts?"
    rf"|consider))?(?: \w+){{0,3}}? {_ENDS}\b(?: \w+){{0,3}}? "
    r"(?:when|once|if|after|until|as soon as|as|with|at|on|by)\b"
    r"|^\W*we (?:may |will )?(?:stop|ship|release|finish|conclude|end|go live|are (?:done|finished))\b"
    r"|^\W*(?:go-?live|go/no-go|done|sign-?off|approval|sign off|release|end of testing|acceptance|exit"
    r"|completion"
    r"|complete|ship)\b"
    r"(?: (?:is|are))?(?: \w+){0,2}? ?(?::|\b(?:when|once|if|after|until|follows|given|as soon as)\b)"
    r"|^\W*it may be released\b|^\W*(?:quality |release )?gate:|^\W*(?:done means|ready for \w+ when"
    r"|criteria (?:for|to)"
    r"|success criteria)\b",
    re.I,
)
"""What says so in a section on confidence, where people say it in their own words."""


def _exit_lines(review: Review) -> Iterator[tuple[int, str, str]]:
    """Line, section and text of each exit criterion; the items below a heading or label count one by one."""
    for section in review.plan.sections:
        if section.number in ("1b", "4"):
            continue
        lines = [line for _, line in section.lines]
        words = _EXIT_IN_7D if section.number == "7d" else _EXIT
        place = 0
        while place < len(lines):
            line = lines[place]
            found = _first_sentence(words, line)
            if found and line[found.end() :].strip(" :*_.#|-"):
                # Numbers of another sentence are no criterion.
                begin = max(line.rfind(". ", 0, found.start()) + 1, 0)
                yield section.line + place, section.number, line[begin:]
            elif found:
                below = place + 1
                place = _end_of_list(lines, below)
                listed = [each for each in range(below, place) if re.search(r"\w", lines[each])]
                if not listed and place < len(lines) and not lines[place].startswith("#"):
                    listed = [place]  # a paragraph below the heading
                    place += 1
                for each in listed:
                    yield section.line + each, section.number, lines[each]
                continue
            place += 1


def _end_of_list(lines: list[str], begin: int) -> int:
    """Where the items, rows and blank lines from here on end."""
    place = begin
    while place < len(lines) and (
        not lines[place].strip() or re.match(r"\s*([-*+]|\d+[.)]|\|)\s", lines[place])
    ):
        place += 1
    return place


def _first_sentence(words: re.Pattern[str], line: str) -> re.Match[str] | None:
    """Where a sentence of a line speaks of the end of testing; patterns may ask for a sentence's begin."""
    for begin in (0, *(found.end() for found in re.finditer(r"\.\s+", line))):
        if found := words.search(line, begin) if begin == 0 else words.match(line, begin):
            return found
    return None


@rule(
    "exit-criterion-without-number",
    "error",
    why="'enough runs without problems' is met on the day somebody is tired",
    mend="write a number: 3 seeds, 9 landed faults, 0 FAIL",
)
def exit_criterion_without_number(review: Review) -> Iterator[Hit]:
    """An exit criterion holds no number."""
    for line, number, text in _exit_lines(review):
        bare = re.sub(r"\b[A-Za-z]+-?\d+\b|\b\d[a-z]\b|^\s*\d+[.)]", " ", text)
        if not re.search(r"\d", bare) and not re.fullmatch(r"[\s|:-]*", bare):
            yield line, number, "", f"no number in: {text.strip()[:80]}"


@rule(
    "exit-criteria-missing",
    "warning",
    why="without a line that says when testing is over, it is over when the time is",
    mend="add a line 'Exit criteria: …' with numbers to 7d",
)
def exit_criteria_missing(review: Review) -> Iterator[Hit]:
    """The plan never says when testing is done."""
    if review.trials and not any(True for _ in _exit_lines(review)):
        section = review.plan.section("7d")
        yield section.line if section else 0, "7d", "", "no exit criterion is written"


@rule(
    "absolute-confidence",
    "error",
    why="tests show the presence of faults, never their absence; who reads 'cannot happen' stops asking",
    mend="say what was tried, how often, and what would still go unnoticed",
)
def absolute_confidence(review: Review) -> Iterator[Hit]:
    """A section on adequacy or confidence claims certainty."""
    for section in review.plan.sections:
        if section.number not in ("5", "7b", "7c", "7d", "8"):
            continue
        for line, words in said_in(section, ABSOLUTE, denied=True):
            yield line, section.number, "", f"{words!r} is certainty"


@rule(
    "confidence-without-ground",
    "warning",
    why="'high confidence' without what it rests on is a feeling",
    mend="say on what it rests: seeds, faults that landed, surfaces, calibration of the oracle",
)
def confidence_without_ground(review: Review) -> Iterator[Hit]:
    """7d names a level of confidence without any number."""
    section = review.plan.section("7d")
    if section and re.search(
        r"\b(?:high|moderate|medium|strong|good) ?(?:confidence)?\b", section.text, re.I
    ):
        body = re.sub(r"\b[A-Za-z]+-?\d+\b|\b7[a-d]\b", " ", section.text)
        if not re.search(r"\d|\b(?:one|two|three|four|five)\b", body):
            yield section.line, "7d", "", "a level of confidence and no number that it rests on"
