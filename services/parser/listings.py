"""Sitemaps and feeds, which list other documents, and JSON documents, which may be feeds.

Sitemaps (sitemaps.org) are XML, an index in XML, or text. Namespaces are ignored because they are
often wrong. Some indexes have a URL in place of a `loc` element. Images, videos and news are
skipped: their pages are listed. A page without a `lastmod` has the date of its news.

Feeds are RSS 0.9 to 2.0 (also as RDF), Atom (RFC 4287, 5005) and JSON Feed. An entry is a link with
the date of its last change or of its publication. Its text is skipped: the linked page has it. RSS
and Atom that a robots.txt names as sitemaps are read as feeds.

Other JSON, and JSON-LD, yields title and links. A link is an absolute URL under a name that means a
URL. Guessing at other strings would fill the crawl with URLs that are not links.
"""

import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Iterator
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from html import unescape
from typing import Any

from lxml import etree
from msgspec import json
from msgspec.structs import replace

from gossamer.events import Entry, Link, Listing, PageParsed
from gossamer.events.hazards import Hazard
from gossamer.services.parser.dates import DAY, HOUR, parse_date
from gossamer.services.parser.html.document import MAX_DESCRIPTION_LENGTH, MAX_TITLE_LENGTH
from gossamer.services.parser.html.headings import INLINE_ELEMENTS
from gossamer.services.parser.lenient_json import decode_json, find_objects, shorten_names
from gossamer.services.parser.links import Resolver
from gossamer.services.parser.options import Options
from gossamer.services.parser.received import ReceivedDocument, add_links
from gossamer.services.parser.result import add_hazards, add_hazards_if
from gossamer.services.parser.text import digest_of, language_of_tag
from gossamer.services.parser.xml import (
    Element,
    XmlDocument,
    attribute,
    child_texts,
    children,
    first_text,
    local_name,
    prefix_of,
    target_of,
    text_of,
)
from gossamer.text.blocks import fold_whitespace
from gossamer.web.markup import REPLACEMENT
from gossamer.web.sniffing import JSON_FEED
from gossamer.web.url import site_of

MAX_ENTRIES_SIZE = 6 << 20
"""Maximum bytes of all entries. With the rest of the event, they must fit into one message."""
DEFAULT_PRIORITY = 0.5
"""The priority of an entry without one (sitemaps.org)."""
CHANGEFREQ_SECONDS = {
    "hourly": HOUR,
    "daily": DAY,
    "weekly": 7 * DAY,
    "monthly": 30 * DAY,
    "yearly": 365 * DAY,
}
"""Values of changefreq in seconds. `always` and `never` are ignored: they are never true."""
SITEMAP_ENTRIES, FEED_ENTRIES = ("url", "sitemap"), ("item", "entry")
"""Names of the elements of entries."""
SITEMAP_ROOTS = {"urlset": Listing.SITEMAP, "sitemapindex": Listing.SITEMAP_INDEX}
FEED_ROOTS = frozenset({"rss", "rdf", "feed"})
ENTRY_DATES = (
    *("updated", "modified", "date", "pubdate", "published"),
    # Atom 0.3 and Dublin Core.
    *("issued", "created"),
)
"""Names of the dates of an entry, that of its last change first."""
FEED_RELATIONS = ("alternate", "next", "previous", "prev-archive", "next-archive")
"""Relations of the links of a feed itself: its site, and its other pages."""

INLINE = INLINE_ELEMENTS | {"abbr", "cite", "code", "q", "strike", "sub", "sup"}
"""Elements that do not divide words."""

_absolute_url = re.compile(r"https?://\S+", re.IGNORECASE)
_host = re.compile(r"[\w-]+(?:\.[\w-]+)+(?=[/?#]|$)")
_json_feed = re.compile(r"https?://(?:www\.)?jsonfeed\.org/version/")
_encoded_word = re.compile(r"=\?[\w-]+\?[bq]\?[^\s?]*\?=", re.IGNORECASE)
_reference = re.compile(r"&(?:\w+|#\w+);", re.ASCII)
_unseen = re.compile(r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.I)
_tag = re.compile(r"</?([a-z][a-z0-9]*)\b[^<>]*>", re.IGNORECASE)
LINK_NAMES = ("@id", "url", "href")
TITLE_NAMES = ("headline", "name", "title")
"""Names of titles, the best one first: two of schema.org, and a common one."""


class EntryCollector:
    """Collects the entries of a listing, each canonical URL once, and the hazards of bad URLs."""

    def __init__(self, parsed: PageParsed, options: Options) -> None:
        self._parsed, self._options = parsed, options
        self._limit, self._bytes_left = options.entries_limit, MAX_ENTRIES_SIZE
        self._entries: dict[str, tuple[float, Entry]] = {}
        self._hazards: set[Hazard] = set()
        self._base = parsed.visit.url
        self._resolver = self._resolver_at(self._base)

    @property
    def is_full(self) -> bool:
        """Whether the limit of entries was exceeded."""
        return Hazard.TOO_MANY_LINKS in self._hazards

    def add(
        self, url: str, changed_at: float, interval: float = 0.0, priority: float = DEFAULT_PRIORITY
    ) -> None:
        """Add an entry that changes every *interval* seconds; the newer of two for a URL wins."""
        if not url:
            return
        _, previous = self._entries.get(url, (0.0, None))
        entry = Entry(url, changed_at, interval)
        if previous and previous.changed_at >= changed_at:
            return
        size = 0 if previous else len(json.encode(entry)) + 1
        if size > self._bytes_left or (previous is None and len(self._entries) == self._limit):
            self._hazards.add(Hazard.TOO_MANY_LINKS)
        else:
            self._entries[url] = priority, entry
            self._bytes_left -= size

    def resolve(self, target: str, base: str | None = None) -> str:
        """Return *target* as a canonical URL; "" if it is not a URL that can be visited.

        A target with an unreadable character is not what its author wrote. *target* is relative to
        *base*, and *base* to the URL of the listing.
        """
        url = self._parsed.visit.url
        if REPLACEMENT in target or _tag.match(target):
            # A tag is that of an element that is written as text.
            self._hazards.add(Hazard.MALFORMED_URL)
            return ""
        if base:
            url = self._resolve(base, url) or url
        host = _host.match(target)
        if host and site_of(f"http://{host[0]}") == site_of(url):
            # The scheme is missing. A browser would read a path.
            target = f"//{target}"
        return self._resolve(target, url) if target else ""

    def _resolve(self, target: str, base: str) -> str:
        if base != self._base:
            self._hazards |= self._resolver.hazards
            self._base, self._resolver = base, self._resolver_at(base)
        return self._resolver.resolve(target)

    def _resolver_at(self, base: str) -> Resolver:
        return Resolver(base, self._parsed.charset or "utf-8")

    def finish(self, listing: Listing, *links: str) -> PageParsed:
        """Return the result: the entries by priority, and the *links* of the listing itself."""
        by_priority = sorted(self._entries.values(), key=lambda item: -item[0])
        entries = tuple(entry for _, entry in by_priority)
        parsed = self._parsed
        return replace(
            add_hazards(parsed, sorted(self._hazards | self._resolver.hazards)),
            listing=listing,
            entries=entries,
            links=tuple(Link(url) for url in dict.fromkeys(links) if url),
            digest=digest_of(json.encode((entries, links))) if entries else parsed.digest,
        )


def read_sitemap(parsed: PageParsed, xml: XmlDocument, options: Options) -> PageParsed:
    """Return the entries of a sitemap or an index."""
    entries = EntryCollector(parsed, options)
    for element in xml.iterate_elements(*SITEMAP_ENTRIES):
        _add_element(entries, element)
        if entries.is_full:
            break
    return entries.finish(SITEMAP_ROOTS[xml.root])


def _add_element(entries: EntryCollector, element: Element) -> None:
    texts = child_texts(element)
    # A loc of an image, with another prefix, may be outside of its image.
    locations = sorted(
        children(element, "loc"), key=lambda one: prefix_of(one) != prefix_of(element)
    )
    target = next(filter(None, map(target_of, locations)), "")
    if not target and not len(element) and _absolute_url.fullmatch(text_of(element)):
        target = text_of(element)
    changed_at = parse_date(texts.get("lastmod", "")) or next(
        (parse_date(first_text(news, "publication_date")) for news in children(element, "news")),
        0.0,
    )
    interval = CHANGEFREQ_SECONDS.get(texts.get("changefreq", "").lower(), 0.0)
    priority = _parse_priority(texts.get("priority", ""))
    entries.add(entries.resolve(target), changed_at, interval, priority)
    for link in children(element, "link") if "link" in texts else ():
        if attribute(link, "hreflang"):
            entries.add(entries.resolve(attribute(link, "href")), 0.0, 0.0, priority)


def _parse_priority(text: str) -> float:
    try:
        # NaN is returned as it is. It compares false with any number: its entry is sorted anywhere.
        return min(max(float(text), 0.0), 1.0) if text else DEFAULT_PRIORITY
    except ValueError:
        return DEFAULT_PRIORITY


def is_text_sitemap(text: str) -> bool:
    """Return whether *text* begins with a URL in a line of its own, apart from comments."""
    lines = (line for line in map(str.strip, text.splitlines()) if line and line[0] != "#")
    return _absolute_url.fullmatch(next(lines, "").partition("\t")[0]) is not None


def read_text_sitemap(parsed: PageParsed, text: str, options: Options) -> PageParsed:
    """Return the URLs in *text*, one per line; skip other lines, and the last one of a cut text.

    Further columns behind a tab are ignored.
    """
    entries, lines = EntryCollector(parsed, options), text.splitlines(keepends=True)
    if parsed.truncated and lines and not lines[-1].endswith(("\n", "\r")):
        lines.pop()
    for line in lines:
        url = line.strip().partition("\t")[0].rstrip()
        if _absolute_url.fullmatch(url):
            entries.add(entries.resolve(url), 0.0)
        if entries.is_full:
            break
    return entries.finish(Listing.SITEMAP)


def read_feed(parsed: PageParsed, xml: XmlDocument, options: Options) -> PageParsed:
    """Return the entries of RSS or Atom."""
    entries, links, header = EntryCollector(parsed, options), list[str](), dict[str, str]()
    for element in xml.iterate_elements(*FEED_ENTRIES, "channel", "feed"):
        if local_name(element) in FEED_ENTRIES:
            changed_at = _first_date(element, *ENTRY_DATES)
            for target, base in _feed_targets(element, ("alternate",)):
                entries.add(entries.resolve(target, base), changed_at)
        else:
            targets = _feed_targets(element, FEED_RELATIONS)
            links += [entries.resolve(target, base) for target, base in targets]
            header = _read_header(parsed, element)
        if entries.is_full:
            break
    return replace(entries.finish(Listing.FEED, *links), **header)


def _feed_targets(element: Element, relations: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the targets of the links of an entry or a feed, each with its base (XML Base)."""
    links = [*children(element, "link")]
    # The text of a link with an address, such as that of iTunes to an image, is not an address.
    links = [link for link in links if _relation(link) in relations]
    targets = [(target_of(link), link.base) for link in links if not attribute(link, "href")]
    targets += [(attribute(link, "href"), link.base) for link in links]
    if not any(target for target, _ in targets):
        # A guid is a link unless isPermaLink is false. Some feeds set that for real links.
        sources = (attribute(content, "src") for content in children(element, "content"))
        ids = (one for name in ("guid", "id") for one in children(element, name))
        urls = filter(None, map(_permanent_link, ids))
        about = attribute(element, "about") or next(filter(None, sources), "")
        targets = [(about or next(urls, ""), element.base)]
    return ((target, base) for target, base in targets if target)


def _permanent_link(element: Element) -> str:
    """Return the URL that is the id *element*; "" if it is another id. A path may be one, too."""
    target = target_of(element)
    is_path = target.startswith("/") and attribute(element, "ispermalink").lower() == "true"
    return target if is_path or _absolute_url.fullmatch(target) else ""


def _relation(link: Element) -> str:
    """Return the relation of a link, which may be an IRI (RFC 4287, 4.2.7.2)."""
    relation = (attribute(link, "rel") or "alternate").lower()
    return relation.removeprefix("http://www.iana.org/assignments/relation/")


def _first_date(element: Element, *names: str) -> float:
    dates = (parse_date(text_of(child)) for name in names for child in children(element, name))
    return next(filter(None, dates), 0.0)


def _read_header(parsed: PageParsed, header: Element) -> dict[str, str]:
    language = first_text(header, "language") or attribute(header, "lang")
    description = _header_text(header, "description", "subtitle")
    return _header_fields(parsed, _header_text(header, "title"), description, language)


def _header_fields(
    parsed: PageParsed, title: str, description: str, language: str
) -> dict[str, str]:
    """Return what a feed says about itself, as fields of its result *parsed*."""
    return {
        "title": fold_whitespace(title)[:MAX_TITLE_LENGTH],
        "description": fold_whitespace(description)[:MAX_DESCRIPTION_LENGTH],
        "language": language_of_tag(language or parsed.declared_language),
    }


def _header_text(header: Element, *names: str) -> str:
    """Return the text of the first child with one of *names*, which Atom may write as HTML.

    RSS does not say whether a text is HTML: its descriptions have tags, and its titles references.
    """
    found = (child for name in names for child in children(header, name) if text_of(child))
    # An extension has names of its own, such as the short title of iTunes.
    ranked = sorted(found, key=lambda one: prefix_of(one) != prefix_of(header))
    child = next(iter(ranked), None)
    if child is None:
        return ""
    kind, text = attribute(child, "type").lower(), _decode_text(child)
    if len(child):
        return _read_html_text(etree.tostring(child, encoding="unicode", with_tail=False))
    if kind in ("html", "text/html") or local_name(child) == "description":
        return _read_html_text(text)
    return _read_references(text) if local_name(header) == "channel" else text


def _decode_text(element: Element) -> str:
    """Return the text of *element*, which Atom 0.3 may write in Base64, and gateways of mail as an
    encoded word (RFC 2047)."""
    text = text_of(element)
    if attribute(element, "mode").lower() == "base64":
        try:
            return a2b_base64("".join(text.split()), strict_mode=True).decode()
        except (Base64Error, ValueError):
            return text
    return decode_words(text)


def decode_words(text: str) -> str:
    """Return *text* with its encoded words decoded (RFC 2047); unchanged if one is malformed."""
    if not _encoded_word.search(text):
        return text
    try:
        return str(make_header(decode_header(" ".join(text.split()))))
    except (HeaderParseError, LookupError, ValueError):
        return text


def _read_references(text: str) -> str:
    """Return *text* with references of HTML, which feeds of other forms than HTML have, too."""
    return _reference.sub(lambda reference: unescape(reference[0]), text)


def _read_html_text(markup: str) -> str:
    """Return the text of a small piece of HTML."""
    seen = _unseen.sub("", markup)
    return unescape(_tag.sub(lambda tag: "" if tag[1].lower() in INLINE else " ", seen))


def read_json_feed(parsed: PageParsed, feed: dict[str, Any], options: Options) -> PageParsed:
    """Return the entries of a JSON Feed (jsonfeed.org). An id may be the URL of its item."""
    entries, items = EntryCollector(parsed, options), feed.get("items")
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict):
            dates = (parse_date(_text(item, f"date_{name}")) for name in ("modified", "published"))
            url = _text(item, "url") or _text(item, "external_url")
            if not url and _absolute_url.fullmatch(_text(item, "id")):
                url = _text(item, "id")
            entries.add(entries.resolve(url), next(filter(None, dates), 0.0))
    links = [entries.resolve(_text(feed, name)) for name in ("home_page_url", "next_url")]
    title, description = (_read_references(_text(feed, name)) for name in ("title", "description"))
    header = _header_fields(parsed, title, description, _text(feed, "language"))
    return replace(entries.finish(Listing.FEED, *links), **header)


def _text(item: dict[str, Any], name: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) else ""


def read_json(received: ReceivedDocument) -> PageParsed:
    """Return the contents of a JSON document; nothing if it is invalid."""
    parsed, decoded = received.decode(is_html=False)
    try:
        value, is_repaired = decode_json(decoded.text)
    except ValueError:
        return parsed
    parsed = add_hazards_if(parsed, {Hazard.MALFORMED_LISTING: is_repaired})
    if isinstance(value, dict) and _is_json_feed(value, parsed.content_type):
        return read_json_feed(parsed, value, received.options)
    objects = [*find_objects(shorten_names(value))]
    titles = (
        item[name] for item in objects for name in TITLE_NAMES if isinstance(item.get(name), str)
    )
    titled = replace(parsed, title=fold_whitespace(next(titles, ""))[:MAX_TITLE_LENGTH])
    return add_links(titled, _find_targets(objects), received.options)


def _is_json_feed(value: dict[str, Any], kind: str) -> bool:
    is_named = _json_feed.match(str(value.get("version"))) is not None
    return is_named or (kind == JSON_FEED and isinstance(value.get("items"), list))


def _find_targets(objects: list[dict[str, Any]]) -> Iterator[str]:
    for target in (item.get(name) for item in objects for name in LINK_NAMES):
        if isinstance(target, str) and target.lower().startswith(("http://", "https://")):
            yield target
