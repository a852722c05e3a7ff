"""Reads what is named as a sitemap, by a robots.txt or an index, and what is packed with gzip.

Servers give sitemaps all sorts of types, so it is looked at for itself: XML, packed or not, a page
that says there is none, or else text.
"""

from msgspec.structs import replace

from gossamer.events import PageParsed, Purpose
from gossamer.events.hazards import Hazard
from gossamer.web.coding import MEMBER, decoded
from gossamer.web.sniffing import HTML
from services.parser.answers import with_hazards
from services.parser.readers import by_root, html, sitemap
from services.parser.readers.received import Received
from services.parser.readers.xml import in_utf_8, root_of


def read(received: Received) -> PageParsed:
    """Return what is listed. A document of HTML is no sitemap, and read as what it is."""
    received = unpacked(received)
    parsed, body = in_utf_8(received)
    root = root_of(body)
    if found := by_root.read_listing(parsed, body, root, received):
        return found
    if received.parsed.visit.purpose is not Purpose.SITEMAP:
        return received.parsed
    if root.lower() == "html" or parsed.content_type in HTML:
        return html.read(received)
    return sitemap.read_text(parsed, body.decode(), received.options)


def unpacked(received: Received) -> Received:
    """Return what was received without gzip around it; a bomb is cut."""
    if not received.body.startswith(MEMBER):
        return received
    options = received.options
    body = decoded(received.body, "gzip", options.sitemap_limit, options.ratio_limit)
    parsed = with_hazards(received.parsed, [Hazard.DECOMPRESSION_BOMB] * body.bomb)
    parsed = replace(parsed, truncated=parsed.truncated or body.cut)
    return received._replace(parsed=parsed, body=body.data)
