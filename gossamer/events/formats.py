"""Types of event fields with a `format` in JSON Schema."""

from typing import Annotated

from msgspec import Meta, Struct
from msgspec.inspect import Metadata, StructType, type_info

Url = Annotated[str, Meta(extra_json_schema={"format": "uri"})]
"""An absolute, canonical URL. "" means no URL."""
_INSTANT = {"format": "epoch-seconds"}
Instant = Annotated[float, Meta(extra_json_schema=_INSTANT)]
"""Epoch seconds, or 0 if the time is not known."""


def instants_of(struct: type[Struct]) -> tuple[str, ...]:
    """Return the names of the fields of *struct* that are instants."""
    about = type_info(struct)
    assert isinstance(about, StructType)
    return tuple(
        field.name
        for field in about.fields
        if isinstance(field.type, Metadata) and field.type.extra_json_schema == _INSTANT
    )
