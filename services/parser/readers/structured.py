"""Reads JSON and JSON-LD: where it leads and what it is called; JSON Feed as the feed that it is.

Only what is spelt out as an absolute URL, under a name that says so, is a link: to guess at others
would fill the crawl with what nobody links to.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any

from msgspec import DecodeError, json
from msgspec.structs import replace

from gossamer.events import PageParsed
from gossamer.text.folding import folded
from services.parser.html.document import TITLE_LIMIT
from services.parser.readers import listings
from services.parser.readers.base import Received, linked

FEED = "https://jsonfeed.org/version/"
LINKS = ("@id", "url", "href")
TITLES = ("headline", "name", "title")
"""The best one first: the words of schema.org, and one that others have."""


def read(received: Received) -> PageParsed:
    """Return what a JSON document says; nothing if it is none."""
    parsed, found = received.decoded(is_html=False)
    try:
        said = json.decode(found.text)
    except (DecodeError, RecursionError, UnicodeError):
        return parsed
    if isinstance(said, dict) and str(said.get("version")).startswith(FEED):
        return listings.read_json_feed(parsed, said, received.options)
    objects = [*_objects(said)]
    titles = (one[name] for one in objects for name in TITLES if isinstance(one.get(name), str))
    titled = replace(parsed, title=folded(next(titles, ""))[:TITLE_LIMIT])
    return linked(titled, _targets(objects), received.options)


def _objects(said: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects in *said*, the outer ones first."""
    waiting = deque([said])
    while waiting:
        one = waiting.popleft()
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _targets(objects: list[dict[str, Any]]) -> Iterator[str]:
    for target in (one.get(name) for one in objects for name in LINKS):
        if isinstance(target, str) and target.lower().startswith(("http://", "https://")):
            yield target
