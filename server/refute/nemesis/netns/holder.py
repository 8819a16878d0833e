"""The holder: the process that owns all namespaces, links and rules of one run and obeys its control socket.

`python -m refute.nemesis.netns.holder`, started in namespaces of its own, with its configuration as JSON on
standard input; it answers with one line of JSON once the network stands. With the holder the kernel takes
away whatever it held; it outlives its owner for as long as the guard may need it.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

from refute.errors import RefuteError
from refute.nemesis.netns.command import nft, run
from refute.nemesis.netns.counters import CounterReader
from refute.nemesis.netns.ground import Effect, Ground
from refute.nemesis.netns.kernel import start_anchor, within
from refute.nemesis.netns.kinds import effect_of
from refute.nemesis.netns.layout import NAMES, SWITCH, at_the_member, at_the_switch, members_of
from refute.nemesis.netns.names import NameServer, use_our_names
from refute.nemesis.netns.rules import arrivals, counter_of, table_of
from refute.nemesis.proxy.channel import serve_control
from refute.nemesis.proxy.loop import Loop
from refute.nemesis.proxy.orphan import end_without_owner
from refute.system.process_table import ProcessId
from refute.system.socket_diagnosis import SocketTable


class Holder:
    """The network of a run and the faults that are on in it."""

    def __init__(self, configuration: Mapping[str, Any]) -> None:
        self.loop = Loop()
        self._run = configuration["run"]
        self._owner = ProcessId(*configuration["owner"])
        self._control_path = Path(configuration["control"])
        self._members = {member.name: member for member in members_of(configuration["nodes"])}
        self.anchors: dict[str, int] = {}
        self._counters: dict[str, CounterReader] = {}
        self._sockets: dict[str, SocketTable] = {}
        self._effects: dict[str, Effect] = {}
        names = bool(configuration.get("names"))
        if names:
            use_our_names(self._control_path.parent)
        for name in self._members:
            self.anchors[name] = start_anchor()
        self._plug_in()
        if names:
            run(["ip", "-batch", "-"], NAMES)
        self._names = NameServer(self.loop, self._members) if names else None
        self._ground = Ground(self._run, self._members, self.anchors, self.loop, names=self._names)
        serve_control(self.loop, self._control_path, self.obey)
        end_without_owner(self.loop, self._owner)

    def obey(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out one request of the control socket."""
        match asked["do"]:
            case "apply":
                return self._apply(asked["fault"], asked)
            case "heal":
                return self._heal(asked["fault"])
            case "left":
                return {"left": self._left(asked["fault"])}
            case "stats":
                questions = self._names.questions if self._names else {}
                asking = {node: {"questions": count} for node, count in questions.items()}
                return {"links": self._of_links(), "faults": self._of_faults(), "names": asking}
            case "exit":
                self.loop.end()
                return {}
        raise ValueError(f"unknown request {asked['do']!r}")

    def hand_over(self, descriptor: int) -> None:
        """Send a socket for asking about sockets in each namespace, in the order of the members.

        They are others than our own: on one that two processes use, each may get the other's answers.
        """
        with ExitStack() as closing_ours, socket.socket(fileno=descriptor) as channel:
            tables = []
            for anchor in self.anchors.values():
                with within(anchor):
                    tables.append(closing_ours.enter_context(closing(SocketTable())))
            socket.send_fds(channel, [b"."], [table.descriptor() for table in tables])

    def close(self) -> None:
        """End the anchors; with us the kernel removes the rest."""
        self._control_path.unlink(missing_ok=True)
        for anchor in self.anchors.values():
            with suppress(ProcessLookupError):
                os.kill(anchor, signal.SIGKILL)
                os.waitpid(anchor, 0)

    def _plug_in(self) -> None:
        members = list(self._members.values())
        cables = "".join(at_the_switch(member, self.anchors[member.name]) for member in members)
        run(["ip", "-batch", "-"], SWITCH + cables)
        for member in members:
            with within(self.anchors[member.name]):
                run(["ip", "-batch", "-"], at_the_member(member))
                nft(arrivals(self._run, [each for each in members if each is not member]))
                self._counters[member.name] = CounterReader()
                self._sockets[member.name] = SocketTable()

    def _apply(self, fault: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        if fault in self._effects:
            raise ValueError(f"{fault} is on already")
        effect = effect_of(self._ground, fault, asked["kind"], asked)
        self._effects[fault] = effect
        try:
            effect.put()
        except BaseException:
            with suppress(RefuteError, OSError):
                self._heal(fault)
            raise
        return {"time_ns": time.monotonic_ns()}

    def _heal(self, fault: str) -> dict[str, Any]:
        if effect := self._effects.get(fault):
            effect.take()
            if left := effect.left():
                return {"left": left}
            del self._effects[fault]
        return {"left": None}

    def _left(self, fault: str) -> str | None:
        effect = self._effects.get(fault)
        return effect.left() if effect else None

    def _of_links(self) -> dict[str, dict[str, int]]:
        found = self._count(table_of(self._run), "arrived_")
        names = {member.address: member.name for member in self._members.values()}
        for sender, table in self._sockets.items():
            for address, longest in table.round_trips_us().items():
                if (link := f"{sender}->{names.get(address)}") in found:
                    found[link]["round_trip_us"] = longest
        return found

    def _of_faults(self) -> dict[str, dict[str, int | str]]:
        found: dict[str, dict[str, int | str]] = {}
        for fault, effect in self._effects.items():
            found[fault] = dict(effect.readings())
            for link, values in self._count(table_of(self._run, fault), "").items():
                found[fault] |= {f"{link}.{name}": value for name, value in values.items()}
        return found

    def _count(self, table: str, prefix: str) -> dict[str, dict[str, int]]:
        found = {}
        for receiver, reader in self._counters.items():
            counters = reader.read()
            for sender in self._members.values():
                if (read := counters.get((table, counter_of(sender)))) is not None:
                    link = f"{sender.name}->{receiver}"
                    found[link] = {f"{prefix}packets": read[0], f"{prefix}bytes": read[1]}
        return found


def main() -> int:
    """Build the network, say who lives in it, and serve until told to leave."""
    configuration = json.load(sys.stdin)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with ExitStack() as held:
        try:
            holder = Holder(configuration)
        except (RefuteError, OSError) as error:
            print(json.dumps({"error": str(error)}), flush=True)  # noqa: T201
            return 69
        held.callback(holder.close)
        holder.hand_over(configuration["channel"])
        signal.signal(signal.SIGTERM, lambda *_: holder.loop.end())
        print(json.dumps({"anchors": holder.anchors}), flush=True)  # noqa: T201
        os.close(1)
        holder.loop.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
