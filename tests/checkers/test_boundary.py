"""Boundary: controls of both kinds, and leaks anywhere in what comes back."""

from __future__ import annotations

import random
from dataclasses import replace

from refute.checkers import run_check

from .nightly import many
from .scribe import Scribe


def controlled(surface: str = "api") -> Scribe:
    """One tenant writes and reads its own, another is refused."""
    write = Scribe()
    write(1, "put", 0, 1, key="k", value="secret-of-acme", tenant="acme", surface=surface, expect="allow")
    write(1, "get", 2, 3, key="k", out="secret-of-acme", tenant="acme", surface=surface, expect="allow")
    return write(2, "get", 4, 5, key="k", outcome="fail", tenant="umbra", surface=surface, expect="deny")


def names(scribe: Scribe, **options: object) -> set[str]:
    return {a.name for a in run_check("boundary", scribe.history(), options).anomalies}


def valid(scribe: Scribe, **options: object) -> object:
    return run_check("boundary", scribe.history(), options).valid


def test_a_boundary_that_holds() -> None:
    assert valid(controlled()) is True


def test_what_must_be_denied_succeeds() -> None:
    write = controlled()(2, "get", 6, 7, key="k", out="x", tenant="umbra", surface="api", expect="deny")
    assert names(write) == {"allowed-although-denied"}
    write = controlled()(2, "put", 6, 7, key="k", value="x", tenant="umbra", surface="api", expect="deny")
    assert names(write) == {"allowed-although-denied"}


def test_an_empty_list_is_a_denial() -> None:
    write = controlled()(2, "list", 6, 7, out={"items": []}, tenant="umbra", surface="api", expect="deny")
    assert valid(write) is True


def test_what_is_allowed_is_denied() -> None:
    write = controlled()(1, "get", 6, 7, outcome="fail", tenant="acme", surface="api", expect="allow")
    assert names(write) == {"denied-although-allowed"}


def test_without_controls_of_both_kinds_nothing_is_proved() -> None:
    only_positive = Scribe()(1, "get", 0, 1, out="x", tenant="acme", expect="allow")
    assert valid(only_positive) == "unknown"
    only_negative = Scribe()(1, "get", 0, 1, outcome="fail", tenant="acme", expect="deny")
    assert "positive control" in run_check("boundary", only_negative.history()).reason
    assert valid(Scribe()(1, "get", 0, 1, out="x", tenant="acme")) == "unknown"


def test_each_surface_needs_its_own_controls() -> None:
    write = controlled()(
        1, "get", 6, 7, out="secret-of-acme", tenant="acme", surface="export", expect="allow"
    )
    assert "surface export has no negative control" in run_check("boundary", write.history()).reason
    assert valid(controlled(), surfaces=["admin"]) == "unknown"


def test_a_marker_in_a_list_an_error_or_a_metric_is_a_leak() -> None:
    for out in (
        ["x", "secret-of-acme"],
        {"metrics": "requests{key=secret-of-acme} 3"},
        {"secret-of-acme": 1},
    ):
        write = controlled()(2, "list", 6, 7, out=out, tenant="umbra", surface="admin")
        assert names(write) == {"leak"}


def test_what_one_asked_with_oneself_is_no_leak() -> None:
    write = controlled()(
        2, "get", 6, 7, key="k", value="secret-of-acme", out="no secret-of-acme", tenant="umbra"
    )
    assert names(write) == set()


def test_what_both_wrote_belongs_to_neither() -> None:
    write = controlled()(2, "put", 6, 7, value="secret-of-acme", tenant="umbra")
    assert names(write(2, "list", 8, 9, out=["secret-of-acme"], tenant="umbra")) == set()


def test_shared_data_may_be_seen_by_those_who_are_allowed() -> None:
    shared = {"tenant": "umbra", "owner": "acme", "surface": "api", "expect": "allow"}
    assert names(controlled()(2, "get", 6, 7, out="secret-of-acme", **shared)) == set()


def test_short_texts_are_no_markers_unless_they_are_named() -> None:
    write = controlled()(1, "put", 6, 7, value="ab", tenant="acme")
    assert names(write(2, "list", 8, 9, out=["ab"], tenant="umbra")) == set()
    write = controlled()(1, "put", 6, 7, value="ab", tenant="acme", marker="ab")
    assert names(write(2, "list", 8, 9, out=["ab"], tenant="umbra")) == {"leak"}


def test_an_outage_is_neither_a_denial_nor_a_right_refused() -> None:
    history = controlled()(
        1, "get", 6, 7, outcome="fail", tenant="acme", surface="api", expect="allow"
    ).history()
    *others, last = history.operations
    down = replace(history, operations=[*others, replace(last, error="connection refused")])
    assert run_check("boundary", down).valid is True
    assert run_check("boundary", down, {"denials": ["refused"]}).valid is False


def fuzz(seeds: range) -> list[int]:
    seen = [0, 0]
    for seed in seeds:
        rng = random.Random(seed)
        write = controlled()
        markers = {"acme": "secret-of-acme", "umbra": "umbra-owns-this", "zeta": "zz-zeta-zz"}
        for tenant, marker in markers.items():
            write(tenant, "put", 6, 7, value=marker, tenant=tenant)
        wrong = False
        for number in range(3):
            tenant = rng.choice(list(markers))
            pieces = rng.choices(["noise", "secret-of", *markers.values()], k=rng.randint(0, 2))
            text = rng.choice(["", "-", " "]).join(pieces)
            wrong |= any(marker in text for owner, marker in markers.items() if owner != tenant)
            write(10 + number, "list", 8, 9, out=[{"note": text}], tenant=tenant)
        assert (run_check("boundary", write.history()).valid is False) is wrong
        seen[wrong] += 1
    return seen


def test_leaks_agree_with_looking_for_every_marker() -> None:
    assert min(fuzz(range(3_000))) > 300


@many()
def test_leaks_agree_with_looking_for_every_marker_at_length(seeds: range) -> None:
    assert min(fuzz(seeds)) > 400
