"""Reads YAML as mappings, lists and texts that know their lines; only nodes are made, never objects."""

from __future__ import annotations

from typing import Any

import yaml

_MOST_CHARACTERS, _MOST_NODES, _DEEPEST = 400_000, 40_000, 40
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Text(str):
    """A scalar as it stands, with its line."""

    __slots__ = ("line",)
    line: int

    @classmethod
    def at(cls, text: str, line: int) -> Text:
        """The text of that line."""
        made = cls(text)
        made.line = line
        return made


class UnreadableYamlError(Exception):
    """It is no YAML, or too much of it."""


def read_yaml(text: str) -> Any:
    """Dictionaries (keys in order), lists and `Text`. Raises UnreadableYamlError; linear."""
    deep = text.count("[[[[") + text.count("{{{{") + text.count("- - - -")
    if len(text) > _MOST_CHARACTERS or deep:
        raise UnreadableYamlError
    try:
        node = yaml.compose(text, Loader=_LOADER)
        return _plain(node, [0], 0)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UnreadableYamlError from error


def _plain(node: Any, made: list[int], depth: int) -> Any:
    """An alias stands for its node each time: nodes are counted, so that few lines cannot become many."""
    made[0] += 1
    if made[0] > _MOST_NODES or depth > _DEEPEST:
        raise UnreadableYamlError
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Any] = {}
        for key, value in node.value:
            read = _plain(value, made, depth + 1)
            if isinstance(key, yaml.ScalarNode) and key.value == "<<" and isinstance(read, dict):
                found = {**read, **found}
            elif isinstance(key, yaml.ScalarNode):
                found[key.value] = read
        return found
    if isinstance(node, yaml.SequenceNode):
        return [_plain(value, made, depth + 1) for value in node.value]
    if isinstance(node, yaml.ScalarNode):
        block = node.style in ("|", ">")
        return Text.at(node.value, node.start_mark.line + (2 if block else 1))
    return Text.at("", 1)
