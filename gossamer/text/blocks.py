"""A text as a list of blocks, which are compared if a version of a page is not stored.

A block is a piece of text that the document sets apart (a text node: a table cell, a line of the
footer, a counter), or sixteen words of a longer piece. So a block that is ignored in a comparison
is always small. White space is folded, as browsers display all but preformatted text.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from zlib import crc32

SEPARATOR = "\x1e"
"""Separates the pieces of a text. It is white space, so folding removes it."""
MAX_BLOCK_WORDS = 16
MAX_BLOCKS = 4096
"""Most blocks of a text. A longer text has no blocks, because a part must not stand for the whole.
"""


def split_pieces(text: str) -> list[str]:
    """Return the pieces of *text* that contain words, with white space folded."""
    return [piece for piece in map(fold_whitespace, text.split(SEPARATOR)) if piece]


def make_blocks(pieces: Iterable[str]) -> bytes:
    """Return the blocks of a text with these *pieces*, in four bytes each."""
    hashes = list(_hash_blocks(pieces))
    return struct.pack(f"<{len(hashes)}I", *hashes) if len(hashes) <= MAX_BLOCKS else b""


def unpack_blocks(blocks: bytes) -> Sequence[int]:
    """Return the CRC-32 of each block that `make_blocks` packed."""
    return struct.unpack(f"<{len(blocks) // 4}I", blocks)


def _hash_blocks(pieces: Iterable[str]) -> Iterator[int]:
    for piece in pieces:
        if piece.count(" ") < MAX_BLOCK_WORDS:
            yield crc32(piece.encode(errors="replace"))
            continue
        words = piece.split(" ")
        for at in range(0, len(words), MAX_BLOCK_WORDS):
            yield crc32(" ".join(words[at : at + MAX_BLOCK_WORDS]).encode(errors="replace"))


def fold_whitespace(text: str) -> str:
    """Return *text* stripped, with each run of white space replaced by a space."""
    # The only printable white space is the space.
    if text.isprintable() and "  " not in text:
        return text.strip(" ")
    return " ".join(text.split())


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of *text*, such as the names in a table of the source."""
    return tuple(text.split())


def word_set(text: str) -> frozenset[str]:
    """Return the words of *text* as a set."""
    return frozenset(text.split())
