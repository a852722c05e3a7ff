"""Linked data in a page (JSON-LD, schema.org): what it says of the page itself.

A page describes many things: its publisher, the path to it, what it recommends. What is most like
an article or a page is taken for itself.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from services.parser.elements import Elements

TYPE = "application/ld+json"
SCRIPTS = 20
CHARACTERS = 100_000
"""Most of all scripts together that are looked at."""
THINGS = 500
"""Most things of a script that are looked at."""
PEOPLE = 5

_wrapping = re.compile(
    r"^\s*(?:<!--|//\s*<!\[CDATA\[|<!\[CDATA\[)|(?:-->|(?://\s*)?\]\]>)\s*;?\s*$"
)
_pages = re.compile("WebPage$|^(?:Recipe|Product|Event|VideoObject|Book|Movie|JobPosting|Course)$")

Thing = dict[str, Any]


def scripts(elements: Elements) -> tuple[str, ...]:
    """Return the texts of linked data, as they stand in the page, as far as there is room."""
    found, room = list[str](), CHARACTERS
    for element in elements.of("script"):
        if element.get("type").strip().lower().startswith(TYPE):
            text = _wrapping.sub("", element.node.text()).strip()
            if text and len(text) <= room and len(found) < SCRIPTS:
                found.append(text)
                room -= len(text)
    return tuple(found)


def itself(texts: tuple[str, ...]) -> Thing:
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
    for _ in range(THINGS):
        if not waiting:
            return
        one = waiting.pop(0)
        if isinstance(one, list):
            waiting += one[:THINGS]
        elif isinstance(one, dict):
            yield one
            waiting += [part for part in (one.get("@graph"), one.get("mainEntity")) if part]


def _rank(thing: Thing) -> int:
    kinds = thing.get("@type")
    names = [str(kind) for kind in kinds] if isinstance(kinds, list) else [str(kinds)]
    if any(name.endswith(("Article", "BlogPosting", "Report")) for name in names):
        return 3
    if any(_pages.search(name) for name in names):
        return 2
    return 1 if "datePublished" in thing else 0


def text(said: Any) -> str:
    """Return *said* as text: a string, or the first one of a list; "" of anything else."""
    one = said[0] if isinstance(said, list) and said else said
    return str(one) if isinstance(one, str | int | float) else ""


def name(said: Any) -> str:
    """Return the names of people or organisations, separated by commas."""
    every = said[:PEOPLE] if isinstance(said, list) else [said]
    names = (text(one.get("name")) if isinstance(one, dict) else text(one) for one in every)
    return ", ".join(dict.fromkeys(one.strip() for one in names if one.strip()))


def url(said: Any) -> str:
    """Return the URL of an image or another thing."""
    one = said[0] if isinstance(said, list) and said else said
    return text(one.get("url") or one.get("contentUrl")) if isinstance(one, dict) else text(one)
