"""What a page forbids us in its robots meta elements and its X-Robots-Tag headers.

There is no standard; this is what the search engines document and most sites mean. A directive is
for everybody, or for the crawlers that are named before it (`X-Robots-Tag: otherbot: noindex`).
Our name is the product token of our User-Agent, which groups of a robots.txt name as well.
"""

from collections.abc import Iterable, Iterator

EVERYBODY = ("", "*", "robots")
"""How directives address all crawlers; as a meta element's name, only `robots`."""
KNOWN = frozenset({"noindex", "nofollow"})
WITH_VALUE = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)
"""Directives that hold a colon themselves: what stands before it is no crawler's name."""


def meta_names(product: str) -> tuple[str, str]:
    """Return the names, in lower case, of the meta elements that speak to the crawler *product*."""
    return ("robots", product.lower())


def directives(values: Iterable[str], product: str) -> frozenset[str]:
    """Return those of `noindex` and `nofollow` that *values* say to the crawler *product*."""
    words = {word for value in values for word in _addressed(value, product.lower())}
    return KNOWN if "none" in words else KNOWN & words


def _addressed(value: str, product: str) -> Iterator[str]:
    agent = ""
    for piece in value.lower().split(","):
        name, colon, rest = (part.strip() for part in piece.partition(":"))
        if colon and name not in WITH_VALUE:
            agent, name = name, rest
        if agent in EVERYBODY or agent == product:
            yield name
