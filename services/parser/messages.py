"""What a child and its parent say to each other: MessagePack, a length in four bytes before it."""

import struct

from msgspec import Struct, msgpack

from gossamer.events import PageFetched, PageParsed

LENGTH = struct.Struct(">I")
READY = b"ready"
"""A child's first message: from now on it reads pages."""


class Request(Struct, frozen=True):
    """A page to read; the rest as in `page.parse`."""

    page: PageFetched
    want_text: bool
    decoded_limit: int
    now: float


class Reply(Struct, frozen=True):
    """What was read, or why nothing could be."""

    parsed: PageParsed | None = None
    fault: str = ""
    leaving: bool = False
    """Whether the child ends now, having kept too much memory to read another page."""


encode = msgpack.Encoder().encode
request_in = msgpack.Decoder(Request).decode
reply_in = msgpack.Decoder(Reply).decode


def framed(message: bytes) -> bytes:
    """Return *message* with its length before it."""
    return LENGTH.pack(len(message)) + message
