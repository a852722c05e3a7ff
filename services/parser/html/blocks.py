"""An HTML document as data: its blocks, made by `content`, and its contents, made by `document`."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from gossamer.events import Heading
from gossamer.events.hazards import Hazard
from gossamer.services.parser.html.about import Fields
from gossamer.web.usage import Statement


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


@dataclass(frozen=True, slots=True)
class Document:
    """The contents of a document."""

    title: str
    description: str
    language: str
    """The declared language, normally a BCP 47 tag."""
    directives: tuple[str, ...]
    usage_statements: tuple[Statement, ...]
    """Statements about the use of the page in meta elements."""
    markup: str
    """HTML in which the main text is searched, without elements that never contain main text.
    "" if no main text is extracted."""
    content: list[Block]
    """The blocks of the text and of the parts beside it. [] if no main text is extracted."""
    is_manual: bool
    """Whether headings link to themselves, as in documentation."""
    is_article: bool
    """Whether the document states that it is an article."""
    is_thread: bool
    """Whether the document states that it is a discussion."""
    visible: str
    """The visible text, white space folded."""
    compared: list[str]
    """The pieces of the text that is compared with other documents and other versions."""
    compared_text: str
    """This text line by line, if the options ask for it."""
    headings: tuple[Heading, ...]
    about: Fields
    """Metadata and links, as fields of `Contents`."""
    hazards: frozenset[Hazard]
