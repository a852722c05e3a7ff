"""What a page forbids us in its robots meta elements and its X-Robots-Tag headers.

There is no standard; this is what the search engines document and most sites mean. A directive is
for everybody, or for the crawlers that are named before it (`X-Robots-Tag: otherbot: noindex`).
"""

from collections.abc import Iterable

META_NAMES = ("robots", "gossamer")
_us = ("", "*", "robots", "gossamer")
_with_value = (
    "unavailable_after",
    "max-snippet",
    "max-image-preview",
    "max-video-preview",
)


def directives(values: Iterable[str]) -> frozenset[str]:
    """Return those of `noindex` and `nofollow` that *values* say to us."""
    said = {word for value in values for word in _to_us(value)}
    if "none" in said:
        said |= {"noindex", "nofollow"}
    return frozenset(said & {"noindex", "nofollow"})


def _to_us(value: str) -> Iterable[str]:
    agent = ""
    for piece in value.lower().split(","):
        name, colon, rest = (part.strip() for part in piece.partition(":"))
        if colon and name not in _with_value:
            agent, name = name, rest
        if agent in _us:
            yield name
