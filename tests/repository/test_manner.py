"""What is worded like a claim and is none stands behind what is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.repository.claims import extract_claims
from refute.repository.manner import manner
from refute.repository.mirror import open_repository
from refute.repository.ranking import Candidate
from refute.repository.statement import Statement
from refute.repository.weighing import weigh
from tests.repository.repositories import commit_files


def said(text: str, *, path: str = "README.md", channel: str = "document", reasons: tuple[str, ...] = ("must",)) -> Candidate:  # fmt: skip
    return Candidate(path, "blob", Statement(text, 1, 1, channel, 3.0, 0, reasons=reasons), 4.0)


@pytest.mark.parametrize(
    "text",
    [
        "An acknowledged write is never lost, even if the leader crashes.",
        "If you terminate the consumer while a task runs, the task will be lost.",
        "By default, jobs are retried until they succeed; after 14 days they are deleted.",
        "A message must be acknowledged before the lease expires.",
    ],
)
def test_a_claim_loses_nothing(text: str) -> None:
    assert manner(said(text)) == 0


@pytest.mark.parametrize(
    "text",
    [
        "If you want to wait for the commit, set blocking to true.",
        "Writing in order tends to reduce fragmentation of the log.",
        "Data may be lost if",
        "maxRetries must be a positive integer.",
        "@return the number of messages that must be acknowledged",
        "should it log, defaults to false log: false # how long it waits timeout: 5 # most attempts: 3",
        "Worker crash, kill, partition; Loop, deadlock, timeout; Never retried",
        "max-bytes (default opts.MaxBytes): the most bytes of a file",
        "hasConflict must be called while having a lock.",
    ],
)
def test_what_only_sounds_like_a_claim_loses(text: str) -> None:
    assert manner(said(text)) < 0


def test_a_mere_default_loses_and_one_that_promises_does_not() -> None:
    mere = said("request timeout in ms, defaults to 20000", channel="setting", reasons=("default",))
    promise = said(
        "request timeout in ms, defaults to 20000", channel="setting", reasons=("default", "never")
    )
    assert manner(mere) < manner(promise) == 0


def test_stubs_of_other_peoples_types_lose() -> None:
    text = "Slow receivers must be dropped until they acknowledge."
    assert manner(said(text, path="types/ws.d.ts")) < manner(said(text, path="src/ws.ts")) == 0


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Messages are delivered in FIFO order.", "order"),
        ("Jobs are processed in the order in which they were enqueued.", "order"),
        ("Rolling upgrades need no downtime.", "spared"),
        ("Nodes are upgraded without losing acknowledged messages.", "spared"),
    ],
)
def test_promises_of_order_and_of_what_is_spared_are_heard(text: str, kind: str) -> None:
    weighed = weigh(text)
    assert weighed is not None
    assert kind in weighed.reasons


def test_in_order_to_is_no_promise() -> None:
    assert weigh("In order to deliver messages, start the queue.") is None


def test_what_stands_under_guarantees_is_promised(tmp_path: Path) -> None:
    text = "# Queue\n\n## {}\n\n- Messages survive restarts of every broker of the cluster.\n- Every replica holds the same log.\n"
    found = {}
    for name, heading in (("a", "Guarantees"), ("b", "Notes")):
        folder = commit_files(tmp_path / name, {"README.md": text.format(heading)})
        with open_repository(folder, cache=tmp_path / "cache") as snapshot:
            found[name] = {claim.sentence for claim in extract_claims(snapshot).claims}
    assert "Every replica holds the same log." in found["a"]
    assert "Every replica holds the same log." not in found["b"]
