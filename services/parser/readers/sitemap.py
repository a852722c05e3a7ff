"""Sitemaps (sitemaps.org): XML, also as an index, and text; and whatever a robots.txt calls one.

RSS and Atom may be sitemaps, too: they are read as feeds. Namespaces are not looked at, as they are
wrong so often; some indexes have a URL where a `loc` should be around it. Images, videos and news
are not taken: they are of the pages that are.
"""

import re

from gossamer.events import Listing, PageParsed
from services.parser.dates import instant
from services.parser.options import Options
from services.parser.readers.entries import USUAL, Entries
from services.parser.readers.xml import Element, children, elements, text_of, texts

HOUR, DAY = 3600.0, 86400.0
EVERY = {
    "hourly": HOUR,
    "daily": DAY,
    "weekly": 7 * DAY,
    "monthly": 30 * DAY,
    "yearly": 365 * DAY,
}
"""What changefreq says in seconds; `always` and `never` say nothing that can be meant."""
ROOTS = {"urlset": Listing.SITEMAP, "sitemapindex": Listing.SITEMAP_INDEX}

_url = re.compile(r"https?://\S+", re.IGNORECASE)


def read_xml(parsed: PageParsed, body: bytes, root: str, options: Options) -> PageParsed:
    """Return what the XML *body*, in UTF-8, lists: an index if its *root* is one's."""
    entries = Entries(parsed, options)
    for element in elements(body, "url", "sitemap"):
        _add(entries, element)
        if entries.is_full:
            break
    return entries.listed(ROOTS[root])


def _add(entries: Entries, element: Element) -> None:
    said = texts(element)
    target = said.get("loc") or ("" if len(element) else text_of(element))
    every = EVERY.get(said.get("changefreq", "").lower(), 0.0)
    priority = _priority(said.get("priority", ""))
    entries.add(entries.resolved(target), instant(said.get("lastmod", "")), every, priority)
    for link in children(element, "link") if "link" in said else ():
        if link.get("hreflang"):
            entries.add(entries.resolved(link.get("href", "")), 0.0, 0.0, priority)


def _priority(text: str) -> float:
    try:
        # Not a number is none, and is neither more nor less than any.
        return min(max(float(text), 0.0), 1.0) if text else USUAL
    except ValueError:
        return USUAL


def read_text(parsed: PageParsed, text: str, options: Options) -> PageParsed:
    """Return what *text* lists: a URL a line; other lines say nothing."""
    entries = Entries(parsed, options)
    for line in text.splitlines():
        if _url.fullmatch(line.strip()):
            entries.add(entries.resolved(line.strip()), 0.0)
        if entries.is_full:
            break
    return entries.listed(Listing.SITEMAP)
