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
from gossamer.text.folding import fold_whitespace
from services.parser.dates import parse_loose_date, parse_url_date
from services.parser.html.elements import Element, Elements
from services.parser.links import Resolver

MAX_AUTHOR_LENGTH = 200
MAX_ALTERNATES = 200
MAX_LANGUAGE_TAG_LENGTH = 35
MAX_PROPERTIES = 50
MAX_VALUE_LENGTH = 500
MAX_SNIPPETS = 50
MAX_TIMES = 30
"""Elements with a time that are looked at."""
OPEN_GRAPH_PREFIXES = (
    "og:",
    "article:",
    "book:",
    "profile:",
    "video:",
    "music:",
    "product:",
    "twitter:",
)

# fmt: off
PUBLISHED_NAMES = (
    "article:published_time", "og:article:published_time", "article:published", "og:pubdate",
    "datepublished", "article_date_original", "article.published", "dcterms.issued",
    "dc.date.issued", "dcterms.created", "dc.date.created", "citation_publication_date",
    "citation_online_date", "citation_date", "parsely-pub-date", "sailthru.date", "pubdate",
    "pub_date", "publish-date", "publish_date", "publishdate", "publication_date", "published_at",
    "published_time", "published", "pdate", "datecreated", "article.created", "dcterms.date",
    "dc.date", "date",
)
MODIFIED_NAMES = (
    "article:modified_time", "og:article:modified_time", "article:modified", "og:updated_time",
    "datemodified", "article_date_updated", "article.updated", "dcterms.modified",
    "dc.date.modified", "revision_date", "updated-date", "last-modified", "lastmod",
)
AUTHOR_NAMES = (
    "author", "article:author", "og:article:author", "citation_author", "dc.creator",
    "dcterms.creator", "parsely-author", "sailthru.author", "article_author", "content-creator",
)
IMAGE_NAMES = (
    "og:image:secure_url", "og:image", "og:image:url", "twitter:image", "twitter:image:src",
)
# fmt: on
Meta = dict[str, list[str]]
"""Values of meta elements, by name or property in lower case, in the order of the page."""


Fields = dict[str, Any]
Thing = dict[str, Any]


class StatedTime(NamedTuple):
    """When, in epoch seconds, and who says so."""

    at: float = 0.0
    by: str = ""


def collect_meta(elements: Elements) -> Meta:
    """Return what the meta elements say."""
    found: Meta = {}
    said = (element for element in elements.of("meta") if "content" in element.attributes)
    for element, attribute in product(said, ("name", "property", "itemprop")):
        if name := element.get(attribute).strip().lower():
            found.setdefault(name, []).append(element.get("content"))
    return found


def read_about(elements: Elements, meta: Meta, resolver: Resolver, url: str, now: float) -> Fields:
    """Return what the document of *elements* at *url*, read at *now*, says of itself, as fields of
    `Contents`."""
    texts = collect_linked_data(elements)
    thing = find_main_thing(texts)
    linked = (thing.get("datePublished"), thing.get("dateCreated"))
    published = _first_time(elements, meta, now, PUBLISHED_NAMES, linked, ("published", "pubdate"))
    if not published.at and (at := parse_url_date(url, now)):
        published = StatedTime(at, Source.URL.value)
    linked = (thing.get("dateModified"), None)
    modified = _first_time(elements, meta, now, MODIFIED_NAMES, linked, ("modified", "updated"))
    return {
        "author": _find_author(thing, meta, elements),
        "published_at": published.at,
        "published_by": published.by,
        "modified_at": modified.at,
        "modified_by": modified.by,
        "image": _find_image(thing, meta, elements, resolver),
        "alternates": _find_alternates(elements, resolver),
        "open_graph": _open_graph_properties(meta),
        "linked_data": texts,
        "not_in_snippets": tuple(islice(_nosnippet_texts(elements), MAX_SNIPPETS)),
    }


def _first_time(
    elements: Elements,
    meta: Meta,
    now: float,
    names: tuple[str, ...],
    linked: Iterable[Any],
    marks: tuple[str, ...],
) -> StatedTime:
    """Return the first time that is one, and who says it: linked data, meta elements with one of
    *names*, elements with one of *marks*."""
    sources = (
        (Source.LINKED_DATA, map(linked_text, linked)),
        *_meta_values(meta, names),
        (Source.TIME, _time_elements(elements, marks)),
    )
    for source, values in sources:
        for value in values:
            if at := parse_loose_date(value, now):
                return StatedTime(at, source.value)
    return StatedTime()


def _meta_values(meta: Meta, names: Iterable[str]) -> Iterator[tuple[Source, Iterable[str]]]:
    for name in names:
        if values := meta.get(name):
            is_open_graph = name.startswith(OPEN_GRAPH_PREFIXES)
            yield Source.OPEN_GRAPH if is_open_graph else Source.META, values


def _time_elements(elements: Elements, words: tuple[str, ...]) -> Iterator[str]:
    """Yield what the elements hold that are marked as the time of what one of *words* says; the
    only time of a page is that of its publication."""
    every = list(islice(elements.of("time"), MAX_TIMES))
    for element in every:
        marks = (element.get("itemprop"), element.get("class"), " ".join(element.attributes))
        is_it = any(word in mark.lower() for mark in marks for word in words)
        if is_it or ("published" in words and len(every) == 1):
            yield element.get("datetime") or element.node.text()


def _find_author(thing: Thing, meta: Meta, elements: Elements) -> str:
    said = (
        linked_names(thing.get("author") or thing.get("creator")),
        *(value for name in AUTHOR_NAMES for value in meta.get(name, ())),
        *(element.node.text() for element in _elements_with_rel(elements, "author")),
    )
    names = (
        fold_whitespace(name) for name in said if not name.lstrip().startswith(("http", "@", "//"))
    )
    return next((name[:MAX_AUTHOR_LENGTH] for name in names if name), "")


def _elements_with_rel(elements: Elements, rel: str) -> Iterator[Element]:
    return (element for element in elements.of("a") if rel in element.tokens("rel"))


def _find_image(thing: Thing, meta: Meta, elements: Elements, resolver: Resolver) -> str:
    said = (
        *(value for name in IMAGE_NAMES for value in meta.get(name, ())),
        linked_url(thing.get("image")),
        *(one.get("href") for one in elements.of("link") if "image_src" in one.tokens("rel")),
    )
    return next((url for given in said if given.strip() and (url := resolver.url(given))), "")


def _find_alternates(elements: Elements, resolver: Resolver) -> dict[str, str]:
    found: dict[str, str] = {}
    for element in elements.of("link"):
        language = element.get("hreflang").strip().lower()
        if (
            language
            and len(language) <= MAX_LANGUAGE_TAG_LENGTH
            and "alternate" in element.tokens("rel")
        ):
            if len(found) == MAX_ALTERNATES:
                break
            if url := resolver.url(element.get("href")):
                found.setdefault(language, url)
    return found


def _nosnippet_texts(elements: Elements) -> Iterator[str]:
    for element in elements.every:
        if "data-nosnippet" in element.attributes:
            yield fold_whitespace(element.node.text(separator=" "))[:MAX_VALUE_LENGTH]


def _open_graph_properties(meta: Meta) -> dict[str, str]:
    said = (
        (name, values[0]) for name, values in meta.items() if name.startswith(OPEN_GRAPH_PREFIXES)
    )
    return {
        name: fold_whitespace(value)[:MAX_VALUE_LENGTH]
        for name, value in islice(said, MAX_PROPERTIES)
    }


LINKED_DATA_TYPE = "application/ld+json"
MAX_SCRIPTS = 20
MAX_CHARACTERS = 100_000
"""Most of all scripts together that are looked at."""
MAX_THINGS = 500
"""Most things of a script that are looked at."""
MAX_PEOPLE = 5

_script_wrapping = re.compile(
    r"^\s*(?:<!--|//\s*<!\[CDATA\[|<!\[CDATA\[)|(?:-->|(?://\s*)?\]\]>)\s*;?\s*$"
)
_page_types = re.compile(
    "WebPage$|^(?:Recipe|Product|Event|VideoObject|Book|Movie|JobPosting|Course)$"
)


def collect_linked_data(elements: Elements) -> tuple[str, ...]:
    """Return the texts of linked data, as they stand in the page, as far as there is room."""
    found, room = list[str](), MAX_CHARACTERS
    for element in elements.of("script"):
        if element.get("type").strip().lower().startswith(LINKED_DATA_TYPE):
            text = _script_wrapping.sub("", element.node.text()).strip()
            if text and len(text) <= room and len(found) < MAX_SCRIPTS:
                found.append(text)
                room -= len(text)
    return tuple(found)


def find_main_thing(texts: tuple[str, ...]) -> Thing:
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
    for _ in range(MAX_THINGS):
        if not waiting:
            return
        one = waiting.pop(0)
        if isinstance(one, list):
            waiting += one[:MAX_THINGS]
        elif isinstance(one, dict):
            yield one
            waiting += [part for part in (one.get("@graph"), one.get("mainEntity")) if part]


def _rank(thing: Thing) -> int:
    kinds = thing.get("@type")
    names = [str(kind) for kind in kinds] if isinstance(kinds, list) else [str(kinds)]
    if any(name.endswith(("Article", "BlogPosting", "Report")) for name in names):
        return 3
    if any(_page_types.search(name) for name in names):
        return 2
    return 1 if "datePublished" in thing else 0


def linked_text(said: Any) -> str:
    """Return *said* as text: a string, or the first one of a list; "" of anything else."""
    one = said[0] if isinstance(said, list) and said else said
    return str(one) if isinstance(one, str | int | float) else ""


def linked_names(said: Any) -> str:
    """Return the names of people or organisations, separated by commas."""
    every = said[:MAX_PEOPLE] if isinstance(said, list) else [said]
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
