"""A cluster: the nodes of one system description, started, restarted with their data, stopped whole."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from refute.plan.system_spec import SystemSpec
from refute.system.command import CommandResult, run_words
from refute.system.errors import ClusterError, ClusterInputError
from refute.system.layout import Layout
from refute.system.node import Exit, NodeProcess
from refute.system.placement import Placement
from refute.system.ports import require_free
from refute.system.socket_owners import listening_ports
from refute.system.templates import render_words


class Cluster(Layout):
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
        super().__init__(spec, root=root, plan_dir=plan_dir, variables=variables, placement=placement)
        self.nodes: dict[str, NodeProcess] = {}
        self.on_started: list[Callable[[NodeProcess], None]] = []

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
            env=self.process_environment(node, version),
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
            super().close()

    def node(self, name: str) -> NodeProcess:
        """The latest process of a node. Raises ClusterError where it was never started."""
        self._require_known(name)
        if name not in self.nodes:
            raise ClusterError("it was never started", where=name)
        return self.nodes[name]

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

    def _require_free(self, port: int, *, node: str, name: str) -> None:
        if self._placed(node).namespace is None:
            require_free(port, node=node, name=name, host=self._placed(node).host)
        elif port in self.listening(node):
            raise ClusterError(f"port {port} ({name}) is in use in its network namespace", where=node)
