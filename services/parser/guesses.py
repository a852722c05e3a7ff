"""Guesses at links: what stands in scripts, and in the handlers of events, and looks like a URL.

Nothing is executed. Of an address that a script puts together its parts are of no use, so only
whole literals are taken, of the page's own site: absolute ones, paths, and names that end as pages
do. Half of them are none, so they are marked, come after all other links, and dedup lets only few
of a host through unless they turn out to be pages.
"""

import re
from collections.abc import Iterator

from services.parser.elements import Element, Elements

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
