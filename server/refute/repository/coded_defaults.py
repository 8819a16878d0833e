"""Reads what code initialises a setting with, and what the comment at it says that this is."""

# ruff: noqa: E501  (patterns)

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from refute.repository.defaults import STATED, NamedDefault, documented_value, number_of, words_of_name
from refute.repository.sentences import pieces

_IDENTIFIER = re.compile(r"\b(?:[A-Za-z]+_\w+|[A-Z]?[a-z]+[A-Z]\w*)\b(?<!\b[KMGT]iB)")
# its subject stands on the line above
_GOES_ON = re.compile(r"[/*#;!\s-]*defaults? (?:to|is)\b")
_SUBJECT = re.compile(r"\b([A-Za-z]\w*)[`'\"]? defaults? (?:to|is)\b")
_NO_SUBJECT = re.compile(
    r"it|this|that|which|and|the|values?|limit|size|option|setting|parameter|flag|field|if|unset|also|but|or|otherwise|thus|"
    r"then|unspecified|empty|zero|omitted", re.I)  # fmt: skip
_CASE = re.compile(
    r"\b(?:if|unless|otherwise|when|simulat\w+|tests?|prod\w*|debug|on (?:windows|linux|mac\w*))\b", re.I
)
_LEFT = re.compile(r"([A-Za-z_@$][\w$]{4,60})[\"']?\s*(?::\s*[\w<>\[\]?. |]+)?\s*(?:\{\s*get;[^}]*\}\s*)?$")
_CODE_UNITS = tuple(
    (re.compile(pattern), unit)
    for pattern, unit in (
        (
            r"\btime\.Second\b|\bfrom_secs\b|\bFromSeconds\b|\bofSeconds\b|\.seconds?\b|\bTimeUnit\.SECONDS\b",
            1.0,
        ),
        (r"\btime\.Millisecond\b|\bfrom_millis\b|\bFromMilliseconds\b|\bofMillis\b|\.milliseconds?\b", 1e-3),
        (r"\btime\.Minute\b|\bFromMinutes\b|\bofMinutes\b|\.minutes?\b|\bTimeUnit\.MINUTES\b", 60.0),
        (r"\btime\.Hour\b|\bFromHours\b|\bofHours\b|\.hours?\b|\bTimeUnit\.HOURS\b", 3600.0),
        (r"\bFromDays\b|\bofDays\b|\.days?\b|\bTimeUnit\.DAYS\b", 86400.0),
    )
)
_FACTOR = r"\d[\d_]*(?:\.\d+)?(?:[uU]?[lL]{0,2}|[fFdD]|u32|u64|usize|i32|i64)?"
_PRODUCT = re.compile(rf"\(?\s*({_FACTOR})((?:\s*\*\s*{_FACTOR})*)\s*\)?")
_SHIFT = re.compile(r"\(?\s*(\d+)[uUlL]*\s*<<\s*(\d+)\s*\)?")
_WORDS_AROUND = re.compile(r"^(?:[\w.:]*\(\s*)?(.*?)\s*\)?(?:\.\w+(?:\(\))?)?$")
# a field without a value: `Size int64`, `pub size: u64,`, `private int size;`
_DECLARED = re.compile(
    r"(?:pub(?:\([\w:]+\))?\s+)?([A-Za-z_]\w{4,60})(?::\s*|\s+)[\w\[\]*.<>:&]+,?(?:\s+`.*`)?|(?:[\w<>\[\]:*&]+\s+)+\*?([A-Za-z_]\w{4,60});"
)
_FALLBACK = re.compile(
    r"^[\w.:]*(?:env|default|conf|setting|option|flag|param|arg|propert|get|parse)\w*!?\(.*,\s*([^,()]+?)\s*\)$",
    re.I,
)
_DESCRIBED = re.compile(r"\b(?:description|help|doc|usage|summary)\w*\s*=\s*\"", re.I)
_FLAG = re.compile(
    r"\"(?P<name>[a-z][\w.-]{4,60})\",\s*(?:\"\w?\",\s*)?(?P<value>[^,\"]+),\s*\"(?P<help>[^\"]*)\"\s*\)"
)
_ARGUMENT = re.compile(
    r"[\"']--(?P<name>[\w-]{5,60})[\"'].*\bdefault=(?P<value>[^,]+),.*\bhelp=\"(?P<help>[^\"]*)\""
)
_GIVEN = re.compile(r"\w+(?:\.|->)(\w{4,60})\s*=\s*([^=].*?);?")
_ASKED = re.compile(r"^if\s*\(?\s*\w+(?:\.|->)(\w+)\s*(?:==|<=|===)\s*(?:0|nil|null|None)\b")
_MOST_OF_A_FILE = 300
_LONGEST_LINE = 240
_FARTHEST_COMMENT = 3
_COMMENT = ("//", "*", "/*", "#", "--", ";")


def coded_defaults(lines: Sequence[str]) -> Iterator[NamedDefault]:
    """The settings that code initialises with a plain value, each with what the comment above it states.

    Also what a comment states of a field that has no value where it is declared: its `value` is empty.
    """
    stated: _Stated | None = None
    told = 0
    in_comment = False
    begun = ""  # a declaration that goes on in the next line
    for number, line in enumerate(lines, 1):
        bare = line.strip()
        if bare.startswith(_COMMENT) and not bare.startswith(("#define", "#[")):
            before = None if stated is not None and stated.is_aside else stated
            found = None if in_comment and _GOES_ON.match(bare) else _stated_in(bare, number)
            stated = before if found is not None and found.is_aside and in_comment else found or before
            in_comment = True
            continue
        in_comment = False
        if not bare or bare.startswith(("@", "[", "#[")):
            stated = (_stated_in(bare, number) if _DESCRIBED.search(bare) else None) or stated
            continue
        if len(bare) > _LONGEST_LINE:
            stated, begun = None, ""
            continue
        code, behind = _without_comment(bare)
        if stated is not None and code.endswith("=") and not begun:
            begun = code
            continue
        above = lines[number - 2].strip() if number > 1 else ""
        flag = _flag(code, number) if "efault" in code else None
        if flag is not None:
            yield flag
            told += 1
        whole = f"{begun} {code}".strip()
        made = _initialised(whole, number, bare, of_call=stated is not None) or _if_unset(code, above, number)
        may_be_stated = stated is not None or "efault" in behind
        if made is None and may_be_stated and (declared := _without_value(code, number, bare)) is not None:
            stated = stated or _stated_in(behind, number)
            made = declared if stated is not None else None
        if made is not None:
            near = stated is not None and number - stated.line <= _FARTHEST_COMMENT
            if stated is not None and near and _may_speak_of(stated.shown, made.name):
                made = replace(
                    made, stated=stated.value, stated_has_unit=stated.has_unit, stated_line=stated.line,
                    stated_shown=stated.shown[:300],
                )  # fmt: skip
            if made.value or made.stated:
                yield made
                told += 1
            if told >= _MOST_OF_A_FILE:
                return
        stated, begun = None, ""


@dataclass(frozen=True, slots=True)
class _Stated:
    value: str
    has_unit: bool
    line: int
    shown: str
    is_aside: bool  # in parentheses: in a comment of several lines it is of what stands before it


def _stated_in(comment: str, number: int) -> _Stated | None:
    found = STATED.search(comment) if comment.lower().count("default") == 1 else None
    return (
        _Stated(*documented_value(found), number, comment, comment[: found.start()].endswith("("))
        if found
        else None
    )


def _without_comment(line: str) -> tuple[str, str]:
    if "//" not in line and "#" not in line and "/*" not in line:
        return line, ""
    code, *behind = re.split(r"\s(?://|#|/\*)", line, maxsplit=1)
    return code.strip(), behind[0].strip() if behind else ""


def _may_speak_of(comment: str, name: str) -> bool:
    """Whether a comment names no other setting than that one, and speaks of no special case."""
    words = pieces(name)
    subject = _SUBJECT.search(comment)
    if (
        subject
        and not _NO_SUBJECT.fullmatch(subject.group(1))
        and not {*pieces(subject.group(1))} <= {*words}
    ):
        return False
    others = [other for other in _IDENTIFIER.findall(comment) if pieces(other) != words]
    return not others and not _CASE.search(comment)


def _initialised(code: str, number: int, shown: str, *, of_call: bool) -> NamedDefault | None:
    """A name that is made with a plain value; `of_call`: or with what a call falls back to."""
    left, sign, right = code.partition("=")
    if not sign:
        left, sign, right = code.partition(":")
    if not sign or not right or right[0] in "=>:~" or left[-1:] in "!<>+-*/|&^%=":
        return None
    named = _LEFT.search(left.rstrip(": \t") if left.endswith(":") else left)
    if named is None or left[: named.start()].endswith((".", "->")):  # one that is set, and not made
        return None
    if len(words_of_name(named.group(1))) < 2:
        return None
    text = right.strip().rstrip(",;").strip()
    told = _coded_value(text)
    if told is None and of_call and (fallback := _FALLBACK.search(text)):
        told = _coded_value(fallback.group(1).strip())
    by_name = "default" in pieces(named.group(1))
    return NamedDefault(named.group(1), *told, number, shown[:300], is_fallback=by_name) if told else None


def _without_value(code: str, number: int, shown: str) -> NamedDefault | None:
    declared = _DECLARED.fullmatch(code)
    name = (declared.group(1) or declared.group(2)) if declared else ""
    return NamedDefault(name, "", False, number, shown[:300]) if len(words_of_name(name)) >= 2 else None


def _flag(code: str, number: int) -> NamedDefault | None:
    """`Int("max-size", 5, "... (default 6)")`: a flag whose help states a default beside the one that it has."""
    found = _FLAG.search(code) or _ARGUMENT.search(code)
    stated = _stated_in(found.group("help"), number) if found else None
    told = _coded_value(found.group("value").strip()) if found else None
    if found is None or stated is None or told is None or len(pieces(found.group("name"))) < 2:
        return None
    return NamedDefault(
        found.group("name"), *told, number, code[:300], stated.value, stated.has_unit, number, code[:300]
    )


def _if_unset(code: str, above: str, number: int) -> NamedDefault | None:
    """`o.size = 5` below `if o.size == 0 {`: what stands in for a setting that is not set."""
    asked = _ASKED.search(above)
    given = _GIVEN.fullmatch(code) if asked else None
    if given is None or asked is None or given.group(1) != asked.group(1):
        return None
    told = _coded_value(given.group(2).strip())
    if told is None or len(words_of_name(given.group(1))) < 2:
        return None
    return NamedDefault(given.group(1), *told, number, code[:300], is_fallback=True)


def _coded_value(text: str) -> tuple[str, bool] | None:
    """The value of a literal, a product of literals, or one of them in a unit of time; None for all else."""
    if text.lower() in ("true", "false"):
        return text.lower(), False
    if not any(sign.isdigit() for sign in text) or len(text) > 60:
        return None
    shift = _SHIFT.fullmatch(text)
    if shift and int(shift.group(2)) < 64:
        return repr(float(int(shift.group(1)) << int(shift.group(2)))), False
    product = _PRODUCT.fullmatch(text)
    unit = next((unit for pattern, unit in _CODE_UNITS if pattern.search(text)), None)
    if product is None and unit is not None:
        within = re.sub(r"\s*\*?\s*time\.\w+\s*$|^\s*time\.\w+\s*\*\s*", "", text)
        around = _WORDS_AROUND.match(within)
        product = _PRODUCT.fullmatch(around.group(1)) if around else None
    if product is None:
        return None
    value = math.prod(map(number_of, re.findall(_FACTOR, product.group(0))))
    return repr(value * (unit or 1.0)), unit is not None
