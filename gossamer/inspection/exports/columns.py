"""The columns of documents: the fields of `Page`, so that a new field is a new column.

Whatever is not known is null. In the events, an unknown text is "" and an unknown instant 0; an
empty list or mapping says that there is nothing, and stays.
"""

from collections.abc import Collection, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any

from msgspec import Raw, Struct, inspect, json

from gossamer.errors import BadSettings
from gossamer.events import Page
from gossamer.events.records import instants_of

FIRST = ("url", "site", "status", "fetched_at")
"""The first columns of a table of documents."""
EXCLUDED = frozenset({"at", "version"})
"""Fields about the record, not about the page."""
STATE, GONE = "state", "gone"
"""What became of a document since the cursor of an export, and why it is gone."""
EXTRACTED = "extracted"
"""The column whose values are JSON objects, written as texts in the events."""
Row = dict[str, Any]
MIN_INSTANT = -62_135_596_800.0
"""The first instant that a calendar of Python has: the beginning of the year 1."""


def fields_of(struct: type[Struct]) -> dict[str, inspect.Type]:
    """Return the types of the fields of *struct*, by name."""
    about = inspect.type_info(struct)
    assert isinstance(about, inspect.StructType)
    return {field.name: field.type for field in about.fields}


PAGE_FIELDS = fields_of(Page)
COLUMNS = tuple(name for name in dict.fromkeys((*FIRST, *PAGE_FIELDS)) if name not in EXCLUDED)
INSTANTS = frozenset(instants_of(Page))
SINCE_COLUMNS = (STATE, GONE)
"""Columns of a table that has what changed since a cursor."""


def check_columns(names: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """Return *names* without repetition. Raise BadSettings if one is not among the *known* ones."""
    if wrong := [name for name in names if name not in known]:
        raise BadSettings(f"--columns: {wrong[0]!r} is not a column: {', '.join(known)}")
    return tuple(dict.fromkeys(names))


def row_of(page: Struct) -> Row:
    """Return the values of the fields of *page*, by name; null for what is not known."""
    shown = _find_shown_fields(type(page)).items()
    row = {name: _value(getattr(page, name), is_unknown) for name, is_unknown in shown}
    if texts := row.get(EXTRACTED):
        row[EXTRACTED] = [json.decode(text) for text in texts]
    return row


@lru_cache(maxsize=64)
def _find_shown_fields(struct: type[Struct]) -> dict[str, bool]:
    """Return field → whether its empty value is a missing text, or a missing instant."""
    instants, shown = frozenset(instants_of(struct)), dict[str, bool]()
    for name, kind in fields_of(struct).items():
        plain = kind.type if isinstance(kind, inspect.Metadata) else kind
        if name not in EXCLUDED:
            shown[name] = isinstance(plain, inspect.StrType) or name in instants
    return shown


def _value(value: Any, is_unknown_if_empty: bool = False) -> Any:
    match value:
        case "" | 0.0 if is_unknown_if_empty:
            return None
        case Raw():
            return json.decode(value)
        case Struct():
            return row_of(value)
        case tuple() | list():
            return [_value(one) for one in value]
        case dict():
            return {key: _value(one) for key, one in value.items()}
        case StrEnum():
            return value.value
    return value
