"""Undoes a body's content codings, however large it would become and wherever it breaks off.

Codings are those of RFC 9110, section 8.4.1, brotli (RFC 7932) and zstd (RFC 8878).
Servers send raw deflate for zlib, and plain bytes that they call gzip. The former is undone; the
latter comes back as it was sent, and marked, because a reader of pages takes it as it is meant and
a reader of robots.txt must not guess.
"""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import brotli  # type: ignore[import-untyped]
from backports import zstd

STEP = 1024
"""Bytes of input at a time: few, so that a bomb's ratio is measured against what was needed."""
ROOM = 1 << 16
"""Bytes of output at a time."""
RATIO = 1000
"""A body that grows more than this is a bomb, unless another ratio is given."""
LAYERS = 5
"""Most codings of one body. Nobody means more, and each costs as much as the body (curl: 5)."""
GZIP = 31
"""What zlib calls a stream with gzip's header and trailer."""
MEMBER = b"\x1f\x8b"
"""How a gzip member begins; several may follow one another (RFC 1952, section 2.2)."""

FRAME = b"\x28\xb5\x2f\xfd"
"""How a zstd frame begins; several may follow one another (RFC 8878, section 3.1)."""
WINDOW = {int(zstd.DecompressionParameter.window_log_max): 23}
"""The memory that a zstd frame may ask for: 8 MB, as on the Web (RFC 9659)."""


class Inflater(Protocol):
    """A coding being undone: takes input in pieces, returns about ROOM bytes at a time."""

    def inflate(self, piece: bytes) -> bytes:
        """Return decoded bytes, or raise Broken; an empty *piece* asks for the rest of the last."""

    @property
    def ended(self) -> bool:
        """Whether the encoded stream is complete."""


class Broken(Exception):
    """The encoded stream is damaged from here on."""


@dataclass(frozen=True, slots=True)
class Body:
    """A body without its codings."""

    data: bytes
    cut: bool = False
    """Whether its end is missing: beyond the limit, never sent, or damaged."""
    bomb: bool = False
    """Whether it grew absurdly, and was stopped."""
    as_sent: bool = False
    """Whether a coding is left: it is unknown, or the server named one that it did not apply."""


def decoded(body: bytes, codings: str, limit: int, ratio: int = RATIO) -> Body:
    """Undo *codings*, a Content-Encoding header's value; return at most *limit* bytes. A body that
    grows more than *ratio* times is a bomb.

    Never fails: what breaks off or is damaged is returned as far as it can be decoded.
    """
    pieces = (piece.strip() for piece in codings.lower().split(","))
    names = [name for name in pieces if name not in ("", "identity")]
    if not names:
        return Body(body[:limit], len(body) > limit)
    if len(names) > LAYERS:
        return Body(body[:limit], len(body) > limit, as_sent=True)
    result = Body(body)
    for name in reversed(names):
        step = _undone(result.data, INFLATERS.get(name, ()), limit, ratio)
        result = Body(
            step.data,
            result.cut or step.cut,
            result.bomb or step.bomb,
            result.as_sent or step.as_sent,
        )
    return replace(result, data=result.data[:limit], cut=result.cut or len(result.data) > limit)


def _undone(
    body: bytes, makers: tuple[Callable[[], Inflater], ...], limit: int, ratio: int
) -> Body:
    best = Body(b"")
    if not body:
        return best
    for make in makers:
        result = _inflated(body, make(), limit, ratio)
        if not result.cut:
            return result
        best = max(best, result, key=lambda body: len(body.data))
    # Not one byte could be decoded: nobody applied this coding, or none that we know.
    return best if best.data else Body(body, as_sent=True)


def _inflated(body: bytes, inflater: Inflater, limit: int, ratio: int) -> Body:
    found = bytearray()
    try:
        for consumed, piece in _pieces(body, inflater):
            found += piece
            bomb = len(found) > ratio * consumed
            if bomb or len(found) > limit:
                return Body(bytes(found[:limit]), True, bomb)
    except Broken:
        return Body(bytes(found), True)
    return Body(bytes(found), not inflater.ended)


def _pieces(body: bytes, inflater: Inflater) -> Iterator[tuple[int, bytes]]:
    for start in range(0, len(body), STEP):
        piece = body[start : start + STEP]
        while inflated := inflater.inflate(piece):
            yield min(start + STEP, len(body)), inflated
            piece = b""


class Zlib:
    """gzip with all its members, zlib or raw deflate, as *wbits* says."""

    def __init__(self, wbits: int) -> None:
        self._wbits = wbits
        self._stream = zlib.decompressobj(wbits)
        self._rest = b""

    def inflate(self, piece: bytes) -> bytes:
        """Return decoded bytes, or raise Broken; an empty *piece* asks for the rest of the last."""
        waiting = self._rest + piece
        if self._stream.eof:
            if not waiting.startswith(MEMBER) or self._wbits != GZIP:
                # Perhaps half of the next member's signature; anything else is padding.
                self._rest = waiting[:2]
                return b""
            self._stream = zlib.decompressobj(self._wbits)
        try:
            found = self._stream.decompress(waiting, ROOM)
        except zlib.error as error:
            raise Broken from error
        self._rest = self._stream.unused_data or self._stream.unconsumed_tail
        if not found and self._stream.eof and self._rest.startswith(MEMBER):
            return self.inflate(b"")
        return found

    @property
    def ended(self) -> bool:
        """Whether the encoded stream is complete."""
        return self._stream.eof and not self._rest.startswith(MEMBER)


class Brotli:
    """RFC 7932."""

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    def inflate(self, piece: bytes) -> bytes:
        """Return decoded bytes, or raise Broken; an empty *piece* asks for the rest of the last."""
        if self._stream.is_finished():
            return b""
        try:
            found: bytes = self._stream.process(piece, output_buffer_limit=ROOM)
        except brotli.error as error:
            raise Broken from error
        return found

    @property
    def ended(self) -> bool:
        """Whether the encoded stream is complete."""
        return bool(self._stream.is_finished())


class Zstd:
    """RFC 8878, with all its frames."""

    def __init__(self) -> None:
        self._stream = zstd.ZstdDecompressor(options=WINDOW)
        self._rest = b""

    def inflate(self, piece: bytes) -> bytes:
        """Return decoded bytes, or raise Broken; an empty *piece* asks for the rest of the last."""
        waiting = self._rest + piece
        if self._stream.eof:
            if not waiting.startswith(FRAME):
                # Perhaps a part of the next frame's signature; anything else is padding.
                self._rest = waiting[: len(FRAME)]
                return b""
            self._stream = zstd.ZstdDecompressor(options=WINDOW)
        try:
            found = self._stream.decompress(waiting, ROOM)
        except zstd.ZstdError as error:
            raise Broken from error
        self._rest = self._stream.unused_data if self._stream.eof else b""
        if not found and self._rest.startswith(FRAME):
            return self.inflate(b"")
        return found

    @property
    def ended(self) -> bool:
        """Whether the encoded stream is complete."""
        return self._stream.eof and not self._rest.startswith(FRAME)


INFLATERS: dict[str, tuple[Callable[[], Inflater], ...]] = {
    "gzip": (lambda: Zlib(GZIP),),
    "x-gzip": (lambda: Zlib(GZIP),),
    "deflate": (lambda: Zlib(15), lambda: Zlib(-15)),
    "br": (Brotli,),
    "zstd": (Zstd,),
}
