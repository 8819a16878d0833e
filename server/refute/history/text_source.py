"""Lines of a file in chunks, whatever it is compressed with, in bounded memory."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from refute.history.error import HistoryError

CHUNK_BYTES = 1 << 20
LINE_LIMIT_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some whole lines, without their line ends; `first` is the number of the first one (from 1).

    `unended` says that the file stopped before the end of the last line.
    """

    first: int
    lines: list[bytes]
    unended: bool = False


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """The bytes of a file, decompressed (gzip, zstd) by what it starts with, not by its name.

    Raises HistoryError where the file cannot be read.
    """
    file = Path(path)
    try:
        raw = file.open("rb")
    except OSError as error:
        raise HistoryError(f"cannot read: {error.strerror}", where=file) from None
    with raw:
        head = raw.peek(4)[:4]
        if head[:2] == b"\x1f\x8b":
            with gzip.GzipFile(fileobj=raw) as inner:
                yield cast("IO[bytes]", inner)
        elif head == b"\x28\xb5\x2f\xfd":
            import zstandard

            with zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True) as reader:
                yield cast("IO[bytes]", reader)
        else:
            yield raw


def chunks(path: str | os.PathLike[str], *, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
    """All lines of a file, about `chunk_bytes` at a time; blank lines are kept, so numbers stay true.

    Raises HistoryError for a file that cannot be read, is truncated inside its compression, or has
    a line longer than 64 MB.
    """
    with opened(path) as stream:
        number, rest = 1, b""
        while True:
            block = _read(stream, path, chunk_bytes)
            if not block:
                break
            text = rest + block
            cut = text.rfind(b"\n")
            if cut < 0:
                rest = text
                if len(rest) > LINE_LIMIT_BYTES:
                    raise HistoryError(
                        f"a line is longer than {LINE_LIMIT_BYTES >> 20} MB",
                        where=f"{path}:{number}",
                        hint="a history has one operation or event a line",
                    )
                chunk_bytes *= 2
                continue
            lines = text[:cut].split(b"\n")
            rest = text[cut + 1 :]
            yield Chunk(number, lines)
            number += len(lines)
        if rest:
            yield Chunk(number, [rest], unended=True)


def _read(stream: IO[bytes], path: str | os.PathLike[str], size: int) -> bytes:
    try:
        return stream.read(size)
    except EOFError:
        raise HistoryError("the compressed file is cut off", where=Path(path)) from None
    except (OSError, zlib.error) as error:
        raise HistoryError(f"cannot read: {error}", where=Path(path)) from None
    except Exception as error:  # what zstandard raises is known only where it is installed
        if type(error).__module__.partition(".")[0] == "zstandard":
            raise HistoryError(f"cannot decompress: {error}", where=Path(path)) from None
        raise
