"""Reads the lines of chunked bodies as leniently as browsers do: a bare line feed ends them.

aiohttp's parser accepts a bare line feed behind some parts of a chunk, and loses the body behind
others. Chromium reads it everywhere (`http_chunked_decoder.cc`). RFC 9112 forbids it, because an
intermediary and a server could disagree about where a request ends. A client that asks one host for
one document is in no such danger.
"""

import re
from enum import Enum, auto

MAX_SIZE_LINE = 64
"""Bytes at the beginning of a line that are searched for the size of a chunk."""

_size = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?", re.DOTALL)


class _Expected(Enum):
    SIZE, DATA, END_OF_DATA, TRAILER, NOTHING = auto(), auto(), auto(), auto(), auto()


class ChunkLines:
    """Gives each line of one chunked body a CRLF; aiohttp's parser decodes it.

    Other bytes are not changed: the parser judges them.
    """

    def __init__(self) -> None:
        self._expected = _Expected.SIZE
        self._left = 0
        """Bytes of the chunk that have not come yet."""
        self._line, self._after_cr = b"", False
        """The beginning of the current line, and whether its last byte so far is a CR."""

    def feed(self, data: bytes) -> bytes:
        """Return *data*, the next bytes of the body, with a CR before each bare line feed."""
        fed, at = bytearray(), 0
        while at < len(data) and self._expected is not _Expected.NOTHING:
            if self._expected is _Expected.DATA:
                end = min(at + self._left, len(data))
                self._left -= end - at
                fed += data[at:end]
                if not self._left:
                    self._expected = _Expected.END_OF_DATA
            else:
                found = data.find(b"\n", at)
                end = found if found >= 0 else len(data)
                fed += self._add_to_line(data[at:end])
                if found >= 0:
                    fed += b"\n" if self._after_cr else b"\r\n"
                    self._end_line()
                    end += 1
            at = end
        return bytes(fed + data[at:])

    def _add_to_line(self, piece: bytes) -> bytes:
        self._line = (self._line + piece)[:MAX_SIZE_LINE]
        self._after_cr = piece.endswith(b"\r") or (self._after_cr and not piece)
        return piece

    def _end_line(self) -> None:
        line = self._line.removesuffix(b"\r")
        self._line, self._after_cr = b"", False
        if self._expected is _Expected.SIZE:
            size = _size.fullmatch(line)
            self._left = int(size[1], 16) if size else 0
            if size is None:
                self._expected = _Expected.NOTHING
            else:
                self._expected = _Expected.DATA if self._left else _Expected.TRAILER
        elif self._expected is _Expected.END_OF_DATA:
            self._expected = _Expected.NOTHING if line else _Expected.SIZE
        elif not line:
            self._expected = _Expected.NOTHING
