"""The words that tc is told for a kernel with netem; `tests/systems/test_other_kernel.py` tells them to such a kernel."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from refute.nemesis.errors import NemesisError
from refute.nemesis.netns import shaping
from refute.nemesis.netns.ground import Ground
from refute.nemesis.netns.kinds import effect_of
from refute.nemesis.netns.layout import Member
from refute.nemesis.netns.queueing import Queueing
from refute.nemesis.netns.shaping import Shaping, kernel_has_netem
from refute.nemesis.proxy.loop import Loop

DELAY = {"links": [["a", "b"]], "parameters": {"delay_s": 0.25, "jitter_s": 0.05}}


class Kernel:
    """Takes down what tc is told, and lists the queues that were added and not deleted."""

    def __init__(self, *, netem: bool) -> None:
        self.netem = netem
        self.told: list[str] = []

    def run(self, words: Sequence[str]) -> str:
        line = " ".join(words)
        if "netem" in words and not self.netem:
            raise NemesisError("Error: Specified qdisc kind is unknown.")
        if "show" not in words:
            self.told.append(line)
            return ""
        gone = any(line.startswith("tc qdisc del dev port2 root handle 5a1:") for line in self.told)
        queue = {"handle": "6001:", "packets": 7, "bytes": 700, "overlimits": 0, "drops": 0}
        return json.dumps([] if gone else [queue])


@pytest.fixture
def ground(monkeypatch: pytest.MonkeyPatch) -> Ground:
    kernel_has_netem.cache_clear()
    monkeypatch.setattr("refute.nemesis.netns.kinds.kernel_has_netem", kernel_has_netem.__wrapped__)
    return Ground("run", {"a": Member("a", 1), "b": Member("b", 2)}, {}, Loop())


def test_a_delay_is_a_class_with_a_queue_and_a_filter_for_its_sender(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = Kernel(netem=True)
    monkeypatch.setattr(shaping, "run", kernel.run)
    effect = effect_of(ground, "f1", "delay", DELAY)
    assert isinstance(effect, Shaping)
    tried = [
        "tc qdisc add dev br0 root handle 5a2: netem delay 1ms",
        "tc qdisc del dev br0 root handle 5a2:",
    ]
    assert kernel.told == tried
    effect.put()
    assert kernel.told[2:] == [
        "tc qdisc add dev port2 root handle 5a1: htb",
        "tc class add dev port2 parent 5a1: classid 5a1:1 htb rate 100gbit quantum 60000",
        "tc qdisc add dev port2 parent 5a1:1 handle 6001: netem delay 250000us 50000us limit 20000",
        "tc filter add dev port2 parent 5a1: protocol ip prio 1 u32 match ip src 10.77.0.1/32 flowid 5a1:1",
    ]
    assert effect.readings() == {
        f"a->b.{name}": value
        for name, value in {"packets": 7, "bytes": 700, "overlimits": 0, "drops": 0}.items()
    }
    assert effect.left() == "queues of f1 are still at a->b"
    effect.take()
    assert kernel.told[-1] == "tc qdisc del dev port2 root handle 5a1:"
    assert effect.left() is None


def test_a_kernel_without_netem_gets_a_queue_in_user_space(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = Kernel(netem=False)
    monkeypatch.setattr(shaping, "run", kernel.run)
    assert isinstance(effect_of(ground, "f1", "delay", DELAY), Queueing)
    assert kernel.told == []
