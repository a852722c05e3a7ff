"""Detects pages that ask not to be archived, in a header or a meta element.

Meta elements are searched at the beginning of the markup, without the parser, because the parser
and the archive work on a page at the same time.
"""

from collections.abc import Iterator

from gossamer.events import PageFetched
from gossamer.web.coding import decode
from gossamer.web.directives import find_in_markup, find_signals, parse_directives, reservation
from gossamer.web.http import all_values, joined_values

MAX_HEAD_BYTES = 64 << 10
"""Bytes of the decoded body that are searched for meta elements."""


def is_forbidden(page: PageFetched, forbidding: frozenset[str], product: str) -> bool:
    """Return whether *page* has one of the *forbidding* signals for the crawler *product*."""
    found = parse_directives(_find_directives(page, forbidding, product), product)
    usage = {**page.usage, **reservation(page.headers)}
    return not forbidding.isdisjoint(find_signals(found, usage, False))


def _find_directives(page: PageFetched, forbidding: frozenset[str], product: str) -> Iterator[str]:
    yield from all_values(page.headers, "x-robots-tag")
    if forbidding and 200 <= page.status < 300:
        codings = joined_values(page.headers, "content-encoding")
        head = decode(page.body, codings, MAX_HEAD_BYTES).data.lower()
        if b"none" in head or any(signal.encode() in head for signal in forbidding):
            yield from find_in_markup(head.decode("latin-1"), product)
