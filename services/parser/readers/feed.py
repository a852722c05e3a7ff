"""Feeds: RSS 0.9 to 2.0 (also as RDF), Atom (RFC 4287, 5005) and JSON Feed.

An entry is a link with the date when it changed last, or was published. What it says is not taken:
the page that it leads to says it, too.
"""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from gossamer.events import Listing, PageParsed
from gossamer.text.folding import folded
from services.parser.dates import instant
from services.parser.document import DESCRIPTION_LIMIT, TITLE_LIMIT
from services.parser.options import Options
from services.parser.readers.entries import Entries
from services.parser.readers.xml import Element, children, elements, said, text_of
from services.parser.text import language_of

ROOTS = frozenset({"rss", "RDF", "feed"})
OTHERS = ("alternate", "next", "previous", "prev-archive", "next-archive")
"""Where a feed leads besides: to its site, and to more of itself."""
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"


def read_xml(parsed: PageParsed, body: bytes, options: Options) -> PageParsed:
    """Return what the RSS or Atom in *body*, in UTF-8, lists."""
    entries, others = Entries(parsed, options), list[str]()
    for element in elements(body, "item", "entry", "channel", "feed"):
        if element.tag.rpartition("}")[2] in ("item", "entry"):
            changed_at = _first_date(element, "updated", "modified", "date", "pubDate", "published")
            for target in _targets(element, ("alternate",)):
                entries.add(entries.resolved(target, element.base), changed_at)
        else:
            others += [entries.resolved(url, element.base) for url in _targets(element, OTHERS)]
            parsed = _described(parsed, element)
        if entries.is_full:
            break
    return _with_header(entries.listed(Listing.FEED, *others), parsed)


def _targets(element: Element, relations: tuple[str, ...]) -> Iterator[str]:
    links = [*children(element, "link")]
    targets = [text_of(link) for link in links if text_of(link)]
    targets += [link.get("href", "") for link in links if link.get("rel", "alternate") in relations]
    if not any(targets):
        # A guid is a link unless it says that it is none; and some say so of one.
        guid = said(element, "guid")
        targets = [element.get(ABOUT, "") or (guid if "://" in guid else "")]
    return filter(None, targets)


def _first_date(element: Element, *names: str) -> float:
    dates = (instant(text_of(one)) for name in names for one in children(element, name))
    return next(filter(None, dates), 0.0)


def _described(parsed: PageParsed, header: Element) -> PageParsed:
    language = said(header, "language") or header.get(LANGUAGE, "")
    return replace(
        parsed,
        title=folded(said(header, "title"))[:TITLE_LIMIT],
        description=folded(said(header, "description", "subtitle"))[:DESCRIPTION_LIMIT],
        language=language_of("", language),
    )


def _with_header(listed: PageParsed, header: PageParsed) -> PageParsed:
    return replace(
        listed, title=header.title, description=header.description, language=header.language
    )


def read_json(parsed: PageParsed, feed: dict[str, Any], options: Options) -> PageParsed:
    """Return what a JSON Feed (jsonfeed.org) lists."""
    entries, items = Entries(parsed, options), feed.get("items")
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict):
            date = instant(_text(item, "date_modified")) or instant(_text(item, "date_published"))
            url = _text(item, "url") or _text(item, "external_url")
            entries.add(entries.resolved(url), date)
    others = [entries.resolved(_text(feed, name)) for name in ("home_page_url", "next_url")]
    return replace(
        entries.listed(Listing.FEED, *others),
        title=folded(_text(feed, "title"))[:TITLE_LIMIT],
        description=folded(_text(feed, "description"))[:DESCRIPTION_LIMIT],
        language=language_of("", _text(feed, "language")),
    )


def _text(of: dict[str, Any], name: str) -> str:
    value = of.get(name)
    return value if isinstance(value, str) else ""
