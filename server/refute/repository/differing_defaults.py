"""Finds settings whose default is one thing where it is written down and another where it is set."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from refute.repository.defaults import NamedDefault, agree, is_of_another_version, words_of_name
from refute.repository.facts import FileFacts
from refute.repository.file_kinds import role_of
from refute.repository.models import Contradiction, Place
from refute.repository.source_file import SourceFile

_DOCUMENTS = frozenset({"entry", "document", "reference"})
# a file that uses settings, and does not say what they are unless set
_USES = re.compile(
    r"test|bench|perf|example|sample|demo|game|stress|\.config\.\w+$|(^|/)(?:config|settings)\.exs$", re.I
)
_SETTINGS = re.compile(r"default|config|option|setting|propert|param", re.I)
_LEAST_WORDS, _ENOUGH_WORDS = 2, 3

_Found = tuple[str, NamedDefault]


def differing_defaults(files: Sequence[tuple[SourceFile, FileFacts]]) -> Iterator[Contradiction]:
    """Comments that say another default than the code that they stand at, documents that say another.

    Of documents, a setting counts that is documented in one place and initialised in one file: a name that
    stands in several is another setting in each. Linear in the number of defaults.
    """
    documented: dict[tuple[str, ...], list[_Found]] = defaultdict(list)
    coded: dict[tuple[str, ...], list[_Found]] = defaultdict(list)
    for file, facts in files:
        role = role_of(file.path)
        if role in _DOCUMENTS and not is_of_another_version(file.path):
            for row in facts.defaults:
                if row.name.isupper():  # a status, an answer, a variable of the environment
                    continue
                documented[words_of_name(row.name)].append((file.path, row))
        elif role == "code" and not _USES.search(file.path):
            yield from _in_one_file(file.path, facts)
            for row in facts.defaults:
                is_flag = row.value in ("true", "false")  # which begins as false
                if row.value and (_is_a_default(file.path, row) or not is_flag):
                    coded[words_of_name(row.name)].append((file.path, row))
    for words, places in documented.items():
        if len(places) != 1 or len(words) < _LEAST_WORDS:
            continue
        path, row = places[0]
        set_in = [one for one in coded.get(words, ()) if _is_named_alike(row, one[1], len(words))]
        if not set_in or len({where for where, _ in set_in}) > 1 or len({one.value for _, one in set_in}) > 1:
            continue
        where, one = set_in[0]
        if _is_a_default(where, one) and not agree((row.value, row.has_unit), (one.value, one.has_unit)):
            yield _made(path, row, where, one)


def _is_a_default(path: str, row: NamedDefault) -> bool:
    """Whether the code speaks of settings here: elsewhere a name is a variable, a field or an argument."""
    return row.is_fallback or bool(_SETTINGS.search(path))


def _in_one_file(path: str, facts: FileFacts) -> Iterator[Contradiction]:
    """A comment against the line that it stands at, or against what the same file falls back to."""
    within = [range(row.line, row.end_line + 1) for row in facts.definitions if "default" in row.name.lower()]
    fallbacks: dict[tuple[str, ...], list[NamedDefault]] = defaultdict(list)
    for row in facts.defaults:
        if row.value and (row.is_fallback or any(row.line in lines for lines in within)):
            fallbacks[words_of_name(row.name)].append(row)
    declared = Counter(words_of_name(row.name) for row in facts.defaults if row.stated and not row.value)
    for row in facts.defaults:
        if not row.stated:
            continue
        if row.value:
            if not agree((row.stated, row.stated_has_unit), (row.value, row.has_unit)):
                yield _commented(path, row, row)
            continue
        words = words_of_name(row.name)
        values = fallbacks.get(words, [])
        if declared[words] > 1 or len({one.value for one in values}) != 1:  # several things of one name
            continue
        if not agree((row.stated, row.stated_has_unit), (values[0].value, values[0].has_unit)):
            yield _commented(path, row, values[0])


def _is_named_alike(said: NamedDefault, coded: NamedDefault, words: int) -> bool:
    """`DEFAULT_SIZE` may be of any `size`; with three words, or the very name, it is the setting."""
    names = [re.sub(r"[\W_]", "", row.name.rsplit(".", 1)[-1]).lower() for row in (said, coded)]
    return names[0] == names[1] or (words >= _ENOUGH_WORDS and names[0] == names[1].replace("default", "", 1))


def _commented(path: str, row: NamedDefault, coded: NamedDefault) -> Contradiction:
    where = "the line below it" if coded is row else f"{coded.name} in the same file"
    return Contradiction(
        kind="default differs",
        note=f"The comment on {row.name} states another default than {where} sets.",
        a=Place(path=path, line=row.stated_line, end_line=row.stated_line),
        a_quote=row.stated_shown,
        b=Place(path=path, line=coded.line, end_line=coded.line),
        b_quote=coded.shown,
        confidence=0.85,
    )


def _made(path: str, row: NamedDefault, where: str, coded: NamedDefault) -> Contradiction:
    return Contradiction(
        kind="default differs",
        note=f"The document gives {row.name} another default than the code.",
        a=Place(path=path, line=row.line, end_line=row.line),
        a_quote=row.shown,
        b=Place(path=where, line=coded.line, end_line=coded.line),
        b_quote=coded.shown,
        confidence=0.8,
    )
