"""Reads a source file with its tree-sitter grammar: definitions, comments bound to them, doc strings."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import importlib
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_MODULES = {"tsx": ("tree_sitter_typescript", "language_tsx"), "typescript": ("tree_sitter_typescript", "language_typescript"),
            "php": ("tree_sitter_php", "language_php")}  # fmt: skip

# Node types that define something a person can name, and their kind.
_DEFINITIONS: dict[str, dict[str, str]] = {
    "go": {"function_declaration": "function", "method_declaration": "method", "type_spec": "type",
           "field_declaration": "field", "const_spec": "constant", "var_spec": "variable", "method_elem": "method"},
    "rust": {"function_item": "function", "struct_item": "type", "enum_item": "type", "trait_item": "type",
             "impl_item": "impl", "mod_item": "module", "field_declaration": "field", "const_item": "constant",
             "enum_variant": "constant", "function_signature_item": "method", "static_item": "constant"},
    "python": {"function_definition": "function", "class_definition": "type"},
    "java": {"method_declaration": "method", "class_declaration": "type", "interface_declaration": "type",
             "enum_declaration": "type", "field_declaration": "field", "constructor_declaration": "method",
             "enum_constant": "constant", "record_declaration": "type"},
    "kotlin": {"function_declaration": "function", "class_declaration": "type", "object_declaration": "type",
               "property_declaration": "field"},
    "scala": {"function_definition": "function", "class_definition": "type", "object_definition": "type",
              "trait_definition": "type", "val_definition": "field", "function_declaration": "method"},
    "c": {"function_definition": "function", "struct_specifier": "type", "field_declaration": "field",
          "enum_specifier": "type", "preproc_def": "constant", "enumerator": "constant", "declaration": "variable"},
    "cpp": {"function_definition": "function", "struct_specifier": "type", "class_specifier": "type",
            "field_declaration": "field", "enum_specifier": "type", "namespace_definition": "module",
            "preproc_def": "constant", "enumerator": "constant"},
    "c_sharp": {"method_declaration": "method", "class_declaration": "type", "interface_declaration": "type",
                "struct_declaration": "type", "property_declaration": "field", "record_declaration": "type",
                "constructor_declaration": "method", "enum_declaration": "type", "field_declaration": "field",
                "enum_member_declaration": "constant"},
    "javascript": {"function_declaration": "function", "class_declaration": "type", "method_definition": "method",
                   "field_definition": "field"},
    "typescript": {"function_declaration": "function", "class_declaration": "type", "method_definition": "method",
                   "interface_declaration": "type", "type_alias_declaration": "type", "property_signature": "field",
                   "public_field_definition": "field", "method_signature": "method", "enum_declaration": "type",
                   "abstract_class_declaration": "type"},
    "ruby": {"method": "method", "class": "type", "module": "module", "singleton_method": "method"},
    "php": {"function_definition": "function", "method_declaration": "method", "class_declaration": "type",
            "interface_declaration": "type", "trait_declaration": "type", "property_declaration": "field"},
    "elixir": {"call": "call"},
    "swift": {"function_declaration": "function", "class_declaration": "type", "protocol_declaration": "type",
              "property_declaration": "field"},
    "zig": {"function_declaration": "function", "variable_declaration": "variable", "container_field": "field"},
}  # fmt: skip
_DEFINITIONS["tsx"] = _DEFINITIONS["typescript"]
_COMMENTS = {
    "rust": ("line_comment", "block_comment"), "java": ("line_comment", "block_comment"),
    "kotlin": ("line_comment", "block_comment"), "scala": ("comment", "block_comment"),
    "swift": ("comment", "multiline_comment"),
}  # fmt: skip
_DOC_STRINGS = {
    "python": "(expression_statement (string) @doc)",
    "elixir": "(unary_operator (call (identifier) (arguments [(string) (sigil)] @doc)))",
}
_ELIXIR_WORDS = frozenset(
    {"def", "defp", "defmodule", "defmacro", "defprotocol", "defimpl", "defcallback", "test", "describe"}
)
_NAMES = re.compile(r"[A-Za-z_$][\w$]*")


@dataclass(frozen=True, slots=True)
class Definition:
    """Something with a name: where it stands, and the names around it (`Config.CheckQuorum`)."""

    name: str
    kind: str
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class CommentBlock:
    """Adjoining comment lines (or a doc string) and the symbol that they speak about."""

    line: int
    end_line: int
    symbol: str
    is_doc: bool


@dataclass(frozen=True, slots=True)
class Syntax:
    """What the grammar gave; `broken` where the file has syntax errors and was read all the same."""

    definitions: tuple[Definition, ...]
    comments: tuple[CommentBlock, ...]
    broken: bool


@lru_cache(maxsize=32)
def _machine(language: str) -> tuple[Any, Any]:
    import tree_sitter

    module, function = _MODULES.get(language, (f"tree_sitter_{language}", "language"))
    grammar = tree_sitter.Language(getattr(importlib.import_module(module), function)())
    parts = [f"({kind}) @comment" for kind in _COMMENTS.get(language, ("comment",))]
    for kind in _DEFINITIONS[language]:
        try:
            tree_sitter.Query(grammar, f"({kind}) @x")
        except tree_sitter.QueryError:
            continue
        parts.append(f"({kind}) @definition")
    parts += [_DOC_STRINGS[language]] if language in _DOC_STRINGS else []
    return tree_sitter.Parser(grammar), tree_sitter.Query(grammar, "\n".join(parts))


def read_syntax(data: bytes, language: str) -> Syntax:
    """Definitions and comments of one file; linear in its size. The language must have a grammar."""
    import tree_sitter

    parser, query = _machine(language)
    tree = parser.parse(data)
    found = tree_sitter.QueryCursor(query).captures(tree.root_node)
    kinds = _DEFINITIONS[language]
    definitions: list[tuple[int, int, str, str]] = []
    # captures come in no order that holds from one process to the next
    for node in sorted(found.get("definition", ()), key=lambda node: (node.start_byte, -node.end_byte)):
        name = _name_of(node, language)
        if name:
            definitions.append(
                (node.start_point[0] + 1, node.end_point[0] + 1, name, kinds.get(node.type, "symbol"))
            )
    definitions.sort(key=lambda row: (row[0], -row[1]))
    full = _qualified(definitions)
    spans = [_span(node) for node in found.get("comment", ())]
    docs = [_span(node) for node in found.get("doc", ())]
    blocks = [*_merged(sorted(spans), data, language), *((first, last, True) for first, last in docs)]
    starts = [row.line for row in full]
    bound = []
    for first, last, is_doc_string in sorted(set(blocks)):
        symbol, is_doc = _symbol_for(first, last, full, starts, is_doc_string)
        bound.append(CommentBlock(first, last, symbol, is_doc))
    return Syntax(tuple(full), tuple(bound), tree.root_node.has_error)


def _span(node: Any) -> tuple[int, int]:
    first, last = node.start_point[0] + 1, node.end_point[0] + 1
    return first, last - 1 if node.end_point[1] == 0 and last > first else last


def _merged(spans: list[tuple[int, int]], data: bytes, language: str) -> list[tuple[int, int, bool]]:
    """Line comments on adjoining lines are one comment, if nothing but the comment stands on the later line."""
    lines = data.split(b"\n")
    marks = (
        (b"#",)
        if language in ("python", "ruby", "elixir")
        else (b"#", b"//", b"/*")
        if language == "php"
        else (b"//", b"/*")
    )
    merged: list[list[int]] = []
    for first, last in spans:
        alone = lines[first - 1].lstrip().startswith(marks)
        if merged and first == merged[-1][1] + 1 and alone:
            merged[-1][1] = last
        elif not merged or first > merged[-1][1]:
            merged.append([first, last, int(alone)])
    return [(first, last, False) for first, last, _ in merged]


def _name_of(node: Any, language: str) -> str:
    if language == "elixir":
        target = node.child_by_field_name("target")
        word = target.text.decode("utf-8", "replace") if target is not None else ""
        if word not in _ELIXIR_WORDS or len(node.children) < 2:
            return ""
        shown = str(node.children[1].text[:160], "utf-8", "replace").strip()
        return shown.split("(")[0].split(" do")[0].split(",")[0].strip("\"' ")[:100]
    named = node.child_by_field_name("name")
    if named is None and language == "rust" and node.type == "impl_item":
        named = node.child_by_field_name("type")
    if named is None and language in ("c", "cpp", "java", "c_sharp"):
        named = node.child_by_field_name("declarator")
        if named is None and language == "c_sharp":
            named = next(
                (child for child in node.named_children if child.type == "variable_declaration"), None
            )
            named = named.named_children[-1] if named is not None and named.named_children else None
    if named is None:
        named = next((child for child in node.named_children if child.type.endswith("identifier")), None)
    if named is None:
        return ""
    text = str(named.text[:200], "utf-8", "replace")
    if named.type in ("identifier", "type_identifier", "field_identifier", "property_identifier"):
        return text
    if language in ("c", "cpp"):
        text = text.split("(")[0]
        names = re.findall(r"[~A-Za-z_][\w:~]*", text)
        return names[-1] if names else ""
    first = _NAMES.search(text)
    return first.group() if first else ""


def _qualified(rows: list[tuple[int, int, str, str]]) -> list[Definition]:
    around: list[tuple[int, str]] = []
    found: list[Definition] = []
    for first, last, name, kind in rows:
        while around and around[-1][0] < first:
            around.pop()
        whole = ".".join([*(outer for _, outer in around[-2:] if outer != name), name])
        found.append(Definition(whole, kind, first, last))
        if last > first and kind in ("type", "impl", "module", "function", "method", "call"):
            around.append((last, name))
    return found


def _symbol_for(
    first: int, last: int, definitions: list[Definition], starts: list[int], is_doc_string: bool
) -> tuple[str, bool]:
    at = bisect_right(starts, last)
    if not is_doc_string:
        if at < len(definitions) and definitions[at].line <= last + 3 and definitions[at].line > last:
            gap = definitions[at].line - last
            if gap <= 2 or definitions[at].kind in ("type", "function", "method"):
                return definitions[at].name, True
        if at and definitions[at - 1].line == first and definitions[at - 1].end_line == first:
            return definitions[at - 1].name, True
    for index in range(at - 1, max(-1, at - 400), -1):
        if definitions[index].end_line >= last and definitions[index].line <= first:
            return definitions[index].name, is_doc_string
    return "", is_doc_string
