"""Trying a kind of fault out on a network of two of its own, through which a packet is sent."""

from __future__ import annotations

import os
import subprocess
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from refute.interpreter import python
from refute.nemesis.netns.layout import members_of
from refute.nemesis.netns.network import Network
from refute.nemesis.plane import Probe

_A, _B = "a", "b"
_FAULT = "trial"
_SEEN_WITHIN_S = 2.0
_ASKED_WITHIN_S = 20.0
_SEND = "import socket,sys; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', (sys.argv[1], 9))"


_CERTAINLY: Mapping[str, Mapping[str, Any]] = {
    "loss": {"share": 1.0},
    "dns": {"answer": "failure"},
    "flapping": {"down_s": 60.0, "up_s": 60.0},
    "rate": {"rate_bytes": 100_000.0},
    "delay": {"delay_s": 0.01, "jitter_s": 0.0},
}


_ASK = "import socket,sys; print(socket.gethostbyname(sys.argv[1]))"


def try_out(kind: str) -> Probe:
    """Whether the fault comes on, catches a packet and goes off again. Raises NemesisError."""
    run = uuid.uuid4().hex[:12]
    names = kind == "dns"
    with Network(run, [_A, _B], dict(os.environ), log=Path(os.devnull), names=names) as network:
        address = members_of([_A, _B])[1].address
        if names and _run_at(network, _A, _ASK, _B).stdout.strip() != address:
            return Probe(False, "a node does not get its names from our server")
        network.ask(
            "apply",
            fault=_FAULT,
            kind=kind,
            links=[[_A, _B]],
            nodes=[_A if names else _B],
            parameters=dict(_CERTAINLY.get(kind, {})),
        )
        moved = _moves(network, kind)
        left = network.ask("heal", fault=_FAULT)["left"]
    if left:
        return Probe(False, f"it does not go off again: {left}")
    return Probe(moved, "" if moved else "a packet that was sent through it was not caught")


def _moves(network: Network, kind: str) -> bool:
    if kind == "link-down":
        return bool(_reading(network, f"{_B}.interface") == "down")
    before = _reading(network, f"{_A}->{_B}.packets")
    if kind == "dns":
        return _run_at(network, _A, _ASK, _B).returncode != 0 and bool(_reading(network, f"{_A}.altered"))
    _run_at(network, _A, _SEND, members_of([_A, _B])[1].address)
    deadline = time.monotonic() + _SEEN_WITHIN_S
    # A queue in user space has to have been handed the packet too.
    while _reading(network, f"{_A}->{_B}.packets") == before or _reading(network, "kept") == 0:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _reading(network: Network, name: str) -> Any:
    return network.ask("stats")["faults"].get(_FAULT, {}).get(name)


def _run_at(network: Network, name: str, program: str, argument: str) -> subprocess.CompletedProcess[str]:
    words = [*network.entering(name), *python("-S", "-c", program, argument)]
    return subprocess.run(words, check=False, capture_output=True, text=True, timeout=_ASKED_WITHIN_S)
