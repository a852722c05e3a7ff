"""One page of a long list, as all read functions with a cursor return it."""

from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class Page(Struct, Generic[T], frozen=True):
    """Some items of a list, and the place where the next page begins."""

    items: tuple[T, ...] = ()
    next: str | None = None
    """The cursor of the next page, opaque to callers; null after the last item."""
    is_partial: bool = False
    """Whether the search ended at its limit of rows. The next page continues it, if there is a
    cursor."""
