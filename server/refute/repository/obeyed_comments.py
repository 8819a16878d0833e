"""Finds the comments that are more than words: a compiler, a generator, a framework or a fault injector obeys them."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re

from refute.repository.file_kinds import GRAMMARS

_OBEYED = re.compile(
    r"^\s*(?://(?:go:|export |extern |line |sys(?:nb)?[ \t])|//\s*\+[a-z]|//\s*(?:gofail:|swift-tools-version|@ts-|@jsx)|/\*\*?\s*@jsx|"
    r"#!|#cloud-config|#\s*(?:-\*-|frozen_string_literal|shareable_constant_value|warn_indent|cython:|distutils:|(?:en)?coding[:=]|(?:syntax|escape|check)=)|"
    # migrations, queries that are made from SQL, hints to a planner; annotations of PHP
    r"--\s*(?:\+\w|(?:name|migrate|atlas):|changeset\b|rollback\b|liquibase\b)|/\*(?:!\d|\+)|\*\s*@[A-Z]\w|"
    r"(?://|#|--|/\*).*\\\s*$)"  # joins the next line to itself
)
_TEMPLATE = re.compile(r"\{[{%]")
_PREAMBLE_OF_C = re.compile(r'^[ \t]*(?:import[ \t]+)?"C"[ \t]*(?:\r?$|//)', re.M)


def is_obeyed(line: str, language: str) -> bool:
    """Whether a line that looks like a comment is read by a program, or joins the next line to itself."""
    return bool(_OBEYED.search(line)) or (language not in GRAMMARS and bool(_TEMPLATE.search(line)))


def comments_are_code(text: str, language: str) -> bool:
    """Whether comments of this file may hold code: those above `import "C"` of Go are compiled."""
    return language == "go" and bool(_PREAMBLE_OF_C.search(text))
