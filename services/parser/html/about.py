"""What a page says of itself: who wrote it and when, in which languages it is, what it is shown by.

Who is most often right is asked first: linked data (schema.org), the properties of OpenGraph, other
meta elements, elements that hold a time, and of a page's birth last its URL. What is said is taken
as it is, and with it who says so; nothing is looked for in the text.


Linked data in a page (JSON-LD, schema.org): what it says of the page itself.

A page describes many things: its publisher, the path to it, what it recommends. What is most like
an article or a page is taken for itself.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import Any, NamedTuple

from gossamer.events.pages import Source
from gossamer.text.folding import folded
from services.parser.dates import date_in_url, parse_loose_date
from services.parser.html.elements import Element, Elements
from services.parser.links import Resolver

AUTHOR_LIMIT = 200
LANGUAGES = 200
TAG_LIMIT = 35
PROPERTIES = 50
VALUE_LIMIT = 500
SNIPPETS = 50
TIMES = 30
"""Elements with a time that are looked at."""
OPEN_GRAPH = ("og:", "article:", "book:", "profile:", "video:", "music:", "product:", "twitter:")

# fmt: off
PUBLISHED = (
    "article:published_time", "og:article:published_time", "article:published", "og:pubdate",
    "datepublished", "article_date_original", "article.published", "dcterms.issued",
    "dc.date.issued", "dcterms.created", "dc.date.created", "citation_publication_date",
    "citation_online_date", "citation_date", "parsely-pub-date", "sailthru.date", "pubdate",
    "pub_date", "publish-date", "publish_date", "publishdate", "publication_date", "published_at",
    "published_time", "published", "pdate", "datecreated", "article.created", "dcterms.date",
    "dc.date", "date",
)
MODIFIED = (
    "article:modified_time", "og:article:modified_time", "article:modified", "og:updated_time",
    "datemodified", "article_date_updated", "article.updated", "dcterms.modified",
    "dc.date.modified", "revision_date", "updated-date", "last-modified", "lastmod",
)
AUTHORS = (
    "author", "article:author", "og:article:author", "citation_author", "dc.creator",
    "dcterms.creator", "parsely-author", "sailthru.author", "article_author", "content-creator",
)
IMAGES = ("og:image:secure_url", "og:image", "og:image:url", "twitter:image", "twitter:image:src")
# fmt: on
Meta = dict[str, list[str]]
"""Values of meta elements, by name or property in lower case, in the order of the page."""


Fields = dict[str, Any]
Thing = dict[str, Any]


class Time(NamedTuple):
    """When, in epoch seconds, and who says so."""

    at: float = 0.0
    by: str = ""


def meta_of(elements: Elements) -> Meta:
    """Return what the meta elements say."""
    found: Meta = {}
    said = (element for element in elements.of("meta") if "content" in element.attributes)
    for element, attribute in product(said, ("name", "property", "itemprop")):
        if name := element.get(attribute).strip().lower():
            found.setdefault(name, []).append(element.get("content"))
    return found


def about(elements: Elements, meta: Meta, resolver: Resolver, url: str, now: float) -> Fields:
    """Return what the document of *elements* at *url*, read at *now*, says of itself, as fields of
    `Contents`."""
    texts = linked_data_scripts(elements)
    thing = main_thing(texts)
    linked = (thing.get("datePublished"), thing.get("dateCreated"))
    published = _said(elements, meta, now, PUBLISHED, linked, ("published", "pubdate"))
    if not published.at and (at := date_in_url(url, now)):
        published = Time(at, Source.URL.value)
    linked = (thing.get("dateModified"), None)
    modified = _said(elements, meta, now, MODIFIED, linked, ("modified", "updated"))
    return {
        "author": _author(thing, meta, elements),
        "published_at": published.at,
        "published_by": published.by,
        "modified_at": modified.at,
        "modified_by": modified.by,
        "image": _image(thing, meta, elements, resolver),
        "alternates": _alternates(elements, resolver),
        "open_graph": _open_graph(meta),
        "linked_data": texts,
        "not_in_snippets": tuple(islice(_not_in_snippets(elements), SNIPPETS)),
    }


def _said(
    elements: Elements,
    meta: Meta,
    now: float,
    names: tuple[str, ...],
    linked: Iterable[Any],
    marks: tuple[str, ...],
) -> Time:
    """Return the first time that is one, and who says it: linked data, meta elements with one of
    *names*, elements with one of *marks*."""
    sources = (
        (Source.LINKED_DATA, map(linked_text, linked)),
        *_named(meta, names),
        (Source.TIME, _times(elements, marks)),
    )
    for source, values in sources:
        for value in values:
            if at := parse_loose_date(value, now):
                return Time(at, source.value)
    return Time()


def _named(meta: Meta, names: Iterable[str]) -> Iterator[tuple[Source, Iterable[str]]]:
    for name in names:
        if values := meta.get(name):
            is_open_graph = name.startswith(OPEN_GRAPH)
            yield Source.OPEN_GRAPH if is_open_graph else Source.META, values


def _times(elements: Elements, words: tuple[str, ...]) -> Iterator[str]:
    """Yield what the elements hold that are marked as the time of what one of *words* says; the
    only time of a page is that of its publication."""
    every = list(islice(elements.of("time"), TIMES))
    for element in every:
        marks = (element.get("itemprop"), element.get("class"), " ".join(element.attributes))
        is_it = any(word in mark.lower() for mark in marks for word in words)
        if is_it or ("published" in words and len(every) == 1):
            yield element.get("datetime") or element.node.text()


def _author(thing: Thing, meta: Meta, elements: Elements) -> str:
    said = (
        linked_names(thing.get("author") or thing.get("creator")),
        *(value for name in AUTHORS for value in meta.get(name, ())),
        *(element.node.text() for element in _with_rel(elements, "author")),
    )
    names = (folded(name) for name in said if not name.lstrip().startswith(("http", "@", "//")))
    return next((name[:AUTHOR_LIMIT] for name in names if name), "")


def _with_rel(elements: Elements, rel: str) -> Iterator[Element]:
    return (element for element in elements.of("a") if rel in element.tokens("rel"))


def _image(thing: Thing, meta: Meta, elements: Elements, resolver: Resolver) -> str:
    said = (
        *(value for name in IMAGES for value in meta.get(name, ())),
        linked_url(thing.get("image")),
        *(one.get("href") for one in elements.of("link") if "image_src" in one.tokens("rel")),
    )
    return next((url for given in said if given.strip() and (url := resolver.url(given))), "")


def _alternates(elements: Elements, resolver: Resolver) -> dict[str, str]:
    found: dict[str, str] = {}
    for element in elements.of("link"):
        language = element.get("hreflang").strip().lower()
        if language and len(language) <= TAG_LIMIT and "alternate" in element.tokens("rel"):
            if len(found) == LANGUAGES:
                break
            if url := resolver.url(element.get("href")):
                found.setdefault(language, url)
    return found


def _not_in_snippets(elements: Elements) -> Iterator[str]:
    for element in elements.every:
        if "data-nosnippet" in element.attributes:
            yield folded(element.node.text(separator=" "))[:VALUE_LIMIT]


def _open_graph(meta: Meta) -> dict[str, str]:
    said = ((name, values[0]) for name, values in meta.items() if name.startswith(OPEN_GRAPH))
    return {name: folded(value)[:VALUE_LIMIT] for name, value in islice(said, PROPERTIES)}


TYPE = "application/ld+json"
SCRIPTS = 20
CHARACTERS = 100_000
"""Most of all scripts together that are looked at."""
THINGS = 500
"""Most things of a script that are looked at."""
PEOPLE = 5

_wrapping = re.compile(
    r"^\s*(?:<!--|//\s*<!\[CDATA\[|<!\[CDATA\[)|(?:-->|(?://\s*)?\]\]>)\s*;?\s*$"
)
_pages = re.compile("WebPage$|^(?:Recipe|Product|Event|VideoObject|Book|Movie|JobPosting|Course)$")


def linked_data_scripts(elements: Elements) -> tuple[str, ...]:
    """Return the texts of linked data, as they stand in the page, as far as there is room."""
    found, room = list[str](), CHARACTERS
    for element in elements.of("script"):
        if element.get("type").strip().lower().startswith(TYPE):
            text = _wrapping.sub("", element.node.text()).strip()
            if text and len(text) <= room and len(found) < SCRIPTS:
                found.append(text)
                room -= len(text)
    return tuple(found)


def main_thing(texts: tuple[str, ...]) -> Thing:
    """Return what *texts* say of the page; nothing where none of them is about it."""
    about: list[tuple[int, Thing]] = []
    for text in texts:
        try:
            said = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            continue
        about += [(rank, thing) for thing in _things(said) if (rank := _rank(thing))]
    return max(about, key=lambda one: one[0], default=(0, Thing()))[1]


def _things(said: Any) -> Iterator[Thing]:
    waiting = [said]
    for _ in range(THINGS):
        if not waiting:
            return
        one = waiting.pop(0)
        if isinstance(one, list):
            waiting += one[:THINGS]
        elif isinstance(one, dict):
            yield one
            waiting += [part for part in (one.get("@graph"), one.get("mainEntity")) if part]


def _rank(thing: Thing) -> int:
    kinds = thing.get("@type")
    names = [str(kind) for kind in kinds] if isinstance(kinds, list) else [str(kinds)]
    if any(name.endswith(("Article", "BlogPosting", "Report")) for name in names):
        return 3
    if any(_pages.search(name) for name in names):
        return 2
    return 1 if "datePublished" in thing else 0


def linked_text(said: Any) -> str:
    """Return *said* as text: a string, or the first one of a list; "" of anything else."""
    one = said[0] if isinstance(said, list) and said else said
    return str(one) if isinstance(one, str | int | float) else ""


def linked_names(said: Any) -> str:
    """Return the names of people or organisations, separated by commas."""
    every = said[:PEOPLE] if isinstance(said, list) else [said]
    names = (
        linked_text(one.get("name")) if isinstance(one, dict) else linked_text(one) for one in every
    )
    return ", ".join(dict.fromkeys(one.strip() for one in names if one.strip()))


def linked_url(said: Any) -> str:
    """Return the URL of an image or another thing."""
    one = said[0] if isinstance(said, list) and said else said
    return (
        linked_text(one.get("url") or one.get("contentUrl"))
        if isinstance(one, dict)
        else linked_text(one)
    )
