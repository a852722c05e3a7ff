"""Compatible and breaking changes of schemas, topics and tables."""

import copy
import json
from typing import Any

import pytest

from tests.schemas.compatible import Schema, breaks, breaks_older, table_breaks, topic_breaks

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
    "a description": ((*FIELDS, "name", "description"), "The name."),
    "a field with a default": ((*FIELDS, "new"), {"type": "string", "default": ""}),
    "a value of an enumeration": (("$defs", "Kind", "enum"), ["one", "two", "three"]),
}
ONE_WAY: dict[str, tuple[tuple[Any, ...], Any, str]] = {
    "null beside a type": (
        (*FIELDS, "name"),
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "name: an older process accepts type string, and not null",
    ),
    "a type in a list": (
        (*FIELDS, "name", "type"),
        ["string", "null"],
        "name: an older process accepts type string, and not null",
    ),
    "fewer required": (
        ("$defs", "Event", "required"),
        ["kind"],
        "name: an older process requires the field, which is optional now",
    ),
    "anything": ((*FIELDS, "name"), {}, "name: an older process accepts type string"),
}
"""Changes that a newer reader accepts, and an older reader does not."""
REFUSED: dict[str, tuple[tuple[Any, ...], Any, str]] = {
    "a removed field": ((*FIELDS,), {"name": {"type": "string"}}, "size: the field was removed"),
    "a changed type": ((*FIELDS, "name"), {"type": "integer"}, "name: type changed from string"),
    "a narrowed number": ((*FIELDS, "size", "type"), "string", "size: type changed from integer"),
    "bytes that become text": (
        (*FIELDS, "body"),
        {"type": "string", "default": ""},
        "body: type changed from base64 string",
    ),
    "null removed": (
        (*FIELDS, "maybe"),
        {"$ref": "#/$defs/Part", "default": None},
        "maybe: type changed from null",
    ),
    "a field that becomes required": (
        ("$defs", "Event", "required"),
        ["name", "kind", "size"],
        "size: the field became required",
    ),
    "a new required field of a part": (
        ("$defs", "Part"),
        {
            "type": "object",
            "properties": {"id": {"type": "integer"}, "new": {"type": "string"}},
            "required": ["id", "new"],
        },
        "new: the field became required",
    ),
    "a removed field of a part": (
        ("$defs", "Part"),
        {"type": "object", "properties": {}},
        "parts[].id: the field was removed",
    ),
    "a removed value": (("$defs", "Kind", "enum"), ["one"], "kind: no longer allows the values"),
    "text that becomes an enumeration": (
        (*FIELDS, "name"),
        {"enum": ["a"]},
        "name: type changed from",
    ),
    "a limit": ((*FIELDS, "name", "maxLength"), 10, "name: maxLength changed from None to 10"),
    "changed items": (
        (*FIELDS, "parts", "items"),
        {"type": "string"},
        "parts[]: type changed from",
    ),
    "a changed part": (
        (*FIELDS, "pairs", "items", "prefixItems", 1),
        {"type": "integer"},
        "pairs[][1]: type changed from",
    ),
    "an additional part": (
        (*FIELDS, "pairs", "items", "prefixItems"),
        [{"type": "string"}] * 3,
        "pairs[]: the number of parts changed from 2 to 3",
    ),
    "a pair that becomes a list": (
        (*FIELDS, "pairs", "items"),
        {"type": "array", "items": {"type": "string"}},
        "pairs[]: the number of parts changed from 2 to 0",
    ),
    "a changed default": ((*FIELDS, "size", "default"), 1, "size: the default changed from 0"),
    "unknown fields refused": (
        ("$defs", "Event", "additionalProperties"),
        False,
        "the event: additionalProperties changed from None",
    ),
}


def change_schema(path: tuple[Any, ...], value: Any) -> Schema:
    new = copy.deepcopy(OLD)
    part: Any = new
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return new


@pytest.mark.parametrize("path, value", ALLOWED.values(), ids=ALLOWED)
def test_compatible_change_is_accepted(path: tuple[Any, ...], value: Any) -> None:
    new = change_schema(path, value)
    assert breaks(OLD, new) == breaks_older(OLD, new) == []


@pytest.mark.parametrize("path, value, sentence", ONE_WAY.values(), ids=ONE_WAY)
def test_one_way_change_breaks_only_older_readers(
    path: tuple[Any, ...], value: Any, sentence: str
) -> None:
    new = change_schema(path, value)
    assert breaks(OLD, new) == []
    assert any(sentence in one for one in breaks_older(OLD, new)), breaks_older(OLD, new)


def test_removed_limit_breaks_only_older_readers() -> None:
    old = change_schema((*FIELDS, "size", "maximum"), 100)
    assert breaks(old, OLD) == []
    (found,) = breaks_older(old, OLD)
    assert "size: an older process accepts maximum 100" in found


@pytest.mark.parametrize("path, value, sentence", REFUSED.values(), ids=REFUSED)
def test_breaking_change_is_reported(path: tuple[Any, ...], value: Any, sentence: str) -> None:
    found = breaks(OLD, change_schema(path, value))
    assert any(sentence in one for one in found), found


def test_renamed_part_is_compatible() -> None:
    new = json.loads(json.dumps(OLD).replace("Part", "Piece"))
    assert breaks(OLD, new) == []


TOPIC: dict[str, Any] = {
    "partitioned_by": "site",
    "retention": "newest",
    "events": [{"event": "page", "key": "url"}],
}


def test_breaking_topic_changes_are_reported() -> None:
    more = {**TOPIC, "events": [*TOPIC["events"], {"event": "new", "key": "url"}], "partitions": 3}
    assert topic_breaks(TOPIC, more) == []
    assert topic_breaks(TOPIC, None) == ["the topic was removed"]
    assert topic_breaks(TOPIC, {**TOPIC, "partitioned_by": "url"}) == [
        "partitioned_by changed from site to url"
    ]
    assert topic_breaks(TOPIC, {**TOPIC, "events": []}) == ["page was removed"]
    keyed = [{"event": "page", "key": "site"}]
    assert topic_breaks(TOPIC, {**TOPIC, "events": keyed}) == ["the key of page changed from url"]


def test_breaking_table_changes_are_reported() -> None:
    columns = '  "a" text,  -- Its key.\n  "b" bigint,\n  PRIMARY KEY ("a")\n'
    table = f'CREATE TABLE "t" (\n{columns}) WITH x = 1;\n'
    assert table_breaks(table, table.replace("  PRIMARY", '  "c" text,\n  PRIMARY')) == []
    assert table_breaks(table, table.replace("x = 1", "x = 2")) == []
    assert table_breaks(table, table.replace("Its key", "The name of the row")) == []
    assert table_breaks(table, None) == ["the table was removed"]
    assert table_breaks(table, table.replace("bigint", "text")) == [
        'removed or changed: "b" bigint'
    ]
    assert table_breaks(table, table.replace('("a")', '("b")')) == [
        'removed or changed: PRIMARY KEY ("a")'
    ]
