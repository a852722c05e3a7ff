"""Undoes a body's content encoding, however much it would become and however it was broken off.

Encodings are those of RFC 9110, section 8.4.1, and brotli (RFC 7932) where its package is there.
Servers send raw deflate for zlib, and plain bytes that they call gzip: both are taken as meant.
"""

import importlib
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

STEP = 1024
"""So small that little input is consumed beyond what the output so far needed."""
ROOM = 1 << 16
RATIO = 1000
BOMB = "decompression_bomb"
GZIP = 31
"""What zlib calls a stream with gzip's header and trailer."""
MEMBER = b"\x1f\x8b"
"""How a gzip member begins; they follow one another (RFC 1952, section 2.2)."""

try:
    _brotli: Any = importlib.import_module("brotli")
except ImportError:
    _brotli = None


class Inflater(Protocol):
    """Takes a piece and gives at most about ROOM bytes at a time."""

    def give(self, piece: bytes) -> bytes:
        """Return decoded bytes; an empty *piece* asks for more of the last."""

    @property
    def ended(self) -> bool:
        """Whether the encoded stream came to its proper end."""


class Broken(Exception):
    """The encoded stream is damaged from here on."""


@dataclass(frozen=True, slots=True)
class Body:
    """A decoded body: cut when it is not whole, a bomb when it grew absurdly."""

    data: bytes
    cut: bool = False
    bomb: bool = False


def decoded(body: bytes, encodings: str, limit: int) -> Body:
    """Undo *encodings*, a Content-Encoding header's value; give at most *limit* bytes."""
    names = [name.strip().lower() for name in encodings.split(",")]
    result = Body(body)
    for name in reversed(names):
        if name in INFLATERS:
            step = _undone(result.data, INFLATERS[name], limit)
            result = Body(step.data, result.cut or step.cut, result.bomb or step.bomb)
    return Body(result.data[:limit], result.cut or len(result.data) > limit, result.bomb)


def _undone(body: bytes, makers: tuple[Callable[[], Inflater], ...], limit: int) -> Body:
    best = Body(b"")
    if not body:
        return best
    for make in makers:
        result = _inflated(body, make(), limit)
        if not result.cut:
            return result
        best = max(best, result, key=lambda body: len(body.data))
    # Not one byte could be decoded: the server said what it did not do.
    return best if best.data else Body(body)


def _inflated(body: bytes, inflater: Inflater, limit: int) -> Body:
    found = bytearray()
    try:
        for consumed, given in _given(body, inflater):
            found += given
            bomb = len(found) > RATIO * consumed
            if bomb or len(found) > limit:
                return Body(bytes(found[:limit]), True, bomb)
    except Broken:
        return Body(bytes(found), True)
    return Body(bytes(found), not inflater.ended)


def _given(body: bytes, inflater: Inflater) -> Iterator[tuple[int, bytes]]:
    for start in range(0, len(body), STEP):
        piece = body[start : start + STEP]
        while given := inflater.give(piece):
            yield min(start + STEP, len(body)), given
            piece = b""


class Zlib:
    """gzip with all its members, zlib or raw deflate, as *wbits* says."""

    def __init__(self, wbits: int) -> None:
        self._wbits = wbits
        self._stream = zlib.decompressobj(wbits)
        self._rest = b""

    def give(self, piece: bytes) -> bytes:
        """Return decoded bytes; an empty *piece* asks for more of the last."""
        waiting = self._rest + piece
        if self._stream.eof:
            if not waiting.startswith(MEMBER) or self._wbits != GZIP:
                # Perhaps half of the next member's sign; anything else is padding.
                self._rest = waiting[:2]
                return b""
            self._stream = zlib.decompressobj(self._wbits)
        try:
            found = self._stream.decompress(waiting, ROOM)
        except zlib.error as error:
            raise Broken from error
        self._rest = self._stream.unused_data or self._stream.unconsumed_tail
        if not found and self._stream.eof and self._rest.startswith(MEMBER):
            return self.give(b"")
        return found

    @property
    def ended(self) -> bool:
        """Whether the encoded stream came to its proper end."""
        return self._stream.eof and not self._rest.startswith(MEMBER)


class Brotli:
    """RFC 7932."""

    def __init__(self) -> None:
        self._stream = _brotli.Decompressor()

    def give(self, piece: bytes) -> bytes:
        """Return decoded bytes; an empty *piece* asks for more of the last."""
        if self._stream.is_finished():
            return b""
        try:
            found: bytes = self._stream.process(piece, output_buffer_limit=ROOM)
        except _brotli.error as error:
            raise Broken from error
        return found

    @property
    def ended(self) -> bool:
        """Whether the encoded stream came to its proper end."""
        return bool(self._stream.is_finished())


INFLATERS: dict[str, tuple[Callable[[], Inflater], ...]] = {
    "gzip": (lambda: Zlib(GZIP),),
    "x-gzip": (lambda: Zlib(GZIP),),
    "deflate": (lambda: Zlib(15), lambda: Zlib(-15)),
}
if _brotli:
    INFLATERS["br"] = (Brotli,)
