"""The client plane: crowds of connections, slow readers, and requests that are sent again or out of turn."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from refute.history.fault import Reading, Signal
from refute.nemesis.client.rules import ClientRule
from refute.nemesis.client.sockets import at_node
from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.marked import end_marked, start_marked
from refute.nemesis.plane import Fault, Probe, Readings, Site, Snapshot, around
from refute.nemesis.serving import Serving
from refute.nemesis.undo import Undo, verb
from refute.plan.units import bytes_per_second, seconds
from refute.system.placement import Placement

_CROWDS = frozenset({"connection-storm", "slow-reader"})
_OF_REQUESTS: dict[str, tuple[str, str]] = {
    "duplicate": ("requests sent again", "answers of nodes to these"),
    "retry": ("requests sent again", "answers of nodes to these"),
    "reorder": (
        "requests held until a later one for the same key was answered",
        "answers of nodes to these, after those to the later ones",
    ),
}
"""What is counted of each at our own side, and at the nodes'."""
_MODULE = "refute.nemesis.client.crowd"
_GONE_WITHIN_S = 5.0
_ARRIVED_WITHIN_S = 10.0
_SEEN_WITHIN_S = 30.0
_MANY, _FEW = 1000, 10


@dataclass(slots=True)
class _Crowd:
    """One crowd at one node: its process, its report, and the most that was seen of it so far."""

    process: subprocess.Popen[bytes]
    report: Path
    port: int
    most: dict[str, int] = field(default_factory=dict)

    def said(self) -> dict[str, Any]:
        with suppress(OSError, ValueError):
            found: dict[str, Any] = json.loads(self.report.read_text())
            return found
        return {}


class ClientPlane:
    """Faults that a correct system has to bear; nothing is done to a node."""

    name: ClassVar[str] = "client"
    kinds: ClassVar[frozenset[str]] = frozenset({*_CROWDS, *_OF_REQUESTS})

    def __init__(self, site: Site) -> None:
        self._site = site
        self._cluster = site.cluster
        self._serving = Serving(site.cluster)
        self._crowds: dict[tuple[str, str], _Crowd] = {}
        self._rules_seen: list[str] = []

    @staticmethod
    def probe(kind: str) -> Probe:
        """Requests are in the hands of our own clients; what is read of a node's sockets is Linux's."""
        if kind in _CROWDS and sys.platform != "linux":
            return Probe(False, "the node's side of connections is read as Linux shows it")
        return Probe(True)

    def prepare(self) -> Placement:
        """Nothing is changed about the start."""
        return Placement()

    def targets(self, fault: Fault) -> tuple[str, ...]:
        """The nodes that a crowd goes to; all clients for faults of requests."""
        try:
            if fault.kind in _CROWDS:
                return self._crowd_targets(fault)
            self._rule(fault)
        except ValueError as error:
            raise FaultInputError(f"{fault.kind}: {error}") from error
        if fault.nodes:
            raise FaultInputError(f"{fault.kind}: it is a fault of all clients; name no node")
        return ("client",)

    def undos(self, fault: Fault) -> tuple[Undo, ...]:
        """Crowds are ended by their mark; a rule goes with its flag."""
        if fault.kind in _CROWDS:
            return (end_marked(self._mark(fault), [self._report(fault, node) for node in fault.nodes]),)
        return (Undo("remove-flag", {"file": str(self._flag(fault))}),)

    def apply(self, fault: Fault, take: Callable[[str], None]) -> Mapping[str, Any]:  # noqa: ARG002
        """Crowds are there when each has opened its connections."""
        if fault.kind in _CROWDS:
            return {"connections": {node: self._open_crowd(fault, node) for node in fault.nodes}}
        rules, rule = self._site.clients, self._rule(fault)
        assert rules is not None
        rule.flag.parent.mkdir(parents=True, exist_ok=True)
        rule.flag.touch()
        self._rules_seen.append(fault.id)
        rules.put(rule)
        return {"kinds": sorted(rule.kinds)}

    def measure(self) -> Snapshot:
        """What each crowd has opened and the node's kernel holds of it; requests sent again and answered."""
        values: dict[str, Reading] = {}
        for (fault, node), crowd in list(self._crowds.items()):
            said = crowd.said()
            there = at_node(
                self._serving.pids(self._cluster.node(node))[0], crowd.port, set(said.get("ports", ()))
            )
            now = {
                "opened": said.get("opened", 0),
                "at_node": there.connections + said.get("turned_away", 0),
                "unread": said.get("unread", 0),
                "unsent": there.unsent_bytes,
            }
            for name, value in now.items():
                crowd.most[name] = max(value, crowd.most.get(name, 0))
                values[f"{fault}.{node}.{name}"] = crowd.most[name]
        if rules := self._site.clients:
            for fault in self._rules_seen:
                values[f"{fault}.sent"] = rules.counted(fault, "sent")
                values[f"{fault}.answered"] = rules.counted(fault, "answered")
        return values

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        """Ours: opened, left unread, sent again; the node's: what its kernel holds, what it answered."""
        if fault.kind in _OF_REQUESTS:
            sent, answered = _OF_REQUESTS[fault.kind]
            return (
                _grown("injector", sent, readings, f"{fault.id}.sent", waited_for=True),
                _grown("victim", answered, readings, f"{fault.id}.answered", waited_for=True),
            )
        signals: list[Signal] = []
        for node in fault.nodes:
            at = f"{fault.id}.{node}"
            if fault.kind == "slow-reader":
                signals += [
                    _grown("injector", f"{node}: bytes left unread", readings, f"{at}.unread", node),
                    _grown("victim", f"{node}: bytes it could not send", readings, f"{at}.unsent", node),
                ]
                continue
            half = -(-int(fault.parameters.get("connections", _MANY)) // 2)
            held = "connections that it held or turned away"
            signals += [
                _grown("injector", f"{node}: connections opened", readings, f"{at}.opened", node, half),
                _grown("victim", f"{node}: {held}", readings, f"{at}.at_node", node, half),
            ]
        return tuple(signals)

    def is_over(self, fault: Fault) -> bool:  # noqa: ARG002
        """It lasts until it is healed."""
        return False

    def heal(self, fault: Fault, version: str | None) -> None:  # noqa: ARG002
        """Crowds leave; copies that are on their way are waited for."""
        for undo in self.undos(fault):
            verb(undo.verb).undo(undo.handle)
        for key in [key for key in self._crowds if key[0] == fault.id]:
            with suppress(subprocess.TimeoutExpired):
                self._crowds[key].process.wait(_GONE_WITHIN_S)
        longest_s = seconds(fault.parameters.get("after", 0)) + _ARRIVED_WITHIN_S
        if self._site.clients and not self._site.clients.lift(fault.id, longest_s):
            raise NemesisError(f"requests of {fault.id} are still on their way")

    def verify_healed(self, fault: Fault) -> str | None:
        """What is left of processes and flags."""
        left = [verb(undo.verb).left(undo.handle) for undo in self.undos(fault)]
        return "; ".join(filter(None, left)) or None

    def close(self) -> None:
        """No crowd outlives the run."""
        for crowd in self._crowds.values():
            crowd.process.kill()
            crowd.process.wait()
        self._crowds.clear()

    def _crowd_targets(self, fault: Fault) -> tuple[str, ...]:
        if not fault.nodes:
            raise FaultInputError(f"{fault.kind}: name a node")
        for node in fault.nodes:
            self._cluster.address(node, self._port(fault))
        if fault.kind == "slow-reader" and not str(fault.parameters.get("path", "/")).startswith("/"):
            raise FaultInputError("slow-reader: path: write a path from / on")
        bytes_per_second(fault.parameters.get("rate", "100B/s"))
        return fault.nodes

    def _open_crowd(self, fault: Fault, node: str) -> int:
        host, _, port = self._cluster.address(node, self._port(fault)).rpartition(":")
        slow = fault.kind == "slow-reader"
        path = str(fault.parameters.get("path", "/"))
        request = f"GET {path} HTTP/1.1\r\nhost: {host}:{port}\r\n\r\n".encode() if slow else b""
        asked = {
            "host": host,
            "port": int(port),
            "count": int(fault.parameters.get("connections", _FEW if slow else _MANY)),
            "request": request.hex(),
            "bytes_per_s": bytes_per_second(fault.parameters.get("rate", "100B/s")),
            "report": str(self._report(fault, node)),
        }
        process = start_marked(_MODULE, [json.dumps(asked)], self._mark(fault), self._site.environment)
        listens = int(self._cluster.listen_address(node, self._port(fault)).rpartition(":")[2])
        crowd = self._crowds[fault.id, node] = _Crowd(process, self._report(fault, node), listens)
        _wait_until(lambda: bool(crowd.said()), process)
        return int(crowd.said().get("opened", 0))

    def _rule(self, fault: Fault) -> ClientRule:
        given, rules = fault.parameters, self._site.clients
        if rules is None:
            raise NemesisError("there are no clients of this run whose requests could be touched")
        kinds = given.get("kinds")
        if not kinds:
            which = (
                "whose order is to change"
                if fault.kind == "reorder"
                else "that the system promises to apply once"
            )
            raise FaultInputError(f"name the kinds of operation {which}, in kinds")
        chosen = frozenset([kinds] if isinstance(kinds, str) else map(str, kinds))
        if unknown := chosen - rules.operations:
            known = ", ".join(sorted(rules.operations)) or "none"
            raise FaultInputError(
                f"no client that speaks HTTP knows {min(unknown)!r}; they know: {known}",
                hint="requests of a worker are in its own hands: describe the client under http",
            )
        return ClientRule(
            fault.id,
            fault.kind,
            chosen,
            self._flag(fault),
            float(given.get("share", 1.0)),
            int(given.get("times", 1)),
            seconds(given.get("after", 0)),
            seconds(given.get("within", "300ms")),
        )

    @staticmethod
    def _port(fault: Fault) -> str:
        return str(fault.parameters.get("port", "client"))

    def _mark(self, fault: Fault) -> str:
        return f"{self._site.ledger.run}/{fault.id}"

    def _flag(self, fault: Fault) -> Path:
        return self._site.run_dir / "client-faults" / fault.id

    def _report(self, fault: Fault, node: str) -> Path:
        number = self._cluster.spec.everyone.index(node) + 1
        return self._site.run_dir / f"crowd-{fault.id}-{number}.json"


def _grown(
    side: Literal["injector", "victim"],
    what: str,
    readings: Readings,
    name: str,
    target: str = "",
    expected: int | None = None,
    waited_for: bool = False,
) -> Signal:
    """A count that began with the fault, and so was zero before it.

    `waited_for`: the heal waits for what is on its way, so that the last of it is counted after the fault.
    """
    _, during, after = around(readings, name)
    if waited_for and isinstance(during, int | float) and isinstance(after, int | float):
        during = max(during, after)
    source = {"injector": "our own side", "victim": "the node's kernel, or its answers"}[side]
    rule: Literal["increases", "reaches"] = "increases" if expected is None else "reaches"
    return Signal(side, what, source, rule, 0, during, after, expected, target=target)


def _wait_until(holds: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _SEEN_WITHIN_S
    while not holds():
        if process.poll() is not None or time.monotonic() > deadline:
            raise NemesisError("the connections were not opened", hint=f"exit {process.returncode}")
        time.sleep(0.01)
