"""YAML as data with the line of every path in it, read so that a plan cannot surprise anybody.

YAML 1.2's core schema: `on`, `yes`, `no` and `12:30` are strings, as everybody means them; only `true` and
`false` are booleans. No tags beyond the core, no key twice, aliases counted so that a few lines cannot
unfold into gigabytes (the "billion laughs").
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from refute.plan.defect import Defect

MAX_BYTES = 512 * 1024
MAX_NODES = 50_000
MAX_DEPTH = 40

Path = tuple[str | int, ...]

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _CoreLoader(_Base):  # type: ignore[misc]
    """Scalars by YAML 1.2's core schema (https://yaml.org/spec/1.2.2/#103-core-schema)."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's own way to configure a loader


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", list("-+.")),
    ("merge", r"<<", ["<"]),
):
    _CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), _first)


@dataclass
class YamlText:
    """What a piece of YAML holds: data, the line of each path (from 1, in the file), and what was wrong."""

    data: Any = None
    lines: dict[Path, int] = field(default_factory=dict)
    defects: list[Defect] = field(default_factory=list)

    def line_of(self, path: tuple[Any, ...], otherwise: int = 0) -> int:
        """The line of the longest known part of a path; parts that are not in the data are skipped."""
        found = self.lines.get((), otherwise)
        here: Path = ()
        for part in path:
            if (*here, part) in self.lines:
                here = (*here, part)
                found = self.lines[here]
        return found


def read_yaml(text: str, *, line: int, section: str) -> YamlText:
    """Reads one YAML document whose first line is `line` of the file. Never raises: see `defects`."""
    result = YamlText(lines={(): line})
    if len(text) > MAX_BYTES:
        result.defects.append(
            Defect("yaml-too-large", line, section, f"a yaml block of {len(text):,} characters", "split it")
        )
        return result
    try:
        node = yaml.compose(text, Loader=_CoreLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = line + (mark.line if mark else 0)
        what = " ".join(part for part in (error.problem, error.context) if part)
        result.defects.append(Defect("bad-yaml", at, section, f"not readable as YAML: {what}", _hint(what)))
        return result
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        result.defects.append(Defect("bad-yaml", line, section, f"not readable as YAML: {first}"))
        return result
    if node is not None:
        reader = _Reader(result, line, section)
        result.data = reader.read(node, (), 0)
    return result


def _hint(problem: str) -> str:
    if "mapping values are not allowed" in problem:
        return "a value that holds ': ' needs quotes"
    if "found character '\\t'" in problem or "cannot start any token" in problem:
        return "indent with spaces, and quote values that start with @, ` or %"
    if "expected a single document" in problem or "document" in problem:
        return "one block holds one document: put the second one into a block of its own"
    return "mind indentation, quotes and brackets"


class _Reader:
    """Turns one composed node tree into data, noting lines and refusing what is not wanted."""

    def __init__(self, result: YamlText, line: int, section: str) -> None:
        self.result, self.line, self.section = result, line, section
        self.count = 0
        self.full = False

    def defect(self, rule: str, node: Any, what: str, mend: str = "") -> None:
        self.result.defects.append(Defect(rule, self.line + node.start_mark.line, self.section, what, mend))

    def read(self, node: Any, path: Path, depth: int) -> Any:
        self.count += 1
        if self.full or self.count > MAX_NODES or depth > MAX_DEPTH:
            if not self.full:
                self.full = True
                self.defect(
                    "yaml-too-large",
                    node,
                    "the aliases or the nesting of this yaml unfold too far",
                    "write it out",
                )
            return None
        self.result.lines.setdefault(path, self.line + node.start_mark.line)
        if isinstance(node, yaml.MappingNode) and self._plain(node, "map"):
            return self._mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode) and self._plain(node, "seq"):
            return [self.read(item, (*path, place), depth + 1) for place, item in enumerate(node.value)]
        return self._scalar(node)

    def _plain(self, node: Any, kind: str) -> bool:
        return bool(node.tag == f"tag:yaml.org,2002:{kind}")

    def _mapping(self, node: Any, path: Path, depth: int) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                items = value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
                for item in items:
                    read = self.read(item, path, depth + 1)
                    if isinstance(read, dict):
                        merged = read | merged
                    else:
                        self.defect("bad-yaml", key_node, "<< merges a mapping, and this is none")
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                self.defect("bad-yaml", key_node, "a key must be a plain word", "quote it")
                continue
            key = str(key_node.value)
            if key in own:
                self.defect(
                    "duplicate-key", key_node, f"the key {key!r} stands here twice", "keep one of them"
                )
                continue
            here = (*path, key)
            self.result.lines[here] = self.line + key_node.start_mark.line
            own[key] = self.read(value_node, here, depth + 1)
        return merged | own

    def _scalar(self, node: Any) -> Any:
        kind, _, value = node.tag.rpartition(":")[2], None, node.value
        if not node.tag.startswith("tag:yaml.org,2002:") or not isinstance(node, yaml.ScalarNode):
            self.defect(
                "bad-yaml", node, f"the tag {node.tag!r} is not allowed in a plan", "leave the tag out"
            )
            return None
        if kind == "null":
            return None
        if kind == "bool":
            return value.lower() == "true"
        try:
            if kind == "int":
                return int(value, 0) if value[:2] in ("0o", "0x") else int(value)
            if kind == "float":
                return float(value.replace(".inf", "inf").replace(".Inf", "inf").replace(".nan", "nan"))
        except ValueError:
            return str(value)
        if kind in ("str", "merge"):
            return str(value)
        self.defect("bad-yaml", node, f"the tag !!{kind} is not allowed in a plan", "leave the tag out")
        return None
