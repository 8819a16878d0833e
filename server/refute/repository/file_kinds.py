"""What a file is, judged by its path: its language, and the part that it plays in the repository."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

Role = Literal[
    "entry", "document", "reference", "code", "interface", "settings", "test", "example", "news", "licence",
    "vendored", "generated", "ci", "build", "translation", "tooling", "data",
]  # fmt: skip

_LANGUAGES = {
    "go": "go", "rs": "rust", "py": "python", "pyi": "python", "pyx": "python", "java": "java", "kt": "kotlin",
    "kts": "kotlin", "scala": "scala", "sc": "scala", "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp",
    "cxx": "cpp", "hpp": "cpp", "hh": "cpp", "hxx": "cpp", "ipp": "cpp", "cs": "c_sharp", "js": "javascript",
    "mjs": "javascript", "cjs": "javascript", "jsx": "javascript", "ts": "typescript", "mts": "typescript",
    "cts": "typescript", "tsx": "tsx", "rb": "ruby", "rake": "ruby", "gemspec": "ruby", "ru": "ruby",
    "php": "php", "ex": "elixir", "exs": "elixir", "swift": "swift", "zig": "zig",
    # no grammar: comments only
    "erl": "erlang", "hrl": "erlang", "clj": "clojure", "cljs": "clojure", "cljc": "clojure", "edn": "clojure",
    "hs": "haskell", "ml": "ocaml", "mli": "ocaml", "lua": "lua", "sh": "shell", "bash": "shell",
    "bats": "shell", "tcl": "tcl", "pl": "perl", "pm": "perl", "nim": "nim", "d": "d", "cr": "crystal",
    "dart": "dart", "groovy": "groovy", "gradle": "groovy", "fs": "fsharp", "jl": "julia", "r": "r",
    "proto": "protobuf", "thrift": "thrift", "capnp": "capnp", "fbs": "flatbuffers", "avdl": "avro",
    "graphql": "graphql", "sql": "sql", "tla": "tla", "p": "p", "jute": "jute", "m": "objc", "mm": "objc",
    "v": "v", "vy": "vyper", "sol": "solidity", "move": "move", "vue": "javascript", "ps1": "powershell",
    # prose and settings
    "md": "markdown", "markdown": "markdown", "mdx": "markdown", "mdown": "markdown", "rst": "rst",
    "adoc": "asciidoc", "asciidoc": "asciidoc", "txt": "text", "rdoc": "markdown", "org": "text",
    "edoc": "html", "1": "man", "5": "man", "7": "man", "8": "man", "yaml": "yaml", "yml": "yaml", "toml": "toml",
    "ini": "ini", "cfg": "ini", "conf": "ini", "properties": "ini", "config": "ini", "env": "ini",
    "json": "json", "xml": "xml", "html": "html", "libsonnet": "jsonnet", "jsonnet": "jsonnet", "cmake": "cmake",
}  # fmt: skip
_NAMED = {
    "makefile": "make", "gnumakefile": "make", "justfile": "just", "dockerfile": "docker", "rakefile": "ruby",
    "gemfile": "ruby", "vagrantfile": "ruby", "cmakelists.txt": "cmake", "jenkinsfile": "groovy",
    "readme": "text", "build": "starlark", "build.bazel": "starlark", "workspace": "starlark",
}  # fmt: skip

PROSE = frozenset({"markdown", "rst", "asciidoc", "text", "man", "html"})
GRAMMARS = frozenset({
    "go", "rust", "python", "java", "kotlin", "scala", "c", "cpp", "c_sharp", "javascript", "typescript",
    "tsx", "ruby", "php", "elixir", "swift", "zig",
})  # fmt: skip
INTERFACES = frozenset({"protobuf", "thrift", "capnp", "flatbuffers", "avro", "graphql", "sql", "jute"})
SETTINGS = frozenset({"ini", "yaml", "toml"})
COMMENTED = frozenset({
    "erlang", "clojure", "haskell", "ocaml", "lua", "shell", "tcl", "perl", "nim", "d", "crystal", "dart",
    "groovy", "fsharp", "julia", "tla", "p", "objc", "v", "solidity", "move", "vyper",
})  # fmt: skip

_VENDORED = re.compile(
    r"(^|/)(vendor|vendored|third[_-]?party|thirdparty|node_modules|deps(?!/\w+/[^.]*\.(?:erl|hrl|exs?|8|5)$)|external|contrib/lua|bower_components|"
    r"site-packages|Godeps|extern|3rdparty|submodules|subprojects)/", re.I)  # fmt: skip
# libraries of one or two files, which are copied to wherever they are used
_COPIED = re.compile(
    r"(^|/)(sqlite3(ext)?\.[ch]|stb_\w+\.h|miniz\.[ch]|catch(2|_amalgamated)?\.(hpp|cpp)|doctest\.h|u(thash|tlist|tarray|tstring)\.h|"
    r"k(hash|list|vec|btree)\.h|cJSON\.[ch]|jsmn\.h|(pico)?http_?parser\.[ch]|linenoise\.[ch]|tinyxml2?\.(h|cpp)|duktape\.[ch]|"
    r"jquery[\w.-]*\.js)$", re.I)  # fmt: skip
_GENERATED = re.compile(
    r"(\.pb\.(go|cc|h|gw\.go|rs)|_pb2(_grpc)?\.py|_pb\.(js|ts|d\.ts)|\.g\.(cs|dart)|\.gen\.\w+|_generated?\.\w+|"
    r"zz_generated[\w.]*|\.min\.(js|css)|-lock\.\w+|\.lock|_string\.go|bindata\.go|\.designer\.cs|"
    r"swagger\.json|\.pb\.validate\.go)$|(^|/)(generated?|__generated__|gen|dist|build/generated)/", re.I)  # fmt: skip
_TEST_FOLDER = re.compile(
    r"(^|/)(tests?|t|multi-jvm|[\w-]+[-_]tests?|testing|spec|specs|__tests__|testdata|fixtures?|itest|integration[_-]?tests?|e2e|"
    r"[\w.-]*[._-]tests?|UnitTests?|[\w.]*\.Tests?|[\w.]*(?-i:Tests)|src/(test|it|jmh)|fuzz|testsuite|testutils?|test[_-]\w+)/",
    re.I)  # fmt: skip
_TEST_FILE = re.compile(
    r"(_test\.(go|cc|cpp|exs|rb|py|clj|c|dart)|_tests?\.(rs|zig)|_fuzz\.zig|(^|/)test_[^/]*\.\w+|(^|/)tests?\.(rs|py|js|ts|go)|"
    r"[._](spec|test)\.[jt]sx?|_spec\.rb|Tests?\.(java|kt|scala|cs|swift|php)|(IT|Spec|Suite)\.(java|kt|scala)|"
    r"_SUITE\.erl|_(unit)?tests?\.(cc|cpp|c)|\.bats)$", re.I)  # fmt: skip
_NEWS = re.compile(
    r"(^|/)(change(s|log)?|history|news|release[-_ ]?notes?|releases?|whatsnew|[\w-]*changes|roadmap|"
    r"\d\d-RELEASENOTES)([-_.][^/]*)?(\.(md|rst|txt|adoc|rdoc))?$|"
    r"(^|/)(change-?logs?|release[-_]?notes?|releases?|whatsnew|changelogs?|news|history)/|"
    r"(^|/)(releasenotes|changes|history)[^/]*\.(md|rst|txt|html)$", re.I)  # fmt: skip
_LICENCE = re.compile(
    r"(^|/)([^/]*licen[cs]e|copying|copyright|notice|authors|contributors|maintainers|code[-_]of[-_]conduct|"
    r"contributing|security|owners|governance|adopters|credits|thanks|patents|dco|cla)[^/]*$|"
    r"(^|/)licen[cs]es?/", re.I)  # fmt: skip
_EXAMPLE = re.compile(
    r"(^|/)(examples?|samples?|demos?|tutorials?|quickstart|playground|snippets|myapp|"
    r"cookbook|blog|community|talks|meetings?)(/|[^/]*$)", re.I)  # fmt: skip
# of code, the whole word: a sampler and a demotion are none, and neither is the package `com.example`
_EXAMPLE_OF_CODE = re.compile(
    r"(^|/)(?<!/com/)(?<!/org/)(?<!/net/)(examples?|samples?|demos?|tutorials?|quickstart|playground|snippets|myapp|cookbook)/|"
    r"(^|/)(examples?|demos?)((?-i:[^a-z/])[^/]*)?$", re.I)  # fmt: skip
_TOOLING = re.compile(
    r"(^|/)(tools?|scripts?|hack|ci|benchmarks?|bench|perf|([\w-]*-)?contrib|utils?|dev|build|cmake|packaging|deploy|"
    r"docker|helm|charts?|site|website|assets|static|web|ui|dashboard|misc|\.github|"
    r"\.devcontainer|localtests|jmh|logos?|images?)/", re.I)  # fmt: skip
_CI = re.compile(
    r"^(\.github/workflows/|\.circleci/|\.buildkite/|\.travis\.yml|\.gitlab-ci|appveyor|azure-pipelines|"
    r"\.azure|Jenkinsfile|\.cirrus|\.drone|\.semaphore|\.prow|bors\.toml|\.woodpecker|\.appveyor)", re.I)  # fmt: skip
_ENTRY = re.compile(
    r"^(readme|architecture|design|agents|claude|index|overview|specification|spec)(\.\w+)?$", re.I
)
_DOCUMENT_FOLDER = re.compile(r"(^|/)(docs?|documentation|design|rfcs?|guides?|manual|man|wiki|book|src/main/resources/markdown)/", re.I)  # fmt: skip
_TRANSLATION = re.compile(
    r"(^|/)(cn|zh|zh[-_]\w+|ja|jp|ko|fr|de|es|pt|pt[-_]br|ru|it|tr|gitbook/[a-z]{2}-[a-z]{2})/|"
    r"[._-](cn|zh|zh[-_]\w+|ja|ko|fr|es|ru|kr|jp)\.(md|rst)$", re.I)  # fmt: skip
_DESCRIBED = re.compile(r"(openapi|swagger|asyncapi)[^/]*\.(json|ya?ml)$|[._-]schema\.json$", re.I)
_MANIFEST = re.compile(
    r"(^|/)([^/]+\.gemspec|gemfile|rakefile|setup\.(py|cfg)|pyproject\.toml|cargo\.toml|mix\.exs|project\.clj|build\.sbt|"
    r"build\.gradle(\.kts)?|settings\.gradle(\.kts)?|package\.swift|build\.zig|noxfile\.py|tox\.ini|\.pre-commit-config\.ya?ml)$",
    re.I,
)
_CODE_OF_DOCUMENTS = re.compile(r"^(docs?|documentation|website)/", re.I)
_BUILD = frozenset({"make", "just", "docker", "cmake", "starlark"})


@lru_cache(maxsize=65536)
def language_of(path: str) -> str:
    """The language by name or extension; `other` where nothing here reads it."""
    name = path.rsplit("/", 1)[-1].lower()
    if name in _NAMED:
        return _NAMED[name]
    if name.startswith(("dockerfile", "makefile.")):
        return "docker" if name.startswith("dockerfile") else "make"
    if "." not in name:
        return "text" if re.match(r"readme|internals|design|howto|notes|hacking|manifesto", name) else "other"
    extension = name.rsplit(".", 1)[-1]
    if (
        extension in ("template", "example", "sample", "in", "tmpl", "dist", "default")
        and name.count(".") > 1
    ):
        extension = name.rsplit(".", 2)[-2]
    return _LANGUAGES.get(extension, "other")


@lru_cache(maxsize=65536)
def role_of(path: str) -> Role:
    """The part that the file plays; the first rule that fits decides, from the least telling to the most."""
    language = language_of(path)
    if _VENDORED.search(path) or _COPIED.search(path):
        return "vendored"
    if _GENERATED.search(path):
        return "generated"
    if _CI.search(path):
        return "ci"
    if _TEST_FILE.search(path) or _TEST_FOLDER.search(path):
        return "test"
    if language in PROSE or language == "other":
        if _LICENCE.search(path):
            return "licence"
        if _NEWS.search(path):
            return "news"
        if language == "other":
            return "data"
        if _TRANSLATION.search(path):
            return "translation"
        if _EXAMPLE.search(path):
            return "example"
        name = path.rsplit("/", 1)[-1]
        if _ENTRY.match(name):
            return "entry"
        return "document" if _DOCUMENT_FOLDER.search(path) or "/" not in path else "reference"
    if _EXAMPLE_OF_CODE.search(path):
        return "example"
    if _TOOLING.search(path):
        return "tooling"
    if language in _BUILD or _MANIFEST.search(path):
        return "build"
    if _CODE_OF_DOCUMENTS.match(path) and language in GRAMMARS:
        return "tooling"
    if language in INTERFACES or (language in ("json", "yaml") and _DESCRIBED.search(path)):
        return "interface"
    if language in SETTINGS:
        return "settings"
    if language in GRAMMARS or language in COMMENTED:
        return "code"
    return "data"
