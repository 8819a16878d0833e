"""The proxy host: the process that holds all proxies of one run and obeys its control socket.

`python -m refute.nemesis.proxy.host`, with its configuration as JSON on standard input; it answers with one
line of JSON once it listens. It outlives its owner for as long as the guard may need it.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from refute.nemesis.proxy.channel import serve_control
from refute.nemesis.proxy.connection import Connection
from refute.nemesis.proxy.datagrams import Datagrams
from refute.nemesis.proxy.effect import NS, Rule
from refute.nemesis.proxy.link import Link
from refute.nemesis.proxy.loop import READ, Loop
from refute.nemesis.proxy.orphan import end_without_owner
from refute.nemesis.proxy.relay import relay_if_any
from refute.system.process_table import ProcessId, family
from refute.system.socket_owners import connection_pids, datagram_pids

_BACKLOG = 1024
_ACCEPTS_A_ROUND = 64
_ASK_AGAIN_S = 0.02
_ASK_FOR_S = 0.5
_UNKNOWN = "unknown"
_PORTS_TRIED = 20


class Host:
    """All listeners, connections and links of a run."""

    def __init__(self, configuration: Mapping[str, Any]) -> None:
        self.loop = Loop(relay_if_any())
        self._links: dict[tuple[str, str], Link] = {}
        self._connections: set[Connection] = set()
        self._pids: dict[str, int] = {}
        self._owner = ProcessId(*configuration["owner"])
        self._control_path = Path(configuration["control"])
        self.addresses = []
        self._datagrams: list[Datagrams] = []
        for written in configuration["listeners"]:
            streams, datagrams = _listen(written["host"], written.get("transport", "tcp"))
            callers = _Callers(self, written["caller"], written["callee"])
            target = (written["target"][0], written["target"][1])
            if streams is not None:
                listener = _Listener(self, streams, callers, target)
                self.loop.watch(streams, READ, 0, listener.accept)
            if datagrams is not None:
                self._datagrams.append(Datagrams(self.loop, datagrams, target, callers.links_from))
            bound = streams or datagrams
            assert bound is not None
            self.addresses.append(f"{written['host']}:{bound.getsockname()[1]}")
        for caller, callee in configuration["links"]:
            self.link(caller, callee)
        serve_control(self.loop, self._control_path, self.obey)
        end_without_owner(self.loop, self._owner)

    def link(self, caller: str, callee: str) -> Link:
        """The directed link, made where there is none yet."""
        if (caller, callee) not in self._links:
            self._links[caller, callee] = Link(caller, callee)
        return self._links[caller, callee]

    def begin(self, accepted: socket.socket, caller: str, callee: str, target: tuple[str, int]) -> None:
        """Proxy a connection whose caller is known."""
        there, back = self.link(caller, callee), self.link(callee, caller)
        refused = any(link.effect is not None and link.effect.refuse for link in (there, back))
        connection = Connection(self.loop, accepted, target, there, back, self._connections.discard)
        if refused:
            there.refused_connections += 1
            connection.close(reset=True)
            return
        self._connections.add(connection)
        connection.begin()

    def who_calls(self, theirs: tuple[str, int], ours: tuple[str, int]) -> str | None:
        """The node that has opened the connection from this address to ours."""
        for node, pid in self._pids.items():
            if connection_pids(theirs, ours, [pid]):
                return node
        for node, pid in self._pids.items():
            members = [member.pid for member in family(pid)]
            if connection_pids(theirs, ours, members):
                return node
        return None

    def who_sends(self, theirs: tuple[str, int]) -> str | None:
        """The node that has bound the UDP socket of this address."""
        for node, pid in self._pids.items():
            members = [pid, *(member.pid for member in family(pid))]
            if datagram_pids(theirs, members):
                return node
        return None

    def obey(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out one request of the control socket."""
        match asked["do"]:
            case "apply":
                return self._apply(asked["fault"], asked["links"], asked["rule"])
            case "heal":
                return self._heal(asked["fault"])
            case "stats":
                relayed = sum(link.relayed.delivered_bytes for link in self._links.values())
                return {"links": self._stats(), "relayed_bytes": relayed}
            case "connections":
                return {"connections": [each.ends() for each in self._connections]}
            case "sessions":
                return {"sessions": [one for each in self._datagrams for one in each.sessions()]}
            case "faults":
                return {"faults": sorted({name for link in self._links.values() for name in link.rules})}
            case "nodes":
                self._pids |= asked["pids"]
                return {}
            case "exit":
                self.loop.end()
                return {}
        raise ValueError(f"unknown request {asked['do']!r}")

    def close(self) -> None:
        """Leave nothing behind."""
        for datagrams in self._datagrams:
            datagrams.close()
        for connection in list(self._connections):
            connection.close(reset=False)
        self._control_path.unlink(missing_ok=True)

    def _apply(self, fault: str, pairs: list[list[str]], written: Mapping[str, Any]) -> dict[str, Any]:
        rule = Rule.from_json(fault, written)
        links = {self.link(*pair) for pair in pairs}
        touched = [connection for connection in self._connections if connection.touches(links)]
        if rule.kind == "reset":
            for connection in touched:
                for link in links & {flow.link for flow in connection.flows()}:
                    link.reset_connections += 1
                connection.close(reset=True)
        elif rule.kind == "half-open":
            for link in links:
                link.put(rule)
                for connection in touched:
                    link.half_open_connections += connection.make_half_open(link)
        else:
            for link in links:
                link.put(rule)
                if rule.kind == "partition":
                    link.held_bytes += sum(
                        flow.queued for c in touched for flow in c.flows() if flow.link is link
                    )
            for connection in touched:
                for flow in connection.flows():
                    flow.forget_limits()
                    flow.settle()
        return {"time_ns": time.monotonic_ns(), "connections": len(touched), "links": self._stats()}

    def _heal(self, fault: str) -> dict[str, Any]:
        lifted = {link: rule for link in self._links.values() if (rule := link.lift(fault))}
        drop = {link for link, rule in lifted.items() if rule.drop_on_heal}
        half_open = {link for link, rule in lifted.items() if rule.kind == "half-open"}
        links = set(lifted)
        for connection in [each for each in self._connections if each.touches(links)]:
            if half_open and any(flow.swallow and flow.link in half_open for flow in connection.flows()):
                connection.close(reset=True)
            else:
                connection.unblocked(drop)
        for datagrams in self._datagrams:
            for direction in datagrams.directions():
                if direction.link in links:
                    direction.healed(drop=direction.link in drop)
        return {"time_ns": time.monotonic_ns(), "lifted": len(lifted)}

    def _stats(self) -> dict[str, dict[str, int]]:
        stats = {
            link.name: link.counters()
            | {"acked_bytes": link.acked_by_closed, "asked_bytes": link.asked_by_closed}
            | {"open": 0, "held_now": 0}
            for link in self._links.values()
        }
        for connection in self._connections:
            for flow in connection.flows():
                of_link = stats[flow.link.name]
                of_link["held_now"] += flow.queued
                if flow.sink is not None and flow.sink.up and flow.sink.socket.fileno() >= 0:
                    acked = flow.sink.acked_bytes()
                    of_link["acked_bytes"] += acked
                    of_link["asked_bytes"] += acked if flow is connection.forward else 0
                    of_link["open"] += 1
        return stats


def _listen(host: str, transport: str) -> tuple[socket.socket | None, socket.socket | None]:
    """Sockets for streams and for datagrams, of the same port where both are wanted."""
    for attempt in range(_PORTS_TRIED):
        streams = datagrams = None
        if transport != "udp":
            streams = socket.create_server((host, 0), backlog=_BACKLOG)
            streams.setblocking(False)
        if transport != "tcp":
            datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            try:
                datagrams.bind((host, streams.getsockname()[1] if streams else 0))
            except OSError:
                datagrams.close()
                if streams is None or attempt == _PORTS_TRIED - 1:
                    raise
                streams.close()
                continue
        return streams, datagrams
    raise AssertionError("unreachable")


class _Callers:
    """Who sends to one node through one listener: always the same one, or whoever it is (`caller` None)."""

    def __init__(self, host: Host, caller: str | None, callee: str) -> None:
        self.caller = caller
        self.callee = callee
        self._host = host

    def links_from(self, theirs: tuple[str, int]) -> tuple[Link, Link]:
        """The links there and back of whoever sends datagrams from this address."""
        caller = self.caller or self._host.who_sends(theirs) or _UNKNOWN
        return self._host.link(caller, self.callee), self._host.link(self.callee, caller)


class _Listener:
    """Accepts the connections to one node."""

    def __init__(
        self, host: Host, listening: socket.socket, callers: _Callers, target: tuple[str, int]
    ) -> None:
        self._host = host
        self._socket = listening
        self._ours = listening.getsockname()
        self._caller = callers.caller
        self._callee = callers.callee
        self._target = target

    def accept(self, _: int) -> None:
        for _round in range(_ACCEPTS_A_ROUND):
            try:
                accepted, peer = self._socket.accept()
            except OSError:  # nobody more, or gone again
                return
            if self._caller is not None:
                self._host.begin(accepted, self._caller, self._callee, self._target)
            else:
                self._identify(accepted, peer, time.monotonic() + _ASK_FOR_S)

    def _identify(self, accepted: socket.socket, theirs: tuple[str, int], deadline: float) -> None:
        caller = self._host.who_calls(theirs, self._ours)
        if caller is None and time.monotonic() < deadline:
            # A node that has only just started may not have been announced yet.
            again = time.monotonic_ns() + int(_ASK_AGAIN_S * NS)
            self._host.loop.at(again, lambda: self._identify(accepted, theirs, deadline))
            return
        self._host.begin(accepted, caller or _UNKNOWN, self._callee, self._target)


def main() -> int:
    """Listen, say where, and serve until told to leave."""
    configuration = json.load(sys.stdin)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    host = Host(configuration)
    signal.signal(signal.SIGTERM, lambda *_: host.loop.end())
    print(json.dumps({"addresses": host.addresses}), flush=True)  # noqa: T201
    os.close(1)
    try:
        host.loop.run()
    finally:
        host.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
