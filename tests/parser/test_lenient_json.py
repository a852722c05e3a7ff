"""JSON of the Web with the errors of its authors."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.services.parser.lenient_json import decode_json

ITEMS = [{"url": "http://h.test/1"}, {"url": "http://h.test/2"}]

values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text('ab"\\{}[],:\n\t\U0001f600'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("ab{", max_size=3), inner),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"items": [{"url": "http://h.test/1"}, {"url": "http://h.test/2"},]}', {"items": ITEMS}),
        ('[{"url": "http://h.test/1"}, {"url": "http://h.test/2"}, {"url": "http://h', ITEMS),
        ('[{"url": "http://h.test/1"}, {"url": "http://h.test/2"}, {"tags": [{}], "u', ITEMS),
        ('["a\tb", "\\ud83d", "\\ud83d\\ude00", "\\\\ud83d"]', ["a\tb", "�", "😀", "\\ud83d"]),
        ('[{"url": "http://h.test/1"}, {"url": "http://h.test/2"}]\n}];', ITEMS),
        ('/* a " */ ["//b", /* c */ "/*d*/", // e\n]', ["//b", "/*d*/"]),
        ('{"a": 1}\n{"a": 2};{}', [{"a": 1}, {"a": 2}, {}]),
    ],
    ids=["comma", "cut", "cut behind a smaller item", "strings", "brackets", "comments", "objects"],
)
def test_error_of_an_author_is_repaired(text: str, value: Any) -> None:
    assert decode_json(text) == (value, True)


@pytest.mark.parametrize(
    "text", ["", "<html>", '{"a"', "[}", '{"a": [{}}', "[" * 300_000, "}", "[] {}", "{} []", "{} x"]
)
def test_text_that_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        decode_json(text)


@given(values)
def test_valid_json_is_read_as_it_is(value: Any) -> None:
    assert decode_json(json.dumps(value)) == (value, False)


@given(
    st.lists(
        st.dictionaries(st.text("ab{", max_size=3), values, max_size=4), min_size=1, max_size=5
    ),
    st.data(),
)
def test_cut_json_has_its_whole_items(items: list[Any], data: st.DataObject) -> None:
    ends = [len(json.dumps(items[: n + 1])) - 1 for n in range(len(items))]
    cut = data.draw(st.integers(ends[0], len(json.dumps(items)) - 1))
    value, _ = decode_json(json.dumps(items)[:cut])
    assert len(value) >= sum(end <= cut for end in ends)


@given(st.text('{}[],:"\\u12ad'))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(ValueError):
        decode_json(text)
