"""Each mechanism of contradiction: what it finds, and a look-alike that it leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.repository.claims import extract_claims
from refute.repository.mirror import open_repository
from tests.repository.repositories import commit_files

FILLER = "".join(f"The {word} store keeps {word} records on disk until they expire.\n\n" for word in
                 ("red", "green", "blue", "white", "black", "brown", "grey", "pink"))  # fmt: skip


def kinds(folder: Path, files: dict[str, str]) -> list[tuple[str, str, str]]:
    commit_files(folder, {**files, "docs/filler.md": FILLER})
    with open_repository(folder, cache=folder.parent / "cache") as snapshot:
        return [(row.kind, row.a.path, row.b.path) for row in extract_claims(snapshot).contradictions]


def test_the_same_list_in_another_order_where_one_says_that_order_matters(tmp_path: Path) -> None:
    ordered = "Write Journal, Index and Header to persistent storage in order, if they are not empty.\n"
    other = (
        "// Write Header, Journal, and Index to persistent storage if they are not empty.\npackage store\n"
    )
    assert kinds(tmp_path / "a", {"README.md": ordered, "doc.go": other}) == [
        ("order differs", "README.md", "doc.go")
    ]
    same = other.replace("Header, Journal, and Index", "Journal, Index, and Header")
    assert kinds(tmp_path / "b", {"README.md": ordered, "doc.go": same}) == []


@pytest.mark.parametrize(("number", "found"), [("60", True), ("30", False)])
def test_near_duplicates_with_another_number(tmp_path: Path, number: str, found: bool) -> None:
    text = "An unacknowledged message is redelivered to another consumer after {} seconds of silence.\n"
    rows = kinds(tmp_path / "a", {"README.md": text.format("30"), "docs/queue.md": text.format(number)})
    assert [row[0] for row in rows] == (["number differs"] if found else [])


@pytest.mark.parametrize(("word", "found"), [("not ", True), ("", False)])
def test_near_duplicates_of_which_one_denies(tmp_path: Path, word: str, found: bool) -> None:
    text = "An acknowledged message is {}replicated to every follower before the leader commits the offset.\n"
    rows = kinds(tmp_path / "a", {"README.md": text.format(""), "docs/queue.md": text.format(word)})
    assert [row[0] for row in rows] == (["polarity differs"] if found else [])


def test_one_at_a_time_against_several_at_once(tmp_path: Path) -> None:
    one = "Membership changes must happen one node at a time, even after a crash.\n"
    many = "// Joint consensus must be used, allowing for arbitrary changes in membership.\npackage joint\n"
    assert kinds(tmp_path / "a", {"README.md": one, "joint.go": many}) == [
        ("one against many", "README.md", "joint.go")
    ]


def test_what_holds_in_one_of_several_modes_denies_nothing_of_the_others(tmp_path: Path) -> None:
    one = "In the simple mode, membership changes must happen one node at a time, even after a crash.\n"
    many = "// Joint consensus must be used, allowing for arbitrary changes in membership.\npackage joint\n"
    assert kinds(tmp_path / "a", {"README.md": one, "joint.go": many}) == []


def test_an_advertised_protection_whose_limit_is_off_unless_set(tmp_path: Path) -> None:
    code = """package log

type log struct {
\t// pendingSize is used to prevent unbounded log growth when the quorum is lost.
\tpendingSize uint64
}

func (c *Config) validate() {
\tif c.MaxPendingSize == 0 {
\t\tc.MaxPendingSize = noLimit
\t}
}
"""
    readme = "- Protection against unbounded log growth when the quorum is lost\n"
    assert kinds(tmp_path / "a", {"README.md": readme, "log.go": code}) == [
        ("default is off", "README.md", "log.go")
    ]
    bounded = code.replace("noLimit", "defaultSize")
    assert kinds(tmp_path / "b", {"README.md": readme, "log.go": bounded}) == []
    counted = readme.replace(
        "unbounded log growth", "unbounded log growth by a limit on the number of entries"
    )
    assert kinds(tmp_path / "c", {"README.md": counted, "log.go": code}) == []


def test_copies_of_a_sentence_that_contradicts_another_are_counted_once(tmp_path: Path) -> None:
    text = "An acknowledged message is {}replicated to every follower before the leader commits the offset.\n"
    files = {f"docs/{name}/queue.md": text.format("") for name in ("go", "java", "rust")}
    folder = commit_files(
        tmp_path / "a", {**files, "docs/node/queue.md": text.format("not "), "docs/filler.md": FILLER}
    )
    with open_repository(folder, cache=tmp_path / "cache") as snapshot:
        found = extract_claims(snapshot).contradictions
    assert [row.kind for row in found] == ["polarity differs"]
    assert "2 copies" in found[0].note


def test_names_that_deny_each_other_may_say_the_opposite(tmp_path: Path) -> None:
    text = "// A handler that fails with this tells the worker that the message should {}be retried after a failure.\n"
    files = {
        "store/recoverable.go": f"package store\n\n{text.format('')}type Recoverable struct {{\n}}\n",
        "store/unrecoverable.go": f"package store\n\n{text.format('not ')}type Unrecoverable struct {{\n}}\n",
    }
    assert kinds(tmp_path / "a", files) == []


def test_another_apostrophe_is_no_denial(tmp_path: Path) -> None:
    text = (
        "An acknowledged message isn{}t replicated to every follower before the leader commits the offset.\n"
    )
    assert kinds(tmp_path / "a", {"README.md": text.format("'"), "docs/queue.md": text.format("’")}) == []


def test_what_one_call_takes_with_and_another_without_is_no_denial(tmp_path: Path) -> None:
    text = "If timestamps are enabled, start and limit of the range must point to a key {} timestamp part.\n"
    files = {"README.md": text.format("with"), "docs/queue.md": text.format("without")}
    assert kinds(tmp_path / "a", files) == []


def test_lines_that_a_program_printed_differ_in_more_than_what_they_measured(tmp_path: Path) -> None:
    text = "Write 2 must precede write 3, because it was acknowledged at index {}, {} seconds before that began.\n"
    logged = {"docs/one.txt": text.format(307, "0.001"), "docs/two.txt": text.format(361, "0.160")}
    assert kinds(tmp_path / "a", logged) == []
    said = {"docs/one.txt": text.format(307, "0.001"), "docs/two.txt": text.format(307, "0.160")}
    assert [row[0] for row in kinds(tmp_path / "b", said)] == ["number differs"]


def test_arbitrary_ways_are_not_several_at_once(tmp_path: Path) -> None:
    one = "Changes of the membership invariant must be applied one at a time, even after a crash.\n"
    many = "Without a leader, changes of the membership invariant may be applied in arbitrary {} after a crash.\n"
    found = {"README.md": one, "docs/why.md": many.format("numbers")}
    assert [row[0] for row in kinds(tmp_path / "a", found)] == ["one against many"]
    assert kinds(tmp_path / "b", {"README.md": one, "docs/why.md": many.format("ways")}) == []


def test_what_holds_without_something_denies_nothing_of_the_rest(tmp_path: Path) -> None:
    text = "Reports of liveness are sent on every poll of events{} so that the supervisor never kills a busy node.\n"
    files = {"README.md": text.format(""), "docs/pro.md": text.format(" without statistics")}
    assert kinds(tmp_path / "a", files) == []
    files = {"README.md": text.format(""), "docs/pro.md": text.format("").replace("are sent", "are not sent")}
    assert [row[0] for row in kinds(tmp_path / "b", files)] == ["polarity differs"]


@pytest.mark.parametrize(
    ("comments", "found"), [(("a.go", "b.go"), []), (("a.go", "README.md"), ["number differs"])]
)
def test_a_comment_speaks_of_what_it_stands_at(
    tmp_path: Path, comments: tuple[str, str], found: list[str]
) -> None:
    text = "An unacknowledged message is redelivered to another consumer after {} seconds of silence."
    files = {}
    for path, name, number in zip(comments, ("First", "Second"), ("30", "60"), strict=True):
        said = text.format(number)
        code = f"package a\n\n// {said}\nfunc {name}() {{\n\twork()\n}}\n"
        files[path] = code if path.endswith(".go") else said + "\n"
    assert [row[0] for row in kinds(tmp_path / "a", files)] == found


def test_a_file_that_says_both_numbers_speaks_of_two_things(tmp_path: Path) -> None:
    text = "An unacknowledged message is redelivered to another consumer after {} seconds of silence.\n\n"
    one, both = text.format("30"), text.format("30") + "Later on, much else happens.\n\n" + text.format("60")
    assert kinds(tmp_path / "a", {"README.md": one, "docs/queue.md": both}) == []
    only = both.replace("30", "60")
    assert [row[0] for row in kinds(tmp_path / "b", {"README.md": one, "docs/queue.md": only})] != []


def test_copies_of_one_at_a_time_are_counted_once(tmp_path: Path) -> None:
    one = "Membership changes must happen one node at a time, even after a crash.\n"
    many = "// Joint consensus must be used, allowing for arbitrary changes in membership.\npackage joint\n"
    found = kinds(tmp_path / "a", {"README.md": one, "docs/guide.md": one, "joint.go": many})
    assert [row[0] for row in found] == ["one against many"]
