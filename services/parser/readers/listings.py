"""The entries of a sitemap or a feed while it is read, and what comes of them.

Sitemaps (sitemaps.org): XML, also as an index, and text; and whatever a robots.txt calls one.

RSS and Atom may be sitemaps, too: they are read as feeds. Namespaces are not looked at, as they are
wrong so often; some indexes have a URL where a `loc` should be around it. Images, videos and news
are not taken: they are of the pages that are.


Feeds: RSS 0.9 to 2.0 (also as RDF), Atom (RFC 4287, 5005) and JSON Feed.

An entry is a link with the date when it changed last, or was published. What it says is not taken:
the page that it leads to says it, too.
"""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import json
from msgspec.structs import replace

from gossamer.events import Entry, Link, Listing, PageParsed
from gossamer.events.hazards import Hazard
from gossamer.text.folding import fold_whitespace
from services.parser.dates import parse_date
from services.parser.html.document import MAX_DESCRIPTION_LENGTH, MAX_TITLE_LENGTH
from services.parser.links import Resolver
from services.parser.options import Options
from services.parser.readers.xml import (
    Element,
    child_texts,
    children,
    first_text,
    iterate_elements,
    text_of,
)
from services.parser.result import add_hazards
from services.parser.text import detect_language, digest_of

MAX_ENTRIES_SIZE = 6 << 20
"""Most bytes of all entries: with the rest of an event they must fit the log."""
DEFAULT_PRIORITY = 0.5
"""The priority of what has none (sitemaps.org)."""


class EntryCollector:
    """Collects entries, each canonical URL once, and the hazards met with the others."""

    def __init__(self, parsed: PageParsed, options: Options) -> None:
        self._parsed, self._options = parsed, options
        self._limit, self._room = options.entries_limit, MAX_ENTRIES_SIZE
        self._found: dict[str, tuple[float, Entry]] = {}
        self._hazards: set[Hazard] = set()
        self._base = parsed.visit.url
        self._resolver = self._resolver_at(self._base)

    @property
    def is_full(self) -> bool:
        """Whether more were found than are taken."""
        return Hazard.TOO_MANY_LINKS in self._hazards

    def add(
        self, url: str, changed_at: float, every: float = 0.0, priority: float = DEFAULT_PRIORITY
    ) -> None:
        """Add an entry; of two for the same URL the newer one stays."""
        if not url:
            return
        _, before = self._found.get(url, (0.0, None))
        entry = Entry(url, changed_at, every)
        if before and before.changed_at >= changed_at:
            return
        more = 0 if before else len(json.encode(entry)) + 1
        if more > self._room or (before is None and len(self._found) == self._limit):
            self._hazards.add(Hazard.TOO_MANY_LINKS)
        else:
            self._found[url] = priority, entry
            self._room -= more

    def resolved(self, target: str, base: str | None = None) -> str:
        """Return *target* as a canonical URL; "" if it is none to visit.

        It is relative to *base*, and that to the listing itself.
        """
        url = self._parsed.visit.url
        if base:
            url = self._resolved(base, url) or url
        return self._resolved(target, url) if target else ""

    def _resolved(self, target: str, base: str) -> str:
        if base != self._base:
            self._hazards |= self._resolver.hazards
            self._base, self._resolver = base, self._resolver_at(base)
        return self._resolver.url(target)

    def _resolver_at(self, base: str) -> Resolver:
        return Resolver(base, self._parsed.charset or "utf-8")

    def listed(self, listing: Listing, *others: str) -> PageParsed:
        """Return what the listing says: its entries, and as links *others* that it leads to."""
        by_priority = sorted(self._found.values(), key=lambda one: -one[0])
        entries = tuple(entry for _, entry in by_priority)
        parsed = self._parsed
        return replace(
            add_hazards(parsed, sorted(self._hazards | self._resolver.hazards)),
            listing=listing,
            entries=entries,
            links=tuple(Link(url) for url in dict.fromkeys(others) if url),
            digest=digest_of(json.encode((entries, others))) if entries else parsed.digest,
        )


HOUR, DAY = 3600.0, 86400.0
CHANGEFREQ_SECONDS = {
    "hourly": HOUR,
    "daily": DAY,
    "weekly": 7 * DAY,
    "monthly": 30 * DAY,
    "yearly": 365 * DAY,
}
"""What changefreq says in seconds; `always` and `never` say nothing that can be meant."""
SITEMAP_ROOTS = {"urlset": Listing.SITEMAP, "sitemapindex": Listing.SITEMAP_INDEX}

_absolute_url = re.compile(r"https?://\S+", re.IGNORECASE)


def read_sitemap(parsed: PageParsed, body: bytes, root: str, options: Options) -> PageParsed:
    """Return what the XML *body*, in UTF-8, lists: an index if its *root* is one's."""
    entries = EntryCollector(parsed, options)
    for element in iterate_elements(body, "url", "sitemap"):
        _add_element(entries, element)
        if entries.is_full:
            break
    return entries.listed(SITEMAP_ROOTS[root])


def _add_element(entries: EntryCollector, element: Element) -> None:
    said = child_texts(element)
    target = said.get("loc") or ("" if len(element) else text_of(element))
    every = CHANGEFREQ_SECONDS.get(said.get("changefreq", "").lower(), 0.0)
    priority = _parse_priority(said.get("priority", ""))
    entries.add(entries.resolved(target), parse_date(said.get("lastmod", "")), every, priority)
    for link in children(element, "link") if "link" in said else ():
        if link.get("hreflang"):
            entries.add(entries.resolved(link.get("href", "")), 0.0, 0.0, priority)


def _parse_priority(text: str) -> float:
    try:
        # Not a number is none, and is neither more nor less than any.
        return min(max(float(text), 0.0), 1.0) if text else DEFAULT_PRIORITY
    except ValueError:
        return DEFAULT_PRIORITY


def read_text_sitemap(parsed: PageParsed, text: str, options: Options) -> PageParsed:
    """Return what *text* lists: a URL a line; other lines say nothing."""
    entries = EntryCollector(parsed, options)
    for line in text.splitlines():
        if _absolute_url.fullmatch(line.strip()):
            entries.add(entries.resolved(line.strip()), 0.0)
        if entries.is_full:
            break
    return entries.listed(Listing.SITEMAP)


FEED_ROOTS = frozenset({"rss", "RDF", "feed"})
FEED_RELATIONS = ("alternate", "next", "previous", "prev-archive", "next-archive")
"""Where a feed leads besides: to its site, and to more of itself."""
LANGUAGE_ATTRIBUTE = "{http://www.w3.org/XML/1998/namespace}lang"
ABOUT_ATTRIBUTE = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"


def read_feed(parsed: PageParsed, body: bytes, options: Options) -> PageParsed:
    """Return what the RSS or Atom in *body*, in UTF-8, lists."""
    entries, others = EntryCollector(parsed, options), list[str]()
    for element in iterate_elements(body, "item", "entry", "channel", "feed"):
        if element.tag.rpartition("}")[2] in ("item", "entry"):
            changed_at = _first_date(element, "updated", "modified", "date", "pubDate", "published")
            for target in _feed_targets(element, ("alternate",)):
                entries.add(entries.resolved(target, element.base), changed_at)
        else:
            others += [
                entries.resolved(url, element.base)
                for url in _feed_targets(element, FEED_RELATIONS)
            ]
            parsed = _add_header(parsed, element)
        if entries.is_full:
            break
    return _copy_header(entries.listed(Listing.FEED, *others), parsed)


def _feed_targets(element: Element, relations: tuple[str, ...]) -> Iterator[str]:
    links = [*children(element, "link")]
    targets = [text_of(link) for link in links if text_of(link)]
    targets += [link.get("href", "") for link in links if link.get("rel", "alternate") in relations]
    if not any(targets):
        # A guid is a link unless it says that it is none; and some say so of one.
        guid = first_text(element, "guid")
        targets = [element.get(ABOUT_ATTRIBUTE, "") or (guid if "://" in guid else "")]
    return filter(None, targets)


def _first_date(element: Element, *names: str) -> float:
    dates = (parse_date(text_of(one)) for name in names for one in children(element, name))
    return next(filter(None, dates), 0.0)


def _add_header(parsed: PageParsed, header: Element) -> PageParsed:
    language = first_text(header, "language") or header.get(LANGUAGE_ATTRIBUTE, "")
    return replace(
        parsed,
        title=fold_whitespace(first_text(header, "title"))[:MAX_TITLE_LENGTH],
        description=fold_whitespace(first_text(header, "description", "subtitle"))[
            :MAX_DESCRIPTION_LENGTH
        ],
        language=detect_language("", language),
    )


def _copy_header(listed: PageParsed, header: PageParsed) -> PageParsed:
    return replace(
        listed, title=header.title, description=header.description, language=header.language
    )


def read_json_feed(parsed: PageParsed, feed: dict[str, Any], options: Options) -> PageParsed:
    """Return what a JSON Feed (jsonfeed.org) lists."""
    entries, items = EntryCollector(parsed, options), feed.get("items")
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict):
            date = parse_date(_text(item, "date_modified")) or parse_date(
                _text(item, "date_published")
            )
            url = _text(item, "url") or _text(item, "external_url")
            entries.add(entries.resolved(url), date)
    others = [entries.resolved(_text(feed, name)) for name in ("home_page_url", "next_url")]
    return replace(
        entries.listed(Listing.FEED, *others),
        title=fold_whitespace(_text(feed, "title"))[:MAX_TITLE_LENGTH],
        description=fold_whitespace(_text(feed, "description"))[:MAX_DESCRIPTION_LENGTH],
        language=detect_language("", _text(feed, "language")),
    )


def _text(of: dict[str, Any], name: str) -> str:
    value = of.get(name)
    return value if isinstance(value, str) else ""
