"""A quote is the text of the cited lines, whatever bytes stand around it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from refute.repository.claims import extract_claims
from refute.repository.mirror import open_repository
from tests.repository.repositories import commit_files

SENTENCES = (
    "An acknowledged write is never lost, even if the leader crashes before the next sync.",
    "A message must be redelivered unless the consumer acknowledges it within 30 seconds.",
    "At most one leader is elected in a term, as long as a quorum of the members is connected.",
)
ODD = {
    "carriage returns": "\r\n\r\n".join(SENTENCES).encode(),
    "byte order mark": b"\xef\xbb\xbf" + "\n\n".join(SENTENCES).encode(),
    "tabs": "\n\n".join(f"-\t{text.replace(' ', chr(9), 2)}" for text in SENTENCES).encode(),
    "form feeds": "\n\x0c\n".join(SENTENCES).encode(),
    "line separators": "\n\n".join(text.replace(", ", ",\u2028", 1) for text in SENTENCES).encode(),
    "next line": "\n\n".join(text.replace(", ", ",\u0085", 1) for text in SENTENCES).encode(),
    "invalid bytes": b"caf\xe9 \xff\n\n" + "\n\n".join(SENTENCES).encode() + b"\n\xc3\x28\n",
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("path", ["README.md", "docs/guide.txt", "store.go"])
def test_a_quote_is_the_text_that_git_shows_at_its_citation(tmp_path: Path, odd: str, path: str) -> None:
    data = ODD[odd]
    if path.endswith(".go"):
        data = b"package store\n\n" + b"\n".join(b"// " + line for line in data.split(b"\n")) + b"\nfunc Put() {}\n"  # fmt: skip
    folder = commit_files(tmp_path / "product", {path: data})
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        claims = extract_claims(snapshot).claims
    shown = subprocess.run(
        ["git", "show", f"HEAD:{path}"], cwd=folder, capture_output=True, check=True
    ).stdout
    lines = [line.decode("utf-8", "replace").removesuffix("\r") for line in shown.split(b"\n")]
    assert claims
    for claim in claims:
        assert claim.quote == "\n".join(lines[claim.line - 1 : claim.end_line])
        assert {"never", "redelivered", "leader"} & set(claim.quote.replace("\t", " ").split())
