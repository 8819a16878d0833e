"""Names the version of the readers by their own text: a remembered fact is never another reader's."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib import metadata
from pathlib import Path

_READERS = (
    "coded_defaults", "comment_lines", "comments", "defaults", "definitions", "descriptions", "facts",
    "file_kinds", "html_text", "joined_sentences", "lexicon", "marks", "messages", "prose", "sentences",
    "sieve", "statement", "statements", "syntax", "telling_code", "test_cases", "weighing",
)  # fmt: skip


@lru_cache(maxsize=1)
def readers_version() -> str:
    """What facts of a file depend on besides its content: our readers, and the parser."""
    return _digest(sorted(Path(__file__).with_name(f"{name}.py") for name in _READERS))


@lru_cache(maxsize=1)
def room_version() -> str:
    """What a whole answer depends on besides the snapshot: everything in this room."""
    folder = Path(__file__).parent
    return _digest(sorted([*folder.glob("*.py"), *folder.glob("*.json")]))


def _digest(files: list[Path]) -> str:
    found = hashlib.sha256(metadata.version("tree-sitter").encode())
    for file in files:
        found.update(file.read_bytes())
    return found.hexdigest()[:16]
