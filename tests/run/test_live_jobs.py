"""A request that takes long is told of until somebody has its answer, and the oldest make room."""

from __future__ import annotations

import threading

import pytest

from refute.run.live_jobs import Jobs


def test_a_job_is_busy_until_it_is_done_and_told_until_it_is_forgotten() -> None:
    jobs, go_on = Jobs(), threading.Event()

    def work() -> dict[str, bool]:
        return {"went on": go_on.wait(60)}

    job = jobs.begin("run", {"command": "slow"}, work)
    assert jobs.busy and not job.done_within(0)
    go_on.set()
    assert job.done_within(60) and not jobs.busy
    told = {"job": "j1", "what": 'run {"command": "slow"}', "done": True, "answer": {"went on": True}}
    assert jobs.told() == [told]
    jobs.forget(job)
    assert jobs.told() == []


def test_an_error_is_for_whoever_asks() -> None:
    def fail() -> dict[str, bool]:
        raise KeyError("no such node")

    jobs = Jobs()
    job = jobs.begin("restart", {}, fail)
    assert job.done_within(60)
    assert jobs.told()[0]["error"] == "'no such node'"
    with pytest.raises(KeyError):
        job.future.result()


def test_a_job_that_has_made_room_for_others_can_still_be_forgotten() -> None:
    jobs = Jobs()
    began = []
    for _ in range(25):
        began.append(jobs.begin("status", {}, dict))
        assert began[-1].done_within(60)
    assert len(jobs.told()) == 21, "the last twenty that were done, and the one that came after"
    for job in began:
        jobs.forget(job)
    assert jobs.told() == []
