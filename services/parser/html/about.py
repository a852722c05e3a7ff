"""Metadata of a page: author, dates, languages, image, OpenGraph and linked data.

The most reliable source wins: linked data (JSON-LD, schema.org), OpenGraph properties, other meta
elements, elements with a time, and for the date of publication the URL. Values are published as
they are, with their source. The text is not searched.

Linked data describes many things: the publisher, breadcrumbs, recommended pages. The thing that is
most like an article or a page is the page itself. A thing may be named by its `@id` in one place,
and described in another one (JSON-LD 1.1, 3.3). Microdata (HTML standard, 5.2) describes things,
too: the dates and authors of comments, reviews and pictures are not those of the page. Neither are
the times in comments without microdata, and in teasers of other pages.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from html import unescape
from itertools import chain, islice, product, takewhile
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborNode

from gossamer.events.pages import Source
from gossamer.services.parser.dates import parse_url_date, parse_web_date
from gossamer.services.parser.html.elements import CARD_SELECTOR, Element, Elements, ancestors
from gossamer.services.parser.lenient_json import decode_json, find_objects, shorten_names
from gossamer.services.parser.links import MAX_LANGUAGE_TAG_LENGTH, Resolver
from gossamer.text.blocks import fold_whitespace, word_set, words_of

MAX_AUTHOR_LENGTH = 200
MAX_ALTERNATES = 200
MAX_PROPERTIES = 50
MAX_VALUE_LENGTH = 500
MAX_SNIPPETS = 50
MAX_TIMES = 30
"""Most elements with a time that are read."""
LINKED_DATA_TYPE = "application/ld+json"
MAX_SCRIPTS = 20
MAX_CHARACTERS = 100_000
"""Most characters of all linked data of a page."""
MAX_THINGS = 500
"""Most things of a script that are examined."""
MAX_PARTS = 5_000
"""Most objects of the linked data that are searched for the one with an id."""
MAX_PEOPLE = 5
MAX_CARDS = 20
"""Most names in microformats that are examined."""
OTHER_TYPES = word_set("""
    Comment UserComments Answer Review UserReview CriticReview Rating Person Organization
    ImageObject Offer AggregateRating WebSite
""")
"""Types of things on a page whose dates and authors are not those of the page."""
OTHER_PROPERTIES = word_set("""
    citation comment review acceptedAnswer suggestedAnswer itemListElement isRelatedTo
    isSimilarTo
""")
"""Properties whose values are other things, of any type: a paper cites papers."""
COMMENT_MARKS = word_set("""
    comment comments commentlist comment-list comments-list comments-area comment-body
    comment-content comment-meta comment-metadata u-comment
""")
"""Classes and ids of comments. The body has others, such as `comments-open`."""
MAX_DEPTH = 40
"""Most ancestors of a time that are examined."""
MAX_BOOKMARKS = 100
"""Most permanent links of entries that are examined."""
PROPERTIES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("published", "pubdate", "entry-date"): (
        *("datePublished", "dateCreated", "uploadDate", "datePosted"),
        # Dublin Core, in RDFa.
        *("issued", "created"),
    ),
    ("modified", "updated"): ("dateModified", "modified"),
}
"""The names of dates in microdata and RDFa, by the marks of elements with a time."""
NAME_SELECTOR = "[itemprop~=name], [property~=name], [property~='schema:name']"
ARTICLE_TYPES = ("Article", "BlogPosting")
THREAD_TYPES = ("DiscussionForumPosting", "QAPage")
OPEN_GRAPH_PREFIXES = words_of("og: article: book: profile: video: music: product: twitter:")
PUBLISHED_NAMES = words_of("""
    article:published_time og:article:published_time og:published_time article:published og:pubdate
    og:regdate datepublished article_date_original article.published dcterms.issued dc.date.issued
    dc.issued dcterms.created dc.date.created dc.created citation_publication_date
    citation_online_date citation_date parsely-pub-date sailthru.date pubdate pub_date publish-date
    publish_date publishdate publication_date published_at published_time published pdate
    prism.publicationdate bepress_citation_date sw-pubdate cxenseparse:publishtime
    cxenseparse:recs:publishtime datecreated article.created dcterms.date dc.date created date
""")
MODIFIED_NAMES = words_of("""
    article:modified_time og:article:modified_time article:modified og:updated_time datemodified
    article_date_updated article.updated dcterms.modified dc.date.modified revision_date
    updated-date last-modified lastmodified lastmod
""")
AUTHOR_NAMES = words_of("""
    article:author author og:article:author citation_author dc.creator dcterms.creator
    parsely-author sailthru.author article_author content-creator authors dc.creator.personalname
    byl byline
""")
TITLE_NAMES = words_of("""
    og:title twitter:title citation_title dc.title dcterms.title parsely-title headline
""")
DESCRIPTION_NAMES = words_of("""
    description og:description twitter:description dc.description dcterms.description
    dcterms.abstract abstract
""")
IMAGE_NAMES = words_of("og:image:secure_url og:image og:image:url twitter:image twitter:image:src")
_dublin_core = re.compile("(dc|dcterms):")
_tag = re.compile(r"<[^<>]*>")
_address = re.compile(r"(?:mailto:)?[^\s@<>]+@[^\s@<>]+", re.IGNORECASE)
_byline = re.compile(r"(?:written |posted )?by:? ", re.IGNORECASE)
_type = r'"@type"\s*:\s*(?:\[[^\]]*)?"(?:\w+:|https?:\\?/\\?/(?:www\.)?schema\.org\\?/)?'
_article = re.compile(rf'{_type}\w*(?:Article|BlogPosting|Report)"')
_thread = re.compile(rf'{_type}(?:DiscussionForumPosting|QAPage)"')
_script_wrapping = re.compile(
    r"^[\s\ufeff]*(?:<!--[^{}\[\]]*-->|<!--|(?://|/\*)?\s*<!\[CDATA\[(?:\s*\*/)?)?|"
    r"(?:-->|(?://|/\*)?\s*\]\]>(?:\s*\*/)?)?\s*;?\s*$"
)
_page_types = re.compile(
    "WebPage$|^(?:Recipe|Product|Event|VideoObject|Book|Movie|JobPosting|Course)$"
)

Fields = dict[str, Any]
Thing = dict[str, Any]
Meta = dict[str, list[str]]
"""Values of meta elements, by name or property in lower case, in document order."""


class StatedTime(NamedTuple):
    """A time in epoch seconds, and its source."""

    at: float = 0.0
    source: str = ""


def collect_meta(elements: Elements) -> Meta:
    """Return the values of the meta elements. A property of RDFa may have several names."""
    values: Meta = {}
    metas = (element for element in elements.of("meta") if "content" in element.attributes)
    for element, attribute in product(metas, ("name", "property", "itemprop")):
        if attribute not in element.attributes:
            continue
        stated = element.get(attribute).strip().lower()
        if attribute == "itemprop" and not (stated and _rank_of_item(element.node)):
            continue
        for name in stated.split() if attribute == "property" else filter(None, [stated]):
            name = _dublin_core.sub(r"\1.", name)
            values.setdefault(name, []).append(element.get("content"))
    return values


def read_about(elements: Elements, meta: Meta, resolver: Resolver, url: str, now: float) -> Fields:
    """Return the metadata of the document of *elements* at *url*, as fields of `Contents`.

    Title and description are those of linked data, which count if the page has no others. Times
    after *now* are ignored.
    """
    texts = collect_linked_data(elements)
    data = LinkedData(texts, lambda target: resolver.resolve(target) == url)
    thing = data.main
    marks = ("published", "pubdate", "entry-date")
    linked = [*map(thing.get, PROPERTIES[marks])]
    published = _first_time(elements, meta, now, PUBLISHED_NAMES, linked, marks, url)
    if not published.at and (at := parse_url_date(url, now)):
        published = StatedTime(at, Source.URL.value)
    linked = [thing.get("dateModified")]
    changes = ("modified", "updated")
    modified = _first_time(elements, meta, now, MODIFIED_NAMES, linked, changes, url)
    return {
        "title": _without_tags(linked_text(thing.get("headline") or thing.get("name"))),
        "description": _without_tags(linked_text(thing.get("description"))),
        "author": _find_author(data, meta, elements),
        "published_at": published.at,
        "published_by": published.source,
        "modified_at": modified.at,
        "modified_by": modified.source,
        "image": _find_image(data, meta, elements, resolver),
        "alternates": _find_alternates(elements, resolver),
        "open_graph": _open_graph_properties(meta),
        "linked_data": texts,
        "not_in_snippets": tuple(islice(_nosnippet_texts(elements), MAX_SNIPPETS)),
    }


def is_article(linked_data: Iterable[str], meta: Meta, elements: Elements) -> bool:
    """Return whether the document states that it is an article: in OpenGraph, or by a type of
    schema.org."""
    return (
        "article" in map(str.lower, meta.get("og:type", ()))
        or any(map(_article.search, linked_data))
        or _has_item(elements, ARTICLE_TYPES)
    )


def is_thread(linked_data: Iterable[str], elements: Elements) -> bool:
    """Return whether the document states that it is a discussion: by a type of schema.org."""
    return any(map(_thread.search, linked_data)) or _has_item(elements, THREAD_TYPES)


def _has_item(elements: Elements, types: tuple[str, ...]) -> bool:
    """Return whether the name of an item's type ends with one of *types*."""
    return "itemtype" in elements.names and any(
        element.get("itemtype").endswith(types) for element in elements.all
    )


def _first_time(
    elements: Elements,
    meta: Meta,
    now: float,
    names: tuple[str, ...],
    linked: Iterable[Any],
    marks: tuple[str, ...],
    url: str,
) -> StatedTime:
    """Return the first valid time in *linked* data, meta *names*, or elements with *marks*."""
    sources = (
        (Source.LINKED_DATA, map(linked_text, linked)),
        *_meta_values(meta, names),
        (Source.TIME, _microdata_values(elements, *PROPERTIES[marks])),
        (Source.TIME, _time_elements(elements, marks, url)),
    )
    for source, values in sources:
        for value in filter(None, values):
            if at := parse_web_date(value, now):
                return StatedTime(at, source.value)
    return StatedTime()


def _meta_values(meta: Meta, names: Iterable[str]) -> Iterator[tuple[Source, Iterable[str]]]:
    for name in names:
        if name in meta and (values := meta[name]):
            is_open_graph = name.startswith(OPEN_GRAPH_PREFIXES)
            yield Source.OPEN_GRAPH if is_open_graph else Source.META, values


def _time_elements(elements: Elements, words: tuple[str, ...], url: str) -> Iterator[str]:
    """Yield the times of elements whose attributes contain one of *words*, on the page *url*.

    The only time on a page counts as the time of its publication.
    """
    stamps = [*islice(elements.of("time", "abbr"), MAX_TIMES)]
    if not stamps:
        return
    bookmarks = islice(_elements_with_rel(elements, "bookmark"), MAX_BOOKMARKS)
    entries = {one.mem_id for link in bookmarks for one in _parts_around(link.node)}
    times = [
        element
        for element in stamps
        if (not element.properties or _rank_of_item(element.node))
        and not _is_of_comment(element.node)
        and not (entries and _is_of_other_entry(element.node, entries, url))
    ]
    for element in times:
        marks = (*element.properties, element.get("class"), " ".join(element.attributes))
        if any(word in mark.lower() for mark in marks for word in words):
            yield from _stated_times(element)
    if "published" in words:
        stated = {tuple(_stated_times(element)): element.node for element in times}
        if len(stated) == 1 and not _is_beside_the_text(*stated.values()):
            yield from next(iter(stated))


def _stated_times(element: Element) -> Iterator[str]:
    """Yield the time of an element, the exact form first: `01-11-2023` is in its text, too."""
    yield from filter(None, (element.get("datetime") or element.get("title"), element.node.text()))


def _parts_around(node: LexborNode) -> Iterator[LexborNode]:
    """Yield the elements around *node* below the body, the inner ones first."""
    around = islice(ancestors(node), MAX_DEPTH)
    return takewhile(lambda one: one.tag not in ("body", "html"), around)


def _is_of_comment(node: LexborNode) -> bool:
    return any(
        not COMMENT_MARKS.isdisjoint((attributes.get("class") or "").lower().split())
        or (attributes.get("id") or "").lower() in COMMENT_MARKS
        for attributes in (one.attributes for one in _parts_around(node))
    )


def _is_of_other_entry(node: LexborNode, entries: set[int], url: str) -> bool:
    """Return whether the innermost of *entries* around *node* has no permanent link to *url*, but
    one to another page. A page may have further parts below its permanent link."""
    entry = next((one for one in _parts_around(node) if one.mem_id in entries), None)
    if entry is None:
        return False
    page = urlsplit(url)
    for link in islice(entry.css("a[rel~=bookmark]"), MAX_BOOKMARKS):
        target = urlsplit(_join(url, link.attributes.get("href") or ""))
        is_part = target.path != "/" and f"{page.path}/".startswith(f"{target.path.rstrip('/')}/")
        if is_part or (target.path, target.query) == (page.path, page.query):
            return False
    return True


def _join(url: str, target: str) -> str:
    try:
        return urljoin(url, target)
    except ValueError:
        return ""


def _is_beside_the_text(node: LexborNode) -> bool:
    """Return whether *node* is in a footer, an aside or a menu of the page, not of an article."""
    tags = [one.tag for one in _parts_around(node)]
    return not {"footer", "aside", "nav"}.isdisjoint(tags) and not {"article", "main"} & {*tags}


def _microdata_values(elements: Elements, *names: str) -> Iterator[str]:
    """Yield the values of the properties with *names* that are properties of the page."""
    items = (
        (item, rank)
        for name in names
        for item in elements.items
        if name in item.properties and (rank := _rank_of_item(item.node))
    )
    for item, _ in sorted(islice(items, MAX_TIMES), key=lambda pair: -pair[1]):
        yield _item_value(item)


def _rank_of_item(node: LexborNode) -> int:
    """Return how much the item of a property is like the page; 0 if it is another thing."""
    for scope in ancestors(node):
        attributes = scope.attributes
        if "itemscope" in attributes or "typeof" in attributes:
            if not OTHER_PROPERTIES.isdisjoint((attributes.get("itemprop") or "").split()):
                return 0
            stated = attributes.get("itemtype") or attributes.get("typeof") or ""
            kinds = [kind.rpartition("/")[2].rpartition(":")[2] for kind in stated.split()]
            other = any(kind in OTHER_TYPES for kind in kinds)
            return 0 if other else max(1, *map(_rank_of_type, kinds), 1)
    return 1


def _item_value(item: Element) -> str:
    """Return the value of a property (HTML standard, 5.2.4; `content` as in schema.org's texts)."""
    stated = item.get("content") or item.get("datetime") or item.get("value")
    if item.tag == "abbr":
        # Blogger has the time in the title of an abbreviation, as in hAtom.
        stated = stated or item.get("title")
    if not stated and ("itemscope" in item.attributes or "typeof" in item.attributes):
        names = item.node.css(NAME_SELECTOR)
        named = next((one for one in names if _scope_of(one) == item.node.mem_id), None)
        return (named.attributes.get("content") or named.text()) if named else ""
    return stated or item.node.text()


def _scope_of(node: LexborNode) -> int:
    """Return the id of the element of the item that *node* is a property of; 0 if it has none."""
    scopes = (
        one.mem_id
        for one in _parts_around(node)
        if not {"itemscope", "typeof"}.isdisjoint(one.attributes)
    )
    return next(scopes, 0)


def _find_author(data: "LinkedData", meta: Meta, elements: Elements) -> str:
    candidates = chain(
        (data.names(data.main.get(name)) for name in ("author", "creator")),
        (_join_names(meta.get(name, ())) for name in AUTHOR_NAMES),
        _microdata_values(elements, "author", "creator"),
        (element.node.text() for element in _elements_with_rel(elements, "author")),
        _only_name(elements),
    )
    address = ""
    for name in map(_clean_name, filter(_is_name, candidates)):
        if name and not _address.fullmatch(name):
            return name[:MAX_AUTHOR_LENGTH]
        address = address or name
    return address[:MAX_AUTHOR_LENGTH]


def _is_name(text: str) -> bool:
    return not text.lstrip().startswith(("http", "@", "/")) and any(map(str.isalpha, text))


def _clean_name(text: str) -> str:
    """Return a name without markup and without the *by* before it."""
    name = fold_whitespace(_tag.sub("", text))
    byline = _byline.match(name)
    return name[byline.end() :] if byline else name


def _without_tags(text: str) -> str:
    """Return *text* without tags; unchanged if none of them ends an element."""
    return _tag.sub("", text) if "</" in text else text


def _join_names(values: Iterable[str]) -> str:
    """Return the names in elements of one kind: a paper has one for each author."""
    names = filter(None, map(_clean_name, filter(_is_name, values)))
    return ", ".join(islice(dict.fromkeys(names), MAX_PEOPLE))


def _only_name(elements: Elements) -> Iterator[str]:
    """Yield the only name in hAtom or h-entry (microformats), which WordPress writes."""
    # Without a call for each element: a page has hundreds, and hardly one is a name.
    named = (
        one
        for one in elements.all
        if "class" in one.attributes
        and (marks := one.attributes["class"])
        and ("fn" in marks or "p-author" in marks)
    )
    cards = (one.node for one in islice(named, MAX_CARDS) if one.node.css_matches(CARD_SELECTOR))
    names = {fold_whitespace(card.text()) for card in cards}
    if len(names) == 1:
        yield from names


def _elements_with_rel(elements: Elements, rel: str) -> Iterator[Element]:
    return (
        element
        for element in elements.of("a")
        if "rel" in element.attributes and rel in element.relations
    )


def _find_image(data: "LinkedData", meta: Meta, elements: Elements, resolver: Resolver) -> str:
    targets = (
        *(value for name in IMAGE_NAMES for value in meta.get(name, ())),
        data.url(data.main.get("image")),
        *(link.get("href") for link in elements.of("link") if "image_src" in link.relations),
    )
    urls = (resolver.resolve(target) for target in targets if target.strip())
    return next(filter(None, urls), "")


def _find_alternates(elements: Elements, resolver: Resolver) -> dict[str, str]:
    alternates: dict[str, str] = {}
    for element in elements.of("link"):
        language = element.get("hreflang").strip().lower()
        is_tag = language and len(language) <= MAX_LANGUAGE_TAG_LENGTH
        if is_tag and "alternate" in element.relations:
            if len(alternates) == MAX_ALTERNATES:
                break
            if url := resolver.resolve(element.get("href")):
                alternates.setdefault(language, url)
    return alternates


def _nosnippet_texts(elements: Elements) -> Iterator[str]:
    for element in elements.all:
        if "data-nosnippet" in element.attributes:
            yield fold_whitespace(element.node.text(separator=" "))[:MAX_VALUE_LENGTH]


def _open_graph_properties(meta: Meta) -> dict[str, str]:
    properties = (
        (name, fold_whitespace(values[0])[:MAX_VALUE_LENGTH])
        for name, values in meta.items()
        if name.startswith(OPEN_GRAPH_PREFIXES)
    )
    return dict(islice(properties, MAX_PROPERTIES))


def collect_linked_data(elements: Elements) -> tuple[str, ...]:
    """Return the texts of the linked data, as they are in the page, up to the limits."""
    texts, characters_left = list[str](), MAX_CHARACTERS
    for element in elements.of("script"):
        if element.get("type").strip().lower().startswith(LINKED_DATA_TYPE):
            text = _script_wrapping.sub("", element.node.text()).strip()
            if text and len(text) <= characters_left and len(texts) < MAX_SCRIPTS:
                texts.append(text)
                characters_left -= len(text)
    return tuple(texts)


class LinkedData:
    """The things that the linked data *texts* of a page describe."""

    def __init__(self, texts: tuple[str, ...], is_page: Callable[[str], bool]) -> None:
        """*is_page*: whether a URL is that of the page."""
        self._values = [value for text in texts if (value := _decode(text)) is not None]
        ranked = [
            (rank, thing)
            for value in self._values
            for thing in _things(value)
            if (rank := _rank(thing))
        ]
        most = max((rank for rank, _ in ranked), default=0)
        best = [thing for rank, thing in ranked if rank == most]
        named = (one for one in best if any(map(is_page, _urls_of(one))))
        self.main: Thing = next(named, best[0] if best else Thing())
        """The thing that is the page: of several articles the one with its URL, or else the first.
        An empty thing if none is like a page."""
        self._by_id: dict[str, Thing] | None = None

    def names(self, value: Any) -> str:
        """Return the names of people or organisations, separated by commas."""
        items = map(self._resolve, value[:MAX_PEOPLE] if isinstance(value, list) else [value])
        names = (_clean_name(unescape(unescape(_name_of(item)))) for item in items)
        return ", ".join(dict.fromkeys(filter(None, names)))

    def url(self, value: Any) -> str:
        """Return the URL of an image or another thing."""
        item = self._resolve(value[0] if isinstance(value, list) and value else value)
        return linked_text(
            (item.get("url") or item.get("contentUrl")) if isinstance(item, dict) else item
        )

    def _resolve(self, value: Any) -> Any:
        """Return the description of the thing that *value* names by its id, or else *value*."""
        name = value.get("@id") if isinstance(value, dict) and len(value) <= 2 else value
        if not isinstance(name, str):
            return value
        if self._by_id is None:
            self._by_id = {}
            for thing in islice(find_objects(self._values), MAX_PARTS):
                if isinstance(at := thing.get("@id"), str) and len(thing) > 2:
                    self._by_id.setdefault(at, thing)
        return self._by_id.get(name, value)


def _urls_of(thing: Thing) -> Iterator[str]:
    """Yield the URLs of the pages that *thing* says it is."""
    for name in ("url", "@id", "mainEntityOfPage"):
        value = thing.get(name)
        value = value.get("@id") or value.get("url") if isinstance(value, dict) else value
        if text := linked_text(value):
            yield text


def _name_of(item: Any) -> str:
    """Return the name of a person or an organisation, or the parts of the name of a person."""
    if not isinstance(item, dict):
        return linked_text(item)
    name = item.get("name")
    if isinstance(name, list):
        return ", ".join(filter(None, map(linked_text, name[:MAX_PEOPLE])))
    if isinstance(name, dict) and "@value" not in name:
        name = name.get("name")
    parts = (item.get(part) for part in ("givenName", "additionalName", "familyName"))
    return linked_text(name) or " ".join(filter(None, map(linked_text, parts)))


def _decode(text: str) -> Any:
    if '"' not in text and "&quot;" in text:
        # A template has escaped it, as it escapes text.
        text = unescape(text)
    try:
        return shorten_names(decode_json(text)[0])
    except ValueError:
        return None


def _things(value: Any) -> Iterator[Thing]:
    queue = [value]
    for _ in range(MAX_THINGS):
        if not queue:
            return
        item = queue.pop(0)
        if isinstance(item, list):
            queue += item[:MAX_THINGS]
        elif isinstance(item, dict):
            yield item
            queue += [part for part in (item.get("@graph"), item.get("mainEntity")) if part]


def _rank(thing: Thing) -> int:
    kinds = thing.get("@type")
    names = [str(kind) for kind in kinds] if isinstance(kinds, list) else [str(kinds)]
    return max(map(_rank_of_type, names), default=0) or int("datePublished" in thing)


def _rank_of_type(name: str) -> int:
    """Return how much a thing of a type of schema.org is like a page; 0 if it is another thing."""
    if name.endswith(("Article", "BlogPosting", "Report")):
        return 3
    return 2 if _page_types.search(name) else 0


def linked_text(value: Any) -> str:
    """Return a string, a number, or the first of a list, as text; "" for any other value.

    A typed value has its text in `@value` (JSON-LD 1.1, 4.2).
    """
    item = value[0] if isinstance(value, list) and value else value
    item = item.get("@value") if isinstance(item, dict) else item
    is_text = isinstance(item, str | int | float) and not isinstance(item, bool)
    return str(item) if is_text else ""
