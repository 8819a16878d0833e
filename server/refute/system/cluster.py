"""A cluster: the nodes of one system description, started, restarted with their data, stopped whole."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from refute.errors import UnavailableError
from refute.plan.system_spec import FIRST, SystemSpec
from refute.resources import folder
from refute.system.errors import ClusterError, ClusterInputError
from refute.system.node import Exit, NodeProcess
from refute.system.placement import NodePlacement, Placement
from refute.system.ports import PortLease, require_free
from refute.system.socket_owners import listening_ports
from refute.system.templates import render, render_words

_NOWHERE_ELSE = NodePlacement()


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What one of the system's own commands did. `exit_code` is None where it ran out of time."""

    argv: tuple[str, ...]
    exit_code: int | None
    output: str
    errors: str
    took_s: float


class Cluster:
    """The node processes of a system description; leaving the context stops all of them.

    `root` gets a directory of data for each node (`data/n1`) and its log (`logs/n1.log`). Call
    `allocate`, then `place` where fault planes take part, then `start` and `wait_ready`. A node that is
    started again has the same ports and the same data.
    """

    def __init__(
        self,
        spec: SystemSpec,
        *,
        root: Path,
        plan_dir: Path,
        variables: Mapping[str, str] | None = None,
        placement: Placement | None = None,
    ) -> None:
        self.spec = spec
        self.root = root.resolve()
        self.plan_dir = plan_dir.resolve()
        self.placement = placement or Placement()
        self.ports: dict[str, dict[str, int]] = {}
        self.nodes: dict[str, NodeProcess] = {}
        self.on_started: list[Callable[[NodeProcess], None]] = []
        self._joined: set[str] = set()
        self._lease = PortLease()
        self._given = {**spec.variables, **(variables or {})}
        if unknown := set(variables or {}) - set(spec.variables):
            raise ClusterInputError(f"the system {spec.system!r} has no variable {min(unknown)!r}")

    def __enter__(self) -> Self:
        """Take the ports, so that addresses are known before anything starts."""
        self.allocate()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop whatever runs and give the ports back."""
        self.close()

    def allocate(self) -> Mapping[str, Mapping[str, int]]:
        """A free loopback port for each port of each node, the same at every call."""
        for node in self.spec.everyone:
            if node not in self.ports:
                self.ports[node] = {name: self._lease.take() for name in self.spec.ports}
        return self.ports

    @property
    def absent(self) -> tuple[str, ...]:
        """The spares that take no part now."""
        return tuple(spare for spare in self.spec.spares if spare not in self._joined)

    @property
    def present(self) -> tuple[str, ...]:
        """The nodes that take part now: those of the description, and the spares that were started."""
        return (*self.spec.nodes, *(spare for spare in self.spec.spares if spare in self._joined))

    def lease_port(self) -> int:
        """Another free loopback port that stays ours as those of the nodes do; the caller binds it."""
        port = self._lease.take()
        self._lease.release(port)
        return port

    def place(self, placement: Placement) -> None:
        """Use what the fault planes have prepared; before `start`."""
        self.placement = self.placement.with_(placement)

    def start(self) -> None:
        """Start all nodes, no spare; on any error stop again those that run.

        Raises ClusterError, ClusterInputError.
        """
        self.allocate()
        try:
            for node in self.spec.nodes:
                self.start_node(node)
        except BaseException:
            self.stop()
            raise

    def wait_ready(self, nodes: Sequence[str] | None = None, *, timeout_s: float | None = None) -> float:
        """Seconds until every probe held at each of these nodes. Raises ClusterError with a log's tail."""
        from refute.system.readiness import wait_ready

        return wait_ready(self, nodes or self.spec.nodes, timeout_s or self.spec.ready_timeout)

    def start_node(self, node: str, version: str | None = None) -> NodeProcess:
        """Start a node that does not run, by default in the version that it had. Raises ClusterError."""
        self._require_known(node)
        before = self.nodes.get(node)
        if before and before.running:
            raise ClusterError(f"it runs already as pid {before.pid}", where=node)
        version = version or (before.version if before else None)
        for name, port in self.allocate()[node].items():
            self._lease.release(port)
            self._require_free(port, node=node, name=name)
        data = self.data_directory(node)
        try:
            data.mkdir(parents=True, exist_ok=True)
            self.log_path(node).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ClusterError(
                f"its directory {error.filename} cannot be written: {error.strerror}", where=node
            ) from error
        if not os.access(data, os.W_OK | os.X_OK):
            raise ClusterError(f"its data directory {data} cannot be written", where=node)
        process = NodeProcess(
            node,
            [*self._placed(node).prefix, *self.command(node, version)],
            cwd=self.working_directory(node),
            env=self._process_environment(node, version),
            log=self.log_path(node),
            version=version,
        )
        self.nodes[node] = process
        if node in self.spec.spares:
            self._joined.add(node)
        for told in self.on_started:
            told(process)
        return process

    def listening(self, node: str) -> set[int]:
        """The TCP ports on which somebody listens, where the node has its own."""
        return listening_ports(self._placed(node).namespace)

    def kill(self, node: str) -> Exit:
        """SIGKILL; returns when the exit is complete."""
        return self.node(node).kill()

    def terminate(self, node: str) -> Exit:
        """Stop a node as the description says; returns when the exit is complete."""
        stop = self.spec.stop
        return self.node(node).terminate(signal.Signals[f"SIG{stop.signal}"], stop.grace)

    def dismiss(self, spare: str) -> None:
        """Stop a spare, if it was started; it takes no part any more."""
        if spare in self.nodes and self.nodes[spare].running:
            self.terminate(spare)
        self._joined.discard(spare)

    def restart(self, node: str, version: str | None = None) -> NodeProcess:
        """Stop a node, if it runs, and start it with the same data and ports."""
        if node in self.nodes and self.nodes[node].running:
            self.terminate(node)
        return self.start_node(node, version)

    def stop(self) -> dict[str, Exit]:
        """Stop all nodes, at the same time, and return how each ended; nothing of them is left.

        Raises ClusterError where something survives, after all others are stopped.
        """
        stop = self.spec.stop
        number = signal.Signals[f"SIG{stop.signal}"]
        running = [node for node in self.nodes.values() if node.running]
        for node in running:
            node.send(number)
            node.send(signal.SIGCONT)
        deadline = time.monotonic() + stop.grace
        survivors: list[str] = []
        for node in self.nodes.values():
            node.wait(max(0.0, deadline - time.monotonic()))
            try:
                node.kill()
            except ClusterError as error:
                survivors.append(str(error))
        if survivors:
            raise ClusterError("; ".join(survivors))
        return {name: node.exit for name, node in self.nodes.items() if node.exit}

    def close(self) -> None:
        """Stop, and give the ports back."""
        try:
            self.stop()
        finally:
            self._lease.close()

    def node(self, name: str) -> NodeProcess:
        """The latest process of a node. Raises ClusterError where it was never started."""
        self._require_known(name)
        if name not in self.nodes:
            raise ClusterError("it was never started", where=name)
        return self.nodes[name]

    def address(self, node: str, port: str) -> str:
        """`host:port` at which this process reaches a port of a node, past the fault planes."""
        self._require_known(node)
        if port not in self.spec.ports:
            raise ClusterInputError(
                f"there is no port {port!r}; there are {list(self.spec.ports)}", where=node
            )
        return self._placed(node).outside.get(port) or self.listen_address(node, port)

    def client_address(self, node: str, port: str) -> str:
        """`host:port` that clients are given: on the fault plane where `links.clients` is `proxied`."""
        return self.placement.links.clients.get((node, port)) or self.address(node, port)

    def listen_address(self, node: str, port: str) -> str:
        """`host:port` on which the node itself listens."""
        return f"{self._placed(node).host}:{self.allocate()[node][port]}"

    def link_address(self, caller: str, callee: str) -> str:
        """`host:port` at which one node reaches another: a link of the fault plane, if there is one."""
        links, port = self.placement.links, self._link_port()
        if callee in links.shared:
            return links.shared[callee]
        return links.links.get((caller, callee)) or self.listen_address(callee, port)

    def variables(self, node: str) -> dict[str, str]:
        """What templates in commands of this node stand for, by name."""
        values = self._own_variables(node)
        for other in self.spec.everyone:
            values |= {f"{other}.{name}": value for name, value in self._own_variables(other).items()}
            if other != node and self._has_links():
                values[f"link.{other}"] = self.link_address(node, other)
        for port in self.spec.ports:
            values[f"addresses.{port}"] = ",".join(
                self.listen_address(each, port) for each in self.spec.nodes
            )
        values["peers"] = self._peers(node)
        for name, value in self._given.items():
            values[f"variables.{name}"] = render(value, values, where=f"variables.{name}")
        return values

    def run_command(
        self,
        name: str,
        node: str | None = None,
        arguments: Sequence[str] = (),
        timeout_s: float = 30.0,
        *,
        env: Mapping[str, str] | None = None,
    ) -> CommandResult:
        """Run one of the system's own commands, with the variables of a node (by default the first).

        `env` is added to its environment. Raises ClusterInputError where the command is not in the
        description or does not exist.
        """
        if name not in self.spec.commands:
            known = ", ".join(sorted(self.spec.commands)) or "none"
            raise ClusterInputError(f"there is no command {name!r}; there are: {known}")
        where = node or self.spec.nodes[0]
        argv = [*render_words(self.spec.commands[name], self.variables(where), where=name), *arguments]
        return self.run_words(argv, where, timeout_s, env=env)

    def run_words(
        self, argv: Sequence[str], node: str, timeout_s: float, *, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        """Run words where they reach the nodes, with directory and environment of one of these.

        Raises ClusterInputError where the command does not exist.
        """
        prefix = (*self._placed(node).inside, *self.placement.command_prefix)
        if prefix and shutil.which(argv[0], path=self.environment(node).get("PATH")) is None:
            raise ClusterInputError(f"the command {argv[0]!r} does not exist")
        environment = {**self.environment(node), **(env or {})}
        result = run_words([*prefix, *argv], self.working_directory(node), environment, timeout_s)
        return replace(result, argv=tuple(argv))

    def setup(self) -> list[CommandResult]:
        """Run the set-up commands in order. Raises ClusterError with what the first that fails said."""
        results = []
        for name in self.spec.setup:
            result = self.run_command(name)
            results.append(result)
            if result.exit_code != 0:
                said = (result.errors or result.output).strip()[-500:]
                raise ClusterError(f"set-up command failed (exit {result.exit_code}): {said}", where=name)
        return results

    def log_path(self, node: str) -> Path:
        """The log of a node, of all its runs."""
        return self.root / "logs" / f"{node}.log"

    def data_directory(self, node: str) -> Path:
        """What `{data}` stands for: as the node sees it, which may be in a namespace of its own."""
        return self._placed(node).data or self.root / "data" / node

    def working_directory(self, node: str) -> Path:
        """Where a node's commands run: `cwd` of the description, from the plan's folder; else its data."""
        if self.spec.cwd is None:
            return self.data_directory(node)
        return self.plan_dir / render(self.spec.cwd, self._own_variables(node), where="cwd")

    def environment(self, node: str, version: str | None = None) -> dict[str, str]:
        """The environment of a node's process, in a version of it, and of its commands."""
        written = dict(self.spec.env)
        if version and version in self.spec.versions:
            written |= self.spec.versions[version].env
        values = self.variables(node)
        rendered = {name: render(value, values, where=f"env.{name}") for name, value in written.items()}
        return {**os.environ, **rendered, **self._placed(node).env}

    def _process_environment(self, node: str, version: str | None) -> dict[str, str]:
        placed, found = self._placed(node), self.environment(node, version)
        if placed.preload:
            there = found.get("LD_PRELOAD", "").replace(":", " ").split()
            found["LD_PRELOAD"] = ":".join([*map(str, placed.preload), *there])
        return {**found, **placed.alone}

    def _own_variables(self, node: str) -> dict[str, str]:
        host = self._placed(node).host
        values = {
            "node": node,
            "index": str(self.spec.everyone.index(node) + 1),
            "host": host,
            "data": str(self.data_directory(node)),
            "python": sys.executable,
            "plan_dir": str(self.plan_dir),
        }
        with suppress(UnavailableError):  # a template that asks for it says so
            values["examples"] = str(folder("examples"))
        for port, number in self.allocate()[node].items():
            values[f"port.{port}"] = str(number)
            values[f"listen.{port}"] = f"{host}:{number}"
            values[f"address.{port}"] = f"{host}:{number}"
        if self.spec.links and node in self.placement.links.shared:
            values[f"address.{self.spec.links.port}"] = self.placement.links.shared[node]
        return values

    def _peers(self, node: str) -> str:
        peers, rendered = self.spec.peers, []
        if not self._has_links():
            return ""
        # A spare that is about to join knows of all that are there, and of itself.
        for peer in (*self.present, *(spare for spare in (node,) if spare not in self.present)):
            if peer == node and not peers.include_self:
                continue
            address = self.link_address(node, peer)
            host, _, port = address.rpartition(":")
            values = {"peer": peer, "address": address, "host": host, "port": port}
            rendered.append(render(peers.each, values, where="peers.each"))
        return peers.join.join(rendered)

    def _has_links(self) -> bool:
        # Nodes that share a machine and no protocol have no port for one another.
        return self.spec.links is not None or "peer" in self.spec.ports

    def _link_port(self) -> str:
        return self.spec.links.port if self.spec.links else "peer"

    def command(self, node: str, version: str | None = None) -> list[str]:
        """The words with which a node is started, in a version of it. Raises ClusterInputError."""
        words = self.spec.command
        if version and version != FIRST:
            if version not in self.spec.versions:
                known = ", ".join((FIRST, *self.spec.versions))
                raise ClusterInputError(f"there is no version {version!r}; there are: {known}", where=node)
            words = self.spec.versions[version].command or words
        return render_words(words, self.variables(node), where=f"command of {node}")

    def _placed(self, node: str) -> NodePlacement:
        return self.placement.nodes.get(node, _NOWHERE_ELSE)

    def _require_free(self, port: int, *, node: str, name: str) -> None:
        if self._placed(node).namespace is None:
            require_free(port, node=node, name=name, host=self._placed(node).host)
        elif port in self.listening(node):
            raise ClusterError(f"port {port} ({name}) is in use in its network namespace", where=node)

    def _require_known(self, node: str) -> None:
        if node not in self.spec.everyone:
            raise ClusterInputError(f"there is no node {node!r}; there are {', '.join(self.spec.everyone)}")


def run_words(argv: Sequence[str], cwd: Path, env: Mapping[str, str], timeout_s: float) -> CommandResult:
    """Run a command, killing all of it at the time limit. Raises ClusterInputError if it cannot start."""
    began = time.monotonic()
    try:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else error.strerror
        raise ClusterInputError(f"the command {argv[0]!r} {reason}") from error
    try:
        output, errors = process.communicate(timeout=timeout_s)
        code: int | None = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # not reaped yet, so the group is still its own
        output, errors = process.communicate()
        code = None
    return CommandResult(
        tuple(argv),
        code,
        output.decode(errors="replace"),
        errors.decode(errors="replace"),
        time.monotonic() - began,
    )
