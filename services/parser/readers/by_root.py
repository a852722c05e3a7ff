"""Reads XML by what it is: its outermost element says so, whatever its type is called."""

from gossamer.events import PageParsed
from services.parser.readers import feed, sitemap, xhtml
from services.parser.readers.received import Received
from services.parser.readers.xml import in_utf_8, root_of


def read(received: Received) -> PageParsed:
    """Return what a sitemap or a feed lists, and what XHTML says; of other XML nothing is read."""
    parsed, body = in_utf_8(received)
    root = root_of(body)
    if root == "html":
        return xhtml.read(received)
    return read_listing(parsed, body, root, received) or parsed


def read_listing(
    parsed: PageParsed, body: bytes, root: str, received: Received
) -> PageParsed | None:
    """Return what *body*, in UTF-8, lists; None if by its *root* it is no listing."""
    if root in sitemap.ROOTS:
        return sitemap.read_xml(parsed, body, root, received.options)
    return feed.read_xml(parsed, body, received.options) if root in feed.ROOTS else None
