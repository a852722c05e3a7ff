"""Blocks of an HTML document. `content.py` reads them."""

from enum import StrEnum
from typing import NamedTuple


class BlockKind(StrEnum):
    """The kinds of blocks."""

    PARAGRAPH = "paragraph"
    HEADING = "heading"
    CODE = "code"
    TABLE = "table"


class Container(NamedTuple):
    """An element that contains blocks, as Markdown marks it."""

    kind: str
    """`quote`, or the marker of a list item."""
    number: int
    """The number of the container, which is unique in its document."""
    parent: int = 0
    """The number of the list that an item belongs to; 0 for a quotation."""


class Block(NamedTuple):
    """A block of a document."""

    kind: BlockKind
    tag: str
    """The name of the innermost block element."""
    lines: tuple[str, ...]
    """The displayed lines."""
    markdown: str
    """The Markdown of the block, without the marks of its containers."""
    containers: tuple[Container, ...]
    linked: float
    """The share of characters in links."""
    apart: tuple[int, ...]
    """The addresses of the parents that seem to be beside the text."""
    parents: tuple[int, ...]
    """The addresses of the elements that contain the block, outermost first."""
