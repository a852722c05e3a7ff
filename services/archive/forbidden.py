"""Whether a page asks not to be archived.

It says so in its headers, which are at hand, or in a meta element: that is looked for at the
beginning of the markup, without the parser, which reads pages while the archive writes them.
"""

from collections.abc import Iterator

from gossamer.events import PageFetched
from gossamer.web.coding import decoded
from gossamer.web.directives import directives, in_markup, reservation, signals
from gossamer.web.http import all_values, joined_values

HEAD = 64 << 10
"""Bytes of the decoded body in which meta elements are looked for."""


def is_forbidden(page: PageFetched, wanted: frozenset[str], product: str) -> bool:
    """Return whether *page* has one of the signals *wanted* for the crawler *product*."""
    said = directives(_said(page, wanted, product), product)
    usage = {**page.usage, **reservation(page.headers)}
    return not wanted.isdisjoint(signals(said, usage, False))


def _said(page: PageFetched, wanted: frozenset[str], product: str) -> Iterator[str]:
    yield from all_values(page.headers, "x-robots-tag")
    if wanted and 200 <= page.status < 300:
        codings = joined_values(page.headers, "content-encoding")
        head = decoded(page.body, codings, HEAD).data.lower()
        if b"none" in head or any(word.encode() in head for word in wanted):
            yield from in_markup(head.decode("latin-1"), product)
