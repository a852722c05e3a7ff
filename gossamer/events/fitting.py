"""Documents that are too large for a record: what is left out of them, and their text last."""

from collections.abc import Iterator
from typing import TypeVar

import msgspec

from gossamer.events.pages import CONTENTS, Contents, PageParsed

Document = TypeVar("Document", bound=Contents)
KEPT = frozenset({"hazards", "cut", "text"})
FOLLOWED = frozenset({"links", "entries"})
"""Kept of a parsed page: the crawl lives on them, and the parser limits them."""
LONG = 1000
"""Characters of a string that is worth being left out."""


def fitted(page: Document, limit: int) -> Document:
    """Return *page* without what makes its JSON larger than *limit* bytes.

    The largest lists, maps and strings go first, whole; then the end of the text. What `cut` names
    is not all there. Larger than *limit* it is only if what remains cannot be left out.
    """
    spare = limit - _size(page)
    gone = list[str]()
    for size, name in sorted(_optional(page), reverse=True):
        if spare >= _size([*gone, "text"]):
            break
        gone.append(name)
        spare += size
    page = msgspec.structs.replace(page, **{name: _default(page, name) for name in gone})
    return _with_short_text(_marked(page, gone), limit) if gone else page


def _with_short_text(page: Document, limit: int) -> Document:
    while (text := page.text) and (over := _size(page) - limit) > 0:
        # As if all its characters were equally long in JSON; where they are not, once more.
        left = max(0, int(len(text) * (1 - over / _size(text))) - 1)
        page = _marked(msgspec.structs.replace(page, text=text[:left]), ["text"])
    return page


def _optional(page: Contents) -> Iterator[tuple[int, str]]:
    kept = KEPT | FOLLOWED if isinstance(page, PageParsed) else KEPT
    for name in page.__struct_fields__:
        value = getattr(page, name)
        is_long = isinstance(value, str) and name in CONTENTS and len(value) > LONG
        if name not in kept and (is_long or isinstance(value, tuple | dict)) and value:
            yield _size(value), name


def _default(page: Contents, name: str) -> object:
    return type(getattr(page, name))()


def _marked(page: Document, names: list[str]) -> Document:
    cut = tuple(dict.fromkeys((*page.cut, *names)))
    return msgspec.structs.replace(page, cut=cut)


def _size(value: object) -> int:
    return len(msgspec.json.encode(value))
