"""Finds the tests that a file holds, whether they assert, and whether something breaks meanwhile."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from refute.repository.syntax import Definition

__test__ = False
_NAMED = re.compile(
    r"^\s*(?:it|x?test|describe|context|specify|scenario|should|TEST_CASE|SECTION|Scenario|feature|property|given|expect)(?:\.\w+)*\s*[(:]?\s*"
    r"[\"'`](.{8,200}?)[\"'`]")  # fmt: skip
# a test whose name is short, and one that a function of the project's own begins: `tracedTest("name") {`
_SHORT = re.compile(r"^\s*(?:it|test|property)\s*\(?\s*[\"']([^\"']{1,7})[\"']")
_OWN = re.compile(r"^\s*(?:[a-z]\w*[a-z]Test|test(?:M|Async|IO))\s*\(\s*\"([^\"]{3,200})\"")
_MACRO = re.compile(r"^\s*TEST(?:_F|_P)?\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)")
_CLAUSE = re.compile(
    r"^(?:test_)?([a-z]\w{5,80})\(_?(?:Config|_)?\)\s*->|^\(deftest\s+(?:\^\S+\s+)?([\w?!-]+)|^(\w+_test_?)\(\)\s*->|^test\s+\{?([^{}\"]{8,120})"
)
_SCALA = re.compile(
    r'^\s*(?:(?:it|they|ignore|"[^"]{1,100}")\s+)?(?:should|must|can)?\s*"([^"]{3,200})"\s*(?:taggedAs\s*\(?[^{]*)?\s*\.?in\b'
)
_KOTEST = re.compile(r'^\s*"([^"]{8,200})"(?:\.config\(.*\))?\s*\{\s*(?:$|.*\}\s*$)')
_ZIG = re.compile(r'^\s*test(?:\s+"([^"]{1,200})"|\s+([A-Za-z_]\w*))\s*\{')
_TITLED = re.compile(r'@Test\s*\(\s*"([^"]{3,200})"|@DisplayName\s*\(\s*"([^"]{3,200})"')
_FUNCTION = re.compile(r"^(?:Test|Fuzz|test|should|it)[_A-Z]\w*|\w+_test$")
_MARKED = re.compile(
    r"#\[(?:\w+::)?test|@Test\b|@ParameterizedTest|[\[,]\s*\w*(?:Fact|Test|Theory|TestMethod|TestCase(?:Source)?|Scenario)(?=[\](,])|@RepeatedTest|"
    r"#\[test_case|@test\b|#\[Test\b"
)
_ASSERTS = re.compile(
    r"\b(?:(?:XCT)?assert\w*|XCTFail|require|expect|should\w*|must(?:Be|Equal|Match)\w*|verify|refute|Equal|t\.(?:Error|Fatal|Fail)\w*|check|must_\w+|CHECK|EXPECT\w*|fail)\b",
    re.I,
)
# What breaks, not what a product does as a matter of course: a topic is paused and a server shut down in any test.
_FAULTS = re.compile(
    r"\b(?:kill\w*|isolat\w+|crash\w*|failpoint\w*|gofail|restart\w*|blackhole|disconnect\w*|chaos|fault\w*|"
    r"sigkill|sigstop|corrupt\w*|reorder\w*|power_?(?:loss|failure|off|cycle)|inject\w*(?:error|fault|fail\w*|latency|delay)\w*|"
    # a partition of a network, not of data
    r"(?:network|net|a?symmetric|heal\w*|simulat\w*|inject|create|split)[ _]?partition\w*|partition(?=\()|"
    r"partition(?:ed|ing|s)?[ _]?(?:node|leader|follower|network|peer|member|server|replica|broker|halves|minority|majority|heal)\w*|"
    r"(?:set|add|with)_?latency|(?:flaky|lossy)_?(?:conn|net|proxy|transport)\w*|toxi\w+|"
    r"(?:pause|suspend|drop|delay|stop|lose)\w*?_?(?:server|node|broker|process|container|member|leader|follower|peer|packet|message|network|conn\w*|rpc|replica|worker)s?)\b",
    re.I)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TestCase:
    """One test: its name, its lines, and what its text shows."""

    __test__ = False
    name: str
    line: int
    end_line: int
    asserts: bool
    under_fault: bool


def tests_in(lines: Sequence[str], language: str, definitions: Sequence[Definition]) -> Iterator[TestCase]:
    """The tests of one file, in order; linear in its lines for each level of nesting."""
    seen: set[int] = set()
    ended = 0  # the line on which the function before ends: what stands above it is not of this one
    for row in definitions:
        if row.kind not in ("function", "method", "call") or row.line in seen:
            continue
        name = row.name.rsplit(".", 1)[-1]
        line = _line_of(name, row, lines)
        above = lines[max(ended, row.line - 4) : line]
        ended = max(ended, row.end_line)
        marked = any(_MARKED.search(one) for one in above)
        if not (marked or (_FUNCTION.match(name) and language not in ("rust", "java", "c_sharp", "kotlin", "elixir"))
                or (language in ("java", "kotlin") and name.startswith("test"))):  # fmt: skip
            continue
        seen.add(line)
        titled = next((found for one in above if (found := _TITLED.search(one))), None)
        yield _judged(titled.group(1) or titled.group(2) if titled else name, line, row.end_line, lines)
    for index, text in enumerate(lines):
        number = index + 1
        if number in seen or len(text) > 400:
            continue
        name = _named_on(text, language)
        if name:
            yield _judged(name, number, _end_of(lines, index), lines)


def _named_on(line: str, language: str) -> str:
    """The name of the test that begins on this line without being a function; empty where none does."""
    if language == "zig":
        found = _ZIG.match(line)
        return found.group(1) or found.group(2) if found else ""
    if '"' in line or "'" in line or "`" in line:
        found = _NAMED.match(line) or _SHORT.match(line) or _OWN.match(line)
        if found:
            return found.group(1)
    macro = _MACRO.match(line)
    if macro:
        return f"{macro.group(1)} {macro.group(2)}"
    pattern = {"scala": _SCALA, "kotlin": _KOTEST, "erlang": _CLAUSE, "clojure": _CLAUSE, "tcl": _CLAUSE}.get(
        language
    )
    found = pattern.match(line) if pattern else None
    return next((name for name in found.groups() if name), "") if found else ""


def _line_of(name: str, row: Definition, lines: Sequence[str]) -> int:
    """The line that names the test: annotations stand above it in many languages."""
    near = range(row.line, min(row.line + 8, row.end_line + 1, len(lines) + 1))
    return next((number for number in near if name in lines[number - 1]), row.line)


def _end_of(lines: Sequence[str], index: int) -> int:
    """Where a block that opens on this line ends, by indentation; at most 150 lines on."""
    indent = len(lines[index]) - len(lines[index].lstrip())
    for at in range(index + 1, min(len(lines), index + 150)):
        line = lines[at]
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            return at + 1
    return min(len(lines), index + 150)


def _judged(name: str, line: int, end: int, lines: Sequence[str]) -> TestCase:
    body = "\n".join(lines[line - 1 : min(end, line + 300)])
    return TestCase(name, line, end, bool(_ASSERTS.search(body)), _is_broken(body))


def _is_broken(body: str) -> bool:
    """Whether something breaks; what is stopped counts only where something is looked at after that, else it is the end."""
    faults = [(fault.end(), fault[0].lower().startswith("stop")) for fault in _FAULTS.finditer(body)]
    looked = max((found.start() for found in _ASSERTS.finditer(body)), default=0) if faults else 0
    return any(not stops or looked >= end for end, stops in faults)
