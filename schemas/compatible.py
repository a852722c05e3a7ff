"""Whether a reader of the new schema can still read what the old one allowed.

The rules, stricter than JSON Schema's own where people would be surprised otherwise:
no field goes; none is required that was not; no type changes (another may be allowed beside it);
no value of an enumeration goes; no limit is set or moved; no default changes, for it is what an
old record without the field means.
"""

from collections.abc import Iterator
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
    """Return a sentence for everything that *new* breaks; both are whole schemas with `$defs`."""
    return list(_Comparison(old, new).compare(old, new, "the event"))


class _Comparison:
    def __init__(self, old: Schema, new: Schema) -> None:
        self._old, self._new = old.get("$defs", {}), new.get("$defs", {})

    def compare(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        allowed = _alternatives(new, self._new)
        for before in _alternatives(old, self._old):
            found = [list(self._one(before, after, at)) for after in allowed]
            # What was allowed must be allowed by one of the new alternatives, whole.
            yield from min(found, key=len)
        if "default" in old and old.get("default") != new.get("default"):
            yield f"{at}: the default was {old['default']!r}, and is {new.get('default')!r}"

    def _one(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        if _kind(old) != _kind(new) and new:
            yield f"{at}: was of type {_kind(old)}, and is {_kind(new)}"
            return
        for limit in LIMITS:
            if limit in new and new[limit] != old.get(limit):
                yield f"{at}: {limit} was {old.get(limit)}, and is {new[limit]}"
        if "enum" in new and (
            gone := [v for v in old.get("enum", ["any"]) if v not in new["enum"]]
        ):
            yield f"{at}: no longer one of its values: {gone}"
        yield from self._fields(old, new, at)
        yield from self._items(old, new, at)

    def _fields(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        before, after = old.get("properties", {}), new.get("properties", {})
        if new:
            yield from (f"{at}.{name}: the field is gone" for name in before if name not in after)
        for name in new.get("required", []):
            if name not in old.get("required", []):
                yield f"{at}.{name}: the field is required, and was not"
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
