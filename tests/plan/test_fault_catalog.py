"""The catalog is whole, and refuses what it does not know."""

from __future__ import annotations

from typing import Any

import pytest

from refute.plan.document import CATEGORIES, PlanError
from refute.plan.fault_catalog import (
    CATALOG,
    PLANES,
    fault_entry,
    read_parameters,
    shared_choice,
    written_in_full,
)
from refute.plan.step import FAULT_VERBS

ENTRIES = list(CATALOG.values())


def test_every_plane_of_the_design_is_there() -> None:
    planes = (
        "proxy",
        "process",
        "membership",
        "client",
        "netns",
        "storage",
        "clock",
        "resource",
        "toxiproxy",
        "docker",
    )
    assert set(planes) == set(PLANES)
    for kind in ("pause", "kill", "terminate", "restart", "crash-loop", "rolling-restart"):
        assert ("process", kind) in CATALOG
    for kind in ("power-loss", "disk-full", "read-only", "io-error", "slow-io", "torn-tail", "bit-flip"):
        assert ("storage", kind) in CATALOG


def test_every_verb_of_a_plan_has_an_entry() -> None:
    for verb, (plane, kind) in FAULT_VERBS.items():
        assert verb == "fault" or (plane, kind) in CATALOG


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.plane}-{entry.kind}")
def test_an_entry_says_everything(entry: Any) -> None:
    for name in ("does", "is_not", "needs", "probe", "injector", "victim", "cleanup"):
        assert len(getattr(entry, name)) >= 4, name
    assert entry.tests
    assert set(entry.tests) <= set(CATEGORIES)
    assert set(entry.cannot_test) <= set(CATEGORIES)
    assert not set(entry.tests) & set(entry.cannot_test)
    names = [parameter.name for parameter in entry.parameters]
    assert len(set(names)) == len(names)
    for parameter in entry.parameters:
        assert (parameter.type == "choice") == bool(parameter.choices)
        if parameter.default is not None:
            assert read_parameters(entry.plane, entry.kind, {parameter.name: parameter.default})


def test_a_kind_that_is_taken_for_a_verb_is_shown_in_full() -> None:
    assert written_in_full("torn-tail") == '{"fault": {"plane": "storage", "kind": "torn-tail", "node": ...}}'
    delays = written_in_full("delay")
    assert delays is not None and delays.count(" or ") == 1 and '"links": ["n1->n2"]' in delays
    assert written_in_full("explode") is None


def test_a_choice_is_shared_by_those_that_take_it() -> None:
    faults = {("storage", "io-error"), ("storage", "slow-io"), ("process", "kill")}
    assert shared_choice(faults, "through", "preload") == "preload"
    assert shared_choice(faults, "through", "any") is None
    assert shared_choice((), "through", "any") is None
    with pytest.raises(PlanError, match=r"storage io-error: through: 'fuse' is none of any, strace, preload"):
        shared_choice(faults, "through", "fuse")
    with pytest.raises(PlanError, match=r"file_system: no fault.*storage/power-loss"):
        shared_choice(faults, "file_system", "ext4")


def test_sigkill_is_not_power_loss() -> None:
    assert "page cache" in fault_entry("process", "kill").is_not
    assert "durability" in fault_entry("storage", "power-loss").tests
    assert "durability" in fault_entry("process", "pause").cannot_test


@pytest.mark.parametrize(
    ("plane", "kind", "given", "says"),
    [
        ("proxy", "delay", {"byy": "1s"}, "takes no 'byy'.*did you mean 'by'"),
        ("proxy", "delay", {"by": "fast"}, "by: 'fast' is not a duration"),
        ("proxy", "delay", {"by": "99999999h"}, "by: '99999999h' is longer than a year"),
        ("proxy", "delay", {"by": "9" * 400 + "s"}, "is longer than a year"),
        ("proxy", "delay", {"distribution": "gaussian"}, "'gaussian' is none of uniform, normal, pareto"),
        ("proxy", "bandwidth", {"rate": "10"}, "is not a bandwidth"),
        ("proxy", "corrupt", {"probability": 2}, "above 0 and up to 1"),
        ("proxy", "partition", {"clients": "yes"}, "true or false"),
        ("process", "crash-loop", {"times": True}, "whole number from 1 on"),
        ("process", "restart", {"version": 3}, "write text"),
        ("process", "pause", {"for": 3}, "takes no 'for'.*it takes: none"),
        ("process", "stop", {}, "has no fault 'stop'"),
        ("network", "drop", {}, "no fault plane 'network'"),
    ],
)
def test_what_is_not_in_the_catalog_is_refused(
    plane: str, kind: str, given: dict[str, Any], says: str
) -> None:
    with pytest.raises(PlanError, match=says):
        read_parameters(plane, kind, given)
