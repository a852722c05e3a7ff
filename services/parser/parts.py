"""The parts of a document without which it is still worth reading.

`parser.fields` leaves out parts that nobody needs, and a crawl without revisits leaves out the
blocks. A reader that fails on one of these parts, or
whose process ends there, says which one it was. The document is then read again without it
(`pool`).

The part that is being read is a byte. In a child, the fork server shares it, so it is known after
the child has ended.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol, TypeVar

from gossamer.services.parser.options import Options

T = TypeVar("T")


class Part(StrEnum):
    """A part of a document that may be left out."""

    METADATA = "metadata"
    HEADINGS = "headings"
    LANGUAGE = "language"
    """The detection of the language. The declared one replaces it."""
    FORMS = "forms"
    REQUISITES = "requisites"
    """The requisites and the media of HTML."""
    BLOCKS = "blocks"
    """The hashes of blocks, by which two visits are compared."""
    MAIN_TEXT = "main text"
    """The main text of HTML; the visible text replaces it."""
    TEXT = "text"
    """The text and the links of a PDF."""
    KEEP = "rule keep"
    """The rules of a crawl (`gossamer.rules`)."""
    EXTRACT = "rule extract"
    FOLLOW = "rule follow"
    PRIORITY = "rule priority"


class Byte(Protocol):
    """One byte of memory."""

    def __getitem__(self, at: int, /) -> int: ...

    def __setitem__(self, at: int, value: int, /) -> None: ...


RULE_PARTS = {
    "keep": Part.KEEP,
    "extract": Part.EXTRACT,
    "follow": Part.FOLLOW,
    "priority": Part.PRIORITY,
}
"""Function of a rules file → its part."""
NUMBERS = {part: number for number, part in enumerate(Part, 1)}
_progress: Byte = bytearray(1)


def rule_of(part: str) -> str:
    """Return the function of a rules file that runs as *part*; "" if that is a part to read."""
    return next((rule for rule, one in RULE_PARTS.items() if one == part), "")


def share_progress(memory: Byte) -> None:
    """Keep the part that is being read in *memory* from now on."""
    global _progress
    _progress = memory


def current_part(memory: Byte | None = None) -> str:
    """Return the part that is being read, or that was when reading failed; "" if none was."""
    number = (memory or _progress)[0]
    return next((part.value for part, one in NUMBERS.items() if one == number), "")


def begin_document() -> None:
    """Note that no part is being read."""
    _progress[0] = 0


def read_part(part: Part, options: Options, read: Callable[[], T], default: T) -> T:
    """Return the result of *read*, which reads *part*; *default* if *options* leave it out."""
    if part in options.without:
        return default
    _progress[0] = NUMBERS[part]
    result = read()
    _progress[0] = 0
    return result
