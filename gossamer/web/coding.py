"""Decodes the content codings of bodies, also of truncated bodies and decompression bombs.

The codings are those of RFC 9110, section 8.4.1, brotli (RFC 7932) and zstd (RFC 8878). Some
servers send raw deflate instead of zlib, which is decoded. Some send plain bytes that they declare
as gzip, or with a word that is not a coding. These are returned as sent, and marked. Such bytes are
used only if they are plain text (`is_plain`): coded bytes would be text of rubbish, or rules that
nobody wrote.
"""

import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import brotli  # type: ignore[import-untyped]
from backports import zstd

INPUT_CHUNK = 1024
"""Bytes of input at a time: few, so that a bomb's ratio is measured against the input it used."""
OUTPUT_CHUNK = 1 << 16
"""Bytes of output at a time."""
MAX_RATIO = 1000
"""Default ratio of output to input beyond which a body is a bomb."""
MAX_CODINGS = 5
"""Maximum number of codings of one body. Each costs as much as the body (curl: 5)."""
GZIP = 31
"""zlib's `wbits` for a stream with gzip's header and trailer."""
GZIP_MAGIC = b"\x1f\x8b"
"""The first bytes of a gzip member; a stream may have several (RFC 1952, section 2.2)."""

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
"""The first bytes of a zstd frame; a stream may have several (RFC 8878, section 3.1)."""
PLAIN_SIZE = 128
"""Bytes without a binary data byte that prove that text in another encoding than UTF-8 is not
coded: one coded body in a million has none."""
BOMS = (b"\xff\xfe", b"\xfe\xff")
"""Byte order marks of UTF-16, which begin no coding."""

_binary = re.compile(rb"[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]")
"""The binary data bytes of the MIME Sniffing standard, section 7."""

ZSTD_OPTIONS = {int(zstd.DecompressionParameter.window_log_max): 23}
"""Limits the memory of a zstd frame to 8 MB (RFC 9659)."""


class Inflater(Protocol):
    """Decodes one coding: takes input in pieces, returns about OUTPUT_CHUNK bytes at a time."""

    def inflate(self, piece: bytes) -> bytes:
        """Return decoded bytes; an empty *piece* continues the last one. Raise DamagedStream."""

    @property
    def is_complete(self) -> bool:
        """Whether the encoded stream is complete."""


class DamagedStream(Exception):
    """The encoded stream is damaged from here on."""


@dataclass(frozen=True, slots=True)
class Body:
    """A decoded body."""

    data: bytes
    cut: bool = False
    """Whether the end is missing: beyond the limit, never sent, or damaged."""
    bomb: bool = False
    """Whether decoding was stopped because the output grew beyond the ratio."""
    as_sent: bool = False
    """Whether a coding was not decoded: it is unknown, or the server did not apply it."""


def is_plain(body: bytes) -> bool:
    """Return whether *body*, which may be cut, is text, and not bytes that are still coded."""
    if body.startswith(BOMS):
        body = body.decode("utf-16", "replace").encode()
    if _binary.search(body):
        return False
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data" or len(body) >= PLAIN_SIZE
    return True


def decode(body: bytes, codings: str, limit: int, ratio: int = MAX_RATIO) -> Body:
    """Decode *body* by *codings*, the value of a Content-Encoding header.

    Return at most *limit* bytes. A body that grows more than *ratio* times is a bomb. Never fails:
    a truncated or damaged body is returned as far as it can be decoded.
    """
    pieces = (piece.strip() for piece in codings.lower().split(","))
    names = [name for name in pieces if name not in ("", "identity")]
    if not names:
        return Body(body[:limit], len(body) > limit)
    if len(names) > MAX_CODINGS:
        return Body(body[:limit], len(body) > limit, as_sent=True)
    result = Body(body)
    for name in reversed(names):
        step = _undo(result.data, INFLATERS.get(name, ()), limit, ratio)
        result = Body(
            step.data,
            result.cut or step.cut,
            result.bomb or step.bomb,
            result.as_sent or step.as_sent,
        )
    return replace(result, data=result.data[:limit], cut=result.cut or len(result.data) > limit)


def _undo(body: bytes, makers: tuple[Callable[[], Inflater], ...], limit: int, ratio: int) -> Body:
    best = Body(b"")
    if not body:
        return best
    for make in makers:
        result = _inflate(body, make(), limit, ratio)
        if not result.cut:
            return result
        best = max(best, result, key=lambda body: len(body.data))
    # Not one byte could be decoded, or text was decoded by chance: the coding was not applied, or
    # it is unknown.
    return best if best.data and not is_plain(body) else Body(body, as_sent=True)


def _inflate(body: bytes, inflater: Inflater, limit: int, ratio: int) -> Body:
    found = bytearray()
    try:
        for consumed, piece in _pieces(body, inflater):
            found += piece
            bomb = len(found) > ratio * consumed
            if bomb or len(found) > limit:
                return Body(bytes(found[:limit]), True, bomb)
    except DamagedStream:
        return Body(bytes(found), True)
    return Body(bytes(found), not inflater.is_complete)


def _pieces(body: bytes, inflater: Inflater) -> Iterator[tuple[int, bytes]]:
    for start in range(0, len(body), INPUT_CHUNK):
        piece = body[start : start + INPUT_CHUNK]
        while inflated := inflater.inflate(piece):
            yield min(start + INPUT_CHUNK, len(body)), inflated
            piece = b""


class Members:
    """A coding that zlib or zstd decodes. Each member of a body begins with *magic*, and only the
    first one is read if that is None."""

    def __init__(self, begin: Callable[[], Any], magic: bytes | None = None) -> None:
        """*begin* returns the decompressor of one member."""
        self._begin, self._magic = begin, magic
        self._stream, self._rest = begin(), b""

    def inflate(self, piece: bytes) -> bytes:
        """Return decoded bytes; an empty *piece* continues the last one. Raise DamagedStream."""
        waiting = self._rest + piece
        if self._stream.eof:
            if not self._begins_member(waiting):
                # Perhaps a part of the next member's signature; anything else is padding.
                self._rest = waiting[: len(self._magic or b"")]
                return b""
            self._stream = self._begin()
        try:
            found: bytes = self._stream.decompress(waiting, OUTPUT_CHUNK)
        except (zlib.error, zstd.ZstdError) as error:
            raise DamagedStream from error
        # Until its end, zstd keeps what it has not consumed.
        rest = "unused_data" if self._stream.eof else "unconsumed_tail"
        self._rest = getattr(self._stream, rest, b"")
        if not found and self._stream.eof and self._begins_member(self._rest):
            return self.inflate(b"")
        return found

    def _begins_member(self, data: bytes) -> bool:
        return self._magic is not None and data.startswith(self._magic)

    @property
    def is_complete(self) -> bool:
        """Whether the encoded stream is complete."""
        return bool(self._stream.eof) and not self._begins_member(self._rest)


class Brotli:
    """RFC 7932."""

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    def inflate(self, piece: bytes) -> bytes:
        """Return decoded bytes; an empty *piece* continues the last one. Raise DamagedStream."""
        if self._stream.is_finished():
            return b""
        try:
            found: bytes = self._stream.process(piece, output_buffer_limit=OUTPUT_CHUNK)
        except brotli.error as error:
            raise DamagedStream from error
        return found

    @property
    def is_complete(self) -> bool:
        """Whether the encoded stream is complete."""
        return bool(self._stream.is_finished())


def _gunzip() -> Inflater:
    return Members(lambda: zlib.decompressobj(GZIP), GZIP_MAGIC)


INFLATERS: dict[str, tuple[Callable[[], Inflater], ...]] = {
    "gzip": (_gunzip,),
    "x-gzip": (_gunzip,),
    "deflate": tuple(partial(Members, partial(zlib.decompressobj, wbits)) for wbits in (15, -15)),
    "br": (Brotli,),
    "zstd": (lambda: Members(lambda: zstd.ZstdDecompressor(options=ZSTD_OPTIONS), ZSTD_MAGIC),),
}
