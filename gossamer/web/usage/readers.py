"""The table of readers: which line, header or element states what about the use of a page.

A structured field may be sent as several header lines, which RFC 9651 joins to one dictionary whose
last value counts. Here each line is a statement by itself: a proxy may have added a line to the
server's own, and neither may undo the other. No category of the vocabulary is a part of another, so
nothing falls through from a parent category.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from gossamer.web.directives import directive_value, parse_directives
from gossamer.web.http import Headers
from gossamer.web.structured import BadField, Item, Token, parse_dictionary
from gossamer.web.usage.statements import (
    MAX_TEXT_LENGTH,
    Category,
    Source,
    Statement,
    limit_statements,
)

Parse = Callable[[str, str], dict[str, bool]]
"""Takes a statement and our product token; returns category → whether it is allowed."""

RESERVATION, POLICY = "tdm-reservation", "tdm-policy"
ROBOTS_META, ROBOTS_HEADER = "robots", "x-robots-tag"
USAGE_LABELS: Mapping[str, Category] = {
    "train-ai": Category.TRAIN_AI,
    "search": Category.SEARCH,
}
"""Labels of the vocabulary (aipref-vocab, 6.1). Recipients ignore other labels (6.4)."""
SIGNALS: Mapping[str, Category] = {
    "search": Category.SEARCH,
    "ai-input": Category.AI_INPUT,
    "ai-train": Category.TRAIN_AI,
}
MINING = (Category.TRAIN_AI, Category.AI_INPUT)
"""The categories that are text and data mining. The protocol does not say whether search is, and
this is disputed."""
DIRECTIVES: Mapping[str, tuple[Category, ...]] = {
    "noindex": (Category.SEARCH,),
    "noarchive": (Category.ARCHIVE,),
    "nosnippet": (Category.AI_INPUT,),
    "noai": MINING,
    "noimageai": MINING,
}
"""Robots directive → the categories that it disallows. No directive allows a use."""


def read_content_usage(text: str, product: str) -> dict[str, bool]:
    """Read a `Content-Usage`: `train-ai=n, search=y`. A malformed one says nothing."""
    try:
        members = parse_dictionary(text)
    except BadField:
        return {}
    tokens = {
        label: member.value
        for label, member in members.items()
        if isinstance(member, Item) and isinstance(member.value, Token)
    }
    values = {category.value: tokens.get(label) for label, category in USAGE_LABELS.items()}
    return {category: value == "y" for category, value in values.items() if value in ("y", "n")}


def read_content_signal(text: str, product: str) -> dict[str, bool]:
    """Read a `Content-Signal`: `search=yes, ai-train=no`. Of a repeated signal `no` counts."""
    # No grammar is published.
    says = dict[str, bool]()
    for pair in text.lower().split(","):
        key, _, value = (part.strip() for part in pair.partition("="))
        if key in SIGNALS and value in ("yes", "no"):
            category = SIGNALS[key].value
            says[category] = says.get(category, True) and value == "yes"
    return says


def read_reservation(text: str, product: str) -> dict[str, bool]:
    """Read a `tdm-reservation`: 1 reserves the right to mine, and 0 does not reserve it."""
    value = text.strip()
    return {one.value: value == "0" for one in MINING} if value in ("0", "1") else {}


def read_directives(text: str, product: str) -> dict[str, bool]:
    """Read an `X-Robots-Tag` or a robots meta element."""
    found = parse_directives([text], product)
    names = {*found, *(["nosnippet"] if directive_value("max-snippet", found) == "0" else ())}
    categories = (one for name, those in DIRECTIVES.items() if name in names for one in those)
    return dict.fromkeys((category.value for category in categories), False)


def read_nothing(text: str, product: str) -> dict[str, bool]:
    """Read a text that is published and says nothing: the URL of a policy."""
    return {}


class Reader(NamedTuple):
    """Reads the statements of one source and name."""

    source: Source
    name: str
    """The name of a line, a header or a meta element, in lower case. A meta element with our
    product token as name is read like `robots`."""
    place: str
    """The name as it is written usually."""
    parse: Parse
    reference: str
    is_silent_published: bool = True
    """Whether a statement that says nothing is published, too."""


ATTACH = "draft-ietf-aipref-attach-04, {}; draft-ietf-aipref-vocab-06, 6"
SIGNAL = "contentsignals.org; draft-romm-aipref-contentsignals-00"
TDMREP = "TDM Reservation Protocol, W3C Community Group Final Report of 10 May 2024"
TAGS = (
    "Google's specification of robots meta elements (noindex, noarchive, nosnippet, max-snippet); "
    "DeviantArt's terms of service (noai, noimageai: no input of machine learning)"
)

# fmt: off
READERS: tuple[Reader, ...] = (
    Reader(Source.ROBOTS, "content-usage", "Content-Usage", read_content_usage, ATTACH.format(3)),
    Reader(Source.ROBOTS, "content-signal", "Content-Signal", read_content_signal, SIGNAL),
    Reader(Source.HEADER, "content-usage", "Content-Usage", read_content_usage, ATTACH.format(2)),
    Reader(Source.HEADER, "content-signal", "Content-Signal", read_content_signal, SIGNAL),
    Reader(Source.HEADER, RESERVATION, RESERVATION, read_reservation, TDMREP),
    Reader(Source.HEADER, POLICY, POLICY, read_nothing, TDMREP),
    Reader(Source.HEADER, ROBOTS_HEADER, "X-Robots-Tag", read_directives, TAGS, False),
    Reader(Source.META, ROBOTS_META, ROBOTS_META, read_directives, TAGS, False),
    Reader(Source.META, RESERVATION, RESERVATION, read_reservation, TDMREP),
    Reader(Source.META, POLICY, POLICY, read_nothing, TDMREP),
)
# fmt: on
_readers = {(reader.source, reader.name): reader for reader in READERS}
LINE_NAMES = frozenset(reader.name for reader in READERS if reader.source is Source.ROBOTS)
META_NAMES = tuple(reader.name for reader in READERS if reader.source is Source.META)


def read_line(name: str, value: str, written: str, number: int) -> Statement:
    """Return the statement in line *number* of robots.txt.

    *name* is its key, in lower case, *value* the statement without a path, and *written* all after
    the key.
    """
    reader = _readers[Source.ROBOTS, name]
    text = f"{reader.place}: {written}"[:MAX_TEXT_LENGTH]
    return Statement(Source.ROBOTS, f"line {number}", text, reader.parse(value, ""))


def read_headers(headers: Headers, product: str) -> tuple[Statement, ...]:
    """Return the statements in *headers* for the crawler *product*, one for each header line."""
    return limit_statements(_read_all(Source.HEADER, headers, product))


def names_of_meta(product: str) -> frozenset[str]:
    """Return the names of the meta elements that are read for *product*, in lower case."""
    return frozenset({*META_NAMES, product.lower()})


def read_meta(elements: Iterable[tuple[str, str]], product: str) -> tuple[Statement, ...]:
    """Return the statements of meta *elements*, name and content, for the crawler *product*."""
    return limit_statements(_read_all(Source.META, elements, product))


def _read_all(
    source: Source, named: Iterable[tuple[str, str]], product: str
) -> Iterator[Statement]:
    for name, text in named:
        key = name.strip().lower()
        is_ours = source is Source.META and key == product.lower()
        reader = _readers.get((source, ROBOTS_META if is_ours else key))
        if reader is None:
            continue
        says = reader.parse(text, product)
        if says or (reader.is_silent_published and text.strip()):
            place = key if is_ours else reader.place
            yield Statement(source, place, text.strip()[:MAX_TEXT_LENGTH], says)


def is_reserved(statements: Iterable[Statement]) -> bool:
    """Return whether a statement of the TDM Reservation Protocol reserves the right to mine."""
    return any(
        Category.TRAIN_AI in one.says and not one.says[Category.TRAIN_AI]
        for one in statements
        if one.source is Source.TDMREP or one.place == RESERVATION
    )
