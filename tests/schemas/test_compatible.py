"""What the comparison of schemas lets through, and what it refuses."""

import copy
import json
from typing import Any

import pytest

from schemas.compatible import Schema, breaks

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
    "null beside a type": ((*FIELDS, "name"), {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    "a type in a list": ((*FIELDS, "name", "type"), ["string", "null"]),
    "fewer required": (("$defs", "Event", "required"), ["kind"]),
    "anything": ((*FIELDS, "name"), {}),
}
REFUSED: dict[str, tuple[tuple[Any, ...], Any, str]] = {
    "a field that goes": ((*FIELDS,), {"name": {"type": "string"}}, "size: the field is gone"),
    "a type that changes": ((*FIELDS, "name"), {"type": "integer"}, "name: was of type string"),
    "a number that narrows": ((*FIELDS, "size", "type"), "string", "size: was of type integer"),
    "bytes that become text": (
        (*FIELDS, "body"),
        {"type": "string", "default": ""},
        "body: was of type base64 string",
    ),
    "null that goes": (
        (*FIELDS, "maybe"),
        {"$ref": "#/$defs/Part", "default": None},
        "maybe: was of type null",
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
    "text that becomes an enumeration": ((*FIELDS, "name"), {"enum": ["a"]}, "name: was of type"),
    "a limit": ((*FIELDS, "name", "maxLength"), 10, "name: maxLength was None, and is 10"),
    "items that change": ((*FIELDS, "parts", "items"), {"type": "string"}, "parts[]: was of type"),
    "a part that changes": (
        (*FIELDS, "pairs", "items", "prefixItems", 1),
        {"type": "integer"},
        "pairs[][1]: was of type",
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
    assert breaks(OLD, changed(path, value)) == []


@pytest.mark.parametrize("path, value, sentence", REFUSED.values(), ids=REFUSED)
def test_a_change_that_is_refused(path: tuple[Any, ...], value: Any, sentence: str) -> None:
    found = breaks(OLD, changed(path, value))
    assert any(sentence in one for one in found), found


def test_a_part_that_is_renamed_breaks_nothing() -> None:
    new = json.loads(json.dumps(OLD).replace("Part", "Piece"))
    assert breaks(OLD, new) == []
