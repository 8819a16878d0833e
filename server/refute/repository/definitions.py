"""Which nodes of a grammar define something that a person can name, and what each is called."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from typing import Any

# Node types that define something a person can name, and their kind.
DEFINITIONS: dict[str, dict[str, str]] = {
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
               "property_declaration": "field", "class_parameter": "field", "enum_entry": "constant",
               "secondary_constructor": "method", "type_alias": "type"},
    "scala": {"function_definition": "function", "class_definition": "type", "object_definition": "type",
              "trait_definition": "type", "val_definition": "field", "function_declaration": "method",
              "val_declaration": "field", "var_definition": "field", "var_declaration": "field",
              "class_parameter": "field", "enum_definition": "type", "simple_enum_case": "constant",
              "full_enum_case": "constant", "type_definition": "type", "given_definition": "field"},
    "c": {"function_definition": "function", "struct_specifier": "type", "field_declaration": "field",
          "enum_specifier": "type", "preproc_def": "constant", "enumerator": "constant", "declaration": "variable"},
    "cpp": {"function_definition": "function", "struct_specifier": "type", "class_specifier": "type",
            "field_declaration": "field", "enum_specifier": "type", "namespace_definition": "module",
            "preproc_def": "constant", "enumerator": "constant"},
    "c_sharp": {"method_declaration": "method", "class_declaration": "type", "interface_declaration": "type",
                "struct_declaration": "type", "property_declaration": "field", "record_declaration": "type",
                "constructor_declaration": "method", "enum_declaration": "type", "field_declaration": "field",
                "enum_member_declaration": "constant", "event_field_declaration": "field",
                "event_declaration": "field", "delegate_declaration": "type", "indexer_declaration": "method",
                "operator_declaration": "method"},
    "javascript": {"function_declaration": "function", "class_declaration": "type", "method_definition": "method",
                   "field_definition": "field"},
    "typescript": {"function_declaration": "function", "class_declaration": "type", "method_definition": "method",
                   "interface_declaration": "type", "type_alias_declaration": "type", "property_signature": "field",
                   "public_field_definition": "field", "method_signature": "method", "enum_declaration": "type",
                   "abstract_class_declaration": "type"},
    "ruby": {"method": "method", "class": "type", "module": "module", "singleton_method": "method",
             "assignment": "constant", "call": "field"},
    "php": {"function_definition": "function", "method_declaration": "method", "class_declaration": "type",
            "interface_declaration": "type", "trait_declaration": "type", "property_declaration": "field",
            "const_declaration": "constant", "enum_declaration": "type", "enum_case": "constant",
            "property_promotion_parameter": "field"},
    "elixir": {"call": "call"},
    "swift": {"function_declaration": "function", "class_declaration": "type", "protocol_declaration": "type",
              "property_declaration": "field", "init_declaration": "method", "deinit_declaration": "method",
              "subscript_declaration": "method", "enum_entry": "constant", "typealias_declaration": "type",
              "protocol_function_declaration": "method", "protocol_property_declaration": "field",
              "associatedtype_declaration": "type"},
    "zig": {"function_declaration": "function", "variable_declaration": "variable", "container_field": "field",
            "identifier": "constant"},
}  # fmt: skip
DEFINITIONS["tsx"] = DEFINITIONS["typescript"]
# what only looks like one of these where it stands alone: a local variable is no field, an identifier no error
_ONLY_WITHIN: dict[tuple[str, str], frozenset[str]] = {
    ("kotlin", "property_declaration"): frozenset({"source_file", "class_body", "enum_class_body"}),
    ("swift", "property_declaration"): frozenset({"source_file", "class_body", "enum_class_body", "protocol_body"}),
    ("zig", "variable_declaration"): frozenset({"source_file", "struct_declaration", "enum_declaration", "union_declaration", "opaque_declaration"}),
    ("zig", "identifier"): frozenset({"error_set_declaration"}),
    **{("scala", f"{kind}_{how}"): frozenset({"compilation_unit", "template_body", "with_template_body", "enum_body", "package_clause"})
       for kind in ("val", "var") for how in ("definition", "declaration")},
}  # fmt: skip
# where a node of that type defines something: it would be asked of each call of a file else
QUERIES = {
    ("zig", "identifier"): "(error_set_declaration (identifier) @definition)",
    ("ruby", "call"): "(body_statement (call) @definition)",
    ("ruby", "assignment"): "(assignment left: (constant)) @definition",
}
# what has no name of its own
_UNNAMED = {"secondary_constructor": "constructor", "init_declaration": "init", "deinit_declaration": "deinit",
            "subscript_declaration": "subscript", "indexer_declaration": "this[]"}  # fmt: skip
_ZIG_TYPES = frozenset({"struct_declaration", "enum_declaration", "union_declaration", "opaque_declaration", "error_set_declaration"})  # fmt: skip
_ELIXIR_WORDS = frozenset({
    "def", "defp", "defmodule", "defmacro", "defmacrop", "defguard", "defguardp", "defprotocol", "defimpl", "defdelegate",
    "defcallback", "test", "describe", "property",
})  # fmt: skip
_ELIXIR_ATTRIBUTES = frozenset({"callback", "macrocallback", "type", "typep", "opaque"})
# calls in the body of a class that declare what their first argument names
_RUBY_WORDS = frozenset({
    "attr_reader", "attr_writer", "attr_accessor", "setting", "option", "scope", "define_method", "field", "property", "attribute",
    "class_attribute", "mattr_accessor", "cattr_accessor", "config_accessor", "alias_method", "delegate", "def_delegator",
})  # fmt: skip
_NAMES = re.compile(r"[A-Za-z_$][\w$]*")


def kind_of(node: Any, language: str) -> str:
    """What the node defines: function, method, type, field, constant, ..."""
    if language == "zig" and node.type == "variable_declaration":
        return "type" if any(child.type in _ZIG_TYPES for child in node.named_children) else "variable"
    return DEFINITIONS[language].get(node.type, "symbol")


def last_line_of(node: Any, language: str) -> int:
    """The line, counted from 1, on which the definition ends."""
    if (
        language == "scala"
    ):  # the grammar counts blank lines and comments up to the next definition as its own
        while inner := next((child for child in reversed(node.children) if "comment" not in child.type and child.end_byte > child.start_byte), None):  # fmt: skip
            node = inner
    return int(node.end_point[0]) + 1


def name_of(node: Any, language: str) -> str:
    """The name of what the node defines; empty where it defines nothing that a person can name."""
    within = _ONLY_WITHIN.get((language, node.type))
    if within is not None and (node.parent is None or node.parent.type not in within):
        return ""
    if language == "elixir":
        return _in_elixir(node)
    if language == "ruby" and node.type in ("assignment", "call"):
        return _in_ruby(node)
    if node.type in _UNNAMED:
        return _UNNAMED[node.type]
    named = _named_child(node, language)
    if named is None:
        return ""
    text = str(named.text[:200], "utf-8", "replace")
    if named.type in ("identifier", "type_identifier", "field_identifier", "property_identifier"):
        return text.strip("`")
    if language in ("c", "cpp"):
        text = text.split("(")[0]
        names = re.findall(r"[~A-Za-z_][\w:~]*", text)
        return names[-1] if names else ""
    if language == "c_sharp" and node.type == "operator_declaration":
        return f"operator {text}"
    first = _NAMES.search(text)
    return first.group().removeprefix("$") if first else ""


def _named_child(node: Any, language: str) -> Any:
    if node.type == "identifier":
        return node
    named = node.child_by_field_name("operator" if node.type == "operator_declaration" else "name")
    if named is not None and named.type == "pattern":  # Swift: `var lease`
        named = named.child_by_field_name("bound_identifier") or named
    if named is None and language == "rust" and node.type == "impl_item":
        named = node.child_by_field_name("type")
    if named is None and language in ("c", "cpp", "java", "c_sharp"):
        named = node.child_by_field_name("declarator")
    if named is None:
        held = (
            "variable_declaration",
            "variable_declarator",
            "property_element",
            "const_element",
            "type_identifier",
        )
        inner = next((child for child in node.named_children if child.type in held), None)
        if inner is not None and inner.named_children:
            return _named_child(inner, language)
    if named is None:
        named = next((child for child in node.named_children if child.type.endswith(("identifier", "variable_name")) or child.type == "name"), None)  # fmt: skip
    return named


def _in_elixir(node: Any) -> str:
    target = node.child_by_field_name("target")
    word = target.text.decode("utf-8", "replace") if target is not None else ""
    if len(node.children) < 2:
        return ""
    shown = str(node.children[1].text[:160], "utf-8", "replace").strip()
    if word in _ELIXIR_ATTRIBUTES and node.parent is not None and node.parent.type == "unary_operator":
        found = _NAMES.match(shown)
        return found.group() if found else ""
    if word not in _ELIXIR_WORDS:
        return ""
    return shown.split("(")[0].split(" do")[0].split(",")[0].strip("\"' ")[:100]


def _in_ruby(node: Any) -> str:
    if node.type == "assignment":
        left = node.child_by_field_name("left")
        return left.text.decode("utf-8", "replace") if left is not None and left.type == "constant" else ""
    method, given = node.child_by_field_name("method"), node.child_by_field_name("arguments")
    if method is None or given is None or node.child_by_field_name("receiver") is not None:
        return ""
    first = given.named_children[0] if given.named_children else None
    if method.text.decode("utf-8", "replace") not in _RUBY_WORDS or first is None:
        return ""
    return first.text.decode("utf-8", "replace").removeprefix(":") if first.type == "simple_symbol" else ""
