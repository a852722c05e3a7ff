"""What a page is shown with, and the forms that ask for documents: kept, but not followed."""

import re
from collections.abc import Iterator

from gossamer.events.pages import Form
from services.parser.elements import Element, Elements
from services.parser.links import Resolver
from services.parser.targets import SHOWN_WITH, embedded

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
