"""A proxy host of its own in front of a listener, for tests that speak to it by hand."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from refute.nemesis.proxy.control import Control
from refute.nemesis.proxy.relay import SWITCH
from refute.system.process_table import identify

LINK = "a->b"
BACK = "b->a"


@dataclass
class Proxied:
    """Connections from `a` to `b` through the host; `said` is what it wrote to standard error."""

    listener: socket.socket
    address: tuple[str, int]
    control: Control
    log: Path

    def connect(self) -> tuple[socket.socket, socket.socket]:
        """The two ends of a new connection: the opener's, the receiver's."""
        opened = socket.create_connection(self.address, timeout=30)
        accepted, _ = self.listener.accept()
        accepted.settimeout(30)
        return opened, accepted

    def apply(self, fault: str, links: list[str], **rule: object) -> None:
        self.control.ask("apply", fault=fault, links=[link.split("->") for link in links], rule=rule)

    def heal(self, fault: str) -> None:
        self.control.ask("heal", fault=fault)

    def counters(self, link: str = LINK) -> dict[str, int]:
        counters: dict[str, int] = self.control.ask("stats")["links"][link]
        return counters

    def relayed_bytes(self) -> int:
        return int(self.control.ask("stats")["relayed_bytes"])


@contextmanager
def proxied(environment: dict[str, str]) -> Iterator[Proxied]:
    """A host whose bytes are moved as the environment says (`REFUTE_RELAY=off`: by Python)."""
    me = identify(os.getpid())
    assert me is not None
    with (
        tempfile.TemporaryDirectory(prefix="refute-") as folder,
        socket.create_server(("127.0.0.1", 0)) as to,
    ):
        to.settimeout(30)
        listener = {"host": "127.0.0.1", "caller": "a", "callee": "b", "target": list(to.getsockname())}
        control, log = Path(folder) / "control", Path(folder) / "log"
        configuration = {"owner": [me.pid, me.started], "control": str(control), "listeners": [listener]}
        with log.open("wb") as errors:
            host = subprocess.Popen(
                [sys.executable, "-m", "refute.nemesis.proxy.host"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=os.environ | environment,
            )
        try:
            assert host.stdin is not None
            assert host.stdout is not None
            json.dump(configuration | {"links": [["a", "b"], ["b", "a"]]}, host.stdin)
            host.stdin.close()
            address = json.loads(host.stdout.readline())["addresses"][0].rpartition(":")
            host.stdout.close()
            with Control(control) as asked:
                yield Proxied(to, (address[0], int(address[2])), asked, log)
                asked.ask("exit")
            assert host.wait(10) == 0
        finally:
            host.kill()
            host.wait()


BY_RELAY: dict[str, str] = {}
BY_PYTHON = {SWITCH: "off"}
