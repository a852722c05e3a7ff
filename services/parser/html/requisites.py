"""The requisites and the media of an HTML document.

A requisite is a file that a browser loads to display a page: an image, a style, a script or a font.
Audio and video files are media: they are large, and a browser loads them when they are played.
`REQUISITE_ATTRIBUTES` and `REQUISITE_RELATIONS` have a row for each element, attribute and relation
with a requisite. URLs in the styles of a page are searched only if requisites are visited.

**Choice from srcset.** A page offers one image in several sizes. Of the candidates of a `srcset`,
one is chosen: the one for a screen with 1 device pixel per CSS pixel and a width of 1280 px. That
is the smallest width of at least 1280 px, or the smallest density of at least 1x; without such a
candidate, the largest. The `src` is the candidate of 1x, unless another one is. `sizes` and `media`
are ignored. The `src` of an image is a requisite in any case, and so is one candidate of each
`source` of a `picture`. `archive.srcset` takes all candidates instead.

**Lazy elements.** A script of the page moves a URL from another attribute to `src`, `srcset`,
`poster` or `style` when the element is about to be seen. The tables have the attributes of common
scripts. Such an attribute may also have something else: a word, JSON, or a template whose
placeholders a script fills. Only a value that is written as a URL is taken (`is_written_url`).
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from gossamer.services.parser.html.elements import LAZY_BACKGROUNDS, Element, Elements
from gossamer.services.parser.links import Resolver
from gossamer.services.parser.options import Options
from gossamer.services.parser.styles import find_style_urls, resolve_external
from gossamer.text.blocks import word_set, words_of
from gossamer.web.sniffing import FileKind, file_kind

DOCUMENT_TYPES = frozenset(
    ("", "text/html", "application/xhtml+xml", "application/pdf", "text/plain")
)
"""Media types of embedded objects that are documents."""
MEDIA_TYPES = "audio/", "video/"
"""The beginnings of the media types of embedded objects that are media. Other objects are
requisites."""
LAZY_SOURCES = words_of("""
    data-src data-lazy-src data-lazy data-lazysrc data-lazyload data-lazy-original data-original
    data-actualsrc data-real-src data-full-src data-hi-res-src data-image-src data-ll-src
    data-opt-src data-echo data-cfsrc data-pagespeed-lazy-src data-flickity-lazyload
""")
"""Attributes from which scripts take a `src`."""
LAZY_SETS = {
    "data-srcset": "data-src",
    "data-lazy-srcset": "data-lazy-src",
    "data-original-set": "data-original",
    "data-ll-srcset": "data-ll-src",
    "data-pagespeed-lazy-srcset": "data-pagespeed-lazy-src",
    "data-flickity-lazyload-srcset": "data-flickity-lazyload-src",
}
"""Attribute from which scripts take a `srcset` → the one from which they take the `src`."""
REQUISITE_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "img": ("src", *LAZY_SOURCES),
    "amp-img": ("src",),
    "script": ("src", "data-src", "data-rocket-src", "data-main"),
    "video": ("poster", "data-poster"),
    "input": ("src", *LAZY_SOURCES),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
}
"""Tag → the attributes with the URL of a requisite."""
SOURCE_SETS: dict[str, dict[str, str]] = {
    "img": {"srcset": "src", **LAZY_SETS},
    "amp-img": {"srcset": "src"},
    "source": dict.fromkeys(("srcset", *LAZY_SETS), ""),
    "link": {"imagesrcset": "href"},
}
"""Tag → the attributes with candidates, of which one is chosen → the attribute with the candidate
of 1x; "" if there is none."""
TYPE_BY_KIND: dict[FileKind | None, str] = {
    FileKind.IMAGE: "image/",
    FileKind.MEDIUM: "video/",
    FileKind.FLASH: "application/",
}
"""Kind of a file → the beginning of its media type, for embedded objects that declare none."""
REQUISITE_RELATIONS = word_set("""
    stylesheet icon apple-touch-icon apple-touch-icon-precomposed mask-icon manifest
    modulepreload image_src
""")
"""Relations of a link element to a requisite."""
PRELOADED_KINDS = frozenset(("fetch", "font", "image", "script", "style"))
"""Values of `as` with which a link element with the relation `preload` leads to a requisite."""
MEDIA_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "video": ("src", *LAZY_SOURCES),
    "audio": ("src", *LAZY_SOURCES),
    "source": ("src", *LAZY_SOURCES),
    "track": ("src", "data-src"),
}
"""Tag → the attributes with the URL of an audio, video or subtitle file."""
ORDER = words_of("link script img amp-img source input image use video object embed")
"""The order of elements: what a page cannot do without comes first, because of the limit."""
TARGET_NAMES = {
    tag: frozenset((*REQUISITE_ATTRIBUTES.get(tag, ()), *SOURCE_SETS.get(tag, ()))) for tag in ORDER
}
"""Tag → all attributes with the URLs of requisites."""
SOURCE = frozenset({"src"})
SCREEN_WIDTH = 1280.0
"""Pixels of the screen for which a candidate is chosen, with a density of 1x."""

BACKGROUND_SETS = "data-bgset", "data-srcset"
"""Attributes from which scripts take a background: candidates, for one medium or for several."""
NOT_BACKGROUNDS = frozenset((*ORDER, *MEDIA_ATTRIBUTES, "a", "area", "iframe", "frame"))
"""Tags of elements whose lazy attributes are not backgrounds."""

_written = re.compile(r"(?:https?:)?//[^/?#]|\.{0,2}/[^/]|[^:/?#\s][^:?#\s]*\.\w+\?", re.IGNORECASE)
_unwritten = re.compile(r"""[{}<>"\\^`]|%7[bd]|^\[""", re.IGNORECASE)
"""Parts of a template, of JSON, or of a style."""
_scheme = re.compile(r"(?!https?:)[\w+.-]+:", re.IGNORECASE)
_style = re.compile(r"url\(", re.IGNORECASE)
_candidate = re.compile(r"[ \t\n\f\r,]*([^ \t\n\f\r,][^ \t\n\f\r]*)")
_descriptors = re.compile(r"(?:[^,(]+|\([^)]*\)?)*")
_number = {
    "w": re.compile(r"0*[1-9]\d*", re.ASCII),
    "h": re.compile(r"0*[1-9]\d*", re.ASCII),
    "x": re.compile(r"(?:\d+|\d*\.\d+)(?:[eE][+-]?\d+)?", re.ASCII),
}
"""Unit of a descriptor → its numbers."""
VALID_UNITS: tuple[set[str], ...] = (set(), {"w"}, {"w", "h"}, {"x"})
"""The units of the descriptors of a candidate."""


def find_requisites(elements: Elements, resolver: Resolver, options: Options) -> tuple[str, ...]:
    """Return the canonical URLs of the page's requisites, each once, up to the limit."""
    targets = chain.from_iterable(_targets(elements, options))
    return resolve_external(targets, resolver, options.requisites_limit)


def find_media(elements: Elements, resolver: Resolver, limit: int) -> tuple[str, ...]:
    """Return the canonical URLs of the page's audio, video and subtitle files, each once, at most
    *limit*."""
    return resolve_external(_media_targets(elements), resolver, limit)


def is_written_url(value: str) -> bool:
    """Return whether *value* is written as a URL: absolute, as a path, or as the name of a file
    with a known extension. A word or a template is not a URL."""
    target = value.strip()
    if not target or _unwritten.search(target) or _scheme.match(target):
        return False
    return bool(_written.match(target)) or file_kind(target) is not None


def _targets(elements: Elements, options: Options) -> Iterator[Iterable[str]]:
    for tag in ORDER:
        if TARGET_NAMES[tag].intersection(elements.names) == SOURCE:
            # The images of most pages have no other target, and a page has hundreds.
            images = [one.attributes for one in elements.of(tag) if "src" in one.attributes]
            yield [attributes["src"] or "" for attributes in images]
        else:
            for element in elements.of(tag):
                yield _targets_of(element, options.all_candidates)
    if options.requisites:
        yield _targets_of_styles(elements, options.all_candidates)


def _targets_of(element: Element, takes_all: bool) -> Iterator[str]:
    match element.tag:
        case "link":
            if _leads_to_requisite(element):
                yield element.get("href")
                yield from _choose_targets(element, SOURCE_SETS["link"], takes_all)
        case "object" | "embed":
            target, kind = embedded_target(element), embedded_type(element)
            if kind not in DOCUMENT_TYPES and not kind.startswith(MEDIA_TYPES):
                yield target
        case tag if TARGET_NAMES[tag].intersection(element.attributes) == SOURCE:
            # Looking for other targets takes four times as long.
            yield element.get("src")
        case tag:
            yield from _values(element, REQUISITE_ATTRIBUTES.get(tag, ()))
            if tag == "source" and not _is_of_medium(element):
                yield from _values(element, LAZY_SOURCES)
            yield from _choose_targets(element, SOURCE_SETS.get(tag, {}), takes_all)


def _values(element: Element, names: Collection[str]) -> Iterator[str]:
    """Yield the values of the attributes *names*; of a lazy attribute only a written URL."""
    for name in _present(element, names):
        value = element.get(name)
        if value and (name[:5] != "data-" or is_written_url(value)):
            yield value


def _present(element: Element, names: Collection[str]) -> Collection[str]:
    """Return the attributes of *element* among *names*, in the order of *names*.

    An element has few attributes, and *names* are many.
    """
    found = [name for name in element.attributes if name in names]
    return found if len(found) < 2 else [name for name in names if name in found]


def _choose_targets(element: Element, sets: Mapping[str, str], takes_all: bool) -> Iterator[str]:
    """Yield the candidates that are taken from the attributes *sets* of *element*."""
    for name in _present(element, sets):
        if candidates := element.get(name):
            for url in choose(candidates, takes_all, bool(element.get(sets[name]))):
                if name[:5] != "data-" or is_written_url(url):
                    yield url


def _leads_to_requisite(element: Element) -> bool:
    relations = element.relations
    is_preloaded = "preload" in relations and element.get("as").strip().lower() in PRELOADED_KINDS
    return is_preloaded or not REQUISITE_RELATIONS.isdisjoint(relations)


def _targets_of_styles(elements: Elements, takes_all: bool) -> Iterator[str]:
    """Yield the targets in style elements, and in attributes with styles or backgrounds."""
    for element in elements.all:
        if element.tag == "style":
            yield from find_style_urls(element.node.text())
        attributes = element.attributes
        if background := attributes.get("background"):
            yield background
        if style := attributes.get("style"):
            yield from find_style_urls(style)
        if element.tag not in NOT_BACKGROUNDS:
            yield from filter(is_written_url, _lazy_backgrounds(element, takes_all))


def _lazy_backgrounds(element: Element, takes_all: bool) -> Iterator[str]:
    for name in _present(element, LAZY_BACKGROUNDS):
        if value := element.get(name):
            yield from find_style_urls(value) if _style.search(value) else (value,)
    for name in ("data-src", "data-original"):
        # Scripts of widgets read the URL of a document from it.
        if file_kind(value := element.get(name)) is FileKind.IMAGE:
            yield value
    for name in BACKGROUND_SETS:
        # lazysizes: the candidates of a medium end with its condition in brackets, and a bar.
        for part in element.get(name).split("|"):
            yield from choose(part.partition("[")[0], takes_all)


def _media_targets(elements: Elements) -> Iterator[str]:
    for element in elements.of(*MEDIA_ATTRIBUTES):
        if element.tag != "source" or _is_of_medium(element):
            yield from _values(element, MEDIA_ATTRIBUTES[element.tag])
    for element in elements.of("object", "embed"):
        if embedded_type(element).startswith(MEDIA_TYPES):
            yield embedded_target(element)


def _is_of_medium(element: Element) -> bool:
    """Return whether a source element has audio or video; one in a picture has an image."""
    return element.node.parent is None or element.node.parent.tag != "picture"


def embedded_type(element: Element) -> str:
    """Return the media type of an object or embed element as it is declared, or the beginning of
    the one that the extension of its target has. "" for documents without a declared type."""
    if declared := element.get("type").lower().strip():
        return declared
    return TYPE_BY_KIND.get(file_kind(embedded_target(element)), "")


def embedded_target(element: Element) -> str:
    """Return the target of an object or embed element, or ""."""
    return element.get("data") or element.get("src")


def embedded_document(element: Element) -> str:
    """Return the target of an object or embed element; "" if it is not a document."""
    return embedded_target(element) if embedded_type(element) in DOCUMENT_TYPES else ""


class Candidate(NamedTuple):
    """A candidate of a srcset attribute."""

    url: str
    width: float | None
    """Its width in pixels; None if it states a density."""
    density: float
    """Device pixels per CSS pixel; 1 if it states nothing."""


def parse_srcset(value: str) -> list[Candidate]:
    """Return the candidates of a srcset attribute (HTML standard, 4.8.4.3.10, "parse a srcset").

    URLs may contain commas. A comma ends a candidate only at the end of its URL, or after white
    space and descriptors. A candidate with an invalid descriptor is dropped: what is before the
    blank in `a view.jpg` is not a URL.
    """
    found, at = [], 0
    while candidate := _candidate.match(value, at):
        url, at, stated = candidate[1], candidate.end(), ""
        if not url.endswith(",") and (descriptors := _descriptors.match(value, at)):
            at, stated = descriptors.end(), descriptors[0]
        units = {one[-1]: one[:-1] for one in stated.split()}
        is_valid = len(units) == len(stated.split()) and {*units} in VALID_UNITS
        if is_valid and all(_number[unit].fullmatch(number) for unit, number in units.items()):
            width = float(units["w"]) if "w" in units else None
            found.append(Candidate(url.rstrip(","), width, float(units.get("x", 1.0))))
    return found


def choose(value: str, takes_all: bool, has_source: bool = False) -> list[str]:
    """Return the URLs that are taken from a srcset: all, or the chosen one, if there is any."""
    if takes_all:
        return [one.url for one in parse_srcset(value)]
    return [url for url in (choose_candidate(value, has_source),) if url]


def choose_candidate(value: str, has_source: bool = False) -> str:
    """Return the URL that a screen with 1280 px and a density of 1x takes from a srcset; "" if it
    takes none.

    *has_source*: the element has another source, which counts as a candidate of 1x if no candidate
    states 1x or a width (HTML standard, 4.8.4.3.7).
    """
    found = parse_srcset(value)
    if has_source and all(one.width is None and one.density != 1.0 for one in found):
        return ""
    if any(one.width is not None for one in found):
        sizes, enough = [one.width or 0.0 for one in found], SCREEN_WIDTH
    else:
        sizes, enough = [one.density for one in found], 1.0
    large = [size for size in sizes if size >= enough]
    best = min(large) if large else max(sizes, default=0.0)
    return found[sizes.index(best)].url if found else ""
