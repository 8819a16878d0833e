"""The write-ahead log comes back as it was, whatever happened to the process."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

from quorumkv.disk import Ballot, DiskError, claim_directory
from quorumkv.entry import Entry
from quorumkv.log import Log


def entries(*terms: int, start: int = 1) -> list[Entry]:
    return [
        Entry(index, term, 1000, {"op": "put", "tenant": "t", "key": "k", "value": index})
        for index, term in enumerate(terms, start=start)
    ]


class LogTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def open(self) -> Log:
        log = Log(self.directory, 1)
        self.addCleanup(log.close)
        return log

    def test_entries_survive_a_restart(self) -> None:
        self.open().append(entries(1, 1, 2))
        log = self.open()
        self.assertEqual((log.last_index, log.last_term), (3, 2))
        self.assertEqual(log.slice(2, 10), entries(1, 2, start=2))

    def test_a_cut_survives_a_restart(self) -> None:
        log = self.open()
        log.append(entries(1, 1, 1))
        log.cut_from(2)
        log.append(entries(2, start=2))
        self.assertEqual([entry.term for entry in self.open().slice(1, 10)], [1, 2])

    def test_a_partial_last_line_is_dropped(self) -> None:
        self.open().append(entries(1, 1))
        path = self.directory / "wal.log"
        path.write_bytes(path.read_bytes()[:-7])
        log = self.open()
        self.assertEqual(log.last_index, 1)
        log.append(entries(3, start=2))
        self.assertEqual(self.open().last_term, 3)

    def test_damage_before_the_end_is_refused(self) -> None:
        self.open().append(entries(1, 1))
        path = self.directory / "wal.log"
        content = path.read_bytes()
        path.write_bytes(content.replace(b'"value":1', b'"value":7'))
        with self.assertRaisesRegex(DiskError, "wal.log:2"):
            self.open()

    def test_rebase_keeps_what_follows(self) -> None:
        log = self.open()
        log.append(entries(1, 1, 2, 2))
        log.rebase(2, 1, keep=True)
        for each in (log, self.open()):
            self.assertEqual((each.base_index, each.last_index, len(each)), (2, 4, 2))
            self.assertEqual((each.term_at(2), each.term_at(1), each.term_at(5)), (1, None, None))

    def test_rebase_may_forget_everything(self) -> None:
        log = self.open()
        log.append(entries(1, 1))
        log.rebase(9, 3, keep=False)
        log.append(entries(3, start=10))
        self.assertEqual((self.open().base_index, self.open().last_index), (9, 10))


class DiskTest(unittest.TestCase):
    def test_a_vote_survives_a_restart(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            Ballot(Path(directory)).save(4, "n2")
            again = Ballot(Path(directory))
            self.assertEqual((again.term, again.voted_for), (4, "n2"))

    def test_a_data_directory_serves_one_process(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            handle = claim_directory(Path(directory))
            self.addCleanup(os.close, handle)
            with self.assertRaisesRegex(DiskError, "in use"):
                claim_directory(Path(directory))
