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
from gossamer.text.folding import fold_whitespace
from services.parser.html.document import MAX_TITLE_LENGTH
from services.parser.readers import listings
from services.parser.readers.base import ReceivedDocument, add_links

JSON_FEED_PREFIX = "https://jsonfeed.org/version/"
LINK_NAMES = ("@id", "url", "href")
TITLE_NAMES = ("headline", "name", "title")
"""The best one first: the words of schema.org, and one that others have."""


def read(received: ReceivedDocument) -> PageParsed:
    """Return what a JSON document says; nothing if it is none."""
    parsed, found = received.decoded(is_html=False)
    try:
        said = json.decode(found.text)
    except (DecodeError, RecursionError, UnicodeError):
        return parsed
    if isinstance(said, dict) and str(said.get("version")).startswith(JSON_FEED_PREFIX):
        return listings.read_json_feed(parsed, said, received.options)
    objects = [*_find_objects(said)]
    titles = (
        one[name] for one in objects for name in TITLE_NAMES if isinstance(one.get(name), str)
    )
    titled = replace(parsed, title=fold_whitespace(next(titles, ""))[:MAX_TITLE_LENGTH])
    return add_links(titled, _find_targets(objects), received.options)


def _find_objects(said: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects in *said*, the outer ones first."""
    waiting = deque([said])
    while waiting:
        one = waiting.popleft()
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _find_targets(objects: list[dict[str, Any]]) -> Iterator[str]:
    for target in (one.get(name) for one in objects for name in LINK_NAMES):
        if isinstance(target, str) and target.lower().startswith(("http://", "https://")):
            yield target
