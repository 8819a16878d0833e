"""Claims about answers: which outcome a status and a body mean."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refute.history import Outcome
from refute.plan.system_spec import HttpOperation
from refute.workload.answer import Answer, AnswerReader, Redirect, look_up
from refute.workload.error import WorkloadError


def read(status, body=b"", headers=None, **described):
    operation = HttpOperation.model_validate({"path": "/", **described})
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return AnswerReader(operation, "here").read(Answer(status, headers or {}, content))


@pytest.mark.parametrize(
    ("status", "described", "outcome"),
    [
        (200, {}, Outcome.OK),
        (204, {}, Outcome.OK),
        (500, {}, Outcome.INFO),
        (503, {}, Outcome.INFO),
        (404, {}, Outcome.INFO),
        (302, {}, Outcome.INFO),
        (404, {"fail": "4xx"}, Outcome.FAIL),
        (404, {"fail": "4xx", "absent": 404}, Outcome.OK),
        (409, {"fail": [409, "400"]}, Outcome.FAIL),
        (202, {"unknown": 202}, Outcome.INFO),
        (503, {"fail": 503, "unknown": "5xx"}, Outcome.FAIL),
    ],
)
def test_a_status_means_what_is_listed_and_nothing_means_unknown(status, described, outcome):
    assert read(status, **described).outcome is outcome


@pytest.mark.parametrize("status", ["20", "2x", "ok", 99, 600, "6xx", "-1"])
def test_what_is_no_status_is_refused(status):
    with pytest.raises(WorkloadError, match="not an HTTP status"):
        read(200, fail=[status])


def test_a_status_with_two_meanings_is_refused():
    with pytest.raises(WorkloadError, match="404 means both fail and absent"):
        read(200, fail=404, absent=404)


def test_output_is_found_by_its_path_and_is_null_where_there_is_none():
    body = {"kvs": [{"value": [1, 2]}]}
    assert read(200, body, output="kvs.0.value").output == [1, 2]
    assert read(200, {}, output="kvs.0.value").output is None
    assert read(200, body, output=".").output == body
    assert read(200, {"v": 1, "r": 7}, output={"value": "v", "revision": "r"}).output == {
        "value": 1,
        "revision": 7,
    }
    assert read(200, body).output is None


@pytest.mark.parametrize("value", [5, "five", None, [1], {"a": "b"}])
def test_json_in_base64_is_decoded(value):
    wrapped = base64.b64encode(json.dumps(value).encode()).decode()
    assert (
        read(200, {"kvs": [{"value": wrapped}]}, output="kvs.0.value", decode="base64-json").output == value
    )


def test_other_ways_to_write_a_value():
    assert read(200, b"plain", output=".", decode="text").output == "plain"
    assert read(200, {"v": "[1]"}, output="v", decode="json-text").output == [1]
    assert read(200, {"v": "aGk="}, output="v", decode="base64").output == "hi"


def test_a_value_that_cannot_be_decoded_is_shown_as_it_came_and_not_dropped():
    """A store that hands back something that nobody wrote must not have its answer thrown away."""
    completion = read(200, {"v": "%%%"}, output="v", decode="base64-json")
    assert (completion.outcome, completion.output) == (Outcome.OK, "%%%")


def test_an_ok_answer_that_had_to_be_read_and_is_not_json_is_unknown():
    assert read(200, b"<html>", output="value").outcome is Outcome.INFO
    assert read(200, b"", output="value").outcome is Outcome.INFO
    assert read(200, b"<html>", fail_when={"done": False}).outcome is Outcome.INFO
    assert read(200, b"<html>").outcome is Outcome.OK


def test_reasons_in_the_body_decide():
    described = {"fail_when": {"error": ["not-leader", "no-leader"]}, "unknown_when": {"error": "timeout"}}
    assert read(503, {"error": "no-leader"}, **described).outcome is Outcome.FAIL
    assert read(400, {"error": "timeout"}, fail="4xx", **described).outcome is Outcome.INFO
    assert read(503, {"error": "else"}, **described).outcome is Outcome.INFO
    assert read(200, {}, **described).outcome is Outcome.OK


def test_a_field_that_is_left_out_when_false_is_null_but_only_in_an_answer_that_is_ok():
    """etcd leaves `succeeded` out of the answer to a transaction that did not."""
    described = {"fail_when": {"succeeded": None}}
    assert read(200, {"header": {}}, **described).outcome is Outcome.FAIL
    assert read(200, {"succeeded": True}, **described).outcome is Outcome.OK
    assert read(500, {"error": "lost"}, **described).outcome is Outcome.INFO


def test_one_is_not_true():
    assert read(200, {"done": 1}, fail_when={"done": True}).outcome is Outcome.OK


def test_a_redirect_names_its_target_in_a_header_or_in_the_body():
    assert read(307, b"", {"location": "http://n2:1/x"}, redirect=307) == Redirect("http://n2:1/x")
    assert read(421, {"leader": "n2"}, redirect=421, leader_at="leader") == Redirect("n2")
    assert read(421, b"", redirect=421, leader_at="leader") == Redirect(None)


def test_further_parts_of_an_answer_are_kept_beside_the_output():
    completion = read(
        200,
        {"value": 1, "token": 9},
        {"x-applied": "12"},
        output="value",
        extra={"token": "token", "applied": "header:X-Applied"},
    )
    assert completion.extra == {"token": 9, "applied": "12"}


def test_an_error_is_one_short_line():
    completion = read(500, b"a\n" * 5000)
    assert len(completion.error) <= 200 and "\n" not in completion.error
    assert completion.error.startswith("HTTP 500 a a")


@given(st.integers(100, 599), st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
@settings(max_examples=200)
def test_no_body_whatever_makes_reading_fail(status, body):
    outcome = read(
        status, body, output="a.0.b", fail="4xx", fail_when={"x": None}, decode="base64-json"
    ).outcome
    assert outcome in Outcome
    if 400 <= status < 500:
        assert outcome is Outcome.FAIL
    elif status >= 300 or status < 200:
        assert outcome is Outcome.INFO


def test_a_path_goes_through_lists_and_maps_and_stops_at_anything_else():
    data = {"a": [{"b": 1}, 5]}
    assert look_up("a.0.b", data) == 1
    assert look_up("a.-1", data) == 5
    assert [look_up(path, data) for path in ("a.9", "a.b", "x", "a.1.c")] == [None] * 4
