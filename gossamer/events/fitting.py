"""Reduces documents that are too large for a record: fields are dropped first, then text is cut."""

from collections.abc import Iterator
from typing import TypeVar

import msgspec

from gossamer.events.pages import CONTENTS, Contents, PageParsed

Document = TypeVar("Document", bound=Contents)
PROTECTED_FIELDS = frozenset({"hazards", "cut", "text"})
LINK_FIELDS = frozenset({"links", "entries"})
"""Fields that a parsed page keeps at any size, because the crawl needs them. The parser limits
them."""
MIN_DROPPED_CHARACTERS = 1000
"""Minimum number of characters of a string field that is dropped."""


def fit_to_limit(page: Document, limit: int) -> Document:
    """Return *page* reduced so that its JSON has at most *limit* bytes, if that is possible.

    The largest lists, maps and strings are dropped first, as a whole. Then the end of the text is
    cut. `cut` names all reduced fields. Fields that must stay can make the result larger than
    *limit*.
    """
    free_bytes = limit - _size(page)
    gone = list[str]()
    for size, name in sorted(_optional(page), reverse=True):
        if free_bytes >= _size([*gone, "text"]):
            break
        gone.append(name)
        free_bytes += size
    page = msgspec.structs.replace(page, **{name: _default(page, name) for name in gone})
    return _with_short_text(_mark_cut(page, gone), limit) if gone else page


def _with_short_text(page: Document, limit: int) -> Document:
    while (text := page.text) and (over := _size(page) - limit) > 0:
        # Assumes that all characters are equally long in JSON. The loop corrects that.
        left = max(0, int(len(text) * (1 - over / _size(text))) - 1)
        page = _mark_cut(msgspec.structs.replace(page, text=text[:left]), ["text"])
    return page


def _optional(page: Contents) -> Iterator[tuple[int, str]]:
    kept = PROTECTED_FIELDS | LINK_FIELDS if isinstance(page, PageParsed) else PROTECTED_FIELDS
    for name in page.__struct_fields__:
        value = getattr(page, name)
        is_long = (
            isinstance(value, str) and name in CONTENTS and len(value) > MIN_DROPPED_CHARACTERS
        )
        if name not in kept and (is_long or isinstance(value, tuple | dict)) and value:
            yield _size(value), name


def _default(page: Contents, name: str) -> object:
    return type(getattr(page, name))()


def _mark_cut(page: Document, names: list[str]) -> Document:
    cut = tuple(dict.fromkeys((*page.cut, *names)))
    return msgspec.structs.replace(page, cut=cut)


def _size(value: object) -> int:
    return len(msgspec.json.encode(value))
