"""Finds the tests that a file holds, whether they assert, and whether something breaks meanwhile."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from refute.repository.syntax import Definition

__test__ = False
_NAMED = re.compile(
    r"^\s*(?:it|test|describe|context|specify|scenario|should|TEST_CASE|SECTION|Scenario|feature|property)(?:\.\w+)*\s*[(:]?\s*"
    r"[\"'`](.{8,200}?)[\"'`]")  # fmt: skip
_MACRO = re.compile(r"^\s*TEST(?:_F|_P)?\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)")
_CLAUSE = re.compile(
    r"^(?:test_)?([a-z]\w{5,80})\(_?(?:Config|_)?\)\s*->|^\(deftest\s+(?:\^\S+\s+)?([\w?!-]+)|^(\w+_test_?)\(\)\s*->|^test\s+\{?([^{}\"]{8,120})"
)
_SCALA = re.compile(
    r'^\s*(?:(?:it|they|ignore)\s+)?(?:should|must|can)?\s*"([^"]{8,200})"\s*(?:taggedAs\s*\(?[^{]*)?\s*in\b'
)
_FUNCTION = re.compile(r"^(?:Test|Fuzz|test|should|it)[_A-Z]\w*|\w+_test$")
_MARKED = re.compile(
    r"#\[(?:\w+::)?test|@Test\b|@ParameterizedTest|\[(?:Fact|Test|Theory|TestMethod)\b|@RepeatedTest|#\[test_case|@test\b"
)
_ASSERTS = re.compile(
    r"\b(?:assert\w*|require|expect|should|verify|refute|Equal|t\.(?:Error|Fatal|Fail)\w*|check|must_\w+|CHECK|EXPECT\w*|fail)\b",
    re.I,
)
# What breaks, not what a product does as a matter of course: a topic is paused and a server shut down in any test.
_FAULTS = re.compile(
    r"\b(?:kill\w*|partition\w*|isolat\w+|crash\w*|failpoint\w*|gofail|restart\w*|blackhole|disconnect\w*|chaos|fault\w*|"
    r"sigkill|sigstop|corrupt\w*|reorder\w*|power_?(?:loss|failure|off|cycle)|inject\w*(?:error|fault|fail\w*|latency|delay)\w*|"
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
    for row in definitions:
        if row.kind not in ("function", "method", "call") or row.line in seen:
            continue
        name = row.name.rsplit(".", 1)[-1]
        above = lines[max(0, row.line - 4) : row.line]
        marked = any(_MARKED.search(line) for line in above)
        if not (marked or (_FUNCTION.match(name) and language not in ("rust", "java", "c_sharp", "kotlin"))
                or (language in ("java", "kotlin") and name.startswith("test"))):  # fmt: skip
            continue
        seen.add(row.line)
        yield _judged(name, _line_of(name, row, lines), row.end_line, lines)
    for index, line in enumerate(lines):
        number = index + 1
        if number in seen or len(line) > 400:
            continue
        found = _NAMED.match(line)
        if found:
            yield _judged(found.group(1), number, _end_of(lines, index), lines)
            continue
        macro = _MACRO.match(line)
        if macro:
            yield _judged(f"{macro.group(1)} {macro.group(2)}", number, _end_of(lines, index), lines)
            continue
        said = _SCALA.match(line) if language == "scala" else None
        if said:
            yield _judged(said.group(1), number, _end_of(lines, index), lines)
            continue
        clause = _CLAUSE.match(line) if language in ("erlang", "clojure", "tcl") else None
        if clause:
            yield _judged(
                next(name for name in clause.groups() if name), number, _end_of(lines, index), lines
            )


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
    return TestCase(name, line, end, bool(_ASSERTS.search(body)), bool(_FAULTS.search(body)))
