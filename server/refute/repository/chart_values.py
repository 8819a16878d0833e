"""Finds values of a Helm chart that the README beside them states otherwise.

A README names a value by its path (`sidecar.replicas`), so that no other setting can be meant: this is the
surest comparison of a document with what is deployed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import yaml

from refute.repository.defaults import NamedDefault, agree, plain_value
from refute.repository.facts import FileFacts
from refute.repository.file_kinds import PROSE
from refute.repository.models import Contradiction, Place
from refute.repository.snapshot import RepositorySnapshot
from refute.repository.source_file import SourceFile

_MOST_BYTES = 400_000
_DEEPEST = 12
_NAMES = ("values.yaml", "values.yml")

_Value = tuple[str, int]  # as it stands, and its line


def differing_chart_values(
    snapshot: RepositorySnapshot, files: Sequence[tuple[SourceFile, FileFacts]]
) -> Iterator[Contradiction]:
    """Defaults in the README of a chart that are others in its values; linear in the size of both."""
    documented = [
        (_folder(file.path), file.path, row)
        for file, facts in files
        if facts.language in PROSE and _name(file.path).lower().startswith("readme")
        for row in facts.defaults
    ]
    folders = {folder for folder, _, _ in documented}
    wanted = [
        file
        for file, _ in files
        if _name(file.path) in _NAMES
        and file.size <= _MOST_BYTES
        and any(_folder(file.path).startswith(folder) for folder in folders)
    ]
    values = {
        _folder(file.path): (file.path, data.decode("utf-8", "replace"))
        for file, data in snapshot.contents(wanted)
    }
    read: dict[str, dict[str, _Value]] = {}
    for folder, path, row in documented:
        for of_chart, name in _places(folder, row.name):
            if of_chart not in values:
                continue
            if of_chart not in read:
                read[of_chart] = values_in(values[of_chart][1])
            if name in read[of_chart]:
                yield from _compared(path, row, *values[of_chart], *read[of_chart][name])
                break


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _folder(path: str) -> str:
    return path[: path.rfind("/") + 1]


def _places(folder: str, name: str) -> Iterator[tuple[str, str]]:
    """Where a value may stand: in the chart, which rules, or in the one within it that is named first."""
    yield folder, name
    part, _, rest = name.partition(".")
    if rest:
        yield f"{folder}charts/{part}/", rest


def values_in(text: str) -> dict[str, _Value]:
    """The plain values of a YAML mapping by their dotted path; empty where it cannot be read.

    Only nodes are made, never objects.
    """
    try:
        root = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError, ValueError):
        return {}
    found: dict[str, _Value] = {}
    held: list[tuple[str, yaml.Node | None, int]] = [("", root, 0)]
    while held:
        prefix, node, depth = held.pop()
        if not isinstance(node, yaml.MappingNode) or depth >= _DEEPEST:
            continue
        for key, value in node.value:
            name = f"{prefix}{getattr(key, 'value', '')}"
            if isinstance(value, yaml.ScalarNode):
                found[name] = (value.value, value.start_mark.line + 1)
            elif value.start_mark.index >= key.end_mark.index:  # an alias repeats what stands elsewhere
                held.append((f"{name}.", value, depth + 1))
    return found


def _compared(
    path: str, row: NamedDefault, where: str, text: str, shown: str, line: int
) -> Iterator[Contradiction]:
    value = plain_value(shown)
    if value is None or agree((row.value, row.has_unit), value):
        return
    yield Contradiction(
        kind="default differs",
        note=f"The README gives {row.name} another default than the values of the chart.",
        a=Place(path=path, line=row.line, end_line=row.line),
        a_quote=row.shown,
        b=Place(path=where, line=line, end_line=line),
        b_quote=text.split("\n")[line - 1].strip()[:300],
        confidence=0.9,
    )
