"""What a page forbids us in its robots meta elements and its X-Robots-Tag headers.

There is no standard; this is what the search engines document and most sites mean. A directive is
for everybody, or for the crawlers that are named before it (`X-Robots-Tag: otherbot: noindex`).
Our name is the product token of our User-Agent, which groups of a robots.txt name as well.

What gates what is for the settings to say (`Signal`): what a page says of the use of its text for
models (noai, and the TDM Reservation Protocol of W3C's community group) is read and passed on.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from gossamer.web.http import Headers, first_value

Signal = Literal[
    "noindex",
    "nofollow",
    "noarchive",
    "nosnippet",
    "noimageindex",
    "unavailable_after",
    "noai",
    "noimageai",
    "tdm-reservation",
]
"""What a page, or its site, may ask for and settings may name: `unavailable_after` is one once its
time has come, `tdm-reservation` where it is 1."""

EVERYBODY = ("", "*", "robots")
"""How directives address all crawlers; as a meta element's name, only `robots`."""
NONE = ("noindex", "nofollow")
"""What `none` stands for."""
UNAVAILABLE_AFTER = "unavailable_after"
WITH_VALUE = frozenset({UNAVAILABLE_AFTER, "max-snippet", "max-image-preview", "max-video-preview"})
"""Directives that hold a colon themselves: what stands before it is no crawler's name."""
RESERVATION, POLICY = "tdm-reservation", "tdm-policy"
"""Headers and meta elements of the TDM Reservation Protocol."""
MOST, LENGTH = 50, 100

_weekday = re.compile(r"\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,")
_comma_in_time = re.compile(r"(\b[a-z]{3,9}\s+\d\d?),")
_meta = re.compile(r"<meta\s[^>]*>", re.IGNORECASE)
_attribute = re.compile(
    r"""(name|content)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))""", re.IGNORECASE
)


def meta_names(product: str) -> tuple[str, str]:
    """Return the names, in lower case, of the meta elements that speak to the crawler *product*."""
    return ("robots", product.lower())


def directives(values: Iterable[str], product: str) -> tuple[str, ...]:
    """Return what *values* say to the crawler *product*, in lower case, each once: `noindex`,
    `max-snippet: 20`."""
    found = (one for value in values for one in _addressed(value, product.lower()))
    every = (word for one in found for word in (NONE if one == "none" else (one,)))
    return tuple(dict.fromkeys(word[:LENGTH] for word in every if word))[:MOST]


def reservation(headers: Headers) -> dict[str, str]:
    """Return what *headers* reserve of the use for text and data mining."""
    said = {name: first_value(headers, name)[:LENGTH] for name in (RESERVATION, POLICY)}
    return {name: value for name, value in said.items() if value}


def value_of(name: str, said: Iterable[str]) -> str:
    """Return the value of the directive *name* among those *said*; "" if it is not there."""
    return next((one.partition(":")[2].strip() for one in said if one.startswith(f"{name}:")), "")


def signals(said: Iterable[str], usage: Mapping[str, str], unavailable: bool) -> frozenset[str]:
    """Return what settings may go by: of the directives *said*, of what is known of the *usage*,
    and whether the page's time is over."""
    found = {one for one in said if ":" not in one}
    if usage.get(RESERVATION, "").strip() == "1":
        found.add(RESERVATION)
    if unavailable:
        found.add(UNAVAILABLE_AFTER)
    return frozenset(found)


def in_markup(markup: str, product: str) -> Iterator[str]:
    """Yield what the robots meta elements in *markup* say, without a parser: also of those that a
    comment hides."""
    names = meta_names(product)
    for element in _meta.findall(markup):
        said = {key.lower(): a or b or c for key, a, b, c in _attribute.findall(element)}
        if said.get("name", "").strip().lower() in names:
            yield said.get("content", "")


def _addressed(value: str, product: str) -> Iterator[str]:
    agent = ""
    said = value.lower()
    if UNAVAILABLE_AFTER in said:
        said = _comma_in_time.sub(r"\1", _weekday.sub("", said))
    for piece in said.split(","):
        name, colon, rest = (part.strip() for part in piece.partition(":"))
        if colon and name not in WITH_VALUE:
            agent, name, rest = name, *_parted(rest)
        if agent in EVERYBODY or agent == product:
            yield f"{name}: {rest}" if rest else name


def _parted(rest: str) -> tuple[str, str]:
    """Return name and value of a directive that follows a crawler's name."""
    name, _, value = (part.strip() for part in rest.partition(":"))
    return name, value
