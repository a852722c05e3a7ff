"""Whether processes of two versions can read what the other writes, as in a rolling upgrade.

The rules, stricter than JSON Schema's own where people would be surprised otherwise: no field goes;
none is required that was not, and none may be missing that was required; no type changes, and none
is allowed beside another; no value of an enumeration goes; no limit is set or moved; no default
changes, for it is what an old record without the field means.

A field that an older process does not know is ignored by it, and a new value of an enumeration
waits or is read as another one (`docs/decisions/0119-rolling-upgrades-of-a-fleet.md`).
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
    """Return a sentence for everything of *old* that a reader of *new* cannot read.

    Both are whole schemas with `$defs`.
    """
    return list(_Comparison(old, new).compare(old, new, "the event"))


def breaks_older(old: Schema, new: Schema) -> list[str]:
    """Return a sentence for everything of *new* that a reader of *old* cannot read."""
    return list(_ForOlder(new, old).compare(new, old, "the event"))


class _Comparison:
    """Compares what is written (`old`) with what is read (`new`)."""

    def __init__(self, old: Schema, new: Schema) -> None:
        self._old, self._new = old.get("$defs", {}), new.get("$defs", {})

    def compare(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        allowed = _alternatives(new, self._new)
        for before in _alternatives(old, self._old):
            found = [list(self._one(before, after, at)) for after in allowed]
            # What was allowed must be allowed by one of the new alternatives, whole.
            yield from min(found, key=len)
        yield from self._default(old, new, at)

    def _default(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        if "default" in old and old.get("default") != new.get("default"):
            yield f"{at}: the default was {old['default']!r}, and is {new.get('default')!r}"

    def _one(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        if _kind(old) != _kind(new) and new:
            yield self._changed(at, "type", _kind(old), _kind(new))
            return
        for limit in LIMITS:
            if limit in new and new[limit] != old.get(limit):
                yield self._changed(at, limit, old.get(limit), new[limit])
        yield from self._values(old, new, at)
        yield from self._fields(old, new, at)
        yield from self._items(old, new, at)

    def _changed(self, at: str, what: str, old: object, new: object) -> str:
        return f"{at}: {what} was {old}, and is {new}"

    def _values(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        if "enum" in new and (
            gone := [v for v in old.get("enum", ["any"]) if v not in new["enum"]]
        ):
            yield f"{at}: no longer one of its values: {gone}"

    def _gone(self, names: Iterable[str], at: str) -> Iterator[str]:
        yield from (f"{at}.{name}: the field is gone" for name in names)

    def _required(self, at: str) -> str:
        return f"{at}: the field is required, and was not"

    def _fields(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        before, after = old.get("properties", {}), new.get("properties", {})
        if new:
            yield from self._gone((name for name in before if name not in after), at)
        for name in new.get("required", []):
            if name not in old.get("required", []):
                yield self._required(f"{at}.{name}")
        for name in before.keys() & after.keys():
            yield from self.compare(before[name], after[name], f"{at}.{name}")

    def _items(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        before, after = old.get("prefixItems", []), new.get("prefixItems", [])
        if len(before) != len(after) and new:
            yield f"{at}: had {len(before)} parts, and has {len(after)}"
        for i, (was, becomes) in enumerate(zip(before, after, strict=False)):
            yield from self.compare(was, becomes, f"{at}[{i}]")
        was, becomes = old.get("items"), new.get("items")
        if isinstance(was, dict) and isinstance(becomes, dict):
            yield from self.compare(was, becomes, f"{at}[]")
        elif was != becomes and becomes is not None:
            yield f"{at}: the items were {was}, and are {becomes}"


class _ForOlder(_Comparison):
    """The same where an older process reads, which ignores fields and parks values."""

    def _default(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        return iter(())

    def _changed(self, at: str, what: str, old: object, new: object) -> str:
        return f"{at}: an older process reads {what} {new}, and not {old}, which is written now"

    def _values(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        return iter(())

    def _gone(self, names: Iterable[str], at: str) -> Iterator[str]:
        return iter(())

    def _required(self, at: str) -> str:
        return f"{at}: an older process requires the field, which may be missing now"


def topic_breaks(old: Mapping[str, Any], new: Mapping[str, Any] | None) -> list[str]:
    """Return a sentence for everything that a topic's file *new* breaks; None: there is none."""
    if new is None:
        return ["the topic is gone"]
    broken = [
        f"{name} was {old[name]}, and is {new[name]}"
        for name in ("partitioned_by", "keep")
        if old[name] != new[name]
    ]
    keys = {one["event"]: one["key"] for one in new["events"]}
    for one in old["events"]:
        if one["event"] not in keys:
            broken.append(f"{one['event']} is gone")
        elif keys[one["event"]] != one["key"]:
            broken.append(f"the key of {one['event']} was {one['key']}")
    return broken


def table_breaks(old: str, new: str | None) -> list[str]:
    """Return a sentence for each line about a column or key of the table's CQL *old* that is not
    in *new*; None: there is no such table."""
    if new is None:
        return ["the table is gone"]
    there = _column_lines(new)
    return [f"no longer so: {line}" for line in _column_lines(old) if line not in there]


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
