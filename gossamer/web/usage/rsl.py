"""Reads a license file of Really Simple Licensing (rslstandard.org, RSL 1.0).

The file is XML. Each `content` has a pattern of URLs and its licenses, which are alternatives: a
use is allowed if one license permits it without a payment, without a license server, and without a
condition on users or places. `permits` lists all permitted uses, and without it all uses are
permitted; `prohibits` wins over `permits`. A use that every license prohibits, does not list or
sells is disallowed.

RSL has no word for archives: only `all` is about them.

The reader uses expat without document types, so there are no entities and no external documents.
All pages of the host are reserved by a file that begins as RSL and is not well-formed, and by one
with more licenses than are read.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from urllib.parse import urlsplit
from xml.parsers import expat

from gossamer.web.markup import repair_references
from gossamer.web.url import BadUrl, canonicalize, host_key
from gossamer.web.usage.files import (
    MAX_STATEMENTS,
    FileStatement,
    Malformed,
    ReadFile,
    shorten_pattern,
)
from gossamer.web.usage.statements import (
    MAX_TEXT_LENGTH,
    Category,
    License,
    Source,
    Statement,
    reserve,
)

NAMESPACE = "https://rslstandard.org/rsl"
EVERYTHING = "/"
_namespace = re.compile(r"(https?://rslstandard\.org/rsl/?)?")
"""The namespace as sites write it. Some have none."""
_root = re.compile(rb"<(?:[\w.-]+:)?rsl(?=[\s/>])([^>]*)(>?)")
_declared = re.compile(rb"""xmlns(?::[\w.-]+)?\s*=\s*["']https?://rslstandard\.org/rsl""")
"""A declaration of the namespace, also in a feed."""
USAGE, USER, GEO = "usage", "user", "geo"
ALL = "all"
_ai = (Category.TRAIN_AI, Category.AI_INPUT)
COVERED: Mapping[str, tuple[Category, ...]] = {
    ALL: tuple(Category),
    "ai-all": _ai,
    "ai-train": (Category.TRAIN_AI,),
    "train-ai": (Category.TRAIN_AI,),
    "ai-input": (Category.AI_INPUT,),
    "search": (Category.SEARCH,),
}
"""A word of RSL → the categories that it is about. `train-ai` is the word of earlier drafts."""
NAMED_CATEGORIES = (Category.SEARCH, *_ai)
"""The categories that a list of permitted uses excludes if it does not name them."""
FREE_PAYMENTS = ("", "free", "attribution")
"""Types of payment that cost nothing."""
MAX_DEPTH = 32
"""Maximum number of nested elements."""
MAX_WORDS = 50
"""Maximum number of permitted or prohibited uses of a license that are published. All are read."""
PAYMENT_FIELDS = ("standard", "custom", "amount")
"""The elements of a payment whose text is published."""


@dataclass(slots=True)
class _Terms:
    """One `license` element."""

    number: int
    """Its number in the file."""
    permits: dict[str, list[str]] = field(default_factory=dict)
    """Type → words."""
    prohibits: dict[str, list[str]] = field(default_factory=dict)
    payment: dict[str, str] = field(default_factory=dict)

    def permitted_categories(self) -> set[Category]:
        """Return the permitted categories, paid or not."""
        words = self.permits.get(USAGE)
        named = set(Category) if words is None else _categories_of(words)
        return named - self.prohibited_categories()

    def prohibited_categories(self) -> set[Category]:
        """Return the categories that the license prohibits by name."""
        return _categories_of(self.prohibits.get(USAGE, ()))

    def excluded_categories(self) -> set[Category]:
        """Return the categories that the license does not permit."""
        unlisted = set(NAMED_CATEGORIES) if USAGE in self.permits else set()
        return self.prohibited_categories() | (unlisted - self.permitted_categories())

    @property
    def is_paid(self) -> bool:
        return self.payment.get("type", "") not in FREE_PAYMENTS

    @property
    def is_conditional(self) -> bool:
        """Whether the license is for some users or places only."""
        terms = (self.permits, self.prohibits)
        return any(words != [ALL] for one in terms for kind, words in one.items() if kind != USAGE)


@dataclass(slots=True)
class _Content:
    """One `content` element."""

    url: str
    pattern: str
    """The pattern of paths that its URL means, or one that matches at least as much."""
    is_read: bool
    """Whether the pattern is exactly that of the URL."""
    server: str
    licenses: list[_Terms] = field(default_factory=list)


def read_rsl(body: bytes, url: str, host: str) -> ReadFile:
    """Return the statements about pages of *host* in a decoded file at *url*.

    Raise Malformed if the file is not RSL. Content of other hosts is skipped.
    """
    reader = _Reader(url, host)
    try:
        reader.read(body)
    except Malformed as error:
        if not _has_sign(body):
            raise
        return _without_rest((), url, str(error))
    found = tuple(
        FileStatement(content.pattern, one, not content.is_read)
        for content in reader.contents
        for one in _statements(content, url)
    )
    if reader.is_full:
        place = f"{url}, license {reader.number} and further"
        return _without_rest(found, place, f"more than {MAX_STATEMENTS} licenses")
    return ReadFile(found)


def _has_sign(body: bytes) -> bool:
    """Return whether *body*, in any encoding, has the namespace of RSL or its root element."""
    text = body.replace(b"\0", b"")
    root = _root.search(text)
    is_root = root is not None and (b"xmlns" not in root[1] or not root[2])
    return is_root or _declared.search(text) is not None


def _without_rest(found: tuple[FileStatement, ...], place: str, reason: str) -> ReadFile:
    """Return *found*, and a statement that reserves all uses in place of the unread licenses from
    *place* on."""
    rest = reserve(Source.LICENSE, place, f"not read ({reason})", Category)
    return ReadFile(
        (*found, FileStatement(EVERYTHING, rest, is_unread=True)),
        f"{place}: not read ({reason}), and counts as reserved",
    )


def _repair_references(body: bytes) -> bytes:
    """Return *body* with repaired references if it is UTF-8; other encodings are left to expat."""
    try:
        return repair_references(body.decode("utf-8-sig").lstrip()).encode()
    except UnicodeDecodeError:
        return body.lstrip()


def _statements(content: _Content, url: str) -> Iterator[Statement]:
    """Yield a statement for each license of *content*.

    If its pattern was not read, they disallow all uses that no license grants, and allow none.
    """
    terms = content.licenses
    free = [one for one in terms if not (one.is_paid or content.server)]
    possible = set[Category]().union(*(one.permitted_categories() for one in free))
    grants = [
        one.permitted_categories() if one in free and not one.is_conditional else set[Category]()
        for one in terms
    ]
    all_granted = set[Category]().union(*grants)
    for one, granted in zip(terms, grants, strict=True):
        refused = one.excluded_categories()
        if one not in free:
            refused |= one.permitted_categories()
        says = {
            category.value: category in granted
            for category in Category
            if category in granted or category in refused - possible
        }
        if not content.is_read:
            says = {one.value: False for one in Category if one not in all_granted}
        payment = dict(one.payment)
        if content.server:
            payment["server"] = content.server
        license = License(url, _words(one.permits), _words(one.prohibits), payment)
        yield Statement(
            source=Source.LICENSE,
            place=f"{url}, license {one.number}",
            text=_text(content, license),
            says=says,
            license=license,
        )


def _text(content: _Content, license: License) -> str:
    """Return the terms of *license* in one line."""
    parts = [f"content {content.url}"]
    parts += [f"permits {', '.join(license.permits)}"] if license.permits else []
    parts += [f"prohibits {', '.join(license.prohibits)}"] if license.prohibits else []
    parts += [f"payment {' '.join(license.payment.values())}"] if license.payment else []
    return "; ".join(parts)[:MAX_TEXT_LENGTH]


def _words(terms: Mapping[str, list[str]]) -> tuple[str, ...]:
    """Return the words of *terms*; those about users and places with their type before them."""
    named = (
        (word if kind == USAGE else f"{kind}: {word}")[:MAX_TEXT_LENGTH]
        for kind, words in terms.items()
        for word in words
    )
    return tuple(islice(named, MAX_WORDS))


def _categories_of(words: Iterator[str] | list[str] | tuple[str, ...]) -> set[Category]:
    return {category for word in words for category in COVERED.get(word.lower(), ())}


def _pattern(text: str, url: str, host: str) -> str | None:
    """Return the pattern of paths of *host* that *text* means, "" if it is about another host; None
    if it cannot be read."""
    if not text:
        return None
    if text.startswith(("/", "*")) and not text.startswith("//"):
        return text
    try:
        full = canonicalize(text, url)
        if host_key(full) != host:
            return ""
        # The path as written: canonical URLs have no trailing `*` or `$` that is a pattern.
        parts = urlsplit(text if "://" in text else full)
    except (BadUrl, ValueError):
        return None
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


class _Reader:
    """Reads the elements of a file."""

    def __init__(self, url: str, host: str) -> None:
        self.contents: list[_Content] = []
        """Those about pages of the host."""
        self.number = 0
        """The number of the last license that was met."""
        self.is_full = False
        """Whether the license `number` of the host, and all behind it, were not read."""
        self._url, self._host = url, host
        self._content: _Content | None = None
        self._terms: _Terms | None = None
        """The current license, if it is one of the host."""
        self._path: list[str] = []
        self._kind = ""
        self._text: list[str] = []
        self._licenses = 0

    def read(self, body: bytes) -> None:
        """Read *body*; raise Malformed if it is not RSL."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartDoctypeDeclHandler = self._refuse_document_type
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._add_text
        try:
            parser.Parse(_repair_references(body), True)
        except (expat.ExpatError, ValueError) as error:
            raise Malformed(f"it is not XML: {error}"[:MAX_TEXT_LENGTH]) from error

    def _refuse_document_type(self, *_: object) -> None:
        raise Malformed("it has a document type")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        namespace, _, local = name.rpartition(" ")
        if not self._path and (local != "rsl" or not _namespace.fullmatch(namespace)):
            raise Malformed(f"its root is not <rsl> of {NAMESPACE}")
        if len(self._path) >= MAX_DEPTH:
            raise Malformed(f"it has more than {MAX_DEPTH} nested elements")
        self._path.append(local)
        self._text = []
        match self._path[1:]:
            case ["content"]:
                self._start_content(attributes)
            case ["content", "license"] if not self.is_full:
                self._start_license()
            case ["content", "license", "permits" | "prohibits"]:
                self._kind = attributes.get("type", USAGE).strip().lower()
            case ["content", "license", "payment"] if terms := self._terms:
                terms.payment.setdefault("type", attributes.get("type", "free").strip().lower())
            case ["content", "license", "payment", "amount"] if terms := self._terms:
                if currency := attributes.get("currency", "")[:MAX_TEXT_LENGTH]:
                    terms.payment.setdefault("currency", currency)

    def _start_content(self, attributes: dict[str, str]) -> None:
        url = attributes.get("url", "").strip()
        pattern = _pattern(url, self._url, self._host)
        short = shorten_pattern(pattern or EVERYTHING)
        self._content = None
        if pattern != "":
            server = attributes.get("server", "")[:MAX_TEXT_LENGTH]
            self._content = _Content(url, short, short == pattern, server)
            self.contents.append(self._content)

    def _start_license(self) -> None:
        self.number += 1
        self._terms = None
        if self._content is None:
            return
        if self._licenses == MAX_STATEMENTS:
            self.is_full = True
            return
        self._licenses += 1
        self._terms = _Terms(self.number)
        self._content.licenses.append(self._terms)

    def _end(self, name: str) -> None:
        path, text = self._path[1:], " ".join("".join(self._text).split())
        self._path.pop()
        terms = self._terms
        if terms is None:
            return
        match path:
            case ["content", "license", "permits"]:
                self._add_words(terms.permits, text)
            case ["content", "license", "prohibits"]:
                self._add_words(terms.prohibits, text)
            case ["content", "license", "payment", part] if part in PAYMENT_FIELDS and text:
                terms.payment.setdefault(part, text[:MAX_TEXT_LENGTH])

    def _add_text(self, text: str) -> None:
        self._text.append(text)

    def _add_words(self, terms: dict[str, list[str]], text: str) -> None:
        words = terms.setdefault(self._kind, [])
        words += text.replace(",", " ").split()
