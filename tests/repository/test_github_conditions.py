"""The condition of a job or a step holds on an event: yes, no, or that it cannot be told."""

from __future__ import annotations

import pytest

from refute.repository.github_conditions import holds


@pytest.mark.parametrize(
    ("condition", "answer"),
    [
        ("", "yes"),
        ("false", "no"),
        ("${{ false }}", "no"),
        ("false && github.event_name == 'push'", "no"),
        ("always()", "yes"),
        ("!cancelled()", "yes"),
        ("failure()", "no"),
        ("github.event_name == 'push'", "yes"),
        ("github.event_name != 'push'", "no"),
        ("github.event_name == 'release' || github.event_name == 'push'", "yes"),
        ("github.event_name == 'workflow_dispatch' && inputs.full", "no"),
        ("github.event_name == 'push' && (inputs.full || needs.changes.outputs.go == 'true')", "unknown"),
        ("github.repository == 'etcd-io/etcd'", "yes"),
        ("github.repository != 'etcd-io/etcd'", "unknown"),
        ("github.ref == 'refs/heads/main'", "unknown"),
        ("startsWith(github.ref, 'refs/tags/')", "unknown"),
        ("matrix.os == 'linux'", "yes"),
        ("matrix.os != 'linux'", "no"),
        ("!(matrix.os == 'linux')", "no"),
        ("github.event.pull_request.draft == false", "yes"),
        ("inputs.full == 'true'", "unknown"),
        ("(", "unknown"),
        ("a b", "unknown"),
        ("(" * 1_900, "unknown"),
        ("true || " * 1_000, "unknown"),
    ],
)
def test_a_condition_is_worked_out_or_left_unknown(condition: str, answer: str) -> None:
    assert holds(condition, "push", {"matrix.os": "linux"}) == answer
