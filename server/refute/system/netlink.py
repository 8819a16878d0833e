"""Asking the Linux kernel over netlink: a request, the messages of its answer, and the attributes in them."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

REQUEST, DUMP = 1, 0x300
_DONE, _ERROR = 3, 2
_HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")
_KIND = 0x3FFF
_PIECE = 1 << 17


def open_netlink(family: int) -> socket.socket:
    """A socket of the network namespace that we are in; it stays that one's wherever it is used."""
    opened = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, family)
    opened.settimeout(2.0)
    return opened


def message(kind: int, flags: int, body: bytes) -> bytes:
    """One request, padded so that another may follow."""
    length = _HEADER.size + len(body)
    return _HEADER.pack(length, kind, flags, 1, 0) + body + b"\0" * (-length % 4)


def messages(received: bytes) -> Iterator[tuple[int, bytes]]:
    """(kind, body) of each message of a datagram."""
    while len(received) >= _HEADER.size:
        length, kind, _, _, _ = _HEADER.unpack_from(received)
        yield kind, received[_HEADER.size : length]
        received = received[(length + 3) & ~3 :]


def ask(netlink: socket.socket, kind: int, body: bytes, *, dump: bool) -> Iterator[bytes]:
    """The bodies of the answer, one or, with `dump`, all there are. Raises OSError; nothing is no error."""
    netlink.send(message(kind, REQUEST | (DUMP if dump else 0), body))
    while True:
        for its_kind, its_body in messages(netlink.recv(_PIECE)):
            if its_kind == _DONE:
                return
            if its_kind == _ERROR:
                number = -struct.unpack_from("=i", its_body)[0]
                if number in (0, 2):  # ENOENT: there is none
                    return
                raise OSError(number, "the kernel does not answer")
            yield its_body
        if not dump:
            return


def attribute(kind: int, data: bytes) -> bytes:
    """One attribute, padded."""
    length = _ATTRIBUTE.size + len(data)
    return _ATTRIBUTE.pack(length, kind) + data + b"\0" * (-length % 4)


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(kind, content) of each attribute."""
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        if length < _ATTRIBUTE.size:
            return
        yield kind & _KIND, data[_ATTRIBUTE.size : length]
        data = data[(length + 3) & ~3 :]
