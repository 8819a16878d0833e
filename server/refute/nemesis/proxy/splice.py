"""Moving large pieces from socket to socket inside the kernel, without a copy, where it can (Linux)."""

from __future__ import annotations

import fcntl
import os
import sys

WORTHWHILE_BYTES = 16 * 1024
_PIPE_BYTES = 1024 * 1024


class Splice:
    """One pipe through which bytes are moved; it is empty between two calls."""

    def __init__(self) -> None:
        self.works = sys.platform == "linux" and hasattr(os, "splice")
        if self.works:
            self._out, self._in = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
            fcntl.fcntl(self._in, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def take(self, source: int) -> int:
        """Move what there is into the pipe; how many bytes. Raises OSError as `recv` does."""
        return os.splice(source, self._in, _PIPE_BYTES, flags=_AT_ONCE)

    def give(self, sink: int, size: int) -> int:
        """Move so many bytes on; how many went. Raises OSError as `send` does; they stay in the pipe."""
        return os.splice(self._out, sink, size, flags=_AT_ONCE)

    def rest(self, size: int) -> bytes:
        """The bytes that are still in the pipe."""
        pieces = []
        while size:
            pieces.append(os.read(self._out, size))
            size -= len(pieces[-1])
        return b"".join(pieces)


_AT_ONCE = (os.SPLICE_F_MOVE | os.SPLICE_F_NONBLOCK) if sys.platform == "linux" else 0
