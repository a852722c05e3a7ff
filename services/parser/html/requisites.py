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
`source` of a `picture`.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from services.parser.html.elements import Element, Elements
from services.parser.links import Resolver
from services.parser.options import Options
from services.parser.styles import find_style_urls, is_external

DOCUMENT_TYPES = frozenset(
    ("", "text/html", "application/xhtml+xml", "application/pdf", "text/plain")
)
"""Media types of embedded objects that are documents."""
MEDIA_TYPES = "audio/", "video/"
"""The beginnings of the media types of embedded objects that are media. Other objects are
requisites."""
REQUISITE_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "img": ("src",),
    "script": ("src",),
    "video": ("poster",),
    "input": ("src",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
}
"""Tag → the attributes with the URL of a requisite."""
SOURCE_SETS: dict[str, str] = {"img": "srcset", "source": "srcset", "link": "imagesrcset"}
"""Tag → the attribute with candidates, of which one is chosen."""
REQUISITE_RELATIONS = frozenset(
    (
        "stylesheet",
        "icon",
        "apple-touch-icon",
        "apple-touch-icon-precomposed",
        "mask-icon",
        "manifest",
        "modulepreload",
        "image_src",
    )
)
"""Relations of a link element to a requisite."""
PRELOADED_KINDS = frozenset(("font", "image", "script", "style"))
"""Values of `as` with which a link element with the relation `preload` leads to a requisite."""
MEDIA_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "video": ("src",),
    "audio": ("src",),
    "source": ("src",),
}
"""Tag → the attributes with the URL of an audio or video file."""
ORDER = ("link", "script", "img", "source", "input", "image", "use", "video", "object", "embed")
"""The order of elements: what a page cannot do without comes first, because of the limit."""
SCREEN_WIDTH = 1280.0
"""Pixels of the screen for which a candidate is chosen, with a density of 1x."""

_candidate = re.compile(r"[ \t\n\f\r,]*([^ \t\n\f\r,][^ \t\n\f\r]*)")
_descriptors = re.compile(r"(?:[^,(]+|\([^)]*\)?)*")
_descriptor = re.compile(r"(\d+(?:\.\d+)?)([wx])(?=\s|$)", re.ASCII)


def find_requisites(elements: Elements, resolver: Resolver, options: Options) -> tuple[str, ...]:
    """Return the canonical URLs of the page's requisites, each once, up to the limit."""
    targets = _targets(elements, options.requisites)
    return _resolve(targets, resolver, options.requisites_limit)


def find_media(elements: Elements, resolver: Resolver, limit: int) -> tuple[str, ...]:
    """Return the canonical URLs of the page's audio and video files, each once, at most *limit*."""
    return _resolve(_media_targets(elements), resolver, limit)


def _resolve(targets: Iterator[str], resolver: Resolver, limit: int) -> tuple[str, ...]:
    urls: dict[str, None] = {}
    for target in targets:
        if len(urls) >= limit:
            break
        if is_external(target) and (url := resolver.resolve(target)):
            urls[url] = None
    return tuple(urls)


def _targets(elements: Elements, in_styles: bool) -> Iterator[str]:
    for element in elements.of(*ORDER):
        match element.tag:
            case "link":
                if _leads_to_requisite(element):
                    yield element.get("href")
                    yield choose_candidate(element.get("imagesrcset"), bool(element.get("href")))
            case "object" | "embed":
                target, kind = embedded_target(element), embedded_type(element)
                if kind not in DOCUMENT_TYPES and not kind.startswith(MEDIA_TYPES):
                    yield target
            case tag:
                for name in REQUISITE_ATTRIBUTES.get(tag, ()):
                    yield element.get(name)
                if candidates := element.get(SOURCE_SETS.get(tag, "")):
                    yield choose_candidate(candidates, tag == "img" and bool(element.get("src")))
    if in_styles:
        yield from _targets_of_styles(elements)


def _leads_to_requisite(element: Element) -> bool:
    relations = element.tokens("rel")
    if "preload" in relations:
        return element.get("as").strip().lower() in PRELOADED_KINDS
    return not REQUISITE_RELATIONS.isdisjoint(relations)


def _targets_of_styles(elements: Elements) -> Iterator[str]:
    """Yield the targets in style elements, and in the attributes style and background."""
    for element in elements.all:
        if element.tag == "style":
            yield from find_style_urls(element.node.text())
        attributes = element.attributes
        if background := attributes.get("background"):
            yield background
        if style := attributes.get("style"):
            yield from find_style_urls(style)


def _media_targets(elements: Elements) -> Iterator[str]:
    for element in elements.of(*MEDIA_ATTRIBUTES):
        for name in MEDIA_ATTRIBUTES[element.tag]:
            yield element.get(name)
    for element in elements.of("object", "embed"):
        if embedded_type(element).startswith(MEDIA_TYPES):
            yield embedded_target(element)


def embedded_type(element: Element) -> str:
    """Return the media type that an object or embed element declares, or ""."""
    return element.get("type").lower().strip()


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
    space and descriptors.
    """
    found, at = [], 0
    while candidate := _candidate.match(value, at):
        url, at, stated = candidate[1], candidate.end(), ""
        if not url.endswith(",") and (descriptors := _descriptors.match(value, at)):
            at, stated = descriptors.end(), descriptors[0]
        number, unit = 1.0, "x"
        if descriptor := _descriptor.search(stated):
            number, unit = float(descriptor[1]), descriptor[2]
        width = number if unit == "w" else None
        found.append(Candidate(url.rstrip(","), width, 1.0 if unit == "w" else number))
    return found


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
