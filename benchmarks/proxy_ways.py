"""The ways to a server whose costs are compared: straight, through the plane, and through the least proxy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from refute.nemesis.proxy.control import Control
from refute.nemesis.proxy.relay import SWITCH
from refute.system.process_table import identify


@dataclass(frozen=True)
class Way:
    """A port that leads to the server; `proxy` is the process in between."""

    port: int
    proxy: int | None


@dataclass(frozen=True)
class Ways:
    """The ways to one server: its own port, the plane, the plane in Python alone, a page of C."""

    direct: Way
    plane: Way
    python: Way
    least: Way

    def all(self) -> tuple[Way, ...]:
        return self.direct, self.plane, self.python, self.least


@contextmanager
def ways_to(ports: Sequence[int]) -> Iterator[list[Ways]]:
    """The ways to the server at each of these ports, for as long as the block lasts."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="refute-")))
        plane = stack.enter_context(_host(folder / "plane", ports, {}))
        python = stack.enter_context(_host(folder / "python", ports, {SWITCH: "off"}))
        program = _built_pump(folder)
        least = [stack.enter_context(_pump(program, port)) for port in ports]
        straight = [Way(port, None) for port in ports]
        yield [Ways(*each) for each in zip(straight, plane, python, least, strict=True)]


@contextmanager
def _host(control: Path, ports: Sequence[int], environment: dict[str, str]) -> Iterator[list[Way]]:
    me = identify(os.getpid())
    assert me is not None
    listeners = [
        {"host": "127.0.0.1", "caller": "a", "callee": f"b{port}", "target": ["127.0.0.1", port]}
        for port in ports
    ]
    configuration = {"owner": [me.pid, me.started], "control": str(control), "listeners": listeners}
    host = subprocess.Popen(
        [sys.executable, "-m", "refute.nemesis.proxy.host"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | environment,
    )
    assert host.stdin is not None
    assert host.stdout is not None
    try:
        json.dump(configuration | {"links": []}, host.stdin)
        host.stdin.close()
        addresses = json.loads(host.stdout.readline())["addresses"]
        host.stdout.close()
        yield [Way(int(address.rpartition(":")[2]), host.pid) for address in addresses]
        with Control(control) as asked:
            asked.ask("exit")
        host.wait(5)
    finally:
        host.kill()
        host.wait()


def _built_pump(folder: Path) -> Path:
    program = folder / "pump"
    source = Path(__file__).with_name("pump.c")
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", str(program), str(source)], check=True)
    return program


@contextmanager
def _pump(program: Path, port: int) -> Iterator[Way]:
    with subprocess.Popen([program, str(port)], stdout=subprocess.PIPE, text=True) as pump:
        try:
            assert pump.stdout is not None
            yield Way(int(pump.stdout.readline()), pump.pid)
        finally:
            pump.kill()
