"""Keeps derived facts by content, in one SQLite file outside every repository."""

from __future__ import annotations

import contextlib
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

_FILE = "repository-facts.sqlite"
_MOST_BYTES = 1_500_000_000


class FactStore:
    """A map from content key to text; a store that cannot be opened remembers nothing and says so."""

    def __init__(self, folder: Path | None) -> None:
        self.problem = ""
        self._open: sqlite3.Connection | None = None
        if folder is None:
            self.problem = "no cache folder"
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            place = folder / _FILE
            if place.exists() and place.stat().st_size > _MOST_BYTES:
                place.unlink()
            self._open = sqlite3.connect(place, timeout=5.0, isolation_level=None)
            self._open.execute("PRAGMA journal_mode=WAL")
            self._open.execute("PRAGMA synchronous=OFF")
            self._open.execute(
                "CREATE TABLE IF NOT EXISTS facts (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID"
            )
        except (OSError, sqlite3.Error) as error:
            self.problem = f"the cache cannot be used: {error}"
            self._open = None

    def __enter__(self) -> FactStore:
        return self

    def __exit__(self, *_: object) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def get_many(self, keys: Iterable[str]) -> Iterator[tuple[str, str]]:
        """`(key, text)` for each key that is known; an unreadable store gives none."""
        wanted = list(dict.fromkeys(keys))
        for start in range(0, len(wanted), 500):
            part = wanted[start : start + 500]
            if self._open is None:
                return
            marks = ",".join("?" * len(part))
            try:
                rows = self._open.execute(
                    f"SELECT key, value FROM facts WHERE key IN ({marks})", part
                ).fetchall()
            except sqlite3.Error as error:
                self.problem = f"the cache cannot be read: {error}"
                return
            for key, value in rows:
                if not isinstance(value, bytes):  # not written by us
                    continue
                with contextlib.suppress(zlib.error, UnicodeDecodeError):
                    yield key, zlib.decompress(value).decode("utf-8")

    def put_many(self, rows: Iterable[tuple[str, str]]) -> None:
        """Remember; where that fails, the next time is slow again and `problem` says why."""
        if self._open is None:
            return
        packed = [(key, zlib.compress(text.encode("utf-8", "replace"), 1)) for key, text in rows]
        try:
            self._open.execute("BEGIN IMMEDIATE")
            self._open.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", packed)
            self._open.execute("COMMIT")
        except sqlite3.Error as error:
            self.problem = f"the cache cannot be written: {error}"
            with contextlib.suppress(sqlite3.Error):
                self._open.execute("ROLLBACK")
