"""Reads all files of a snapshot into facts, on every core, remembering what has been read before."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from refute.repository.facts import FileFacts, cache_key, read_facts
from refute.repository.file_kinds import language_of, role_of
from refute.repository.snapshot import RepositorySnapshot
from refute.repository.source_file import SourceFile
from refute.repository.store import FactStore
from refute.repository.worker import WorkerDiedError, facts_in_parallel

_WORTH_A_POOL_BYTES = 1_500_000
_BATCH_BYTES = 250_000
_UNREAD_ROLES = frozenset({"vendored", "generated", "licence", "data", "translation"})
_UNREAD_LANGUAGES = frozenset({"xml", "other"})


@dataclass(frozen=True)
class Survey:
    """Every file that was read with its facts, and a count of those that were not, by reason."""

    files: tuple[tuple[SourceFile, FileFacts], ...]
    left_out: dict[str, int]
    without_grammar: dict[str, int]
    read_now: int
    cache_problem: str = ""


def is_read(path: str) -> bool:
    """Whether the survey opens this file at all."""
    return role_of(path) not in _UNREAD_ROLES and language_of(path) not in _UNREAD_LANGUAGES


def survey(snapshot: RepositorySnapshot) -> Survey:
    """The facts of every file worth reading; linear in the bytes that are new since the last time."""
    left_out: Counter[str] = Counter(snapshot.left_out)
    chosen: list[SourceFile] = []
    for file in snapshot.files:
        if is_read(file.path):
            chosen.append(file)
        else:
            role = role_of(file.path)
            left_out[role if role in _UNREAD_ROLES else "data"] += 1
    keys = {file.path: cache_key(file.path, file.blob) for file in chosen}
    known: dict[str, FileFacts] = {}
    with FactStore(snapshot.cache) as store:
        for key, text in store.get_many(keys.values()):
            known[key] = FileFacts.from_json(text)
        new: dict[str, SourceFile] = {}
        for file in chosen:
            if keys[file.path] not in known:
                new.setdefault(keys[file.path], file)
        fresh = _read_all(snapshot, list(new.values()))
        store.put_many((keys[path], text) for path, text in fresh)
        for path, text in fresh:
            known[keys[path]] = FileFacts.from_json(text)
        problem = store.problem
    rows = [(file, known[keys[file.path]]) for file in chosen if keys[file.path] in known]
    left_out["missing objects"] += len(chosen) - len(rows)
    without: Counter[str] = Counter()
    for _file, facts in rows:
        for note in facts.notes:
            if note == "no grammar":
                without[facts.language] += 1
            else:
                left_out[note] += 1
    counted = {reason: count for reason, count in left_out.items() if count}
    return Survey(tuple(rows), counted, dict(without), len(fresh), problem)


def _read_all(snapshot: RepositorySnapshot, files: Sequence[SourceFile]) -> list[tuple[str, str]]:
    """Facts as JSON, by path. A pool only where the work is worth starting one."""
    cores = min(os.cpu_count() or 1, 8)
    batches: list[list[tuple[str, bytes]]] = [[]]
    held = 0
    if cores == 1 or sum(file.size for file in files) < _WORTH_A_POOL_BYTES:
        return read_batch((file.path, data) for file, data in snapshot.contents(files))
    for file, data in snapshot.contents(files):
        batches[-1].append((file.path, data))
        held += len(data)
        if held > _BATCH_BYTES:
            batches.append([])
            held = 0
    try:
        return facts_in_parallel(batches, cores)
    except (WorkerDiedError, OSError):
        return [row for batch in batches for row in read_batch(batch)]


def read_batch(batch: Iterable[tuple[str, bytes]]) -> list[tuple[str, str]]:
    """What one worker does: the facts of a few files, as JSON."""
    return [(path, _facts_of(path, data).to_json()) for path, data in batch]


def _facts_of(path: str, data: bytes) -> FileFacts:
    """A file that our own reader fails on must not take the other thousand with it: it is counted instead."""
    try:
        return read_facts(path, data)
    except Exception as error:  # noqa: BLE001
        return FileFacts(language_of(path), 0, notes=(f"reader failed: {type(error).__name__}",))
