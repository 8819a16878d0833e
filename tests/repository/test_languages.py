"""What an expert of a language expects: the symbol that a comment speaks of, its sentence without markup, its tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.repository.claims import extract_claims
from refute.repository.facts import read_facts
from refute.repository.mirror import open_repository
from tests.repository.repositories import commit_files

SAID = "An acknowledged write must never be lost."


def symbol_of(path: str, text: str) -> str:
    """The symbol of the comment that holds `SAID`."""
    facts = read_facts(path, text.replace("SAID", SAID).encode())
    found = [row.symbol for row in facts.statements if SAID in row.text]
    assert len(found) == 1, facts.statements
    return found[0]


@pytest.mark.parametrize(
    ("path", "text", "symbol"),
    [
        (
            "a.kt",
            "class Config(\n    /** SAID */\n    val timeoutMillis: Long = 5,\n)\n",
            "Config.timeoutMillis",
        ),
        ("a.kt", "enum class Ack {\n    /** SAID */\n    ALL,\n    NONE\n}\n", "Ack.ALL"),
        (
            "a.kt",
            "class A {\n  companion object {\n    /** SAID */\n    const val MAX = 3\n  }\n}\n",
            "A.MAX",
        ),
        ("a.kt", "class A {\n    /** SAID */\n    constructor() : this(1)\n}\n", "A.constructor"),
        ("a.kt", "fun f() {\n    // SAID\n    val local = 1\n}\n", "f"),
        ("a.scala", "case class S(\n  // SAID\n  retries: Int = 5\n)\n", "S.retries"),
        ("a.scala", "trait P {\n  /** SAID */\n  val retries: Int\n}\n", "P.retries"),
        ("a.scala", "enum Ack:\n  /** SAID */\n  case All, None\n", "Ack.All"),
        (
            "a.scala",
            "class A {\n  def size: Int =\n    1\n\n  // SAID\n  def next: Int =\n    2\n}\n",
            "A.next",
        ),
        ("a.swift", "struct S {\n    /// SAID\n    init(x: Int) {}\n}\n", "S.init"),
        ("a.swift", "enum Ack {\n    /// SAID\n    case all\n}\n", "Ack.all"),
        ("a.swift", "protocol P {\n    /// SAID\n    func append(x: Int)\n}\n", "P.append"),
        ("a.swift", "protocol P {\n    /// SAID\n    var lease: Int { get }\n}\n", "P.lease"),
        ("a.cs", "class S {\n    /// SAID\n    public event EventHandler Lost;\n}\n", "S.Lost"),
        ("a.cs", "class S {\n    /// SAID\n    public T this[int i] => default;\n}\n", "S.this[]"),
        ("a.cs", "class S {\n    /// SAID\n    private int _lease = 3, _other;\n}\n", "S._lease"),
        ("a.cs", "/// SAID\npublic delegate void Handler(int x);\n", "Handler"),
        ("a.rb", "class Q\n  # SAID\n  MAX_RETRIES = 5\nend\n", "Q.MAX_RETRIES"),
        ("a.rb", "class Q\n  # SAID\n  attr_accessor :lease, :other\nend\n", "Q.lease"),
        ("a.rb", "class Q\n  # SAID\n  setting :max_wait, default: 5\nend\n", "Q.max_wait"),
        ("a.rb", "=begin\nSAID\n=end\ndef f; end\n", "f"),
        ("a.php", "<?php\nclass Q {\n    /** SAID */\n    public $tries = 3;\n}\n", "Q.tries"),
        ("a.php", "<?php\nclass Q {\n    /** SAID */\n    const MAX = 3;\n}\n", "Q.MAX"),
        ("a.php", "<?php\nenum Ack: string {\n    /** SAID */\n    case All = 'all';\n}\n", "Ack.All"),
        (
            "a.php",
            "<?php\ninterface I { /** Must be called first. */ public function f(); }\n/** SAID */\nfunction g() {}\n",
            "g",
        ),
        (
            "a.ex",
            'defmodule M do\n  @doc """\n  SAID\n  """\n  @spec f(t) :: :ok\n  def f(x), do: x\nend\n',
            "M.f",
        ),
        ("a.ex", 'defmodule M do\n  @doc "SAID"\n  @callback commit(t) :: :ok\nend\n', "M.commit"),
        ("a.ex", 'defmodule M do\n  @moduledoc """\n  SAID\n  """\n  def f(x), do: x\nend\n', "M"),
        ("a.ex", "defmodule M do\n  # SAID\n  defmacrop f(x) do\n  end\nend\n", "M.f"),
        ("a.zig", '//! SAID\nconst std = @import("std");\n', ""),
        ("a.rs", "//! SAID\nmod store;\n", ""),
        ("a.zig", "pub const Log = struct {\n    /// SAID\n    pub fn append() void {}\n};\n", "Log.append"),
        ("a.zig", "pub const Error = error{\n    /// SAID\n    Expired,\n};\n", "Error.Expired"),
        ("a.zig", "fn f() void {\n    // SAID\n    const local = 1;\n}\n", "f"),
        ("a.go", "func f() {\n\tg()\n\t// SAID\n}\n\nfunc g() {}\n", "f"),
    ],
)
def test_a_comment_is_bound_to_what_it_speaks_of(path: str, text: str, symbol: str) -> None:
    assert symbol_of(path, text) == symbol


@pytest.mark.parametrize(
    ("path", "text", "sentence"),
    [
        (
            "a.cs",
            '/// <remarks>Writes are lost when <paramref name="x"/> is &lt; 0 unless <see cref="T:A.Flush{T}"/> is set.</remarks>\nclass A {}\n',
            "Writes are lost when x is < 0 unless Flush is set.",
        ),
        (
            "a.kt",
            "/** Writes are never lost once [append] or [Log.flush] returned. */\nclass A\n",
            "Writes are never lost once append or Log.flush returned.",
        ),
        (
            "a.scala",
            "/** Writes are never lost, see [[Log.append]] and [[https://x.y the rules]].\n  * {{{\n  * append()\n  * }}}\n  * @group Log\n  */\nclass A\n",
            "Writes are never lost, see Log.append and the rules.",
        ),
        (
            "a.rb",
            "# @note Writes must never be lost by {Log#append} or +flush+\nclass A; end\n",
            "Writes must never be lost by Log#append or flush",
        ),
        (
            "a.php",
            "<?php\nclass A {\n    /** @var int Writes are lost after so many failed attempts */\n    public $tries = 3;\n}\n",
            "Writes are lost after so many failed attempts",
        ),
        (
            "a.php",
            "<?php\nreturn [\n    /*\n    |--------\n    | Lease\n    |--------\n    |\n    | An unacknowledged job is redelivered to another worker.\n    |\n    */\n    'a' => 1,\n];\n",
            "An unacknowledged job is redelivered to another worker.",
        ),
        (
            "a.ex",
            'defmodule M do\n  @moduledoc """\n  ## Options\n\n    * `:size` - Must never be zero after a crash\n    * `:limit` - Requests over it are rejected\n\n        iex> never_lost(1)\n  """\nend\n',
            ":size - Must never be zero after a crash",
        ),
        (
            "a.swift",
            "/// - Warning: An unacknowledged write can be lost after a crash.\nstruct A {}\n",
            "An unacknowledged write can be lost after a crash.",
        ),
        (
            "a.md",
            "Writes are never lost with @apidoc[Log$] and @ref:[flush](flush.md){ .x }, see [[#rules]].\n",
            "Writes are never lost with Log and flush, see rules.",
        ),
        (
            "a.swift",
            "/// ## Delivery\n/// A message is **never** lost *silently*.\n///\n/// ```\n/// never_lost()\n/// ```\nstruct A {}\n",
            "A message is never lost silently.",
        ),
        (
            "a.kt",
            "/**\n * Writes are kept.\n *\n * @throws LogClosed if a write can be lost after a crash\n * @see Log#append must never be lost\n */\nclass A\n",
            "throws LogClosed if a write can be lost after a crash",
        ),
        (
            "A.java",
            "/** Writes are never lost by {@link Log#flush()\n  * the flush}. */\nclass A {}\n",
            "Writes are never lost by Log#flush() the flush.",
        ),
        (
            "a.ex",
            'defmodule M do\n  @moduledoc """\n  > #### Delivery {: .warning}\n  >\n  > Messages can be lost after a crash.\n  """\nend\n',
            "Messages can be lost after a crash.",
        ),
        (
            "a.md",
            "> #### Delivery {: .tip}\n>\n> Writes in max\\_batch are **never\n> lost**.\n",
            "Writes in max_batch are never lost.",
        ),
        (
            "a.md",
            "::: warning\nWrites are never lost by the log.\n:::\n",
            "Writes are never lost by the log.",
        ),
        (
            "a.md",
            "@:callout(info)\n\nWrites&nbsp;are never lost by @:api(a.b.Log).\n\n@:@\n",
            "Writes are never lost by Log.",
        ),
    ],
)
def test_a_sentence_has_no_markup_in_it(path: str, text: str, sentence: str) -> None:
    said = [row.text for row in read_facts(path, text.encode()).statements]
    assert sentence in said
    assert not any("never_lost" in one or "append()" in one or "#append" in one for one in said[1:])
    assert not any(sign in one for one in said for sign in ("**", "##", ":::", "```", "{:"))


def test_a_word_with_markup_within_is_not_withheld(tmp_path: Path) -> None:
    text = "# x\nOnly one of the `Session`s holds the lease, and the [Session]'s writes are never lost.\n"
    folder = commit_files(tmp_path / "product", {"README.md": text})
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        found = extract_claims(snapshot)
    assert (found.withheld, [claim.line for claim in found.claims]) == (0, [2])


def test_a_licence_promises_nothing() -> None:
    said = (
        "Unless required by applicable law or agreed to in writing, software is never guaranteed to be safe."
    )
    assert read_facts("README.md", f"# x\n{said}\n".encode()).statements == ()


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("tests/ATest.kt", "class A {\n    @Test\n    fun `a write is kept`() { assertEquals(1, 2) }\n}\n", ["a write is kept"]),
        ("tests/ATest.kt", 'class A : StringSpec({\n    "a write is kept" {\n        x shouldBe 1\n    }\n})\n', ["a write is kept"]),
        (
            "tests/ATest.kt",
            "class A {\n    @Test\n    fun one() { assertEquals(1, 2) }\n    fun helper() {}\n}\n",
            ["one"],
        ),
        ("tests/ASpec.scala", 'class A {\n  "A log" must "keep a write" in { assert(x) }\n}\n', ["keep a write"]),
        ("tests/ASpec.scala", 'class A {\n  tracedTest("keeps a write") { assert(x) }\n}\n', ["keeps a write"]),
        ("tests/ATests.swift", "class A: XCTestCase {\n    func testKept() { XCTAssertEqual(1, 2) }\n}\n", ["testKept"]),
        (
            "tests/ATests.swift",
            '@Test("a write is kept")\nfunc kept() async throws { #expect(x == 1) }\n',
            ["a write is kept"],
        ),
        (
            "tests/ATests.cs",
            "class A {\n    [SkippableFact(typeof(X))]\n    public void Kept() { Assert.True(x); }\n    public void Helper() {}\n}\n",
            ["Kept"],
        ),
        ("tests/ATests.cs", "class A {\n    [TestCase(1)]\n    public void Kept(int x) { x.ShouldBe(1); }\n}\n", ["Kept"]),
        ("tests/ATest.php", "<?php\nclass A {\n    #[Test]\n    public function kept(): void { assertTrue(x); }\n}\n", ["kept"]),
        ("test/a_test.exs", 'defmodule A do\n  @tag :slow\n  test "kept" do\n    assert x\n  end\nend\n', ["kept"]),
        ("src/a.zig", 'test "a write is kept" {\n    try expect(x);\n}\ntest Log {\n    try expect(x);\n}\n', ["a write is kept", "Log"]),
    ],
)  # fmt: skip
def test_tests_are_known_by_their_names_and_assert(path: str, text: str, names: list[str]) -> None:
    found = read_facts(path, text.encode()).tests
    assert [case.name for case in found] == names
    assert all(case.asserts for case in found)
