"""Templates of requests: strings with placeholders such as `{key}` and `{value|json|base64}`."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from refute.workload.error import WorkloadError

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)((?:\.[\w-]+)*)(\?)?((?:\|\w+)*)\}")

Render = Callable[[Mapping[str, Any]], Any]


def text(value: Any) -> str:
    """A value as it stands inside a longer string: text as it is, everything else as compact JSON."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _integer(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise WorkloadError(f"{value!r} is not a whole number, as the filter int needs it") from None


FILTERS: Mapping[str, Callable[[Any], Any]] = {
    "json": lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False),
    "base64": lambda value: base64.b64encode(text(value).encode()).decode(),
    "url": lambda value: quote(text(value), safe=""),
    "text": text,
    "int": _integer,
}


@dataclass(frozen=True, slots=True)
class _Placeholder:
    written: str
    root: str
    path: tuple[str, ...]
    optional: bool
    filters: tuple[Callable[[Any], Any], ...]
    nullable: bool = True

    def value(self, values: Mapping[str, Any]) -> Any:
        found = values.get(self.root)
        for step in self.path:
            if isinstance(found, Mapping) and step in found:
                found = found[step]
            elif isinstance(found, list | tuple) and step.isdigit() and int(step) < len(found):
                found = found[int(step)]
            elif self.optional:
                return None
            else:
                raise WorkloadError(
                    f"{self.written} has no value in this operation",
                    hint=f"write {self.written[:-1]}?}} where it may be missing",
                )
        if found is None and self.optional:
            return None
        if found is None and not self.nullable:  # else everything without a key is about the key "null"
            raise WorkloadError(f"{self.written} is null in this operation, and stands in a path")
        for apply in self.filters:
            found = apply(found)
        return found


def compile_text(written: str, roots: Collection[str], *, where: str, quoted: bool = False) -> Render:
    """A function that fills in the placeholders of one string.

    A string that is one placeholder and nothing else gives the value with its JSON type. `quoted`
    percent-encodes every placeholder that has no filter of its own, as a path of a URL needs it.
    `{name?}` is null, and nothing inside a longer string, where the value is missing. Braces around
    anything but a name are left alone. Raises WorkloadError for an unknown name or filter.
    """
    parts: list[str | _Placeholder] = []
    end = 0
    for match in _PLACEHOLDER.finditer(written):
        if match.start() > end:
            parts.append(written[end : match.start()])
        parts.append(_placeholder(match, roots, where, quoted))
        end = match.end()
    if end < len(written) or not parts:
        parts.append(written[end:])
    if len(parts) == 1:
        only = parts[0]
        return only.value if isinstance(only, _Placeholder) else lambda _values: written

    def render(values: Mapping[str, Any]) -> str:
        filled: list[str] = []
        for part in parts:
            if isinstance(part, str):
                filled.append(part)
                continue
            value = part.value(values)
            filled.append("" if value is None and part.optional else text(value))
        return "".join(filled)

    return render


def compile_tree(written: Any, roots: Collection[str], *, where: str) -> Render:
    """A function that fills in a whole JSON value: every string in it, the keys of mappings included."""
    if isinstance(written, str):
        return compile_text(written, roots, where=where)
    if isinstance(written, Mapping):
        pairs = [
            (
                compile_text(str(key), roots, where=f"{where}.{key}"),
                compile_tree(value, roots, where=f"{where}.{key}"),
            )
            for key, value in written.items()
        ]
        return lambda values: {text(key(values)): value(values) for key, value in pairs}
    if isinstance(written, list | tuple):
        items = [compile_tree(value, roots, where=f"{where}[{place}]") for place, value in enumerate(written)]
        return lambda values: [item(values) for item in items]
    return lambda _values: written


def _placeholder(match: re.Match[str], roots: Collection[str], where: str, quoted: bool) -> _Placeholder:
    root, path, optional, filters = match.groups()
    if root not in roots:
        known = ", ".join(f"{{{name}}}" for name in sorted(roots))
        raise WorkloadError(f"there is no {match[0]} to fill in", where=where, hint=f"there are: {known}")
    names = filters.split("|")[1:]
    for name in names:
        if name not in FILTERS:
            raise WorkloadError(
                f"{match[0]} has an unknown filter {name!r}",
                where=where,
                hint=f"filters: {', '.join(FILTERS)}",
            )
    bare = quoted and not names
    if bare:
        names = ["url"]
    return _Placeholder(
        match[0],
        root,
        tuple(path.split(".")[1:]),
        optional is not None,
        tuple(FILTERS[name] for name in names),
        nullable=not bare,
    )
