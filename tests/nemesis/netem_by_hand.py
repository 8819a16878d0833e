"""Delays a link with netem and takes the delay off again, on a switch of two of its own; for a kernel that has netem.

Run as root in a network namespace in which nobody else is: `python -m tests.nemesis.netem_by_hand`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from refute.nemesis.netns.ground import Ground
from refute.nemesis.netns.kinds import effect_of
from refute.nemesis.netns.layout import SWITCH, Member, at_the_member, at_the_switch
from refute.nemesis.netns.shaping import Shaping, kernel_has_netem
from refute.nemesis.proxy.loop import Loop

_ECHO = """
import socket
it = socket.socket(type=socket.SOCK_DGRAM)
it.bind(("0.0.0.0", 7))
print("up", flush=True)
while True:
    data, who = it.recvfrom(99)
    it.sendto(data, who)
"""
_ASK = """
import socket, sys, time
it = socket.socket(type=socket.SOCK_DGRAM)
it.settimeout(5)
it.connect((sys.argv[1], 7))
times = []
for _ in range(5):
    began = time.monotonic()
    it.send(b"x")
    it.recv(99)
    times.append(time.monotonic() - began)
print(min(times))
"""


@contextmanager
def plugged_in(member: Member) -> Iterator[int]:
    """The process that lives at this member, which answers what it is sent."""
    process = subprocess.Popen(
        [
            "unshare",
            "-n",
            sys.executable,
            "-S",
            "-c",
            "import sys; sys.stdin.readline(); " + f"exec({_ECHO!r})",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        time.sleep(1.0)  # its namespace is its own by then
        _batch(at_the_switch(member, process.pid))
        _batch(at_the_member(member), process.pid)
        process.stdin.write("go\n")
        process.stdin.flush()
        assert process.stdout.readline() == "up\n"
        yield process.pid
    finally:
        process.kill()
        process.communicate()


def _batch(written: str, within: int | None = None) -> None:
    entering = [] if within is None else ["nsenter", "-t", str(within), "-n"]
    subprocess.run([*entering, "ip", "-batch", "-"], input=written, text=True, check=True)


def round_trip_s(sender: int, receiver: Member) -> float:
    """The shortest of a few, of a datagram and its answer."""
    words = ["nsenter", "-t", str(sender), "-n", sys.executable, "-S", "-c", _ASK, receiver.address]
    return float(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Prints as JSON what was seen before, during and after."""
    a, b = Member("a", 1), Member("b", 2)
    _batch(SWITCH)
    with plugged_in(a) as first, plugged_in(b) as second:
        ground = Ground("trial", {"a": a, "b": b}, {"a": first, "b": second}, Loop())
        asked = {"links": [["a", "b"]], "parameters": {"delay_s": 0.2, "jitter_s": 0.0}}
        seen: dict[str, object] = {"netem": kernel_has_netem(), "before_s": round_trip_s(first, b)}
        effect = effect_of(ground, "f1", "delay", asked)
        seen["by"] = type(effect).__name__
        assert isinstance(effect, Shaping)
        effect.put()
        seen |= {"on": effect.left(), "during_s": round_trip_s(first, b), "back_s": round_trip_s(second, a)}
        seen["packets"] = effect.readings()["a->b.packets"]
        effect.take()
        seen |= {"left": effect.left(), "after_s": round_trip_s(first, b)}
        listed = subprocess.run(["tc", "qdisc", "show"], capture_output=True, text=True, check=True).stdout
        seen["queues"] = listed.count("netem") + listed.count("htb")
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
