"""Claims about templates: types are kept, filters compose, mistakes are named."""

from __future__ import annotations

import base64
import json
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refute.workload.error import WorkloadError
from refute.workload.template import compile_text, compile_tree

ROOTS = {"key", "value", "input", "extra"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def fill(written, **values):
    return compile_tree(written, ROOTS, where="here")(values)


@given(JSON)
def test_a_template_that_is_the_whole_string_keeps_the_json_type(value):
    filled = fill("{value}", value=value)
    assert filled == value and type(filled) is type(value)


@given(JSON)
def test_json_in_base64_comes_back_as_it_went(value):
    assert json.loads(base64.b64decode(fill("{value|json|base64}", value=value))) == value


@given(st.text())
def test_a_key_in_a_path_is_quoted_so_that_it_cannot_leave_its_segment(key):
    path = compile_text("/kv/{key}", ROOTS, where="here", quoted=True)({"key": key})
    assert path.count("/") == 2 and "?" not in path and "#" not in path
    assert unquote(path) == f"/kv/{key}"


@given(st.text(alphabet=st.characters(exclude_characters="{}"), min_size=1))
def test_text_without_placeholders_is_left_alone(written):
    assert fill(written) == written


def test_what_is_inside_a_longer_string_is_text():
    assert fill("v={value};", value=5) == "v=5;"
    assert fill("v={value};", value="five") == "v=five;"
    assert fill("v={value};", value=[1, None]) == "v=[1,null];"


def test_parts_of_an_input_are_reached_by_their_number_and_name():
    assert fill({"old": "{input.0}", "new": "{input.1}"}, input=[None, 2]) == {"old": None, "new": 2}
    assert fill("{input.from}", input={"from": "a"}) == "a"


def test_keys_of_a_mapping_are_templates_too():
    assert fill({"{key}": ["{value}"]}, key="k1", value=3) == {"k1": [3]}


def test_json_text_in_a_string_is_not_taken_for_a_placeholder():
    written = '{"query":{"a":{"b":1}},"k":"{key}"}'
    assert fill(written, key="x") == '{"query":{"a":{"b":1}},"k":"x"}'


@pytest.mark.parametrize("written", ["{kye}", {"a": ["{kye}"]}, "x{value|bas64}"])
def test_a_misspelt_placeholder_is_found_before_the_run(written):
    with pytest.raises(WorkloadError, match="here"):
        compile_tree(written, ROOTS, where="here")


def test_a_field_that_is_missing_is_an_error_unless_it_is_marked():
    with pytest.raises(WorkloadError, match=r"extra\.token\?"):
        fill("{extra.token}", extra={})
    assert fill("{extra.token?}", extra={}) is None
    assert fill("Bearer {extra.token?}", extra={}) == "Bearer "
    assert fill("{extra.token?|base64}", extra={}) is None


def test_an_operation_without_a_key_is_never_about_a_key_named_null():
    path = compile_text("/kv/{key}", ROOTS, where="here", quoted=True)
    with pytest.raises(WorkloadError, match="null"):
        path({"key": None})
