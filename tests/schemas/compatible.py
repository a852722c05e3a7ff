"""Checks whether processes of two versions can read each other's data during a rolling upgrade.

The rules are stricter than JSON Schema itself. A field must not be removed, become required or
become optional. A type must not change, and must not get an alternative. A value of an enumeration
must not be removed. A limit must not be added or changed. A default must not change, because old
records without the field rely on it.

An older process ignores unknown fields. A record with a new value of an enumeration waits, or the
value is read as another one (`docs/decisions/0119-rolling-upgrades-of-a-fleet.md`).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Schema = dict[str, Any]

LIMITS = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "additionalProperties",
    "const",
)


def breaks(old: Schema, new: Schema) -> list[str]:
    """Return a sentence for each part of *old* data that a reader of *new* cannot read.

    Both are whole schemas with `$defs`.
    """
    return list(_Comparison(old, new).compare(old, new, "the event"))


def breaks_older(old: Schema, new: Schema) -> list[str]:
    """Return a sentence for each part of *new* data that a reader of *old* cannot read."""
    return list(_ForOlder(new, old).compare(new, old, "the event"))


class _Comparison:
    """Compares the schema of the writer (`old`) with the schema of the reader (`new`)."""

    def __init__(self, old: Schema, new: Schema) -> None:
        self._old, self._new = old.get("$defs", {}), new.get("$defs", {})

    def compare(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        allowed = _alternatives(new, self._new)
        for before in _alternatives(old, self._old):
            found = [list(self._one(before, after, at)) for after in allowed]
            # One of the new alternatives must allow everything that the old one allowed.
            yield from min(found, key=len)
        yield from self._default(old, new, at)

    def _default(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        if "default" in old and old.get("default") != new.get("default"):
            yield f"{at}: the default changed from {old['default']!r} to {new.get('default')!r}"

    def _one(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        if _kind(old) != _kind(new) and new:
            yield self._describe_change(at, "type", _kind(old), _kind(new))
            return
        for limit in LIMITS:
            if limit in new and new[limit] != old.get(limit):
                yield self._describe_change(at, limit, old.get(limit), new[limit])
        yield from self._values(old, new, at)
        yield from self._fields(old, new, at)
        yield from self._items(old, new, at)

    def _describe_change(self, at: str, what: str, old: object, new: object) -> str:
        return f"{at}: {what} changed from {old} to {new}"

    def _values(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        if "enum" in new and (
            gone := [v for v in old.get("enum", ["any"]) if v not in new["enum"]]
        ):
            yield f"{at}: no longer allows the values {gone}"

    def _describe_removals(self, names: Iterable[str], at: str) -> Iterator[str]:
        yield from (f"{at}.{name}: the field was removed" for name in names)

    def _describe_requirement(self, at: str) -> str:
        return f"{at}: the field became required"

    def _fields(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        before, after = old.get("properties", {}), new.get("properties", {})
        if new:
            yield from self._describe_removals((name for name in before if name not in after), at)
        for name in new.get("required", []):
            if name not in old.get("required", []):
                yield self._describe_requirement(f"{at}.{name}")
        for name in before.keys() & after.keys():
            yield from self.compare(before[name], after[name], f"{at}.{name}")

    def _items(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        before, after = old.get("prefixItems", []), new.get("prefixItems", [])
        if len(before) != len(after) and new:
            yield f"{at}: the number of parts changed from {len(before)} to {len(after)}"
        for i, (was, becomes) in enumerate(zip(before, after, strict=False)):
            yield from self.compare(was, becomes, f"{at}[{i}]")
        was, becomes = old.get("items"), new.get("items")
        if isinstance(was, dict) and isinstance(becomes, dict):
            yield from self.compare(was, becomes, f"{at}[]")
        elif was != becomes and becomes is not None:
            yield f"{at}: the items changed from {was} to {becomes}"


class _ForOlder(_Comparison):
    """Compares for an older reader, which ignores unknown fields and parks unknown values."""

    def _default(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        return iter(())

    def _describe_change(self, at: str, what: str, old: object, new: object) -> str:
        return f"{at}: an older process accepts {what} {new}, and not {old} as written now"

    def _values(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        return iter(())

    def _describe_removals(self, names: Iterable[str], at: str) -> Iterator[str]:
        return iter(())

    def _describe_requirement(self, at: str) -> str:
        return f"{at}: an older process requires the field, which is optional now"


def topic_breaks(old: Mapping[str, Any], new: Mapping[str, Any] | None) -> list[str]:
    """Return a sentence for each breaking change of a topic's file. A missing *new* file means that
    the topic was removed."""
    if new is None:
        return ["the topic was removed"]
    broken = [
        f"{name} changed from {old[name]} to {new[name]}"
        for name in ("partitioned_by", "retention")
        if old[name] != new[name]
    ]
    keys = {one["event"]: one["key"] for one in new["events"]}
    for one in old["events"]:
        if one["event"] not in keys:
            broken.append(f"{one['event']} was removed")
        elif keys[one["event"]] != one["key"]:
            broken.append(f"the key of {one['event']} changed from {one['key']}")
    return broken


def table_breaks(old: str, new: str | None) -> list[str]:
    """Return a sentence for each column or key line of the CQL *old* that *new* lacks. A missing
    *new* means that the table was removed."""
    if new is None:
        return ["the table was removed"]
    new_lines = _column_lines(new)
    return [f"removed or changed: {line}" for line in _column_lines(old) if line not in new_lines]


def _column_lines(table: str) -> list[str]:
    lines = [line.partition("--")[0].strip().rstrip(",") for line in table.splitlines()]
    return [line for line in lines if line.startswith(('"', "PRIMARY KEY"))]


def _kind(schema: Schema) -> str:
    return " ".join(str(schema[key]) for key in ("contentEncoding", "type") if key in schema)


def _alternatives(schema: Schema, parts: dict[str, Schema]) -> list[Schema]:
    if "$ref" in schema:
        return _alternatives(parts[schema["$ref"].rpartition("/")[2]], parts)
    if "anyOf" in schema:
        return [one for part in schema["anyOf"] for one in _alternatives(part, parts)]
    if isinstance(schema.get("type"), list):
        return [{**schema, "type": kind} for kind in schema["type"]]
    return [schema]
