"""Whoever moves the bytes, the relay or Python: streams stay whole, and what is counted is the same."""

from __future__ import annotations

import hashlib
import os
import random
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.nemesis.peers import eventually
from tests.nemesis.proxied import BACK, BY_PYTHON, BY_RELAY, LINK, Proxied, proxied

MOVERS = pytest.mark.parametrize("mover", [BY_RELAY, BY_PYTHON], ids=["relay", "python"])
FAULTS: list[dict[str, Any]] = [
    {"kind": "partition"},
    {"kind": "delay", "delay_s": 0.0005, "jitter_s": 0.0005},
    {"kind": "throttle", "rate": 40e6},
    {"kind": "bandwidth", "rate": 80e6},
    {"kind": "slow-close", "delay_s": 0.001},
]
DIRECTIONS = ([LINK], [BACK], [LINK, BACK])


class Streams:
    """Connections whose every byte is sent back by the other end, and hashed on the way out and back."""

    def __init__(self, plane: Proxied, count: int) -> None:
        self.stop = threading.Event()
        self.sent = [hashlib.sha256() for _ in range(count)]
        self.came = [hashlib.sha256() for _ in range(count)]
        self._threads: list[threading.Thread] = []
        for number in range(count):
            opened, accepted = plane.connect()
            for work in (
                lambda near=opened, number=number: self._send(near, number),
                lambda near=opened, number=number: self._hear(near, number),
                lambda far=accepted: self._echo(far),
            ):
                self._threads.append(threading.Thread(target=work))
        for thread in self._threads:
            thread.start()

    def _send(self, near: socket.socket, number: int) -> None:
        rng = random.Random(number)
        while not self.stop.is_set():
            piece = rng.randbytes(rng.choice((1, 200, 5000, 60_000, 300_000)))
            self.sent[number].update(piece)
            near.sendall(piece)
        near.shutdown(socket.SHUT_WR)

    def _hear(self, near: socket.socket, number: int) -> None:
        with near:
            while piece := near.recv(65536):
                self.came[number].update(piece)

    def _echo(self, far: socket.socket) -> None:
        with far:
            while piece := far.recv(262144):
                far.sendall(piece)

    def end(self) -> None:
        self.stop.set()
        for thread in self._threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in self._threads)


@pytest.fixture
def quick_switches() -> Iterator[None]:
    """Threads that move bytes all the time leave the one that switches faults its turn."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0002)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize(("mover", "times"), [(BY_RELAY, 200), (BY_PYTHON, 50)], ids=["relay", "python"])
@pytest.mark.usefixtures("quick_switches")
def test_no_byte_is_lost_doubled_or_out_of_turn_while_faults_come_and_go(
    mover: dict[str, str], times: int
) -> None:
    rng = random.Random(7)
    with proxied(mover) as plane:
        streams = Streams(plane, 3)
        try:
            for turn in range(times):
                plane.apply(f"f{turn}", rng.choice(DIRECTIONS), **rng.choice(FAULTS))
                plane.heal(f"f{turn}")
        finally:
            streams.end()
        assert [one.digest() for one in streams.came] == [one.digest() for one in streams.sent]
        counted, relayed = [plane.counters(link) for link in (LINK, BACK)], plane.relayed_bytes()
    assert {each["received_bytes"] for each in counted} == {each["delivered_bytes"] for each in counted}
    assert counted[0]["received_bytes"] == counted[1]["received_bytes"] > 0
    assert (relayed > 0) == (mover is BY_RELAY)


def exchange(sender: socket.socket, receiver: socket.socket, data: bytes) -> None:
    """Send, and see that the same arrives."""
    sending = threading.Thread(target=sender.sendall, args=(data,))
    sending.start()
    came = b""
    while len(came) < len(data):
        piece = receiver.recv(len(data) - len(came))
        assert piece, "it ended early"
        came += piece
    sending.join()
    assert came == data


def acknowledged(counters: dict[str, int]) -> bool:
    return counters["acked_bytes"] == counters["delivered_bytes"]


def counted(mover: dict[str, str]) -> tuple[dict[str, int], dict[str, int]]:
    """The counters of both directions after one and the same traffic."""
    with proxied(mover) as plane:
        opened, accepted = plane.connect()
        with opened, accepted:
            for size in (1, 200, 5000):
                exchange(opened, accepted, os.urandom(size))
                exchange(accepted, opened, os.urandom(size))
            plane.apply("slow", [LINK], kind="delay", delay_s=0.002)
            exchange(opened, accepted, os.urandom(300))
            plane.heal("slow")
            exchange(opened, accepted, os.urandom(700))
            assert eventually(lambda: all(acknowledged(plane.counters(each)) for each in (LINK, BACK)))
            there, back = plane.counters(LINK), plane.counters(BACK)
            opened.shutdown(socket.SHUT_WR)
            assert accepted.recv(1) == b""
            exchange(accepted, opened, os.urandom(40))
        assert (plane.relayed_bytes() > 0) == (mover is BY_RELAY)
    return there, back


def test_what_is_counted_does_not_depend_on_who_moves_the_bytes() -> None:
    by_relay, by_python = counted(BY_RELAY), counted(BY_PYTHON)
    for relayed, plain in zip(by_relay, by_python, strict=True):
        assert relayed.pop("transit_ns") > 0
        assert plain.pop("transit_ns") > 0
        assert relayed == plain
    there, back = by_relay
    assert there["received_bytes"] == there["delivered_bytes"] == 5201 + 300 + 700
    assert there["delayed_bytes"] == 300
    assert back["received_bytes"] == back["delivered_bytes"] == 5201


@MOVERS
def test_bytes_that_the_receiver_does_not_read_wait_and_arrive_whole(mover: dict[str, str]) -> None:
    data = random.Random(3).randbytes(12_000_000)
    with proxied(mover) as plane:
        opened, accepted = plane.connect()
        with opened, accepted:
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            sending = threading.Thread(target=opened.sendall, args=(data,))
            sending.start()
            assert eventually(lambda: plane.counters()["held_now"] > 0)
            came = hashlib.sha256()
            left = len(data)
            while left:
                piece = accepted.recv(65536)
                came.update(piece)
                left -= len(piece)
            sending.join()
        assert came.digest() == hashlib.sha256(data).digest()
        assert plane.counters()["delivered_bytes"] == len(data)


@MOVERS
@pytest.mark.parametrize("size", [100, 3_000_000])
def test_a_reset_arrives_as_a_reset_whatever_was_sent_before(mover: dict[str, str], size: int) -> None:
    with proxied(mover) as plane:
        opened, accepted = plane.connect()
        with accepted:
            exchange(opened, accepted, os.urandom(size))
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            opened.close()
            with pytest.raises(ConnectionResetError):
                accepted.recv(1)


@MOVERS
def test_a_receiver_that_is_gone_is_told_to_the_sender(mover: dict[str, str]) -> None:
    with proxied(mover) as plane:
        opened, accepted = plane.connect()
        with opened:
            exchange(opened, accepted, b"x" * 100)
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            accepted.close()
            with pytest.raises(ConnectionResetError):
                opened.recv(1)


@MOVERS
def test_numbers_of_closed_connections_are_used_again_and_no_stream_gets_another_s(
    mover: dict[str, str],
) -> None:
    with proxied(mover) as plane:
        for turn in range(30):
            opened, accepted = plane.connect()
            exchange(opened, accepted, b"%d" % turn * 50)
            exchange(accepted, opened, b"%d" % -turn * 50)
            first, second = (opened, accepted) if turn % 2 else (accepted, opened)
            first.close()
            assert second.recv(1) == b""
            second.close()


def test_without_a_compiler_bytes_are_moved_by_python_and_the_log_says_why(tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path), "CC": "", "REFUTE_CACHE": str(tmp_path / "cache")}
    with proxied(environment) as plane:
        opened, accepted = plane.connect()
        with opened, accepted:
            exchange(opened, accepted, b"x" * 1000)
        assert plane.relayed_bytes() == 0
        assert plane.counters()["delivered_bytes"] == 1000
        assert "moved by Python: the relay of the proxy plane has to be built" in plane.log.read_text()
