"""The network of one run as its owner holds it: the holder process, the forwarder, and how they are asked."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from refute.interpreter import python
from refute.nemesis.errors import FaultUnavailableError, NemesisError
from refute.nemesis.netns.kernel import as_holder, entering, has_user_namespace
from refute.nemesis.proxy.control import Control
from refute.nemesis.proxy.undo import VERBS as OF_SOCKETS
from refute.system.node_reference import CLIENT
from refute.system.process_table import ProcessId, identify, is_alive
from refute.system.socket_diagnosis import SocketTable

_GONE_WITHIN_S = 5.0
_HOLDER, _FORWARDER = "refute.nemesis.netns.holder", "refute.nemesis.netns.forwarder"


class Network:
    """Namespaces, cables and switch of the nodes and of their clients; gone when it is closed.

    `anchors` are processes, one in each namespace; `folder` holds the control socket. With `names` the nodes
    ask a name server of ours.
    Raises FaultUnavailableError where it cannot be built here.
    """

    def __init__(
        self,
        run: str,
        nodes: Sequence[str],
        environment: Mapping[str, str],
        *,
        log: Path,
        names: bool = False,
    ) -> None:
        words = as_holder()
        self._log, self._names = log, names
        self._with_users = has_user_namespace(words)
        self._processes: list[subprocess.Popen[str]] = []
        self._control: Control | None = None
        self.folder = Path(tempfile.mkdtemp(prefix="refute-"))  # a path of a socket has to be short
        owner = identify(os.getpid())
        assert owner is not None
        configuration = {
            "run": run,
            "owner": [owner.pid, owner.started],
            "control": str(self.folder / "control"),
            "nodes": list(nodes),
            "names": names,
        }
        self.sockets: dict[str, SocketTable] = {}
        try:
            ours, theirs = socket.socketpair()
            with ours, theirs:
                command = [*words, *python("-m", _HOLDER)]
                configuration["channel"] = theirs.fileno()
                said = self._start(command, configuration, environment, theirs.fileno())
                self.anchors: dict[str, int] = said["anchors"]
                self.sockets = dict(zip(self.anchors, _received(ours, len(self.anchors)), strict=True))
            pid = self._processes[0].pid
            self.identity = identify(pid) or ProcessId(pid, 0)
            self._control = Control(self.folder / "control", "holder of the namespaces")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take it down."""
        self.close()

    def forward(
        self, ways: Mapping[tuple[str, str], tuple[tuple[str, int], int]], environment: Mapping[str, str]
    ) -> ProcessId:
        """Lead loopback ports to ports of nodes: by node and port, where it is and the number outside."""
        written = [
            {"node": node, "anchor": self.anchors[node], "target": list(target), "port": number}
            for (node, _), (target, number) in ways.items()
        ]
        configuration = {
            "holder": [self.identity.pid, self.identity.started],
            "clients": self.anchors[CLIENT],
            "user": self._with_users,
            "ways": written,
        }
        self._start(python("-m", _FORWARDER), configuration, environment)
        pid = self._processes[-1].pid
        return identify(pid) or ProcessId(pid, 0)

    def entering(self, name: str) -> tuple[str, ...]:
        """Words before a command that has to run where a node, or the clients, are."""
        return entering(self.anchors[name], user=self._with_users, mounts=self._names)

    def handle(self, fault: str) -> dict[str, Any]:
        """What a process that knows nothing of us needs to take a fault off."""
        return {
            "control": str(self.folder / "control"),
            "holder": [self.identity.pid, self.identity.started],
            "fault": fault,
        }

    def ask(self, do: str, **fields: Any) -> dict[str, Any]:
        """The holder's answer. Raises NemesisError where it refuses or is gone."""
        if self._control is None or not is_alive(self.identity):
            raise NemesisError("the holder of the network namespaces is gone")
        return self._control.ask(do, **fields)

    def close(self) -> None:
        """End the forwarder, then the holder; nothing of the network is left."""
        if self._control is not None:
            with suppress(NemesisError):  # gone already
                self._control.ask("exit")
            self._control.close()
            self._control = None
        for process in reversed(self._processes):
            process.terminate()
            try:
                process.wait(_GONE_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()
        for table in self.sockets.values():
            table.close()
        OF_SOCKETS["remove-socket"].undo({"folder": str(self.folder)})

    def _start(
        self,
        words: Sequence[str],
        configuration: Mapping[str, Any],
        environment: Mapping[str, str],
        *descriptors: int,
    ) -> dict[str, Any]:
        with self._log.open("ab") as errors:
            process = subprocess.Popen(
                list(words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=dict(environment),
                pass_fds=descriptors,
                start_new_session=True,
            )
        self._processes.append(process)
        assert process.stdin is not None and process.stdout is not None
        said = _answer(process.stdin, process.stdout, configuration)
        if said is None or "error" in said:
            why = said["error"] if said else "it ended without a word"
            raise FaultUnavailableError(f"the network cannot be built: {why}", where=self._log)
        return said


def _received(channel: socket.socket, count: int) -> list[SocketTable]:
    channel.settimeout(_GONE_WITHIN_S)
    _, descriptors, _, _ = socket.recv_fds(channel, 1, count)
    return [SocketTable(socket.socket(fileno=descriptor)) for descriptor in descriptors]


def _answer(stdin: IO[str], stdout: IO[str], configuration: Mapping[str, Any]) -> dict[str, Any] | None:
    with stdout, suppress(OSError, ValueError):
        with stdin:
            stdin.write(json.dumps(configuration))
        said: dict[str, Any] = json.loads(stdout.readline())
        return said
    return None
