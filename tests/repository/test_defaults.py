"""A setting whose default is one thing where it is written down and another where it is set."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.repository.claims import LEAST_SHOWN, MOST_SHOWN, extract_claims
from refute.repository.coded_defaults import coded_defaults
from refute.repository.defaults import agree, documented_defaults, words_of_name
from refute.repository.mirror import open_repository
from tests.repository.repositories import commit_files


@pytest.mark.parametrize(
    ("line", "value", "has_unit"),
    [
        ("private int maxRetries = 4 * 1024;", 4096.0, False),
        ("public TimeSpan ShardDuration { get; set; } = TimeSpan.FromHours(1);", 3600.0, True),
        ("defaultShutdownTimeout = 8 * time.Second", 8.0, True),
        ("lock_timeout: Duration::from_secs(30),", 30.0, True),
        ("const SEGMENT_BYTES: u64 = 1 << 20;", None, False),  # one word and its unit
        ("uint64_t max_segment = 1 << 20;", 1048576.0, False),
        ("max_attempts = compute(3)", None, False),
        ("if max_attempts == 3 {", None, False),
        ("max_attempts += 3", None, False),
        ("this.maxAttempts = 3;", None, False),
        ('"maxAttempts": 3,', 3.0, False),
    ],
)
def test_what_code_sets(line: str, value: float | None, has_unit: bool) -> None:
    found = [(float(row.value), row.has_unit) for row in coded_defaults([line])]
    assert found == ([] if value is None else [(value, has_unit)])


def test_what_a_document_says_in_a_table_an_item_and_below_a_heading() -> None:
    text = """| Option | Default | What |
|---|---|---|
| `maxRetries` | 5 | how often |

- `lock_timeout`: how long; defaults to 30 seconds

### heartbeatInterval(number)

How often. By default it is 10 minutes.

The size defaults to 7.
"""
    found = [(row.name, float(row.value)) for row in documented_defaults(text.split("\n"))]
    assert found == [("maxRetries", 5.0), ("lock_timeout", 30.0), ("heartbeatInterval", 600.0)]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("5.0", False), ("5000.0", False), True),  # seconds and milliseconds
        (("60.0", True), ("1.0", False), True),
        (("60.0", True), ("3600.0", True), False),
        (("5.0", False), ("7.0", False), False),
        (("true", False), ("false", False), False),
        (("true", False), ("1.0", False), True),
        (("0.0", False), ("7.0", False), True),  # nothing, or no limit
    ],
)
def test_values_that_may_be_the_same_are(one: tuple[str, bool], other: tuple[str, bool], same: bool) -> None:
    assert agree(one, other) is same and agree(other, one) is same


def test_equal_settings_have_equal_words() -> None:
    names = (
        "lockTimeout",
        "LOCK_TIMEOUT",
        "lock-timeout-ms",
        "server.lock_timeout_seconds",
        "DefaultLockTimeout",
    )
    assert {words_of_name(name) for name in names} == {("lock", "timeout")}


TABLE = "# Store\n\n| option | default |\n|---|---|\n| `sessionTimeout` | {} |\n"


def kinds(folder: Path, files: dict[str, str]) -> list[tuple[str, str, int, str, int]]:
    commit_files(folder, files)
    with open_repository(folder, cache=folder.parent / "cache") as snapshot:
        found = extract_claims(snapshot).contradictions
    return [(row.kind, row.a.path, row.a.line, row.b.path, row.b.line) for row in found]


def test_a_document_and_the_code_that_differ(tmp_path: Path) -> None:
    code = "class Options {\n  private int sessionTimeout = 20;\n}\n"
    found = kinds(tmp_path / "a", {"README.md": TABLE.format("30 seconds"), "Options.java": code})
    assert found == [("default differs", "README.md", 5, "Options.java", 2)]


@pytest.mark.parametrize(
    "files",
    [
        {"README.md": TABLE.format("20 seconds")},
        {
            "README.md": TABLE.format("30"),
            "Other.java": "class Other {\n  private int sessionTimeout = 30;\n}\n",
        },
        {"README.md": TABLE.format("30"), "docs/other.md": TABLE.format("40")},  # a name of several settings
        {"docs/version-1.2/README.md": TABLE.format("30")},
        {"examples/README.md": TABLE.format("30")},
    ],
)
def test_what_may_be_another_setting_differs_from_nothing(tmp_path: Path, files: dict[str, str]) -> None:
    code = "class Options {\n  private int sessionTimeout = 20;\n}\n"
    assert kinds(tmp_path / "a", {"Options.java": code, **files}) == []


@pytest.mark.parametrize(
    ("comment", "differs"),
    [
        ("Default is 128.", True),
        ("Default is 10240.", False),
        ("Default is 128, if the machine is small.", False),
        ("Default is 128 in tests; default is 10240 elsewhere.", False),
        ("The channel_name default is 128.", False),  # speaks of another setting
    ],
)
def test_a_comment_and_the_line_below_it(tmp_path: Path, comment: str, differs: bool) -> None:
    code = f"// {comment}\nconst LOG_CHANNEL_SIZE: usize = 10240;\n"
    found = kinds(tmp_path / "a", {"log.rs": code})
    assert found == ([("default differs", "log.rs", 1, "log.rs", 2)] if differs else [])


def test_the_same_sentence_of_two_products_denies_nothing(tmp_path: Path) -> None:
    text = "-- These columns reach the maximum allowed key size of {} indexes ({} bytes): never make them longer.\nCREATE TABLE t (a INT);\n"
    sql = {"a/mysql.sql": text.format("MySQL", 768), "a/postgres.sql": text.format("PostgreSQL", 2704)}
    assert kinds(tmp_path / "a", sql) == []
    alike = {"a/mysql.sql": text.format("MySQL", 768), "a/copy.sql": text.format("MySQL", 2704)}
    assert [row[0] for row in kinds(tmp_path / "b", alike)] == ["number differs"]


def test_a_file_that_says_both_speaks_of_two_things(tmp_path: Path) -> None:
    both = (
        "interface Store{0} {{\n  /** Atomically stores the record under the key only if it is not already persisted. */\n"
        "  void putIfAbsent();\n  /** Atomically stores the record under the key only if it is already persisted. */\n"
        "  void putIfPresent();\n}}\n"
    )
    files = {"Store.java": both.format(""), "StoreAsync.java": both.format("Async")}
    assert kinds(tmp_path / "a", files) == []


def test_a_repository_that_promises_little_answers_shortly(tmp_path: Path) -> None:
    weak = "".join(
        f"The {word} list of entries may be read by the user.\n\n" for word in "abcdefghijklmnopqrst"
    )
    strong = "An acknowledged {} write is never lost, even if the leader crashes before the {} snapshot is persisted.\n\n"
    promises = "".join(strong.format(word, word) for word in ("red", "green", "blue"))
    commit_files(tmp_path / "a", {"README.md": promises, "docs/lists.md": weak})
    with open_repository(tmp_path / "a", cache=tmp_path / "cache") as snapshot:
        first, wider = extract_claims(snapshot), extract_claims(snapshot, top=100)
    assert first.top == LEAST_SHOWN < MOST_SHOWN
    assert first.claims == wider.claims and wider.top == 100


def test_m_may_be_minutes_or_mebibytes() -> None:
    (row,) = documented_defaults(["| name | default |", "|---|---|", "| clock-skew | 15m |"])
    assert (row.value, row.has_unit) == ("15.0", False)
    assert agree((row.value, row.has_unit), ("900.0", True))
    assert not agree((row.value, row.has_unit), ("1200.0", True))


@pytest.mark.parametrize(
    ("code", "line"),
    [
        # what a call falls back to, on the next line
        (
            '/// The body of a request (default: 1 MiB)\nstatic MAX_BODY: Lazy<usize> =\n\tparse_env!("B", 4 << 20);\n',
            3,
        ),
        (
            '/// The body of a request (default: 4 MiB)\nstatic MAX_BODY: Lazy<usize> =\n\tparse_env!("B", 4 << 20);\n',
            0,
        ),
        # the subject of what the comment says is another
        ("// The store defaults to 16 MiB chunks\nconst maxChunk = 4 * 1024 * 1024;\n", 0),
        ("// Defaults to 16 MiB\nconst maxChunk = 4 * 1024 * 1024;\n", 2),
        ("// It stands for 16.\n// a heartbeat (default 10s).\nlet storeDisconnect = 4;\n", 0),
        ("// the silence (default 10s).\nlet storeDisconnect = 4;\n", 2),
        ("// At three times the threshold. The threshold\n// defaults to 10.\nlet flushDelay = 3;\n", 0),
        ("// At three times the threshold.\n// Defaults to 10.\nlet flushDelay = 3;\n", 3),
        ("// The default is 1 << 4.\nlet maxChunk = 16;\n", 0),
        # a field without a value, and what stands in for it
        (
            "struct Options {\n  /// Defaults to 5.\n  pub max_retries: u32,\n}\nconst DEFAULT_MAX_RETRIES: u32 = 6;\n",
            5,
        ),
        (
            "struct Options {\n  /// Defaults to 5.\n  pub max_retries: u32,\n}\nconst DEFAULT_MAX_RETRIES: u32 = 5;\n",
            0,
        ),
        ("struct Options {\n  /// Defaults to 5.\n  pub max_retries: u32,\n}\nlet max_retries = 6;\n", 0),
    ],
)
def test_what_a_comment_speaks_of(tmp_path: Path, code: str, line: int) -> None:
    found = kinds(tmp_path / "a", {"store.rs": code})
    assert [row[-1] for row in found] == ([line] if line else [])


@pytest.mark.parametrize(("fallback", "line"), [("30", 0), ("40", 11)])
def test_a_field_and_what_it_is_when_it_is_not_set(tmp_path: Path, fallback: str, line: int) -> None:
    code = f"""package kv

type Options struct {{
\t// MaxRetries is how often it is tried again.
\t// Defaults to 30.
\tMaxRetries int `json:"retries"`
}}

func (o *Options) fill() {{
\tif o.MaxRetries == 0 {{
\t\to.MaxRetries = {fallback}
\t}}
}}
"""
    found = kinds(tmp_path / "a", {"kv.go": code})
    assert [row[1:] for row in found] == ([("kv.go", 5, "kv.go", line)] if line else [])


@pytest.mark.parametrize(
    ("path", "code", "differs"),
    [
        ("main.go", 'package main\n\nvar n = flag.Int("max-size", 5, "how many (default 6)")\n', True),
        ("main.go", 'package main\n\nvar n = flag.Int("max-size", 5, "how many (default 5)")\n', False),
        ("main.go", 'package main\n\nvar n = flag.Int("max-size", 5, "not more than 6")\n', False),
        ("cli.py", 'p.add_argument("--max-size", type=int, default=5, help="how many (default: 6)")\n', True),
        (
            "Cli.java",
            'class Cli {\n  @Option(names = "-n", description = "Default is 50.")\n  int maxRows = 40;\n}\n',
            True,
        ),
        (
            "Cli.java",
            'class Cli {\n  @Option(names = "-n", description = "Default is 40.")\n  int maxRows = 40;\n}\n',
            False,
        ),
    ],
)
def test_help_that_states_another_default(tmp_path: Path, path: str, code: str, differs: bool) -> None:
    assert bool(kinds(tmp_path / "a", {path: code})) == differs


def test_a_name_that_is_no_setting_where_it_stands_differs_from_nothing(tmp_path: Path) -> None:
    readme = TABLE.format("30")
    code = "class {} {{\n  private int sessionTimeout = 20;\n}}\n"
    assert kinds(tmp_path / "a", {"README.md": readme, "Probe.java": code.format("Probe")}) == []
    assert kinds(tmp_path / "b", {"README.md": readme, "Options.java": code.format("Options")}) != []
