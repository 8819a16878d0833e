"""Talking to a proxy host over its control socket, from any process that knows where it is."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from refute.nemesis.errors import NemesisError

_TIMEOUT_S = 5.0


class Control:
    """One connection to a proxy host, or to `who` else serves a control socket; any thread may ask."""

    def __init__(self, path: Path, who: str = "proxy host") -> None:
        self._who = who
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_TIMEOUT_S)
        self._received = b""
        self._one_at_a_time = threading.Lock()
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise NemesisError(f"the {who} does not answer: {error.strerror}", where=path) from error

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Hang up."""
        self.close()

    def ask(self, do: str, **fields: Any) -> dict[str, Any]:
        """Its answer. Raises NemesisError where it refuses or is gone."""
        try:
            with self._one_at_a_time:
                line = self._exchange(json.dumps({"do": do, **fields}).encode() + b"\n")
        except OSError as error:
            raise NemesisError(f"the {self._who} does not answer: {error}") from error
        answer: dict[str, Any] = json.loads(line)
        if not answer.pop("ok"):
            raise NemesisError(f"the {self._who} refuses: {answer['error']}")
        return answer

    def _exchange(self, request: bytes) -> bytes:
        self._socket.sendall(request)
        while b"\n" not in self._received:
            piece = self._socket.recv(262144)
            if not piece:
                raise ConnectionError("it hung up")
            self._received += piece
        line, _, self._received = self._received.partition(b"\n")
        return line

    def close(self) -> None:
        """Hang up."""
        self._socket.close()
