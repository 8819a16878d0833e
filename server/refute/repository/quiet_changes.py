"""Judges whether a change calls for a distributed test at all, or is words, layout, tests and tools alone."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from collections.abc import Sequence

from refute.repository.comments import scan_comments
from refute.repository.differences import Change
from refute.repository.file_kinds import (
    COMMENTED,
    GRAMMARS,
    INTERFACES,
    PROSE,
    SETTINGS,
    Role,
    language_of,
    role_of,
)
from refute.repository.layout import is_layout
from refute.repository.models import ChangedFile, Claim, MapItem
from refute.repository.obeyed_comments import comments_are_code, is_obeyed
from refute.repository.snapshot import RepositorySnapshot
from refute.repository.source_file import SourceFile
from refute.repository.syntax import lines_of_texts, read_syntax

_STARTS_COMMENT = re.compile(r"^\s*(?://|/\*|\*|#|[rRbBuU]{0,2}(?:\"\"\"|'''|\"|')|@\w*doc\b)")
_QUIET_ROLES = frozenset({"entry", "document", "reference", "news", "licence", "translation", "example"})
_APART_ROLES = frozenset({"ci", "tooling", "test", "example"})
_BESIDE_ROLES = frozenset({"ci", "build", "tooling", "test"})
# folders that are called like those of tools, and belong to the product where they stand within its code
_INSIDE_THE_PRODUCT = re.compile(
    r"^(?!(?:.*/)?(?:scripts?|hack|ci|bench\w*|perf|jmh|cmake|packaging|helm|charts?|site|website|docs?|docker|contrib|misc|localtests|\.\w+)/)"
    r"(?:(?:.*/)?(?:lib|pkg|internal|server|core|app|source|sources|crates)/.*(?:tools?|utils?|dev|build|deploy|static|web|ui|dashboard|assets)/|"
    r".*(?:^|/)src/(?!.*\b(?:tests?|bench\w*)/))", re.I)  # fmt: skip
# folders of code that every part uses, and of what it shows: of tools only where a tool is around them
_UTILITIES = re.compile(
    r"^(?!(?:.*/)?(?:tests?|tools?|scripts?|hack|ci|bench\w*|perf|jmh|cmake|site|website|docs?|contrib|misc|dev|localtests|examples?|\.\w+)/)"
    r"(?:.*/)?(?:utils?|web|ui|dashboard)/", re.I)  # fmt: skip
# scripts that a server runs for the product
_SENT_TO_A_STORE = re.compile(r"^(?!(?:.*/)?(?:tests?|tools?|hack|ci|bench\w*|perf|docs?|contrib|misc|dev|examples?)/).*\.lua$", re.I)  # fmt: skip
# of these languages alone, tests stand in a folder called `spec` or `t`
_SPECIFIED_IN_SPEC = frozenset({"ruby", "javascript", "typescript", "tsx", "php", "elixir", "perl", "crystal", "lua", "shell"})  # fmt: skip
_SPECIFICATION = re.compile(r"(^|/)(?:specs?|t)(?=/)", re.I)
_HOLDS_DATA = re.compile(
    r"(?<!license)(?<!licence)(?<!copying)\.(?!md|txt|rst|adoc|html|in$|pdf$)[\w-]+$", re.I
)
_READ_BY_CODE = re.compile(
    r"^(?!.*(?:^|/)(?:docs?|documentation|man|site|website|examples?)/)(?!.*(?:readme|notes?|todo|change|history|news|manual|guide)[^/]*$)"
    r"(?:.*/)?(?:src|lib|pkg|internal|cmd|server|app|templates|views)/", re.I)  # fmt: skip
# files that are looked for by name or run in the order of their names, and Go files that are built for one system
_NAME_TELLS = re.compile(r"(^|/)(migrations?|migrate|changelog|plugins?|extensions?|routes|initializers|autoload|init\.d|conf\.d)/", re.I)  # fmt: skip
_BUILT_FOR = re.compile(
    r"_(?:linux|darwin|windows|\w*bsd|solaris|aix|android|ios|js|wasip1|plan9|unix|amd64|arm64|arm|386|ppc64\w*|riscv64|s390x|wasm|mips\w*)(?=[_.])"
)
# what a program only shows, and what only people and their editors read
_INERT = re.compile(
    r"\.(png|jpe?g|gif|svg|ico|webp|bmp|pdf|ttf|otf|woff2?|eot|mp[34]|mov|webm|puml|drawio|excalidraw|css|scss|less|csv|tsv|log|asc|pub|sig|"
    r"gitignore|gitattributes|gitmodules|gitkeep|mailmap|editorconfig|dockerignore|npmignore|helmignore|prettierrc|nojekyll)$|"
    r"(^|/)[^/.]*(rc|ignore)$|(^|/)(?-i:[A-Z_]+)$|^\.(?!env)[^/]+$|(^|/)(checkstyle|spotbugs|findbugs|pmd|lint|licen[cs]es?|gradle/wrapper)/", re.I)  # fmt: skip
_MANIFEST = re.compile(
    r"(^|/)(go\.(mod|sum|work|work\.sum)|cargo\.(toml|lock)|pom\.xml|build\.gradle(\.kts)?|[^/]*versions?[^/]*\.(toml|gradle|properties|props|sbt|scala)|"
    r"dependencies\.(gradle|scala|sbt|kt)|build\.sbt|package(-lock)?\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|mix\.(exs|lock)|"
    r"gemfile(\.lock)?|[^/]+\.gemspec|requirements([^/]*|/(.*/)?(?!test|dev|doc|lint|ci|pytest|pkgutils|constraints)[^/]*)\.(txt|in)|setup\.(py|cfg)|pyproject\.toml|poetry\.lock|uv\.lock|pipfile(\.lock)?|"
    r"composer\.(json|lock)|package\.(swift|resolved)|[^/]+\.(cs|fs|vb)proj|directory\.packages\.props|packages\.config|"
    r"build\.zig(\.zon)?|rebar\.(config|lock)|[^/]*(?:components|deps|dependencies)\.mk|project\.clj|deps\.edn|conanfile\.\w+|vcpkg\.json|erlang\.mk|module\.bazel|workspace(\.bazel)?)$", re.I)  # fmt: skip
_DEPENDENCY = re.compile(
    r"\d+\.\d+|\b[0-9a-f]{40}\b|\bgit\b|\bpath\s*=|\b(?:checksum|integrity|sha\d+)\b|=>|^\s*use\b"
)
_OWN_VERSION = re.compile(
    r"^\s*[\"']?@?(?:package_?)?version[\"']?\s*[:=(]?\s*[\"']|^\s*\w+\.version\s*=", re.I
)
_BEGINS_TEXT = {
    "yaml": re.compile(r"(?:^|[:-]\s+)[|>][+-]?\d?[+-]?\s*(?:#.*)?$"),
    "shell": re.compile(r"(?<!<)<<-?\s*[\"'\\]?([A-Za-z_]\w*)"),
    "docker": re.compile(r"(?<!<)<<-?\s*[\"'\\]?([A-Za-z_]\w*)"),
}
_BUILD_LANGUAGES = frozenset({"make", "just", "docker", "cmake", "starlark"})


def only_comments(snapshot: RepositorySnapshot, change: Change) -> bool:
    """Whether nothing but comments, doc strings and layout changed; a rename or a mode alone counts."""
    language = language_of(change.path)
    if change.unread or language in PROSE:
        return False
    if not change.added and not change.removed:
        return change.status == "renamed" or change.old_blob == change.new_blob
    if any(is_obeyed(text, language) for _, text in (*change.added, *change.removed)):
        return False
    sides = [(_text_of(snapshot, change.new_blob), change.added), (_text_of(snapshot, change.old_blob), change.removed)]  # fmt: skip
    if is_layout(change.hunks, language) and not any(
        _inside_texts(data, language) & {number for number, _ in rows} for data, rows in sides
    ):
        return True
    if language not in GRAMMARS | COMMENTED | INTERFACES | SETTINGS | _BUILD_LANGUAGES:
        return False
    return all(_in_comments(data, language, rows) for data, rows in sides)


def _text_of(snapshot: RepositorySnapshot, blob: str) -> bytes:
    return next((data for _, data in snapshot.contents([SourceFile("", blob, 0)])), b"") if blob else b""


def _in_comments(data: bytes, language: str, rows: Sequence[tuple[int, str]]) -> bool:
    """Whether each of these lines is blank or lies whole in a comment or a doc string of the file."""
    wanted = {number for number, text in rows if text.strip()}
    if not wanted:
        return True
    text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    if comments_are_code(text, language):
        return False
    if language not in GRAMMARS:
        return wanted <= _scanned(lines, language) - _in_texts(lines, language)
    try:
        syntax = read_syntax(data, language)
    except (ImportError, OSError, ValueError):
        return False
    if syntax.broken and not all(_STARTS_COMMENT.match(text) for _, text in rows if text.strip()):
        return False
    quiet: set[int] = set()
    for block in syntax.comments:
        starts = block.line if _STARTS_COMMENT.match(lines[block.line - 1]) else block.line + 1
        ends = block.end_line + _nothing_follows(lines[block.end_line - 1])
        quiet.update(range(starts, ends))
    return wanted <= quiet


def _scanned(lines: Sequence[str], language: str) -> set[int]:
    """The lines that are nothing but a comment, in a language without grammar."""
    return {
        number
        for block in scan_comments(lines, language)
        for number, text in block
        if text.strip() == lines[number - 1].strip() and _nothing_follows(text)
    }


def _in_texts(lines: Sequence[str], language: str) -> set[int]:
    """The lines of block scalars (YAML) and here-documents (shells): a `#` there is text; linear."""
    begins = _BEGINS_TEXT.get(language)
    found: set[int] = set()
    ends: str | int | None = (
        None  # the last line of a here-document, or how far in the key of a scalar stands
    )
    for number, line in enumerate(lines, 1) if begins else ():
        deep = len(line) - len(line.lstrip())
        if isinstance(ends, str) and line.strip() == ends:
            ends = None
            continue
        if isinstance(ends, int) and line.strip() and deep <= ends:
            ends = None
        if ends is not None:
            found.add(number)
        elif begins and (opened := begins.search(line)):
            ends = opened.group(1) if language != "yaml" else deep
    return found


def _inside_texts(data: bytes, language: str) -> set[int]:
    """The lines in which white space is part of a text: of every line, where the grammar is not there to tell."""
    lines = data.decode("utf-8", "replace").split("\n")
    if language not in GRAMMARS:
        return _in_texts(lines, language)
    try:
        return lines_of_texts(data, language)
    except (ImportError, OSError, ValueError):
        return set(range(1, len(lines) + 1))


def _nothing_follows(line: str) -> bool:
    """Whether no code stands behind the end of a comment on this line."""
    return "*/" not in line or not line.rpartition("*/")[2].strip()


def moves_dependencies(change: Change) -> bool:
    """Whether a manifest or a lock file names other versions of what the product is built of."""
    if not _MANIFEST.search(change.path) or change.path.endswith(".sum"):  # sums follow, they decide nothing
        return False
    if not _stands_among_code(change.path):  # of the tests, the tools, the examples
        return False
    lines = [text for _, text in (*change.added, *change.removed)]
    return any(_DEPENDENCY.search(text) and not _OWN_VERSION.match(text) for text in lines)


def _stands_among_code(path: str) -> bool:
    folder = path.rpartition("/")[0]
    return not folder or role_of(f"{folder}/x.go") not in _APART_ROLES


def judge(
    files: Sequence[ChangedFile], claims: Sequence[Claim], surfaces: Sequence[MapItem]
) -> tuple[bool | None, str]:
    """Whether a distributed test is needed (None: it cannot be told), and why, in a sentence. In doubt it is."""
    if not files:
        return False, "Nothing changed."
    loud = [file for file in files if not _is_quiet(file)]
    if not loud:
        return False, _why_quiet(files, claims)
    product = [file for file in loud if _is_product(file)]
    if not product:
        unclear = [file.path for file in loud if file.shipping == "unknown"]
        if unclear:
            return None, (
                f"What is built, packed or released may differ ({', '.join(unclear[:3])}), which these lines do not tell: "
                "a distributed test is needed where it does."
            )
        if all(file.role == "test" for file in loud):
            return False, "Only tests changed: run them; the product needs no new distributed test."
        return (
            False,
            "Only build files, CI or tooling changed, and nothing that is shipped: this needs no distributed test.",
        )
    return True, _why_needed(product, claims, surfaces)


def _is_quiet(file: ChangedFile) -> bool:
    if file.unread == "submodule" or file.dependencies or file.shipping:
        return False
    role = _plays(file.path)
    if role in _QUIET_ROLES:
        return True
    if file.status == "renamed" and not file.added and not file.removed:
        same = (_plays(file.old_path), language_of(file.old_path)) == (role, file.language)
        named = _NAME_TELLS.search(file.path) or _NAME_TELLS.search(file.old_path)
        built = _BUILT_FOR.findall(file.path) != _BUILT_FOR.findall(file.old_path)
        return same and not named and not built and role in ("code", "test") and file.language not in ("sql", "other")  # fmt: skip
    return file.only_comments


def _plays(path: str) -> Role:
    """The part that a changed file plays: where its folder or name may mean something else, the part that needs a test."""
    role, language = role_of(path), language_of(path)
    if role == "test" and language not in _SPECIFIED_IN_SPEC:
        return role_of(_SPECIFICATION.sub(r"\1x", path))
    if role in ("licence", "news") and language == "other" and _HOLDS_DATA.search(path):
        return "data"
    if role in ("entry", "reference", "news") and language in ("html", "text") and _READ_BY_CODE.search(path):
        return "data"
    return role


def _is_product(file: ChangedFile) -> bool:
    """Whether what runs in production can differ now."""
    role = _plays(file.path)
    if file.unread == "submodule" or file.dependencies or file.shipping == "changed":
        return True
    if file.shipping == "unknown" and role not in ("code", "interface"):
        return False
    if role in ("data", "settings", "generated") and (_INERT.search(file.path) or _MANIFEST.search(file.path)):  # fmt: skip
        return False
    if role == "tooling":
        programs = GRAMMARS | COMMENTED - {"shell"}
        inside = _INSIDE_THE_PRODUCT.search(file.path) or _UTILITIES.search(file.path)
        return (file.language in programs and bool(inside)) or bool(_SENT_TO_A_STORE.search(file.path))
    if role in ("data", "generated", "vendored"):
        return _stands_among_code(file.path)
    return role not in _BESIDE_ROLES


def _why_quiet(files: Sequence[ChangedFile], claims: Sequence[Claim]) -> str:
    if any(file.role not in _QUIET_ROLES for file in files):
        return "Only comments, formatting or names of files changed: this needs no distributed test."
    said = ["Only documents changed: this needs no distributed test."]
    added = {file.path for file in files if file.status == "added"}
    edited = {file.path for file in files} - added
    if reworded := sum(claim.path in edited for claim in claims):
        were = "1 claim was" if reworded == 1 else f"{reworded} claims were"
        said.append(f"{were} reworded: read whether the promise itself moved.")
    if new := sum(claim.path in added for claim in claims):
        said.append(f"{'1 claim is' if new == 1 else f'{new} claims are'} new: read what is promised now.")
    return " ".join(said)


def _why_needed(product: Sequence[ChangedFile], claims: Sequence[Claim], surfaces: Sequence[MapItem]) -> str:
    parts: list[str] = []
    code = sum(file.role in ("code", "interface", "settings") and not file.unread for file in product)
    if code:
        parts.append(f"product code changed in {code} file{'s' if code > 1 else ''}")
    moved = [file.path for file in product if file.unread == "submodule"]
    if moved:
        parts.append(f"submodules moved ({', '.join(moved[:3])}), which were not entered")
    built_of = [file.path for file in product if file.dependencies]
    if built_of:
        parts.append(f"the product is built of other versions ({', '.join(built_of[:3])})")
    shipped = [file.path for file in product if file.shipping == "changed" and not file.dependencies]
    if shipped:
        parts.append(f"what is built, deployed or started changed ({', '.join(shipped[:3])})")
    if not parts:
        parts.append(
            f"files that the product may read changed ({', '.join(file.path for file in product[:3])})"
        )
    if claims:
        parts.append(f"{len(claims)} claims rest on changed lines")
    kinds = sorted({item.kind for item in surfaces})
    because = ", ".join(parts) + (f", touching {', '.join(kinds[:6])}" if kinds else "")
    return because[0].upper() + because[1:] + "."
