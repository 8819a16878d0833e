"""The state machine does to items, replies and feeds what the commands say."""

from __future__ import annotations

import json
import unittest
from typing import Any

from quorumkv.entry import Entry
from quorumkv.feed import RETAINED_EVENTS, Feed, FeedTrimmedError
from quorumkv.store import RETENTION_MS, Reply, Store


class StoreTest(unittest.TestCase):
    def setUp(self) -> None:
        self.store = Store()
        self.index = 0

    def do(self, op: str, key: str, *, request: str | None = None, time_ms: int = 0, **fields: Any) -> Reply:
        self.index += 1
        command = {"op": op, "tenant": "acme", "key": key, **fields}
        return self.store.apply(Entry(self.index, 1, time_ms, command, request))

    def value(self, key: str) -> Any:
        item = self.store.get("acme", key)
        return item.value if item else None

    def test_put_and_delete(self) -> None:
        self.assertEqual(self.do("put", "k", value=1), Reply(200, {"key": "k", "version": 1}))
        self.assertTrue(self.do("delete", "k").body["existed"])
        self.assertFalse(self.do("delete", "k").body["existed"])
        self.assertIsNone(self.value("k"))

    def test_append_makes_a_list_and_refuses_anything_else(self) -> None:
        self.do("append", "k", value=1)
        self.do("append", "k", value=2)
        self.assertEqual(self.value("k"), [1, 2])
        self.do("put", "n", value=5)
        self.assertEqual(self.do("append", "n", value=1).status, 409)

    def test_compare_and_set_by_value_and_by_version(self) -> None:
        self.assertEqual(self.do("cas", "k", expect=None, value=1).status, 200)
        self.assertEqual(self.do("cas", "k", expect=2, value=3).status, 412)
        self.assertEqual(self.do("cas", "k", expect_version=0, value=3).status, 412)
        self.assertEqual(self.do("cas", "k", expect_version=1, value=3).status, 200)
        self.assertEqual(self.value("k"), 3)

    def test_versions_grow_across_deletes(self) -> None:
        first = self.do("put", "k", value=1).body["version"]
        self.do("delete", "k")
        self.assertGreater(self.do("put", "k", value=1).body["version"], first)

    def test_a_reply_is_remembered_for_a_day(self) -> None:
        self.do("put", "k", value=1, request="r1", time_ms=1000)
        known = self.store.remembered("acme", "r1", 2000)
        assert known is not None
        self.assertEqual(known.reply.body["version"], 1)
        self.assertIsNone(self.store.remembered("acme", "r1", 1000 + RETENTION_MS))
        self.assertIsNone(self.store.remembered("other", "r1", 2000))

    def test_keys_and_export_are_in_order(self) -> None:
        for key in ("b/2", "a", "b/1"):
            self.do("put", key, value=key)
        self.assertEqual(self.store.keys("acme", "b/"), ["b/1", "b/2"])
        self.assertEqual(list(self.store.export("acme", 1)), ["a", "b/1", "b/2"])
        self.assertEqual(self.store.export("acme", 2)["a"], {"value": "a", "version": 2})
        self.assertEqual(self.store.export("other", 1), {})

    def test_a_snapshot_brings_items_and_replies_back(self) -> None:
        self.do("put", "k", value={"deep": [1]}, request="r1")
        for snapshot_format in (1, 2):
            again = Store()
            again.restore(json.loads(json.dumps(self.store.dump(snapshot_format))))
            self.assertEqual(again.get("acme", "k"), self.store.get("acme", "k"))
            self.assertEqual(again.remembered("acme", "r1", 1), self.store.remembered("acme", "r1", 1))
            self.assertEqual(again.feed("acme").last, 1)

    def test_the_feed_has_every_change_and_no_failure(self) -> None:
        self.do("put", "k", value=1)
        self.do("cas", "k", expect=9, value=2)
        self.do("delete", "missing")
        self.do("delete", "k")
        events = self.store.feed("acme").since(0, 10)
        self.assertEqual([(event["seq"], event["op"]) for event in events], [(1, "put"), (2, "delete")])


class FeedTest(unittest.TestCase):
    def test_a_reader_resumes_where_it_was(self) -> None:
        feed = Feed()
        for number in range(5):
            feed.add({"key": str(number)})
        self.assertEqual([event["seq"] for event in feed.since(2, 2)], [3, 4])
        self.assertEqual(feed.since(5, 2), [])

    def test_a_reader_that_is_too_late_is_told(self) -> None:
        feed = Feed()
        for _ in range(RETAINED_EVENTS + 2):
            feed.add({})
        with self.assertRaises(FeedTrimmedError) as caught:
            feed.since(1, 10)
        self.assertEqual(caught.exception.oldest, 3)
        self.assertEqual(feed.since(2, 1)[0]["seq"], 3)
