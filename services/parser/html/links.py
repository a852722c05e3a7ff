"""All that a document leads to: its links, and what is kept beside them.

Where the elements of a page lead, by the HTML standard, and what they call it.

What a page is shown with, and the forms that ask for documents: kept, but not followed.

Guesses at links: what stands in scripts, and in the handlers of events, and looks like a URL.

Nothing is executed. Of an address that a script puts together its parts are of no use, so only
whole literals are taken, of the page's own site: absolute ones, paths, and names that end as pages
do. Half of them are none, so they are marked, come after all other links, and dedup lets only few
of a host through unless they turn out to be pages.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from selectolax.lexbor import LexborNode

from gossamer.events import Link
from gossamer.events.hazards import Hazard
from gossamer.events.pages import Form, LinkKind
from gossamer.web.url import site_of
from services.parser.html.elements import Element, Elements
from services.parser.links import LinkCollector, Resolver, link_kind, parse_refresh
from services.parser.options import Options


class DocumentLinks(NamedTuple):
    """What a document leads to."""

    canonical: str
    links: tuple[Link, ...]
    forms: tuple[Form, ...]
    requisites: tuple[str, ...]
    hazards: frozenset[Hazard]
    resolver: Resolver
    """For what else it names. It notes no hazard any more."""

    def fields(self) -> dict[str, Any]:
        """Return what of it are fields of `PageParsed`."""
        names = ("canonical", "links", "forms", "requisites")
        return {name: getattr(self, name) for name in names}


def collect_links(elements: Elements, url: str, charset: str, options: Options) -> DocumentLinks:
    """Return what the document of *elements*, found at *url* in *charset*, leads to."""
    resolver, links = Resolver(_find_base(elements, url, charset), charset), LinkCollector(options)
    canonical = _add_links(elements, resolver, links, url)
    shown_with = find_requisites(elements, resolver, options.requisites_limit)
    asking = find_forms(elements, resolver, url)
    hazards = frozenset((*resolver.hazards, *links.hazards))
    if options.script_links and _add_guesses(elements, resolver, links, url):
        hazards |= {Hazard.SCRIPT_LINKS}
    return DocumentLinks(canonical, links.all(), asking, shown_with, hazards, resolver)


def _find_base(elements: Elements, url: str, charset: str) -> str:
    given = next((element for element in elements.of("base") if "href" in element.attributes), None)
    # HTML standard, 4.2.3: a base that does not parse is as if it were not there.
    return (Resolver(url, charset).url(given.get("href")) if given else "") or url


def _add_links(elements: Elements, resolver: Resolver, links: LinkCollector, own: str) -> str:
    """Add to *links* where *elements* lead; return the canonical URL that the page names."""
    canonical = ""
    for element in elements.every:
        target = find_target(element) if element.tag in LINK_ELEMENTS else None
        if target is None or not (url := resolver.url(target.url)):
            continue
        if target.kind is LinkKind.CANONICAL:
            canonical = canonical or url
        # What a page says of itself is no link: its own name, itself among its languages.
        if element.tag != "link" or url != own:
            position = elements.position_of(element)
            links.add(
                url, target.kind, element.tokens("rel"), partial(link_text, element), position
            )
    return canonical


def _add_guesses(elements: Elements, resolver: Resolver, links: LinkCollector, own: str) -> bool:
    """Add to *links*, as the last ones, what scripts may lead to; say if there is any.

    To other sites scripts lead for services rather than for pages.
    """
    site, found = site_of(own), dict[str, None]()
    for target in guess_targets(elements):
        url = resolver.url(target)
        if url and url != own and url not in links and site_of(url) == site:
            found[url] = None
        if len(found) == MAX_GUESSES:
            break
    for url in found:
        links.add(url, LinkKind.SCRIPT, [], str)
    return bool(found)


NO_SCHEME = ""
DOCUMENT_TYPES = frozenset(
    ("", "text/html", "application/xhtml+xml", "application/pdf", "text/plain")
)
"""The types of embedded objects that are documents; others are shown with the page."""
REQUISITE_RELATIONS = frozenset(
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
LINK_ELEMENTS = frozenset(("a", "area", "link", "iframe", "frame", "object", "embed", "meta"))
"""Elements that may lead to other documents."""


class Target(NamedTuple):
    """Where an element leads, and as what."""

    url: str
    """As it stands there."""
    kind: LinkKind


def find_target(element: Element) -> Target | None:
    """Return where *element* leads; None if it leads nowhere else."""
    match element.tag:
        case "a" | "area":
            target, kind = element.get("href") or element.get("xlink:href"), LinkKind.LINK
        case "link":
            kind_or_none = link_kind(
                element.tokens("rel"), element.get("type"), "hreflang" in element.attributes
            )
            return Target(element.get("href"), kind_or_none) if kind_or_none else None
        case "iframe" | "frame":
            target, kind = element.get("src"), LinkKind.FRAME
        case "object" | "embed":
            target, kind = embedded_document(element), LinkKind.EMBED
        case "meta" if element.get("http-equiv").lower() == "refresh":
            target, kind = parse_refresh(element.get("content")), LinkKind.REFRESH
        case _:
            return None
    # What only names a place in this page leads to no other.
    return Target(target, kind) if target.strip() and not target.startswith("#") else None


def embedded_document(element: Element) -> str:
    """Return where the document of an object or embed element is; "" if it holds none."""
    is_read = element.get("type").lower().strip() in DOCUMENT_TYPES
    return (element.get("data") or element.get("src")) if is_read else ""


def link_text(element: Element) -> str:
    """Return what *element* calls the place to which it leads."""
    if element.tag == "a":
        return element.node.text(separator=" ").strip() or _alternative(element.node)
    return element.get("alt") if element.tag == "area" else element.get("title")


def _alternative(node: LexborNode) -> str:
    return " ".join(image.attributes.get("alt") or "" for image in node.css("img[alt]"))


MAX_FORMS = 10
MAX_FIELDS = 50
MAX_NAME_LENGTH = 100
REQUISITE_ELEMENTS = ("img", "script", "link", "source", "video", "audio", "object", "embed")

_inline = re.compile(r"\s*(?:data|blob|about|javascript):", re.IGNORECASE)
_candidate = re.compile(r"[ \t\n\f\r,]*([^ \t\n\f\r,][^ \t\n\f\r]*)")
_descriptors = re.compile(r"(?:[^,(]+|\([^)]*\)?)*")


def find_requisites(elements: Elements, resolver: Resolver, limit: int) -> tuple[str, ...]:
    """Return the canonical URLs of what the page is shown with, each once, at most *limit*."""
    found: dict[str, None] = {}
    for element in elements.of(*REQUISITE_ELEMENTS):
        for target in _requisite_targets(element):
            if len(found) >= limit:
                return tuple(found)
            if _is_external(target) and (url := resolver.url(target)):
                found[url] = None
    return tuple(found)


def _is_external(target: str) -> bool:
    return bool(target.strip()) and not (":" in target and _inline.match(target))


def _requisite_targets(element: Element) -> Iterator[str]:
    match element.tag:
        case "link":
            if not REQUISITE_RELATIONS.isdisjoint(element.tokens("rel")):
                yield element.get("href")
        case "object" | "embed":
            if not embedded_document(element):
                yield element.get("data") or element.get("src")
        case "video":
            yield from (element.get("src"), element.get("poster"))
        case _:
            yield element.get("src")
            if candidates := element.get("srcset"):
                yield from parse_srcset(candidates)


def parse_srcset(value: str) -> list[str]:
    """Return the URLs of a srcset attribute (HTML standard, 4.8.4.3.10, "parse a srcset").

    A comma ends a candidate only after white space or at the end of its URL: URLs may hold some.
    """
    found, at = [], 0
    while candidate := _candidate.match(value, at):
        url, at = candidate[1], candidate.end()
        if not url.endswith(",") and (described := _descriptors.match(value, at)):
            at = described.end()
        found.append(url.rstrip(","))
    return found


def find_forms(elements: Elements, resolver: Resolver, url: str) -> tuple[Form, ...]:
    """Return the forms of the page at *url* that ask for documents; one without action for it."""
    found: dict[Form, None] = {}
    for element in elements.of("form"):
        if len(found) >= MAX_FORMS:
            break
        if element.get("method").strip().lower() in ("", "get"):
            action = element.get("action").strip()
            if action := resolver.url(action) if action else url:
                found[Form(action, _field_names(element))] = None
    return tuple(found)


def _field_names(form: Element) -> tuple[str, ...]:
    named = (node.attributes.get("name") or "" for node in form.node.css("[name]"))
    return tuple(dict.fromkeys(name[:MAX_NAME_LENGTH] for name in named if name))[:MAX_FIELDS]


MAX_GUESSES = 100
"""Most guesses of a page."""
MAX_SCRIPT_CHARACTERS = 300_000
"""Most characters of a page's scripts."""

EVENT_HANDLERS = frozenset(("onclick", "onchange", "onsubmit", "onmousedown"))
BLANK_OR_J = frozenset(" \t\n\f\rjJ")
_page_extensions = "html?|xhtml|shtml|php\\d?|aspx?|jspx?|jsf|cfm|cgi|do|pl|pdf"
_literal = re.compile(
    r"""["'`](?<![+]["'`])(?<![+]\s["'`])([\w/%~.:@,;&=?\#-]{2,500})["'`](?!\s?[+])""", re.ASCII
)
_url = re.compile(
    rf"""(?:https?:)?//[\w.-]+\.\w[\w.:-]*(?:/.*)?
    | (?:\.\.?)?/[\w%~].*
    | [\w%~-][\w%~./-]*\.(?:{_page_extensions})(?:[?\#].*)?""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_not_a_page = re.compile(
    r"\.(?:m?js|jsx|tsx?|css|json|map|xml|png|jpe?g|gif|svg|webp|avif|ico|bmp|woff2?|ttf|eot|otf|mp[34]"
    r"|webm|og[gv]|wav|zip|gz|wasm|txt|swf)(?:[?#]|$)|[=&?]$|%(?![0-9a-f]{2})",
    re.IGNORECASE,
)
"""What a page is shown with, and what a script adds something to, or puts something into."""


def guess_targets(elements: Elements) -> Iterator[str]:
    """Yield what may be the URLs of pages in the scripts of *elements*, as it stands there."""
    room = MAX_SCRIPT_CHARACTERS
    for element in elements.every:
        if element.tag == "script":
            script = _script_text(element)[:room]
            room -= len(script)
            yield from find_url_literals(script)
        elif _has_handler(element):
            yield from (
                url for handler in _handler_texts(element) for url in find_url_literals(handler)
            )


def find_url_literals(script: str) -> Iterator[str]:
    """Yield the literals of *script* that look like the URLs of pages."""
    # JSON may escape slashes, and does so where it stands in a script.
    for text in _literal.findall(script.replace("\\/", "/")):
        if ("/" in text or "." in text) and _url.fullmatch(text) and not _not_a_page.search(text):
            yield text


def _script_text(element: Element) -> str:
    kind = element.get("type").lower()
    is_script = not kind or "javascript" in kind or kind in ("module", "application/json")
    return element.node.text() if is_script and "src" not in element.attributes else ""


def _has_handler(element: Element) -> bool:
    attributes = element.attributes
    href = attributes.get("href")
    return bool(href and href[0] in BLANK_OR_J) or not EVENT_HANDLERS.isdisjoint(attributes)


def _handler_texts(element: Element) -> Iterator[str]:
    href = element.get("href")
    if href[:20].lstrip()[:11].lower() == "javascript:":
        yield href
    yield from (element.get(name) for name in element.attributes if name in EVENT_HANDLERS)
    if element.tag == "select":
        for option in element.node.css("option[value]"):
            yield f"'{option.attributes.get('value')}'"
