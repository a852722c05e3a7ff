"""What is remembered, as bytes: MessagePack, for a row and for an order.

Many pages make the size of a page count: whole numbers go as such, and what four bytes hold goes in
four. Reading gives back what was written; fields that are missing at the end are as at first. Bytes
that are no such state mean that nothing is known.
"""

from typing import Any, TypeVar

import msgspec
from msgspec import msgpack

from services.frontier.revisit.numbers import SINGLE
from services.frontier.revisit.state import CrawlState, PageState, SiteState

S = TypeVar("S")

_encode = msgpack.Encoder().encode
_PAGE, _SITE, _CRAWL = (
    msgpack.Decoder(PageState),
    msgpack.Decoder(SiteState),
    msgpack.Decoder(CrawlState),
)


def packed(state: PageState | SiteState | CrawlState) -> bytes:
    """Return *state* as bytes: at most 200 for a page, and 160 more for its internal links."""
    return _short(msgspec.to_builtins(state)) if isinstance(state, PageState) else _encode(state)


def unpacked(data: bytes) -> PageState:
    """Return the state of a page; an empty one if *data* is none."""
    page = _read(_PAGE, data, PageState())
    clock = page.clock
    if not page.weight or (clock.next_at and not (clock.spread and clock.period)):
        return PageState()
    return page


def unpacked_site(data: bytes) -> SiteState:
    """Return the state of a site; an empty one if *data* is none."""
    return _read(_SITE, data, SiteState())


def unpacked_crawl(data: bytes) -> CrawlState:
    """Return the state of a crawl; an empty one if *data* is none."""
    return _read(_CRAWL, data, CrawlState())


def _read(decoder: msgpack.Decoder[S], data: bytes, empty: S) -> S:
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, ValueError):
        return empty


def _short(value: Any) -> bytes:
    if isinstance(value, list | tuple):
        many = len(value)
        head = bytes([0x90 | many]) if many < 16 else b"\xdc" + many.to_bytes(2, "big")
        return head + b"".join(map(_short, value))
    if not isinstance(value, float):
        return _encode(value)
    if value.is_integer():
        return _encode(int(value))
    single = SINGLE.pack(value)
    return b"\xca" + single if SINGLE.unpack(single)[0] == value else _encode(value)
