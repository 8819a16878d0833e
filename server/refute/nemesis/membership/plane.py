"""The membership plane: a node leaves, or is replaced by an empty one, by the system's own commands."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from refute.history.fault import Reading, Signal
from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.membership.undo import VERBS, members
from refute.nemesis.plane import Fault, Probe, Readings, Site, Snapshot, around
from refute.nemesis.undo import Undo
from refute.system.placement import Placement
from refute.system.templates import render_words

_CHANGES_WITHIN_S = 10.0


class MembershipPlane:
    """The commands are told of the node in `{node}`; `members` lists who belongs, and has to say so."""

    name: ClassVar[str] = "membership"
    kinds: ClassVar[frozenset[str]] = frozenset({"remove", "replace"})

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
        """Nothing is changed about the start."""
        return Placement()

    def targets(self, fault: Fault) -> tuple[str, ...]:
        """One node, running, with another one beside it that can be asked."""
        if len(fault.nodes) != 1 or fault.nodes[0] not in self._cluster.spec.nodes:
            raise FaultInputError(f"{fault.kind}: name one node")
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
        if not self._cluster.node(fault.nodes[0]).running:
            raise NemesisError("it has ended", where=fault.nodes[0])
        self._witness(fault)
        return fault.nodes

    def undos(self, fault: Fault) -> tuple[Undo, ...]:
        """The opposite command, unless another node lists the members of before. Raises NemesisError."""
        if fault.id not in self._handles:
            node, witness = fault.nodes[0], self._witness(fault)
            handle = {
                "node": node,
                "witness": witness,
                "list": self._words(fault, "members", witness),
                "undo": self._words(fault, "undo", node),
                "cwd": str(self._cluster.working_directory(node)),
                "env": _beyond_ours(self._cluster.environment(node)),
                "nodes": [[p.identity.pid, p.identity.started] for p in self._cluster.nodes.values()],
                "before": "",
            }
            handle["before"] = members(handle)
            self._handles[fault.id] = handle
        return (Undo("rejoin", self._handles[fault.id]),)

    def apply(self, fault: Fault, take: Callable[[str], None]) -> Mapping[str, Any]:
        """Tell the system, see another node list other members, stop the node; for `replace` take it back."""
        node, handle = fault.nodes[0], self._handles[fault.id]
        self._seen |= {f"{fault.id}.before": handle["before"], f"{fault.id}.exit": "none"}
        result = self._cluster.run_command(str(fault.parameters["command"]), node)
        self._seen[f"{fault.id}.exit"] = f"exit {result.exit_code}"
        if result.exit_code != 0:
            said = (result.errors or result.output).strip()[-200:]
            raise NemesisError(f"the command failed (exit {result.exit_code}): {said}", where=node)
        deadline = time.monotonic() + _CHANGES_WITHIN_S
        while (now := members(handle)) == handle["before"] and time.monotonic() < deadline:
            time.sleep(0.1)
        self._seen[f"{fault.id}.during"] = now
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
            ),
        )

    def is_over(self, fault: Fault) -> bool:
        """A replacement is over when the new node is ready."""
        return fault.id in self._replaced

    def heal(self, fault: Fault, version: str | None) -> None:
        """The opposite command, and the node is started again, empty."""
        if fault.id not in self._replaced:
            self._take_back(fault, version)

    def verify_healed(self, fault: Fault) -> str | None:
        """The members of before are listed, and the node runs."""
        left = VERBS["rejoin"].left(self._handles[fault.id])
        if left is None and not self._cluster.node(fault.nodes[0]).running:
            left = f"{fault.nodes[0]} does not run"
        return left

    def close(self) -> None:
        """Nothing is held."""

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
        aside = self._site.run_dir / "aside" / f"{fault.id}-{self._cluster.spec.nodes.index(node) + 1}"
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


def _beyond_ours(environment: Mapping[str, str]) -> dict[str, str]:
    """What a command's environment has beyond our own, which the guard shares: the ledger holds no more."""
    return {name: value for name, value in environment.items() if os.environ.get(name) != value}
