"""The relay alone: what it passes on, what it hands back, and which numbers it does not fall for."""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from refute.nemesis.proxy.relay import SWITCH, Counts, Event, Outcome, Relay, load_relay, moved_by

FAR_OFF = 1 << 19


class Bench:
    """A relay with sockets to try it on; each `pair` is (ours, theirs)."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.epoll = stack.enter_context(select.epoll())
        self.relay = Relay(load_relay(), self.epoll.fileno())
        self.counts = Counts(clear=1)

    def pair(self) -> tuple[socket.socket, socket.socket]:
        with socket.create_server(("127.0.0.1", 0)) as server:
            theirs = self._stack.enter_context(socket.create_connection(server.getsockname(), timeout=30))
            ours = self._stack.enter_context(server.accept()[0])
        ours.setblocking(False)
        self.epoll.register(ours, select.EPOLLIN)
        return ours, theirs

    def begin(self, source: socket.socket, sink: socket.socket) -> bool:
        return self.relay.begin(source.fileno(), sink.fileno(), self.counts)

    def events(self, wait_s: float = 10.0) -> list[Event]:
        return list(self.relay.wait(wait_s))

    def arrives(self, receiver: socket.socket, data: bytes) -> None:
        """See the relay pass these bytes on to `receiver`, and hand nothing back."""
        came = b""
        deadline = time.monotonic() + 30
        while len(came) < len(data):
            assert time.monotonic() < deadline
            assert self.events(0.002) == []
            if select.select([receiver], [], [], 0)[0]:
                came += receiver.recv(len(data) - len(came))
        assert came == data


@pytest.fixture
def bench() -> Iterator[Bench]:
    with ExitStack() as stack:
        yield Bench(stack)


def test_bytes_of_a_flow_pass_and_are_counted(bench: Bench) -> None:
    (source, sender), (sink, receiver) = bench.pair(), bench.pair()
    assert bench.begin(source, sink)
    for data in (b"a", b"b" * 3000):
        sender.sendall(data)
        bench.arrives(receiver, data)
    assert (bench.counts.received_bytes, bench.counts.delivered_bytes, bench.counts.transits) == (
        3001,
        3001,
        2,
    )
    assert bench.counts.transit_ns > 0


def test_what_has_not_begun_or_has_ended_is_left_alone(bench: Bench) -> None:
    (source, sender), (sink, receiver) = bench.pair(), bench.pair()
    sender.sendall(b"x")
    for change in (lambda: None, lambda: bench.relay.end(source.fileno())):
        change()
        assert bench.events() == [Event(source.fileno(), select.EPOLLIN, Outcome.READY, b"")]
        bench.begin(source, sink)
    bench.arrives(receiver, b"x")


def test_a_link_with_a_fault_is_left_alone_until_it_is_clear_again(bench: Bench) -> None:
    (source, sender), (sink, receiver) = bench.pair(), bench.pair()
    bench.begin(source, sink)
    bench.counts.clear = 0
    sender.sendall(b"x")
    assert [event.outcome for event in bench.events()] == [Outcome.READY]
    assert bench.counts.received_bytes == 0
    bench.counts.clear = 1
    bench.arrives(receiver, b"x")


def test_an_end_is_handed_back_and_stays_to_be_read(bench: Bench) -> None:
    (source, sender), (sink, _) = bench.pair(), bench.pair()
    bench.begin(source, sink)
    sender.shutdown(socket.SHUT_WR)
    for _round in range(2):
        assert [event.outcome for event in bench.events()] == [Outcome.READY]
    assert source.recv(1) == b""


def test_a_reset_is_handed_back_and_stays_to_be_read(bench: Bench) -> None:
    (source, sender), (sink, _) = bench.pair(), bench.pair()
    bench.begin(source, sink)
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sender.close()
    (event,) = bench.events()
    assert event.outcome == Outcome.READY
    assert event.events & select.EPOLLERR
    with pytest.raises(ConnectionResetError):
        source.recv(1)


def test_an_error_that_is_told_only_once_is_handed_back(bench: Bench) -> None:
    sink, _ = bench.pair()
    out, into = os.pipe()  # no socket: reading it as one fails, as it does after a reset in between
    try:
        bench.epoll.register(out, select.EPOLLIN)
        assert bench.relay.begin(out, sink.fileno(), bench.counts)
        os.write(into, b"x")
        assert bench.events() == [Event(out, select.EPOLLIN, Outcome.SOURCE_BROKE, b"")]
    finally:
        os.close(out)
        os.close(into)


@pytest.mark.parametrize("size", [100, 100_000])
def test_a_sink_that_is_gone_is_handed_back_and_nothing_counts_as_delivered(bench: Bench, size: int) -> None:
    (source, sender), (sink, _) = bench.pair(), bench.pair()
    bench.begin(source, sink)
    sink.shutdown(socket.SHUT_WR)
    sender.sendall(b"x" * size)
    (event,) = bench.events()
    assert event.outcome == Outcome.SINK_BROKE
    assert bench.counts.received_bytes > 0
    assert bench.counts.delivered_bytes == 0


@pytest.mark.parametrize("piece", [1000, 200_000], ids=["copied", "by pages"])
def test_what_the_sink_has_no_room_for_is_handed_back_and_nothing_is_missing(
    bench: Bench, piece: int
) -> None:
    (source, sender), (sink, receiver) = bench.pair(), bench.pair()
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sink.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    bench.begin(source, sink)
    sent, rest = bytearray(), b""
    while not rest:
        data = os.urandom(piece)
        sender.sendall(data)
        sent += data
        for event in bench.events(0):
            assert event.outcome == Outcome.REST
            rest = event.rest
        assert len(sent) < 100_000_000
    bench.relay.end(source.fileno())
    assert bench.counts.received_bytes - bench.counts.delivered_bytes == len(rest)
    came = bytearray()
    while len(came) < bench.counts.delivered_bytes:
        came += receiver.recv(1_000_000)
    came += rest
    while len(came) < len(sent):
        came += source.recv(1_000_000)
    assert came == sent


def test_large_pieces_pass_whole(bench: Bench) -> None:
    (source, sender), (sink, receiver) = bench.pair(), bench.pair()
    bench.begin(source, sink)
    for _round in range(20):
        data = os.urandom(60_000)
        sender.sendall(data)
        bench.arrives(receiver, data)
    assert bench.counts.received_bytes == bench.counts.delivered_bytes == 20 * 60_000


@pytest.mark.parametrize("which", ["sink", "source"])
def test_a_number_that_another_socket_has_got_carries_nothing(bench: Bench, which: str) -> None:
    (source, sender), (sink, _) = bench.pair(), bench.pair()
    (other, other_peer) = bench.pair()
    bench.begin(source, sink)
    closed = sink if which == "sink" else source
    bench.relay.forget(closed.fileno())
    bench.epoll.unregister(other)
    os.dup2(other.fileno(), closed.fileno())
    bench.epoll.register(other, select.EPOLLIN)
    if which == "source":
        bench.epoll.register(source, select.EPOLLIN)
        sender = other_peer
    sender.sendall(b"not for you")
    assert {event.outcome for event in bench.events()} == {Outcome.READY}
    assert bench.counts.received_bytes == 0
    assert select.select([other_peer], [], [], 0)[0] == []


@pytest.mark.parametrize("number", [-1, -(2**31), 1 << 20, 2**31 - 1])
def test_numbers_that_no_socket_can_have_are_refused(bench: Bench, number: int) -> None:
    (source, sender), (sink, receiver) = bench.pair(), bench.pair()
    assert bench.begin(source, sink)
    assert not bench.relay.begin(number, sink.fileno(), bench.counts)
    assert not bench.relay.begin(source.fileno(), number, bench.counts)
    bench.relay.end(number)
    bench.relay.forget(number)
    sender.sendall(b"x")
    bench.arrives(receiver, b"x")


def test_flows_go_on_when_there_is_room_for_more_numbers(bench: Bench) -> None:
    (source, sender), (sink, receiver) = bench.pair(), bench.pair()
    bench.begin(source, sink)
    assert bench.relay.begin(FAR_OFF, FAR_OFF + 1, bench.counts)
    sender.sendall(b"x")
    bench.arrives(receiver, b"x")


def test_it_comes_back_although_bytes_never_stop(bench: Bench) -> None:
    (one, other), (two, another) = bench.pair(), bench.pair()
    for end in (other, another):
        end.setblocking(False)
        bench.epoll.register(end, select.EPOLLIN)
    bench.begin(one, two)  # what comes from `other` goes to `another`,
    bench.begin(another, other)  # from there back to where it came from
    other.sendall(b"round and round")
    began = time.monotonic()
    assert bench.events(60.0) == []
    assert time.monotonic() - began < 30
    assert bench.counts.transits > 1


def test_a_wait_without_events_ends_in_time(bench: Bench) -> None:
    began = time.monotonic()
    assert bench.events(0.02) == []
    assert time.monotonic() - began >= 0.02


def test_a_person_is_told_who_moves_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert moved_by() == "bytes are moved in C"
    monkeypatch.setenv(SWITCH, "off")
    assert moved_by() == "bytes are moved by Python: REFUTE_RELAY=off says so"
