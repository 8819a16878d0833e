"""The change feed of one tenant: committed changes in order, each with a sequence number of its own."""

from __future__ import annotations

from collections import deque
from typing import Any

RETAINED_EVENTS = 10_000


class FeedTrimmedError(Exception):
    """The reader's position is older than what the feed still holds."""

    def __init__(self, oldest: int) -> None:
        super().__init__(f"the oldest event is {oldest}")
        self.oldest = oldest


class Feed:
    """Events with consecutive numbers from 1; the last `RETAINED_EVENTS` of them are kept."""

    def __init__(self) -> None:
        self.last = 0
        self.trimmed = 0
        self._events: deque[dict[str, Any]] = deque()

    def add(self, event: dict[str, Any]) -> None:
        self.last += 1
        self._events.append({"seq": self.last, **event})
        if len(self._events) > RETAINED_EVENTS:
            self.trimmed = self._events.popleft()["seq"]

    def since(self, position: int, limit: int) -> list[dict[str, Any]]:
        """Up to `limit` events after `position`. Raises FeedTrimmedError if the next one is gone."""
        if position < self.trimmed:
            raise FeedTrimmedError(self.trimmed + 1)
        if position >= self.last:
            return []
        return [event for event in self._events if event["seq"] > position][:limit]

    def dump(self) -> dict[str, Any]:
        return {"last": self.last, "trimmed": self.trimmed, "events": list(self._events)}

    @classmethod
    def load(cls, saved: dict[str, Any]) -> Feed:
        feed = cls()
        feed.last, feed.trimmed = saved["last"], saved["trimmed"]
        feed._events.extend(saved["events"])
        return feed
