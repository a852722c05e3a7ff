"""The links and forms of an HTML document, and guesses at links in scripts.

Forms are recorded but not followed. `requisites` finds the requisites.

Scripts are not executed. If a script assembles a URL from parts, the parts are useless. So a guess
is a whole string literal that leads to the page's own site: an absolute URL, a path, or a name with
the extension of a page. Half of the guesses are wrong. So they are marked, they come after all
other links, and dedup admits few of a host unless they turn out to be pages.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from selectolax.lexbor import LexborNode

from gossamer.events import Link
from gossamer.events.hazards import Hazard
from gossamer.events.pages import Form, LinkKind
from gossamer.services.parser.html.elements import Element, Elements
from gossamer.services.parser.html.hidden import INVISIBLE_ELEMENTS
from gossamer.services.parser.html.requisites import (
    embedded_document,
    find_media,
    find_requisites,
    is_written_url,
)
from gossamer.services.parser.links import LinkCollector, Resolver, link_kind
from gossamer.services.parser.options import Options
from gossamer.services.parser.parts import Part, read_part
from gossamer.text.blocks import words_of
from gossamer.web.http import parse_refresh
from gossamer.web.url import site_of

LINK_ELEMENTS = frozenset(("a", "area", "link", "iframe", "frame", "object", "embed", "meta"))
"""Elements that can link to other documents."""
MAX_FORMS = 10
MAX_FIELDS = 50
MAX_NAME_LENGTH = 100
MAX_GUESSES = 100
"""Maximum number of guesses of a page."""
MAX_SCRIPT_CHARACTERS = 300_000
"""Maximum number of characters of a page's scripts that are searched."""
EVENT_HANDLERS = frozenset(("onclick", "onchange", "onsubmit", "onmousedown"))
BLANK_OR_J = frozenset(" \t\n\f\rjJ")
"""First characters of an href that may be a javascript: URL."""
FRAME_SOURCES = words_of("""
    data-src data-lazy-src data-litespeed-src data-opt-src data-original data-cookieblock-src
    data-src-cmplz data-cmp-src
""")
"""Attributes from which scripts take the `src` of a frame, when it is about to be seen or when the
reader has consented."""

_placeholder = re.compile(r"\s*(?:$|about:blank|data:)", re.IGNORECASE)
_page_extensions = "html?|xhtml|shtml|php\\d?|aspx?|jspx?|jsf|cfm|cgi|do|pl|pdf"
_page_name = rf"[\w%~-][\w%~./-]*\.(?:{_page_extensions})"
_literal = re.compile(
    r"""["'`](?<![+]["'`])(?<![+]\s["'`])([\w/%~.:@,;&=?\#-]{2,500}+)["'`](?!\s?[+])""",
    re.ASCII,
)
_url = re.compile(
    rf"""(?:https?:)?//[\w.-]+\.\w[\w.:-]*(?:/.*)?
    | (?:\.\.?)?/[\w%~].*
    | {_page_name}(?:[?\#].*)?""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_page_file = re.compile(_page_name, re.IGNORECASE | re.ASCII)
_not_a_page = re.compile(
    r"\.(?:m?js|jsx|tsx?|css|json|map|xml|png|jpe?g|gif|svg|webp|avif|ico|bmp|woff2?|ttf|eot|otf|mp[34]"
    r"|webm|og[gv]|wav|zip|gz|wasm|txt|swf)(?:[?#]|$)|[=&?]$|%(?![0-9a-f]{2})",
    re.IGNORECASE,
)
"""URLs of requisites, and beginnings of URLs that a script completes."""


class DocumentLinks(NamedTuple):
    """The links, forms, requisites and media of a document."""

    canonical: str
    links: tuple[Link, ...]
    forms: tuple[Form, ...]
    requisites: tuple[str, ...]
    media: tuple[str, ...]
    hazards: frozenset[Hazard]
    resolver: Resolver
    """Resolves other URLs of the document. The hazards of these URLs are not in `hazards`."""

    def fields(self) -> dict[str, Any]:
        """Return the fields of `PageParsed`."""
        names = ("canonical", "links", "forms", "requisites", "media")
        return {name: getattr(self, name) for name in names}


def collect_links(elements: Elements, url: str, charset: str, options: Options) -> DocumentLinks:
    """Return the links of the document of *elements* at *url*, which is in *charset*."""
    resolver, links = Resolver(_find_base(elements, url, charset), charset), LinkCollector(options)
    canonical = _add_links(elements, resolver, links, url)
    no_urls: tuple[str, ...] = ()
    limit, no_forms = options.requisites_limit, tuple[Form, ...]()
    requisites = read_part(
        Part.REQUISITES, options, lambda: find_requisites(elements, resolver, options), no_urls
    )
    media = read_part(
        Part.REQUISITES, options, lambda: find_media(elements, resolver, limit), no_urls
    )
    forms = read_part(Part.FORMS, options, lambda: find_forms(elements, resolver, url), no_forms)
    hazards = frozenset((*resolver.hazards, *links.hazards))
    if options.script_links and _add_guesses(elements, resolver, links, url):
        hazards |= {Hazard.SCRIPT_LINKS}
    return DocumentLinks(canonical, links.all(), forms, requisites, media, hazards, resolver)


def _find_base(elements: Elements, url: str, charset: str) -> str:
    bases = (element for element in elements.of("base") if "href" in element.attributes)
    base = next(bases, None)
    # HTML standard, 4.2.3: a base that cannot be parsed is ignored.
    return (Resolver(url, charset).resolve(base.get("href")) if base else "") or url


def _add_links(elements: Elements, resolver: Resolver, links: LinkCollector, page_url: str) -> str:
    """Add the links of *elements* to *links*; return the canonical URL that the page names."""
    canonical, is_open = "", True
    linking = [element for element in elements.all if element.tag in LINK_ELEMENTS]
    for element in linking:
        target = find_target(element)
        if target is None or not (url := resolver.resolve(target.url)):
            continue
        if target.kind is LinkKind.CANONICAL:
            # HTML standard, 4.2.4.3: it is not allowed in the body, where a comment may name it.
            is_open = is_open and _is_of_head(element.node, is_first=not canonical)
            if is_open:
                canonical = canonical or url
            else:
                target = Target(target.url, LinkKind.LINK)
        # A link element whose target is the page itself is skipped. It states that the page's URL
        # is canonical, or is the alternate for the page's own language.
        if element.tag != "link" or url != page_url:
            position = elements.position_of(element)
            rel = element.relations if "rel" in element.attributes else []
            links.add(url, target.kind, rel, partial(link_text, element), position)
    return canonical


def _is_of_head(node: LexborNode, is_first: bool) -> bool:
    """Return whether *node* is in the head, or *is_first* and in the body before all words.

    A `div` or `img` in the head ends it, so what its author wrote behind that is in the body.
    """
    if node.parent is None or node.parent.tag != "body":
        return node.parent is not None and node.parent.tag == "head"
    if not is_first:
        return False
    before = node.prev
    while before is not None:
        if any(map(_is_words, before.traverse(include_text=True))):
            return False
        before = before.prev
    return True


def _is_words(node: LexborNode) -> bool:
    if node.tag != "-text" or (node.parent and node.parent.tag in INVISIBLE_ELEMENTS):
        return False
    return bool(node.text().strip())


def _add_guesses(
    elements: Elements, resolver: Resolver, links: LinkCollector, page_url: str
) -> bool:
    """Add the links that scripts may contain to *links*; return whether there are any.

    URLs of other sites are skipped, because most of those in scripts are services and not pages.
    """
    site, urls = site_of(page_url), dict[str, None]()
    for target in guess_targets(elements):
        url = resolver.resolve(target)
        if url and url != page_url and url not in links and site_of(url) == site:
            urls[url] = None
        if len(urls) == MAX_GUESSES:
            break
    for url in urls:
        links.add(url, LinkKind.SCRIPT, [], str)
    return bool(urls)


class Target(NamedTuple):
    """The target of an element, and the kind of the link."""

    url: str
    """As it is written in the document."""
    kind: LinkKind


def find_target(element: Element) -> Target | None:
    """Return the target of *element*; None if it does not link to another document."""
    match element.tag:
        case "a" | "area":
            target, kind = element.get("href") or element.get("xlink:href"), LinkKind.LINK
        case "link":
            kind_or_none = link_kind(
                element.relations, element.get("type"), "hreflang" in element.attributes
            )
            # HTML standard, 4.2.4: without an address it is not a link, not even to the page.
            href = element.get("href")
            return Target(href, kind_or_none) if kind_or_none and href.strip() else None
        case "iframe" | "frame":
            target, kind = _framed_document(element), LinkKind.FRAME
        case "object" | "embed":
            target, kind = embedded_document(element), LinkKind.EMBED
        case "meta" if element.get("http-equiv").lower() == "refresh":
            target, kind = parse_refresh(element.get("content")) or "", LinkKind.REFRESH
        case _:
            return None
    # A bare fragment links to a place in the same document.
    return Target(target, kind) if target.strip() and not target.startswith("#") else None


def _framed_document(element: Element) -> str:
    """Return the `src` of a frame; the first lazy source that is written as a URL instead if the
    `src` is missing or a placeholder."""
    source = element.get("src")
    if not _placeholder.match(source):
        return source
    return next(filter(_is_written_document, map(element.get, FRAME_SOURCES)), source)


def _is_written_document(value: str) -> bool:
    return is_written_url(value) or _page_file.fullmatch(value.strip()) is not None


def link_text(element: Element) -> str:
    """Return the text of a link: its content, the alt texts of its images, or its title."""
    if element.tag == "a":
        return element.node.text(separator=" ").strip() or _alternative_text(element.node)
    return element.get("alt") if element.tag == "area" else element.get("title")


def _alternative_text(node: LexborNode) -> str:
    return " ".join(image.attributes.get("alt") or "" for image in node.css("img[alt]"))


def find_forms(elements: Elements, resolver: Resolver, page_url: str) -> tuple[Form, ...]:
    """Return the forms with method GET. A form without an action has the action *page_url*."""
    forms: dict[Form, None] = {}
    for element in elements.of("form"):
        if len(forms) >= MAX_FORMS:
            break
        if element.get("method").strip().lower() in ("", "get"):
            action = element.get("action").strip()
            if action := resolver.resolve(action) if action else page_url:
                forms[Form(action, _field_names(element))] = None
    return tuple(forms)


def _field_names(form: Element) -> tuple[str, ...]:
    names = (node.attributes.get("name") or "" for node in form.node.css("[name]"))
    return tuple(dict.fromkeys(name[:MAX_NAME_LENGTH] for name in names if name))[:MAX_FIELDS]


def guess_targets(elements: Elements) -> Iterator[str]:
    """Yield the string literals in the scripts of *elements* that may be URLs of pages."""
    characters_left = MAX_SCRIPT_CHARACTERS
    for element in _find_scripted(elements):
        if element.tag == "script":
            script = _script_text(element)[:characters_left]
            characters_left -= len(script)
            yield from find_url_literals(script)
        else:
            for handler in _handler_texts(element):
                yield from find_url_literals(handler)


def _find_scripted(elements: Elements) -> list[Element]:
    """Return the scripts, and the elements that may have a handler."""
    # Without a call for each element: a page has hundreds.
    has_handlers = not EVENT_HANDLERS.isdisjoint(elements.names)
    return [
        element
        for element in elements.all
        if element.tag == "script"
        or (
            "href" in element.attributes
            and (href := element.attributes["href"])
            and href[0] in BLANK_OR_J
        )
        or (has_handlers and not EVENT_HANDLERS.isdisjoint(element.attributes))
    ]


def find_url_literals(script: str) -> Iterator[str]:
    """Yield the string literals of *script* that look like URLs of pages."""
    # JSON in scripts often escapes slashes.
    for text in _literal.findall(script.replace("\\/", "/")):
        if ("/" in text or "." in text) and _url.fullmatch(text) and not _not_a_page.search(text):
            yield text


def _script_text(element: Element) -> str:
    kind = element.get("type").lower()
    is_script = not kind or "javascript" in kind or kind in ("module", "application/json")
    return element.node.text() if is_script and "src" not in element.attributes else ""


def _handler_texts(element: Element) -> Iterator[str]:
    href = element.get("href")
    if href[:20].lstrip()[:11].lower() == "javascript:":
        yield href
    yield from (element.get(name) for name in element.attributes if name in EVENT_HANDLERS)
    if element.tag == "select":
        for option in element.node.css("option[value]"):
            yield f"'{option.attributes.get('value')}'"
