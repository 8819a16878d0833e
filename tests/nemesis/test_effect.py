"""Times of their own: each distribution has the mean, the spread and the shape that it is named for."""

from __future__ import annotations

import statistics

import pytest

from refute.nemesis.proxy.effect import Effect, Rule

SAMPLES = 20_000


def delays_ms(distribution: str) -> list[float]:
    rule = Rule("f1", "delay", delay_s=0.1, jitter_s=0.02, distribution=distribution, seed=7)
    effect = Effect([rule])
    return [effect.delay_ns() / 1e6 for _ in range(SAMPLES)]


def test_uniform_spreads_evenly_around_the_mean() -> None:
    found = delays_ms("uniform")
    assert 80 <= min(found) < 80.1
    assert 119.9 < max(found) <= 120
    assert statistics.fmean(found) == pytest.approx(100, abs=0.5)
    inner = sum(90 <= each <= 110 for each in found) / SAMPLES
    assert inner == pytest.approx(0.5, abs=0.02)


def test_normal_has_the_jitter_as_its_deviation() -> None:
    found = delays_ms("normal")
    assert statistics.fmean(found) == pytest.approx(100, abs=0.5)
    assert statistics.stdev(found) == pytest.approx(20, abs=0.5)
    assert sum(80 <= each <= 120 for each in found) / SAMPLES == pytest.approx(0.683, abs=0.02)


def test_pareto_has_a_long_tail_on_one_side() -> None:
    found = delays_ms("pareto")
    assert min(found) >= 100
    assert statistics.fmean(found) == pytest.approx(120, abs=2)  # the mean of the jitter is what was asked
    assert statistics.median(found) < statistics.fmean(found)
    assert max(found) > 300


def test_without_jitter_every_time_is_the_same() -> None:
    effect = Effect([Rule("f1", "delay", delay_s=0.1)])
    assert {effect.delay_ns() for _ in range(100)} == {100_000_000}


def test_delays_of_two_faults_add_up() -> None:
    effect = Effect([Rule("f1", "delay", delay_s=0.1), Rule("f2", "delay", delay_s=0.05)])
    assert effect.delay_ns() == 150_000_000


@pytest.mark.parametrize(
    ("kind", "asked"), [("loss", "is_lost"), ("duplicate", "is_doubled"), ("reorder", "is_overtaken")]
)
def test_a_share_of_the_datagrams_is_hit(kind: str, asked: str) -> None:
    effect = Effect([Rule("f1", kind, probability=0.3, seed=7)])
    hit = sum(getattr(effect, asked)() for _ in range(SAMPLES)) / SAMPLES
    assert hit == pytest.approx(0.3, abs=0.02)
    others = {"is_lost", "is_doubled", "is_overtaken"} - {asked}
    assert not any(getattr(effect, each)() for each in others for _ in range(100))
