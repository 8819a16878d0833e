"""A run of tests by one tool below a folder, and whether it takes a test file."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import Literal

__test__ = False


@dataclass(frozen=True, slots=True)
class TestRun:
    """Tests of one tool below a folder ("" is the root): all of them, or only some where a filter chooses.

    `below` is False where a folder stands for itself alone (a package of Go), `tags` names build tags.
    """

    __test__ = False
    tool: str
    folder: str
    some: bool = False
    below: bool = True
    tags: tuple[str, ...] = ()
    perhaps: bool = False  # it stands behind a condition of the script
    forgiven: bool = False  # its failure fails no job
    place: str = ""  # path:line of the job that runs it

    def covers(self, path: str) -> Literal["yes", "no", "unknown"]:
        """Whether the test file is among them, as far as the path tells."""
        fits = TEST_FILES[self.tool]
        inner = path.removeprefix(f"{self.folder}/") if self.folder else path
        if self.tool == "go" and self.below and _LEFT_OUT_BY_GO.search(inner):
            return "no"
        if self.tool.startswith("cargo") and re.search(r"(?:^|/)(?:benches|examples)/", path):
            return "no"
        if not re.search(fits, path) or not self._holds(path):
            return "no"
        return "unknown" if self.some or (self.tool == "go" and _OF_ANOTHER_SYSTEM.search(path)) else "yes"

    def _holds(self, path: str) -> bool:
        if path == self.folder:
            return True
        if not self.below:
            return posixpath.dirname(path) == self.folder
        return not self.folder or path.startswith(f"{self.folder}/")


# what `./...` passes over, and files that are built on some systems alone
_LEFT_OUT_BY_GO = re.compile(r"(?:^|/)(?:testdata|vendor|[_.][^/]*)/|(?:^|/)[_.][^/]*$")
_OF_ANOTHER_SYSTEM = re.compile(r"_(?:windows|darwin|freebsd|netbsd|openbsd|plan9|js|wasm)_test\.go$")
_JVM = r"\.(?:java|kt|kts|groovy|scala)$"
# the files that each tool takes for tests
TEST_FILES = {
    "go": r"_test\.go$", "cargo": r"\.rs$", "cargo lib": r"(?:^|/)src/.*\.rs$",
    "maven": r"src/test/.*(?:Tests?|TestCase|Spec|Suite)\.(?:java|kt|groovy|scala)$|src/test/.*/Test\w+\.(?:java|kt|groovy)$",
    "maven all": rf"src/test/.*{_JVM}", "gradle": rf"src/test/.*{_JVM}", "gradle all": rf"src/[\w-]*[tT]est\w*/.*{_JVM}", "sbt": rf"src/test/.*{_JVM}",
    "pytest": r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$|(?:^|/)t/.*\.py$", "unittest": r"(?:^|/)test[^/]*\.py$",
    "javascript": r"\.(?:test|spec)\.[cm]?[jt]sx?$|(?:^|/)(?:__tests__|tests?|spec)/.*\.[cm]?[jt]sx?$|(?:^|/)test[^/]*\.[cm]?[jt]s$",
    "rspec": r"_spec\.rb$", "minitest": r"(?:^|/)(?:test_[^/]*|[^/]*_test|test/[^/]*)\.rb$", "mix": r"_test\.exs$", "common test": r"_SUITE\.erl$", "eunit": r"\.erl$",
    "phpunit": r"Test\.php$", "dotnet": r"\.(?:cs|fs)$", "swift": r"(?:^|/)Tests/.*\.swift$", "zig": r"\.zig$", "lein": r"(?:^|/)test/.*\.cljc?$",
    "ctest": r"\.(?:c|cc|cpp|cxx)$", "bazel": r"\.\w+$", "file": r".",
}  # fmt: skip
