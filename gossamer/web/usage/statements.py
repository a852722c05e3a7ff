"""Statements about the use of a page, and the judgement that follows from all of them.

A statement is one header line, one line of robots.txt, one meta element, or one entry of a file. It
allows or disallows categories of use. Statements are never merged before they are read: each counts
by itself, and the most restrictive one decides (draft-ietf-aipref-vocab-06, section 5.1).
"""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct, field

MAX_TEXT_LENGTH = 300
"""Maximum characters of a statement's text. A longer text is read as a whole and then cut."""
MAX_STATEMENTS = 50
"""Maximum number of statements about a page."""
RESERVED = ", and counts as reserved"
"""The end of a statement in place of those that were not read."""


class Category(StrEnum):
    """A use of pages."""

    SEARCH = "search"
    """An index that leads people to the page (aipref-vocab, 4.2)."""
    ARCHIVE = "archive"
    """A stored copy that is shown or passed on."""
    TRAIN_AI = "train-ai"
    """The training of a model that generates content (aipref-vocab, 4.1)."""
    AI_INPUT = "ai-input"
    """Input of a model that answers, as in retrieval-augmented generation (contentsignals.org)."""


CATEGORIES = tuple(Category)
_NAMES = tuple(category.value for category in Category)


class Source(StrEnum):
    """The kind of place of a statement."""

    ROBOTS = "robots.txt"
    HEADER = "header"
    META = "meta"
    TDMREP = "tdmrep.json"
    LICENSE = "license"


class License(Struct, frozen=True):
    """The terms of a license file (Really Simple Licensing)."""

    url: str
    """The URL of the license file."""
    permits: tuple[str, ...] = ()
    """The permitted uses, as written."""
    prohibits: tuple[str, ...] = ()
    """The prohibited uses, as written."""
    payment: dict[str, str] = field(default_factory=dict)
    """The payment terms by name: type, amount, currency and others, as written."""


class Statement(Struct, frozen=True):
    """A statement of a site about the use of a page."""

    source: Source
    """The kind of place: `robots.txt`, `header`, `meta`, `tdmrep.json` or `license`."""
    place: str
    """The exact place: `line 12`, the name of a header or of a meta element, `entry 2`, or the URL
    of a license file and the number of its element."""
    text: str
    """The statement as written, at most 300 characters."""
    says: dict[str, bool] = field(default_factory=dict)
    """Each category that the statement is about → whether it is allowed."""
    license: License | None = None
    """The terms, if the statement is a license."""

    def __str__(self) -> str:
        """Return the place and the text, such as `robots.txt line 4: Content-Usage: train-ai=n`."""
        return f"{self.source} {self.place}: {self.text}"


class Judgement(Struct, frozen=True):
    """Whether a category of use is allowed."""

    allowed: bool | None = None
    """Whether the use is allowed. None means unknown: no statement is about it."""
    by: tuple[Statement, ...] = ()
    """The statements that decide: all that disallow the use, or else all that allow it."""

    @property
    def word(self) -> str:
        """Return the judgement as a word."""
        return {True: "allowed", False: "disallowed", None: "unknown"}[self.allowed]


UNKNOWN = Judgement()


def judge(statements: Iterable[Statement]) -> dict[str, Judgement]:
    """Return the judgement of each category.

    One statement that disallows a use outweighs all that allow it. Without a statement the use
    stays unknown.
    """
    found = tuple(statements)
    if not found:
        return dict.fromkeys(_NAMES, UNKNOWN)
    return {category.value: _judge(category, found) for category in CATEGORIES}


def _judge(category: Category, statements: tuple[Statement, ...]) -> Judgement:
    for allowed in (False, True):
        if by := tuple(one for one in statements if one.says.get(category) is allowed):
            return Judgement(allowed, by)
    return UNKNOWN


def reserve(source: Source, place: str, reason: str, categories: Iterable[Category]) -> Statement:
    """Return the statement in place of those that were not read for *reason*: each of *categories*
    is disallowed."""
    text = f"{reason[: MAX_TEXT_LENGTH - len(RESERVED)]}{RESERVED}"
    return Statement(source, place, text, dict.fromkeys(map(str, categories), False))


def limit_statements(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Return at most `MAX_STATEMENTS` of *statements*, with one for each use that is disallowed."""
    found = tuple(statements)
    if len(found) <= MAX_STATEMENTS:
        return found
    needed = {id(one.by[0]) for one in judge(found).values() if one.allowed is False}
    return tuple(sorted(found, key=lambda one: (id(one) not in needed, all(one.says.values()))))[
        :MAX_STATEMENTS
    ]
