"""Splits shell text into simple commands and functions, as far as can be told without running it."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_HERE = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?")
_FUNCTION = re.compile(r"^\s*(?:function\s+([\w-]+)\s*(?:\(\s*\))?|([\w-]+)\s*\(\s*\))\s*(?:\{(.*)|$)")
_ASSIGNED = re.compile(r"^([A-Za-z_]\w*)=(.*)$", re.S)
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+)|\((\w+)\))")
_LISTED = re.compile(r"(?:\$\(|`)\s*go list (?:-\S+ )*([^|)`]*)(\|[^)`]*)?(?:\)|`)")
_EXPRESSION = re.compile(r"\$\{\{.*?\}\}", re.S)
_ARITHMETIC = re.compile(r"\$?\(\(.*?\)\)")
_ARRAY = re.compile(r"\b\w+\+?=\([^()]*\)")
_TO_HANDLE = re.compile(r"\d?>&(?:\d|-)|&>>?\s*\S+")
_SUBSTITUTED = re.compile(r"\$\([^()]*\)|`[^`]*`")
_KEYWORDS = frozenset(
    {"if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "time", "exec", "done", "fi"}
)
# what is asked before `&&`, and what forgives behind `||`
_QUESTIONS = frozenset({"[", "[[", "test", "false", "command", "which", "type", "grep", "git", "diff", "cmp"})
_FORGIVING = frozenset({"true", ":", "/bin/true", "echo", "printf"})
_SIGNS = frozenset(";&|()\n")
_MOST_LINES, _LONGEST_LINE = 3_000, 4_000


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its words, the folder in which it runs, and the line of the text."""

    words: tuple[str, ...]
    folder: str
    line: int
    variables: Mapping[str, str] = field(default_factory=dict)
    perhaps: bool = False  # it stands behind a condition, an alternative or an `exit`
    forgiven: bool = False  # its failure ends nothing (`|| true`)


@dataclass(frozen=True, slots=True)
class Script:
    """The commands that run in order, and the bodies of functions by name; both arms of a condition count."""

    text: str
    functions: Mapping[str, str]


def script_of(text: str) -> Script:
    """The text without its functions and here-documents, and the functions."""
    main: list[str] = []
    functions: dict[str, str] = {}
    name, ends = "", ""
    body: list[str] = []
    for row in text.split("\n")[:_MOST_LINES]:
        if ends:
            ends = "" if row.strip() == ends else ends
            main.append("")
            continue
        here = _HERE.search(row)
        if here and "<<<" not in row:
            ends = here.group(1)
            row = row[: here.start()]
        if name:
            if row.rstrip() in ("}", ")", "};"):
                functions[name] = "\n".join(body)
                name = ""
            else:
                body.append(row)
            main.append("")
            continue
        begun = _FUNCTION.match(row)
        if begun:
            inside = begun.group(3) or ""
            found = begun.group(1) or begun.group(2)
            if inside.rstrip().endswith("}"):
                functions[found] = inside.rstrip().removesuffix("}")
            else:
                name, body = found, [inside]
            main.append("")
        else:
            main.append(row)
    return Script("\n".join(main), functions)


def commands_in(text: str, folder: str, variables: Mapping[str, str]) -> Iterator[Command]:
    """The commands of shell text in order; one that cannot be split is a word `?`."""
    known = dict(variables)
    at, stack = folder, list[tuple[str, bool]]()
    branches: list[bool] = []  # whether what stands here is an arm of each `if` and `case` that is open
    ended = False
    for line, row in _logical_lines(text):
        tokens = _tokens(row)
        if tokens is None:
            yield Command(("?", row.strip()[:80]), at, line, dict(known), perhaps=ended or any(branches))
            continue
        words: list[str] = []
        chained = False
        for number, token in enumerate(tokens := [*tokens, ";"]):
            if not set(token) <= _SIGNS:
                words.append(token)
                continue
            if words and "[[" in words and "]]" not in words:
                words = words if token != ";" or len(words) < 60 else []
                continue
            if ")" in token and not stack:
                _branch(words, branches, chained)
                words = []  # the pattern of an arm of `case`
                continue
            _branch(words, branches, chained)
            simple = _simple(words, known)
            words = []
            perhaps = chained or ended or any(branches) or any(doubt for _, doubt in stack)
            if simple:
                if simple[0] in ("cd", "pushd"):
                    at = _within(at, simple[1] if len(simple) > 1 else "?")
                elif simple[0] == "popd":
                    at = folder
                else:
                    forgiven = token == "||" and _forgives(tokens[number + 1 :])
                    yield Command(tuple(simple), at, line, dict(known), perhaps, forgiven)
                ended = ended or (simple[0] == "exit" and not perhaps and not stack)
            signs = token.replace("()", "")
            for _ in range(min(signs.count(")"), len(stack))):
                at, doubt = stack.pop()
                chained = chained or doubt
            if "||" in signs:
                chained = True
            elif "&&" in signs:
                chained = chained or bool(simple and simple[0] in _QUESTIONS)
            elif ";" in signs or signs == "&":
                chained = False
            stack += [(at, chained)] * signs.count("(")


def _branch(words: list[str], branches: list[bool], chained: bool) -> None:
    """Opens and closes arms by the keywords that begin a command: what `if` asks runs, its arms perhaps."""
    for word in words:
        if word == "if":
            branches.append(False)
        elif word == "case":
            branches.append(True)
        elif word in ("then", "else", "elif") and branches:
            branches[-1] = True
        elif word == "{":
            branches.append(chained)
        elif word in ("fi", "esac", "}") and branches:
            branches.pop()
        if word not in _KEYWORDS:
            return


def _forgives(behind: list[str]) -> bool:
    """Whether what stands behind `||` succeeds, and nothing is made to depend on it."""
    sign = next(token for token in behind if set(token) <= _SIGNS)
    return (behind[0] in _FORGIVING or behind[:2] == ["exit", "0"]) and "&&" not in sign


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines joined where one ends in a backslash or within a quotation, with the number of the first."""
    held, first = "", 0
    for number, row in enumerate(text.split("\n"), 1):
        first = first if held else number
        held += row
        if held.endswith("\\"):
            held = held[:-1] + " "
        elif len(held) < _LONGEST_LINE and _tokens(held) is None and number - first < 40:
            held += "\n"
        else:
            if held.strip():
                yield first, held
            held = ""
    if held.strip():
        yield first, held


def _tokens(row: str) -> list[str] | None:
    if len(row) > _LONGEST_LINE:
        return None
    row = _EXPRESSION.sub("$EXPRESSION", row)
    if "go test" in row or "gotestsum" in row:
        row = _LISTED.sub(lambda found: f"{found.group(1)} {'-run filtered' if found.group(2) else ''}", row)
    row = _TO_HANDLE.sub(" ", _ARITHMETIC.sub("$SUBSTITUTED", row))
    for _ in range(4):
        shorter = _SUBSTITUTED.sub("$SUBSTITUTED", row)
        if shorter == row:
            break
        row = shorter
    row = _ARRAY.sub(" ", row)
    lexer = shlex.shlex(row, posix=True, punctuation_chars=";&|()")
    lexer.whitespace_split = True
    lexer.commenters = "" if "#" in row and not re.search(r"(?:^|\s)#", row) else "#"
    try:
        return list(lexer)
    except ValueError:
        return None


def _simple(words: list[str], known: dict[str, str]) -> list[str]:
    """The words of a command without keywords, assignments (which are remembered) and redirections."""
    found: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
            continue
        if re.fullmatch(r"\d?(?:>>?|<|>&)\d?", word):
            skip = word[-1] in "<>"
            continue
        if not found and word in _KEYWORDS:
            continue
        assigned = _ASSIGNED.match(word) if not found or found == ["export"] else None
        if assigned:
            known[assigned.group(1)] = _expanded(assigned.group(2), known)
        else:
            found.append(_expanded(word, known))
    if found[:1] == ["export"]:
        return []
    return [piece for word in found[:1] for piece in word.split()] + found[1:]


def _expanded(word: str, known: Mapping[str, str]) -> str:
    return _VARIABLE.sub(
        lambda found: known.get(next(name for name in found.groups() if name), found.group(0)), word
    )


def _within(folder: str, moved: str) -> str:
    """Where `cd` leads: "" is the root of the repository, "?" a folder that is not known."""
    moved = re.sub(
        r"^\$\{?(?:GITHUB_WORKSPACE|CI_PROJECT_DIR|TRAVIS_BUILD_DIR|CIRRUS_WORKING_DIR|WORKSPACE)\}?/?",
        "./",
        moved,
    )
    if moved.startswith(("/", "~", "-")) or "$" in moved or "?" in moved or folder == "?":
        return "?"
    joined = posixpath.normpath(posixpath.join(folder or ".", moved))
    return "?" if joined.startswith("..") else "" if joined == "." else joined
