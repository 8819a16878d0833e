"""Where claims come from besides documents and comments: code, schemas, interfaces, HTML, each language."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.repository.claims import extract_claims
from refute.repository.descriptions import descriptions_in, is_interface
from refute.repository.facts import read_facts
from refute.repository.html_text import html_paragraphs
from refute.repository.learned_category import category_in
from refute.repository.lexicon import CATEGORIES
from refute.repository.mirror import open_repository
from refute.repository.telling_code import RULES, telling_lines
from tests.repository.repositories import commit_files


@pytest.mark.parametrize(
    ("language", "line", "kind", "category"),
    [
        ("go", "if err := f.Sync(); err != nil {", "sync", "durability"),
        ("java", "channel.force(true);", "sync", "durability"),
        ("rust", "file.sync_all()?;", "sync", "durability"),
        ("c", "if (fsync(fd) == -1) goto err;", "sync", "durability"),
        ("python", "cursor.execute('SELECT id FROM jobs FOR UPDATE SKIP LOCKED')", "isolation", "isolation"),
        ("python", "channel.basic_ack(delivery_tag=tag)", "acknowledgement", "idempotency"),
        ("php", "$receiver->ack($envelope);", "acknowledgement", "idempotency"),
        ("ruby", "redis.call('SET', key, token, 'NX', 'PX', ttl)", "lock", "safety"),
        ("go", "if req.Term < r.currentTerm {", "fencing", "safety"),
        ("typescript", "const maxRetries = 5;", "retry", "idempotency"),
        ("sql", "  id uuid PRIMARY KEY,", "constraint", "idempotency"),
        ("sql", "  balance numeric CHECK (balance >= 0)", "constraint", "safety"),
    ],
)
def test_a_telling_line_of_code_has_a_kind_with_a_rule(
    language: str, line: str, kind: str, category: str
) -> None:
    found = list(telling_lines([line], language))
    assert [(row.kind, row.category, row.line) for row in found] == [(kind, category, 1)]
    assert RULES[kind]


@pytest.mark.parametrize(
    "code",
    [
        "try {\n    lease.renew();\n} catch (Exception e) {\n}\n",
        "try:\n    log.flush()\nexcept OSError:\n    pass\n",
        "begin\n  queue.ack(job)\nrescue => e\nend\n",
        "if err := tx.Commit(); err != nil {\n}\n",
    ],
)
def test_an_empty_handler_beside_something_delicate_fails_open(code: str) -> None:
    assert "fail-open" in {row.kind for row in telling_lines(code.split("\n"), "other")}


@pytest.mark.parametrize(
    "code",
    [
        "try {\n    window.close();\n} catch (Exception e) {\n}\n",
        "try {\n    lease.renew();\n} catch (Exception e) {\n    throw e;\n}\n",
        "// f.Sync() is not called here\n",
    ],
)
def test_a_harmless_or_loud_handler_does_not(code: str) -> None:
    assert list(telling_lines(code.split("\n"), "java")) == []


def test_a_claim_from_code_is_inferred_and_says_by_which_rule(tmp_path: Path) -> None:
    files = {
        "store/wal.go": "package store\n\nfunc Append(f *os.File) error {\n\tif err := f.Sync(); err != nil {\n\t\treturn err\n\t}\n\treturn nil\n}\n",
        "db/schema.sql": "CREATE TABLE job (\n  id uuid PRIMARY KEY,\n  attempts int CHECK (attempts >= 0)\n);\n",
    }
    folder = commit_files(tmp_path / "product", files)
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        found = {claim.path: claim for claim in extract_claims(snapshot).claims}
    synced = found["store/wal.go"]
    assert (synced.symbol, synced.category, synced.explicit) == ("Append", "durability", False)
    assert synced.rule == RULES["sync"]
    assert synced.quote == "\tif err := f.Sync(); err != nil {"
    assert found["db/schema.sql"].rule == RULES["constraint"]


OPENAPI_YAML = """openapi: 3.0.0
paths:
  /jobs:
    post:
      summary: Creates a job
      description: >
        A job with the same key is never created twice,
        unless the first one has expired.
"""
OPENAPI_JSON = """{
  "openapi": "3.0.0",
  "paths": {
    "/jobs": {
      "delete": {
        "description": "Deleted jobs are never redelivered.\\nAn acknowledged delete must survive a crash."
      }
    }
  }
}
"""


def test_descriptions_of_an_interface_are_read_with_their_lines(tmp_path: Path) -> None:
    assert is_interface(OPENAPI_YAML) and is_interface(OPENAPI_JSON)
    assert not is_interface("name: build\ndescription: a workflow\n")
    rows = list(descriptions_in(OPENAPI_YAML.split("\n"), "yaml"))
    assert [(row.symbol, row.lines[0][0], row.lines[-1][0]) for row in rows] == [
        ("post", 5, 5),
        ("post", 7, 8),
    ]
    folder = commit_files(
        tmp_path / "product", {"api/v1.yaml": OPENAPI_YAML, "api/openapi.json": OPENAPI_JSON}
    )
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        found = {(claim.path, claim.line) for claim in extract_claims(snapshot).claims}
    assert found == {("api/v1.yaml", 7), ("api/openapi.json", 6)}


def test_html_is_read_by_paragraph_without_code_and_scripts(tmp_path: Path) -> None:
    page = (
        "<html><head><title>never lost</title></head><body>\n<h1>Delivery</h1>\n"
        "<p>A message is <b>never</b> lost,\nunless the disk fails.</p>\n"
        "<pre>must never be read</pre><script>var neverLost = 1</script>\n"
        "<ul><li>Each acknowledged write must survive a crash.</li></ul></body></html>\n"
    )
    rows = html_paragraphs(page)
    assert [(row.lines[0][0], row.lines[-1][0], row.kind, row.headings) for row in rows] == [
        (3, 4, "text", ("Delivery",)),
        (6, 6, "item", ("Delivery",)),
    ]
    folder = commit_files(tmp_path / "product", {"docs/delivery.html": page})
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        assert {claim.line for claim in extract_claims(snapshot).claims} == {3, 6}


SAID = "An acknowledged write must never be lost, unless the disk fails."
IN_LANGUAGE = {
    "a.kt": f"class Store {{\n    /** {SAID} */\n    fun append(entry: Entry) {{\n    }}\n}}\n",
    "a.scala": f"class Store {{\n  /** {SAID} */\n  def append(entry: Entry): Unit = ()\n}}\n",
    "a.swift": f"struct Store {{\n    /// {SAID}\n    func append(entry: Entry) {{\n    }}\n}}\n",
    "a.zig": f"const Store = struct {{\n    /// {SAID}\n    pub fn append(entry: Entry) void {{\n    }}\n}};\n",
    "a.php": f"<?php\nclass Store {{\n    /** {SAID} */\n    public function append($entry) {{\n    }}\n}}\n",
    "a.ex": f'defmodule Store do\n  @doc """\n  {SAID}\n  """\n  def append(entry) do\n    :ok\n  end\nend\n',
    "a.rb": f"class Store\n  # {SAID}\n  def append(entry)\n  end\nend\n",
    "a.cs": f"class Store {{\n    /// <summary>{SAID}</summary>\n    public void Append(Entry entry) {{\n    }}\n}}\n",
    "a.java": f"class Store {{\n    /** {SAID} */\n    void append(Entry entry) {{\n    }}\n}}\n",
    "a.go": f"package store\n\n// {SAID}\nfunc Append(entry Entry) {{\n}}\n",
    "a.rs": f"/// {SAID}\npub fn append(entry: Entry) {{\n}}\n",
    "a.py": f'def append(entry):\n    """{SAID}"""\n',
    "a.ts": f"class Store {{\n  /** {SAID} */\n  append(entry: Entry): void {{\n  }}\n}}\n",
    "a.js": f"/** {SAID} */\nfunction append(entry) {{\n}}\n",
    "a.c": f"/* {SAID} */\nvoid append(struct entry *entry)\n{{\n}}\n",
    "a.cc": f"// {SAID}\nvoid append(const Entry& entry) {{\n}}\n",
}


@pytest.mark.parametrize("path", IN_LANGUAGE)
def test_a_comment_is_bound_to_its_symbol_in_every_language_with_a_grammar(path: str) -> None:
    facts = read_facts(f"src/{path}", IN_LANGUAGE[path].encode())
    assert facts.notes == ()
    claims = [row for row in facts.statements if row.channel in ("doc-comment", "code-comment")]
    assert [row.text for row in claims] == [SAID]
    assert claims[0].symbol.lower().rsplit(".", 1)[-1].startswith(("append", "store"))


def test_a_language_without_grammar_falls_back_to_comments_and_says_so() -> None:
    facts = read_facts("src/a.erl", f"%% {SAID}\nappend(Entry) -> ok.\n".encode())
    assert [row.text for row in facts.statements] == [SAID]
    assert facts.notes == ("no grammar",)


@pytest.mark.parametrize(
    ("said", "category"),
    [
        ("Only one leader may exist in a term, and a stale leader is fenced.", "safety"),
        ("Every acknowledged write is fsynced to disk and survives a power failure.", "durability"),
        (
            "A message may be redelivered, so handlers must be idempotent: duplicates are possible.",
            "idempotency",
        ),
        ("Learners do not vote until they are promoted to members of the cluster.", "membership"),
        ("Messages of a partition are always delivered in order, by increasing offset.", "ordering"),
    ],
)
def test_the_category_is_the_one_a_reader_would_choose(said: str, category: str) -> None:
    assert CATEGORIES[category_in(said, 0)[0]] == category


def test_what_says_nothing_keeps_the_category_that_it_came_with() -> None:
    assert category_in("x", 3) == (3, ())
