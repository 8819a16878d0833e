"""The membership plane: a node joins, leaves or is replaced, by the system's own commands."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from refute.errors import RefuteError
from refute.history.fault import Reading, Signal
from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.marked import NAME, end_marked
from refute.nemesis.membership.undo import VERBS, members
from refute.nemesis.plane import Fault, Probe, Readings, Site, Snapshot, around
from refute.nemesis.undo import Undo, verb
from refute.system.cluster import Cluster
from refute.system.placement import NodePlacement, Placement
from refute.system.templates import render_words

_CHANGES_WITHIN_S = 10.0


class MembershipPlane:
    """The commands are told of the node in `{node}`; `members` lists who belongs, and has to say so."""

    name: ClassVar[str] = "membership"
    kinds: ClassVar[frozenset[str]] = frozenset({"add", "remove", "replace"})

    def __init__(self, site: Site) -> None:
        self._site = site
        self._cluster = site.cluster
        self._handles: dict[str, dict[str, Any]] = {}
        self._seen: dict[str, Reading] = {}
        self._replaced: set[str] = set()

    @staticmethod
    def probe(kind: str) -> Probe:  # noqa: ARG004
        """It needs nothing of the machine; whether a system has the commands is asked of its description."""
        return Probe(True)

    def prepare(self) -> Placement:
        """A spare carries a mark, so that whoever undoes its joining finds its processes."""
        marks = {spare: {NAME: self._mark(spare)} for spare in self._cluster.spec.spares}
        return Placement(nodes={spare: NodePlacement(alone=mark) for spare, mark in marks.items()})

    def targets(self, fault: Fault) -> tuple[str, ...]:
        """One node, running, or a spare that is to join; with another one beside it that can be asked."""
        if len(fault.nodes) != 1:
            raise FaultInputError(f"{fault.kind}: name one node")
        _require_fitting(fault.kind, fault.nodes[0], self._cluster)
        for name in ("command", "undo", "members"):
            written = fault.parameters.get(name)
            if not written:
                raise FaultInputError(f"{fault.kind}: name the system's own command in {name}")
            if written not in self._cluster.spec.commands:
                known = ", ".join(sorted(self._cluster.spec.commands)) or "none"
                raise FaultInputError(f"{fault.kind}: there is no command {written!r}; there are: {known}")
        version = fault.parameters.get("version")
        if version and not self._cluster.spec.has_version(version):
            raise FaultInputError(f"the system has no version {version!r}", where=fault.nodes[0])
        self._witness(fault)
        return fault.nodes

    def undos(self, fault: Fault) -> tuple[Undo, ...]:
        """The opposite command, unless another node lists the members of before; then the end of a spare.

        Raises NemesisError.
        """
        if fault.id not in self._handles:
            node, witness = fault.nodes[0], self._witness(fault)
            self._cluster.data_directory(node).mkdir(parents=True, exist_ok=True)  # commands run there
            handle = {
                "node": node,
                "witness": witness,
                "list": self._words(fault, "members", witness),
                "undo": self._words(fault, "undo", node),
                "cwd": str(self._cluster.working_directory(node)),
                "env": _beyond_ours(self._cluster.environment(node)),
                "nodes": [[p.identity.pid, p.identity.started] for p in self._cluster.nodes.values()],
                "before": "",
                "command": f"{self._site.ledger.run}/command-{fault.id}",
            }
            handle["before"] = members(handle)
            self._handles[fault.id] = handle
        rejoin = Undo("rejoin", self._handles[fault.id])
        # Last made, first undone: a member that runs can be told to leave, one that is gone may be missed.
        return (end_marked(self._mark(fault.nodes[0]), ()), rejoin) if fault.kind == "add" else (rejoin,)

    def apply(self, fault: Fault, take: Callable[[str], None]) -> Mapping[str, Any]:
        """Tell the system, and see another node list other members.

        A node that leaves is stopped, and for `replace` taken back; a spare that joins is started, and waited
        for until it is ready.
        """
        node, handle = fault.nodes[0], self._handles[fault.id]
        self._seen |= {f"{fault.id}.before": handle["before"], f"{fault.id}.exit": "none"}
        if fault.kind == "add":
            return {"before": handle["before"].split("\n"), "members": self._take_in(fault).split("\n")}
        self._tell(fault)
        now = self._see_a_change(fault)
        if self._cluster.node(node).running:
            self._cluster.terminate(node)
        take(f"{fault.id}.")
        if fault.kind == "replace":
            self._take_back(fault, None)
            self._cluster.wait_ready([node])
            self._replaced.add(fault.id)
        return {"before": handle["before"].split("\n"), "members": now.split("\n")}

    def measure(self) -> Snapshot:
        """What was listed last, as it was read when it mattered: listing is a command and not cheap."""
        return dict(self._seen)

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        """That the command was run, and that another node lists other members than before."""
        node, at = fault.nodes[0], fault.id
        _, before, _ = around(readings, f"{at}.before")
        _, during, after = around(readings, f"{at}.during")
        _, exit_, _ = around(readings, f"{at}.exit")
        witness = self._handles[fault.id]["witness"]
        return (
            Signal(
                *("injector", f"{node}: the command", "exit status of the system's own command", "becomes"),
                *("none", exit_, None, "exit 0"),
                target=node,
            ),
            Signal(
                *("victim", f"members as {witness} lists them", "the system's own listing", "changes"),
                *(before, during, after),
                target=node,
                needed=fault.kind == "add",
            ),
            *(self._readiness(fault, readings) if fault.kind == "add" else ()),
        )

    def is_over(self, fault: Fault) -> bool:
        """A replacement is over when the new node is ready."""
        return fault.id in self._replaced

    def heal(self, fault: Fault, version: str | None) -> None:
        """The opposite command; who left is started again, empty, and who joined is stopped."""
        if fault.kind == "add":
            self._send_away(fault)
        elif fault.id not in self._replaced:
            self._take_back(fault, version)

    def verify_healed(self, fault: Fault) -> str | None:
        """The members of before are listed; the node runs, or does not where it was a spare."""
        left = VERBS["rejoin"].left(self._handles[fault.id])
        if fault.kind == "add":
            return left or (verb("end-marked").left({"mark": self._mark(fault.nodes[0]), "files": []}))
        if left is None and not self._cluster.node(fault.nodes[0]).running:
            left = f"{fault.nodes[0]} does not run"
        return left

    def close(self) -> None:
        """Nothing is held."""

    def _tell(self, fault: Fault) -> None:
        node = fault.nodes[0]
        mark = {NAME: self._handles[fault.id]["command"]}
        result = self._cluster.run_command(str(fault.parameters["command"]), node, env=mark)
        self._seen[f"{fault.id}.exit"] = f"exit {result.exit_code}"
        if result.exit_code is None:
            raise NemesisError(f"the command did not end in {result.took_s:.0f} s", where=node)
        if result.exit_code != 0:
            said = (result.errors or result.output).strip()[-200:]
            raise NemesisError(f"the command failed (exit {result.exit_code}): {said}", where=node)

    def _see_a_change(self, fault: Fault) -> str:
        handle, deadline = self._handles[fault.id], time.monotonic() + _CHANGES_WITHIN_S
        while (now := members(handle)) == handle["before"] and time.monotonic() < deadline:
            time.sleep(0.1)
        self._seen[f"{fault.id}.during"] = now
        return now

    def _take_in(self, fault: Fault) -> str:
        node, at = fault.nodes[0], fault.id
        self._seen[f"{at}.ready"] = "no"
        start_first = fault.parameters.get("start", "after") == "before"
        try:
            if not start_first:
                self._tell(fault)
            self._cluster.start_node(node, fault.parameters.get("version"))
            if start_first:
                self._tell(fault)
            self._cluster.wait_ready([node])
            self._seen[f"{at}.ready"] = "yes"
            return self._see_a_change(fault)
        except BaseException:
            with suppress(RefuteError):  # it is tried again from the ledger
                VERBS["rejoin"].undo(self._handles[at])
            self._cluster.dismiss(node)
            raise

    def _send_away(self, fault: Fault) -> None:
        node, handle = fault.nodes[0], self._handles[fault.id]
        VERBS["rejoin"].undo(handle)
        self._cluster.dismiss(node)
        verb("end-marked").undo({"mark": self._mark(node), "files": []})
        self._put_data_aside(fault, node)
        if left := VERBS["rejoin"].left(handle):
            raise NemesisError(left, where=node)
        self._seen |= {f"{fault.id}.during": handle["before"], f"{fault.id}.ready": "no"}

    def _readiness(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        node = fault.nodes[0]
        _, during, after = around(readings, f"{fault.id}.ready")
        what, source = f"{node}: it is ready", "the readiness probes of the system's description"
        return (Signal("victim", what, source, "becomes", "no", during, after, "yes", node, needed=True),)

    def _mark(self, node: str) -> str:
        return f"{self._site.ledger.run}/spare-{node}"

    def _take_back(self, fault: Fault, version: str | None) -> None:
        node = fault.nodes[0]
        if not self._cluster.node(node).running:
            self._put_data_aside(fault, node)
        VERBS["rejoin"].undo(self._handles[fault.id])
        if not self._cluster.node(node).running:
            self._cluster.start_node(node, version or fault.parameters.get("version"))
        if left := VERBS["rejoin"].left(self._handles[fault.id]):
            raise NemesisError(left, where=node)
        self._seen[f"{fault.id}.during"] = self._handles[fault.id]["before"]

    def _put_data_aside(self, fault: Fault, node: str) -> None:
        # What a node knew as a member is of no use to the new one; it stays in the run's directory.
        data = Path(self._cluster.variables(node)["data"])
        aside = self._site.run_dir / "aside" / f"{fault.id}-{self._cluster.spec.everyone.index(node) + 1}"
        if fault.parameters.get("data", "aside") == "keep" or aside.exists():
            return
        aside.mkdir(parents=True)
        for entry in data.iterdir():
            shutil.move(entry, aside / entry.name)

    def _witness(self, fault: Fault) -> str:
        others = [node for node in self._cluster.spec.nodes if node not in fault.nodes]
        for node in others:
            if node in self._cluster.nodes and self._cluster.node(node).running:
                return node
        raise NemesisError("there is no other node that could say who belongs", where=fault.nodes[0])

    def _words(self, fault: Fault, which: str, node: str) -> list[str]:
        name = str(fault.parameters[which])
        words = render_words(self._cluster.spec.commands[name], self._cluster.variables(node), where=name)
        return [*self._cluster.placement.command_prefix, *words]


def _require_fitting(kind: str, node: str, cluster: Cluster) -> None:
    """That the node can join, or leave. Raises FaultInputError, NemesisError."""
    spec = cluster.spec
    if kind != "add":
        if node not in spec.nodes:
            raise FaultInputError(f"{kind}: {node} is a spare; heal the fault that added it", where=node)
        if not cluster.node(node).running:
            raise NemesisError("it has ended", where=node)
    elif node not in spec.spares:
        known = f"there are {', '.join(spec.spares)}" if spec.spares else "the system's description has none"
        raise FaultInputError(
            f"add: {node} is no spare; {known}",
            where=node,
            hint="name nodes that are not started at the beginning in the system's spares",
        )
    elif node in cluster.present:
        raise NemesisError("it was added already", where=node)


def _beyond_ours(environment: Mapping[str, str]) -> dict[str, str]:
    """What a command's environment has beyond our own, which the guard shares: the ledger holds no more."""
    return {name: value for name, value in environment.items() if os.environ.get(name) != value}
