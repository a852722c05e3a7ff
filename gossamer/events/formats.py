"""What the fields of events hold, beyond their type: JSON Schema says so as `format`."""

from typing import Annotated

from msgspec import Meta, Struct
from msgspec.inspect import Metadata, StructType, type_info

Url = Annotated[str, Meta(extra_json_schema={"format": "uri"})]
"""Absolute and canonical; "" where there is none."""
_INSTANT = {"format": "epoch-seconds"}
Instant = Annotated[float, Meta(extra_json_schema=_INSTANT)]
"""Seconds since 1970 began in UTC; 0 where no time is known."""


def instants_of(struct: type[Struct]) -> tuple[str, ...]:
    """Return the names of the fields of *struct* that are instants."""
    about = type_info(struct)
    assert isinstance(about, StructType)
    return tuple(
        field.name
        for field in about.fields
        if isinstance(field.type, Metadata) and field.type.extra_json_schema == _INSTANT
    )
