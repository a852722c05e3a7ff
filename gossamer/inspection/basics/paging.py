"""One page of a long list, as all read functions with a cursor return it."""

import re
from collections.abc import Mapping
from typing import Generic, TypeVar

from msgspec import Struct

from gossamer.errors import BadSettings

T = TypeVar("T")


class Page(Struct, Generic[T], frozen=True):
    """Some items of a list, and the place where the next page begins."""

    items: tuple[T, ...] = ()
    next: str | None = None
    """The cursor of the next page, opaque to callers; null after the last item."""
    is_partial: bool = False
    """Whether the search ended at its limit of rows. The next page continues it, if there is a
    cursor."""


_position = re.compile(r"(\d{1,4})/(\d{1,18})", re.ASCII)


def parse_position(text: str) -> tuple[int, int] | None:
    """Return the partition and the offset in PARTITION/OFFSET; None if *text* is something else."""
    found = _position.fullmatch(text)
    return (int(found[1]), int(found[2])) if found else None


def cursor_of(positions: Mapping[int, int]) -> str:
    """Return the cursor of a list of records: where its next page begins in each partition."""
    return ",".join(f"{partition}/{positions[partition]}" for partition in sorted(positions))


def parse_cursor(text: str) -> dict[int, int]:
    """Return partition → offset in a cursor. Raise BadSettings if it is invalid."""
    found = [parse_position(name) for name in text.split(",")]
    if None in found:
        raise BadSettings(f"{text[:80]!r} is not a cursor of this list")
    return dict(filter(None, found))
