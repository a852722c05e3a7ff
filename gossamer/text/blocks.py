"""A text as a list of blocks, which are compared if a version of a page is not stored.

A block is a piece of text that the document sets apart (a text node: a table cell, a line of the
footer, a counter), or sixteen words of a longer piece. So a block that is ignored in a comparison
is always small. White space is folded, as browsers display all but preformatted text.
"""

import re
import struct
from collections.abc import Sequence
from itertools import chain
from zlib import crc32

SEPARATOR = "\x1e"
"""Separates the pieces of a text. It is white space, so folding removes it."""
MAX_BLOCK_WORDS = 16
MAX_BLOCKS = 4096
"""Most blocks of a text. A longer text has no blocks, because a part must not stand for the whole.
"""
_signs = re.compile(r"[\W_]+")
_ASCII_SIGNS = bytes(code for code in range(128) if not chr(code).isalnum())


def split_pieces(text: str) -> list[str]:
    """Return the pieces of *text* that contain words, with white space folded."""
    # Without a call of Python for each of hundreds of pieces.
    return list(filter(None, map(" ".join, map(str.split, text.split(SEPARATOR)))))


def make_blocks(pieces: Sequence[str]) -> bytes:
    """Return the blocks of a text with these *pieces*, in four bytes each."""
    # A piece with fewer characters has at most `MAX_BLOCK_WORDS` words.
    parts = [
        (piece,) if size < 2 * MAX_BLOCK_WORDS else _split_words(piece)
        for piece, size in zip(pieces, map(len, pieces), strict=True)
    ]
    blocks = [*chain.from_iterable(parts)]
    if not 0 < len(blocks) <= MAX_BLOCKS:
        return b""
    hashes = map(crc32, "\n".join(blocks).encode(errors="replace").split(b"\n"))
    return struct.pack(f"<{len(blocks)}I", *hashes)


def unpack_blocks(blocks: bytes) -> Sequence[int]:
    """Return the CRC-32 of each block that `make_blocks` packed."""
    return struct.unpack(f"<{len(blocks) // 4}I", blocks)


def _split_words(piece: str) -> Sequence[str]:
    if piece.count(" ") < MAX_BLOCK_WORDS:
        return (piece,)
    words = piece.split(" ")
    starts = range(0, len(words), MAX_BLOCK_WORDS)
    return [" ".join(words[at : at + MAX_BLOCK_WORDS]) for at in starts]


def fold_whitespace(text: str) -> str:
    """Return *text* stripped, with each run of white space replaced by a space."""
    # The only printable white space is the space.
    if text.isprintable() and "  " not in text:
        return text.strip(" ")
    return " ".join(text.split())


def letters_of(text: str) -> str:
    """Return the letters and digits of *text*."""
    if text.isascii():
        return text.encode().translate(None, _ASCII_SIGNS).decode()
    return _signs.sub("", text)


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of *text*, such as the names in a table of the source."""
    return tuple(text.split())


def word_set(text: str) -> frozenset[str]:
    """Return the words of *text* as a set."""
    return frozenset(text.split())
