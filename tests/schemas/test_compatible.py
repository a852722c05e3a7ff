"""What the comparison of schemas lets through, and what it refuses."""

import copy
import json
from typing import Any

import pytest

from schemas.compatible import Schema, breaks, breaks_older, table_breaks, topic_breaks

OLD: Schema = {
    "$ref": "#/$defs/Event",
    "$defs": {
        "Event": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "size": {"type": "integer", "default": 0},
                "body": {"type": "string", "contentEncoding": "base64", "default": ""},
                "kind": {"$ref": "#/$defs/Kind"},
                "maybe": {"anyOf": [{"$ref": "#/$defs/Part"}, {"type": "null"}], "default": None},
                "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}},
                "pairs": {
                    "type": "array",
                    "items": {
                        "type": "array",
                        "prefixItems": [{"type": "string"}, {"type": "string"}],
                        "items": False,
                    },
                },
            },
            "required": ["name", "kind"],
        },
        "Kind": {"enum": ["one", "two"]},
        "Part": {
            "type": "object",
            "properties": {"id": {"type": "integer"}},
            "required": ["id"],
        },
    },
}

FIELDS = ("$defs", "Event", "properties")
ALLOWED: dict[str, tuple[tuple[Any, ...], Any]] = {
    "nothing": ((*FIELDS, "name"), {"type": "string"}),
    "a description": ((*FIELDS, "name", "description"), "What it is called."),
    "a field with a default": ((*FIELDS, "new"), {"type": "string", "default": ""}),
    "a value of an enumeration": (("$defs", "Kind", "enum"), ["one", "two", "three"]),
}
ONE_WAY: dict[str, tuple[tuple[Any, ...], Any, str]] = {
    "null beside a type": (
        (*FIELDS, "name"),
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "name: an older process reads type string, and not null",
    ),
    "a type in a list": (
        (*FIELDS, "name", "type"),
        ["string", "null"],
        "name: an older process reads type string, and not null",
    ),
    "fewer required": (
        ("$defs", "Event", "required"),
        ["kind"],
        "name: an older process requires the field, which may be missing now",
    ),
    "anything": ((*FIELDS, "name"), {}, "name: an older process reads type string"),
}
"""What a newer process reads of an older one, but not the other way round."""
REFUSED: dict[str, tuple[tuple[Any, ...], Any, str]] = {
    "a field that goes": ((*FIELDS,), {"name": {"type": "string"}}, "size: the field is gone"),
    "a type that changes": ((*FIELDS, "name"), {"type": "integer"}, "name: type was string"),
    "a number that narrows": ((*FIELDS, "size", "type"), "string", "size: type was integer"),
    "bytes that become text": (
        (*FIELDS, "body"),
        {"type": "string", "default": ""},
        "body: type was base64 string",
    ),
    "null that goes": (
        (*FIELDS, "maybe"),
        {"$ref": "#/$defs/Part", "default": None},
        "maybe: type was null",
    ),
    "a field that becomes required": (
        ("$defs", "Event", "required"),
        ["name", "kind", "size"],
        "size: the field is required",
    ),
    "a new field that is required, deep inside": (
        ("$defs", "Part"),
        {
            "type": "object",
            "properties": {"id": {"type": "integer"}, "new": {"type": "string"}},
            "required": ["id", "new"],
        },
        "new: the field is required",
    ),
    "a field that goes deep inside": (
        ("$defs", "Part"),
        {"type": "object", "properties": {}},
        "parts[].id: the field is gone",
    ),
    "a value that goes": (("$defs", "Kind", "enum"), ["one"], "kind: no longer one of its values"),
    "text that becomes an enumeration": ((*FIELDS, "name"), {"enum": ["a"]}, "name: type was"),
    "a limit": ((*FIELDS, "name", "maxLength"), 10, "name: maxLength was None, and is 10"),
    "items that change": ((*FIELDS, "parts", "items"), {"type": "string"}, "parts[]: type was"),
    "a part that changes": (
        (*FIELDS, "pairs", "items", "prefixItems", 1),
        {"type": "integer"},
        "pairs[][1]: type was",
    ),
    "a part more": (
        (*FIELDS, "pairs", "items", "prefixItems"),
        [{"type": "string"}] * 3,
        "pairs[]: had 2 parts, and has 3",
    ),
    "a pair that becomes a list": (
        (*FIELDS, "pairs", "items"),
        {"type": "array", "items": {"type": "string"}},
        "pairs[]: had 2 parts, and has 0",
    ),
    "a default that changes": ((*FIELDS, "size", "default"), 1, "size: the default was 0"),
    "unknown fields refused": (
        ("$defs", "Event", "additionalProperties"),
        False,
        "the event: additionalProperties was None",
    ),
}


def changed(path: tuple[Any, ...], value: Any) -> Schema:
    new = copy.deepcopy(OLD)
    part: Any = new
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return new


@pytest.mark.parametrize("path, value", ALLOWED.values(), ids=ALLOWED)
def test_a_change_that_is_allowed(path: tuple[Any, ...], value: Any) -> None:
    new = changed(path, value)
    assert breaks(OLD, new) == breaks_older(OLD, new) == []


@pytest.mark.parametrize("path, value, sentence", ONE_WAY.values(), ids=ONE_WAY)
def test_a_change_that_an_older_process_cannot_read(
    path: tuple[Any, ...], value: Any, sentence: str
) -> None:
    new = changed(path, value)
    assert breaks(OLD, new) == []
    assert any(sentence in one for one in breaks_older(OLD, new)), breaks_older(OLD, new)


def test_a_limit_that_goes_is_still_one_to_an_older_process() -> None:
    old = changed((*FIELDS, "size", "maximum"), 100)
    assert breaks(old, OLD) == []
    (found,) = breaks_older(old, OLD)
    assert "size: an older process reads maximum 100" in found


@pytest.mark.parametrize("path, value, sentence", REFUSED.values(), ids=REFUSED)
def test_a_change_that_is_refused(path: tuple[Any, ...], value: Any, sentence: str) -> None:
    found = breaks(OLD, changed(path, value))
    assert any(sentence in one for one in found), found


def test_a_part_that_is_renamed_breaks_nothing() -> None:
    new = json.loads(json.dumps(OLD).replace("Part", "Piece"))
    assert breaks(OLD, new) == []


TOPIC: dict[str, Any] = {
    "partitioned_by": "site",
    "keep": "newest",
    "events": [{"event": "page", "key": "url"}],
}


def test_what_breaks_a_topic() -> None:
    more = {**TOPIC, "events": [*TOPIC["events"], {"event": "new", "key": "url"}], "partitions": 3}
    assert topic_breaks(TOPIC, more) == []
    assert topic_breaks(TOPIC, None) == ["the topic is gone"]
    assert topic_breaks(TOPIC, {**TOPIC, "partitioned_by": "url"}) == [
        "partitioned_by was site, and is url"
    ]
    assert topic_breaks(TOPIC, {**TOPIC, "events": []}) == ["page is gone"]
    keyed = [{"event": "page", "key": "site"}]
    assert topic_breaks(TOPIC, {**TOPIC, "events": keyed}) == ["the key of page was url"]


def test_what_breaks_a_table() -> None:
    columns = '  "a" text,  -- Its key.\n  "b" bigint,\n  PRIMARY KEY ("a")\n'
    table = f'CREATE TABLE "t" (\n{columns}) WITH x = 1;\n'
    assert table_breaks(table, table.replace("  PRIMARY", '  "c" text,\n  PRIMARY')) == []
    assert table_breaks(table, table.replace("x = 1", "x = 2")) == []
    assert table_breaks(table, table.replace("Its key", "What it is known by")) == []
    assert table_breaks(table, None) == ["the table is gone"]
    assert table_breaks(table, table.replace("bigint", "text")) == ['no longer so: "b" bigint']
    assert table_breaks(table, table.replace('("a")', '("b")')) == [
        'no longer so: PRIMARY KEY ("a")'
    ]
