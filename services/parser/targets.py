"""Where the elements of a page lead, by the HTML standard, and what they call it."""

import re
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from gossamer.events.pages import LinkKind
from services.parser.elements import Element

NO_SCHEME = ""
FEEDS = frozenset(
    (
        "application/rss+xml",
        "application/atom+xml",
        "application/rdf+xml",
        "application/feed+json",
        "application/xml",
        "text/xml",
    )
)
READ = frozenset(("", "text/html", "application/xhtml+xml", "application/pdf", "text/plain"))
"""The types of embedded objects that are documents; others are shown with the page."""
SHOWN_WITH = frozenset(
    (
        "stylesheet",
        "icon",
        "apple-touch-icon",
        "mask-icon",
        "manifest",
        "preload",
        "modulepreload",
        "image_src",
    )
)
"""Relations of a link element to what the page is shown with."""
LEADING = frozenset(("a", "area", "link", "iframe", "frame", "object", "embed", "meta"))
"""Elements that may lead to other documents."""
RELATIONS = {
    "canonical": LinkKind.CANONICAL,
    "next": LinkKind.NEXT,
    "prev": LinkKind.PREVIOUS,
    "previous": LinkKind.PREVIOUS,
    "amphtml": LinkKind.AMP,
}
"""Relations of a link element, or of a Link header, that lead to other documents by themselves."""

_refresh = re.compile(
    r"""[\s\0]*[\d.]+[;,\s]\s*(?:url\s*=\s*)?(?:"([^"]*)|'([^']*)|(.*))""",
    re.IGNORECASE | re.DOTALL,
)


class Target(NamedTuple):
    """Where an element leads, and as what."""

    url: str
    """As it stands there."""
    kind: LinkKind


def target_of(element: Element) -> Target | None:
    """Return where *element* leads; None if it leads nowhere else."""
    match element.tag:
        case "a" | "area":
            target, kind = element.get("href") or element.get("xlink:href"), LinkKind.LINK
        case "link":
            kind_or_none = relation(
                element.tokens("rel"), element.get("type"), "hreflang" in element.attributes
            )
            return Target(element.get("href"), kind_or_none) if kind_or_none else None
        case "iframe" | "frame":
            target, kind = element.get("src"), LinkKind.FRAME
        case "object" | "embed":
            target, kind = embedded(element), LinkKind.EMBED
        case "meta" if element.get("http-equiv").lower() == "refresh":
            target, kind = refresh_target(element.get("content")), LinkKind.REFRESH
        case _:
            return None
    # What only names a place in this page leads to no other.
    return Target(target, kind) if target.strip() and not target.startswith("#") else None


def embedded(element: Element) -> str:
    """Return where the document of an object or embed element is; "" if it holds none."""
    is_read = element.get("type").lower().strip() in READ
    return (element.get("data") or element.get("src")) if is_read else ""


def relation(rel: list[str], media_type: str, has_language: bool) -> LinkKind | None:
    """Return as what a link element, or a Link header, leads to another document; None if it does
    not.

    Of alternates only feeds and other languages: most of the others are interfaces for programs.
    """
    if "stylesheet" in rel:
        return None
    if "alternate" in rel:
        if media_type.partition(";")[0].strip().lower() in FEEDS:
            return LinkKind.FEED
        return LinkKind.ALTERNATE if has_language else None
    return next((RELATIONS[word] for word in rel if word in RELATIONS), None)


def refresh_target(value: str) -> str:
    """Return where a Refresh header or meta element leads (HTML standard, 4.2.4.3); "" if nowhere:
    to the same page, after a while."""
    found = _refresh.match(value)
    return next((part for part in found.groups() if part), "").strip() if found else ""


def text_of(element: Element) -> str:
    """Return what *element* calls the place to which it leads."""
    if element.tag == "a":
        return element.node.text(separator=" ").strip() or _alternative(element.node)
    return element.get("alt") if element.tag == "area" else element.get("title")


def _alternative(node: LexborNode) -> str:
    return " ".join(image.attributes.get("alt") or "" for image in node.css("img[alt]"))
