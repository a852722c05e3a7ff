"""Robots directives of a page: in robots meta elements and X-Robots-Tag headers.

There is no standard. The rules are those that search engines document and most sites mean. A
directive is for all crawlers, or for the crawler that is named before it
(`X-Robots-Tag: otherbot: noindex`). Our name is the product token of the User-Agent, as in
robots.txt.

Settings decide the effect of each directive (`Signal`). `gossamer.web.usage` reads what they state
about the use of the page.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Literal

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
"""A request of a page or its site that settings may name. `unavailable_after` counts after its
time, `tdm-reservation` if its value is 1 in a header, a meta element or a file of the host."""

ALL_CRAWLERS = ("", "*", "robots")
"""Names that address all crawlers; as the name of a meta element, only `robots`."""
NONE_MEANS = ("noindex", "nofollow")
"""The directives that `none` stands for."""
UNAVAILABLE_AFTER = "unavailable_after"
VALUED_DIRECTIVES = frozenset(
    {UNAVAILABLE_AFTER, "max-snippet", "max-image-preview", "max-video-preview"}
)
"""Directives with a value after a colon: the text before the colon is not a crawler's name."""
MAX_DIRECTIVES, MAX_DIRECTIVE_LENGTH = 50, 100

_weekday = re.compile(r"\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,")
_comma_in_time = re.compile(r"(\b[a-z]{3,9}\s+\d\d?),")
_meta = re.compile(r"<meta\s[^>]*>", re.IGNORECASE)
_attribute = re.compile(
    r"""(name|content)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))""", re.IGNORECASE
)


def meta_names(product: str) -> tuple[str, str]:
    """Return the names, in lower case, of the meta elements for the crawler *product*."""
    return ("robots", product.lower())


def parse_directives(values: Iterable[str], product: str) -> tuple[str, ...]:
    """Return the directives in *values* for the crawler *product*, in lower case, without repeats.

    For example `noindex`, `max-snippet: 20`.
    """
    found = (one for value in values for one in _parse_value(value, product.lower()))
    every = (word for one in found for word in (NONE_MEANS if one == "none" else (one,)))
    unique = dict.fromkeys(word[:MAX_DIRECTIVE_LENGTH] for word in every if word)
    return tuple(unique)[:MAX_DIRECTIVES]


def directive_value(name: str, found: Iterable[str]) -> str:
    """Return the value of the directive *name* among those *found*; "" if it is missing."""
    return next((one.partition(":")[2].strip() for one in found if one.startswith(f"{name}:")), "")


def find_signals(found: Iterable[str], reserved: bool, unavailable: bool) -> frozenset[str]:
    """Return the signals in the directives *found*.

    *reserved*: the right to mine is reserved. *unavailable*: the time of `unavailable_after` has
    come.
    """
    result = {one for one in found if ":" not in one}
    if reserved:
        result.add("tdm-reservation")
    if unavailable:
        result.add(UNAVAILABLE_AFTER)
    return frozenset(result)


def find_in_markup(markup: str, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield name and content of the meta elements in *markup* with one of *names*, in lower case.

    No HTML parser is used, so elements in comments are found, too.
    """
    for element in _meta.findall(markup):
        attributes = {key.lower(): a or b or c for key, a, b, c in _attribute.findall(element)}
        name = attributes.get("name", "").strip().lower()
        if name in names:
            yield name, attributes.get("content", "")


def _parse_value(value: str, product: str) -> Iterator[str]:
    agent = ""
    value = value.lower()
    if UNAVAILABLE_AFTER in value:
        value = _comma_in_time.sub(r"\1", _weekday.sub("", value))
    for piece in value.split(","):
        name, colon, rest = (part.strip() for part in piece.partition(":"))
        if colon and name not in VALUED_DIRECTIVES:
            agent, name, rest = name, *_split_directive(rest)
        if agent in ALL_CRAWLERS or agent == product:
            yield f"{name}: {rest}" if rest else name


def _split_directive(rest: str) -> tuple[str, str]:
    """Return the name and value of a directive that follows a crawler's name."""
    name, _, value = (part.strip() for part in rest.partition(":"))
    return name, value
