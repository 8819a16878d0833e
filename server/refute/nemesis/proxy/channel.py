"""The serving end of a control socket: a JSON document a line, in both directions."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from refute.errors import RefuteError
from refute.nemesis.proxy.loop import READ, Loop

Obey = Callable[[Mapping[str, Any]], dict[str, Any]]


def serve_control(loop: Loop, path: Path, obey: Obey) -> None:
    """Listen at `path` and have each request carried out by `obey`. Raises OSError."""
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    control.bind(str(path))
    control.listen(8)
    control.setblocking(False)

    def accept(_: int) -> None:
        with suppress(BlockingIOError):
            accepted, _address = control.accept()
            accepted.setblocking(False)
            loop.watch(accepted, READ, 0, _Channel(loop, accepted, obey).read)

    loop.watch(control, READ, 0, accept)


class _Channel:
    """One connection to the control socket."""

    def __init__(self, loop: Loop, sock: socket.socket, obey: Obey) -> None:
        self._loop = loop
        self._socket = sock
        self._obey = obey
        self._received = b""

    def read(self, _: int) -> None:
        try:
            data = self._socket.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._loop.watch(self._socket, 0, READ, self.read)
            self._socket.close()
            return
        *lines, self._received = (self._received + data).split(b"\n")
        for line in lines:
            try:
                answer = {"ok": True, **self._obey(json.loads(line))}
            except (ValueError, KeyError, TypeError, OSError, RefuteError) as error:
                said = str(error) if isinstance(error, RefuteError) else f"{type(error).__name__}: {error}"
                answer = {"ok": False, "error": said}
            # Answers are small; a client that does not read them loses them.
            self._socket.setblocking(True)
            self._socket.settimeout(1.0)
            with suppress(OSError):
                self._socket.sendall(json.dumps(answer).encode() + b"\n")
            self._socket.setblocking(False)
