"""A text as a list of blocks: what is compared where a version of a page is not kept.

A block is a piece of text that the document sets apart (a text node: a cell, a line of the footer,
the number in a counter), or sixteen words of a longer one. So a block that is left out of a
comparison never takes much with it.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from zlib import crc32

from gossamer.text.folding import fold_whitespace

SEPARATOR = "\x1e"
"""Between the pieces of a text; to whom folds white space it is just that."""
MAX_BLOCK_WORDS = 16
"""Most words of a block."""
MAX_BLOCKS = 4096
"""Blocks of a text; a longer one has none, for a part of it would stand for the whole."""


def split_pieces(text: str) -> list[str]:
    """Return the pieces of *text*, which `SEPARATOR` sets apart, that have words; white space in
    them is folded."""
    return [piece for piece in map(fold_whitespace, text.split(SEPARATOR)) if piece]


def make_blocks(pieces: Iterable[str]) -> bytes:
    """Return the blocks of a text of such *pieces*: four bytes each."""
    found = list(_hash_blocks(pieces))
    return struct.pack(f"<{len(found)}I", *found) if len(found) <= MAX_BLOCKS else b""


def unpack_blocks(blocks: bytes) -> Sequence[int]:
    """Return what `blocks_of` has packed: the CRC-32 of each block."""
    return struct.unpack(f"<{len(blocks) // 4}I", blocks)


def _hash_blocks(pieces: Iterable[str]) -> Iterator[int]:
    for piece in pieces:
        if piece.count(" ") < MAX_BLOCK_WORDS:
            yield crc32(piece.encode(errors="replace"))
            continue
        words = piece.split(" ")
        for at in range(0, len(words), MAX_BLOCK_WORDS):
            yield crc32(" ".join(words[at : at + MAX_BLOCK_WORDS]).encode(errors="replace"))
