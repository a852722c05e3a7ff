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
from services.parser.links import Links, Resolver, refresh_target, relation
from services.parser.options import Options


class Collected(NamedTuple):
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


def collect(elements: Elements, url: str, charset: str, options: Options) -> Collected:
    """Return what the document of *elements*, found at *url* in *charset*, leads to."""
    resolver, links = Resolver(_base(elements, url, charset), charset), Links(options)
    canonical = _collect(elements, resolver, links, url)
    shown_with = requisites(elements, resolver, options.requisites_limit)
    asking = forms(elements, resolver, url)
    hazards = frozenset((*resolver.hazards, *links.hazards))
    if options.script_links and _guess(elements, resolver, links, url):
        hazards |= {Hazard.SCRIPT_LINKS}
    return Collected(canonical, links.all(), asking, shown_with, hazards, resolver)


def _base(elements: Elements, url: str, charset: str) -> str:
    given = next((element for element in elements.of("base") if "href" in element.attributes), None)
    # HTML standard, 4.2.3: a base that does not parse is as if it were not there.
    return (Resolver(url, charset).url(given.get("href")) if given else "") or url


def _collect(elements: Elements, resolver: Resolver, links: Links, own: str) -> str:
    """Add to *links* where *elements* lead; return the canonical URL that the page names."""
    canonical = ""
    for element in elements.every:
        target = target_of(element) if element.tag in LEADING else None
        if target is None or not (url := resolver.url(target.url)):
            continue
        if target.kind is LinkKind.CANONICAL:
            canonical = canonical or url
        # What a page says of itself is no link: its own name, itself among its languages.
        if element.tag != "link" or url != own:
            position = elements.position_of(element)
            links.add(url, target.kind, element.tokens("rel"), partial(text_of, element), position)
    return canonical


def _guess(elements: Elements, resolver: Resolver, links: Links, own: str) -> bool:
    """Add to *links*, as the last ones, what scripts may lead to; say if there is any.

    To other sites scripts lead for services rather than for pages.
    """
    site, found = site_of(own), dict[str, None]()
    for target in guesses(elements):
        url = resolver.url(target)
        if url and url != own and url not in links and site_of(url) == site:
            found[url] = None
        if len(found) == GUESSES:
            break
    for url in found:
        links.add(url, LinkKind.SCRIPT, [], str)
    return bool(found)


NO_SCHEME = ""
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


def text_of(element: Element) -> str:
    """Return what *element* calls the place to which it leads."""
    if element.tag == "a":
        return element.node.text(separator=" ").strip() or _alternative(element.node)
    return element.get("alt") if element.tag == "area" else element.get("title")


def _alternative(node: LexborNode) -> str:
    return " ".join(image.attributes.get("alt") or "" for image in node.css("img[alt]"))


FORMS = 10
FIELDS = 50
NAME_LIMIT = 100
SOURCES = ("img", "script", "link", "source", "video", "audio", "object", "embed")

_inline = re.compile(r"\s*(?:data|blob|about|javascript):", re.IGNORECASE)
_candidate = re.compile(r"[ \t\n\f\r,]*([^ \t\n\f\r,][^ \t\n\f\r]*)")
_descriptors = re.compile(r"(?:[^,(]+|\([^)]*\)?)*")


def requisites(elements: Elements, resolver: Resolver, limit: int) -> tuple[str, ...]:
    """Return the canonical URLs of what the page is shown with, each once, at most *limit*."""
    found: dict[str, None] = {}
    for element in elements.of(*SOURCES):
        for target in _sources(element):
            if len(found) >= limit:
                return tuple(found)
            if _is_elsewhere(target) and (url := resolver.url(target)):
                found[url] = None
    return tuple(found)


def _is_elsewhere(target: str) -> bool:
    return bool(target.strip()) and not (":" in target and _inline.match(target))


def _sources(element: Element) -> Iterator[str]:
    match element.tag:
        case "link":
            if not SHOWN_WITH.isdisjoint(element.tokens("rel")):
                yield element.get("href")
        case "object" | "embed":
            if not embedded(element):
                yield element.get("data") or element.get("src")
        case "video":
            yield from (element.get("src"), element.get("poster"))
        case _:
            yield element.get("src")
            if candidates := element.get("srcset"):
                yield from srcset(candidates)


def srcset(value: str) -> list[str]:
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


def forms(elements: Elements, resolver: Resolver, url: str) -> tuple[Form, ...]:
    """Return the forms of the page at *url* that ask for documents; one without action for it."""
    found: dict[Form, None] = {}
    for element in elements.of("form"):
        if len(found) >= FORMS:
            break
        if element.get("method").strip().lower() in ("", "get"):
            action = element.get("action").strip()
            if action := resolver.url(action) if action else url:
                found[Form(action, _fields(element))] = None
    return tuple(found)


def _fields(form: Element) -> tuple[str, ...]:
    named = (node.attributes.get("name") or "" for node in form.node.css("[name]"))
    return tuple(dict.fromkeys(name[:NAME_LIMIT] for name in named if name))[:FIELDS]


GUESSES = 100
"""Most guesses of a page."""
LOOKED_THROUGH = 300_000
"""Most characters of a page's scripts."""

HANDLERS = frozenset(("onclick", "onchange", "onsubmit", "onmousedown"))
BLANK_OR_J = frozenset(" \t\n\f\rjJ")
_PAGES = "html?|xhtml|shtml|php\\d?|aspx?|jspx?|jsf|cfm|cgi|do|pl|pdf"
_literal = re.compile(
    r"""["'`](?<![+]["'`])(?<![+]\s["'`])([\w/%~.:@,;&=?\#-]{2,500})["'`](?!\s?[+])""", re.ASCII
)
_url = re.compile(
    rf"""(?:https?:)?//[\w.-]+\.\w[\w.:-]*(?:/.*)?
    | (?:\.\.?)?/[\w%~].*
    | [\w%~-][\w%~./-]*\.(?:{_PAGES})(?:[?\#].*)?""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_no_page = re.compile(
    r"\.(?:m?js|jsx|tsx?|css|json|map|xml|png|jpe?g|gif|svg|webp|avif|ico|bmp|woff2?|ttf|eot|otf|mp[34]"
    r"|webm|og[gv]|wav|zip|gz|wasm|txt|swf)(?:[?#]|$)|[=&?]$|%(?![0-9a-f]{2})",
    re.IGNORECASE,
)
"""What a page is shown with, and what a script adds something to, or puts something into."""


def guesses(elements: Elements) -> Iterator[str]:
    """Yield what may be the URLs of pages in the scripts of *elements*, as it stands there."""
    room = LOOKED_THROUGH
    for element in elements.every:
        if element.tag == "script":
            script = _script(element)[:room]
            room -= len(script)
            yield from literals(script)
        elif _acts(element):
            yield from (url for handler in _handlers(element) for url in literals(handler))


def literals(script: str) -> Iterator[str]:
    """Yield the literals of *script* that look like the URLs of pages."""
    # JSON may escape slashes, and does so where it stands in a script.
    for text in _literal.findall(script.replace("\\/", "/")):
        if ("/" in text or "." in text) and _url.fullmatch(text) and not _no_page.search(text):
            yield text


def _script(element: Element) -> str:
    kind = element.get("type").lower()
    is_script = not kind or "javascript" in kind or kind in ("module", "application/json")
    return element.node.text() if is_script and "src" not in element.attributes else ""


def _acts(element: Element) -> bool:
    attributes = element.attributes
    href = attributes.get("href")
    return bool(href and href[0] in BLANK_OR_J) or not HANDLERS.isdisjoint(attributes)


def _handlers(element: Element) -> Iterator[str]:
    href = element.get("href")
    if href[:20].lstrip()[:11].lower() == "javascript:":
        yield href
    yield from (element.get(name) for name in element.attributes if name in HANDLERS)
    if element.tag == "select":
        for option in element.node.css("option[value]"):
            yield f"'{option.attributes.get('value')}'"
