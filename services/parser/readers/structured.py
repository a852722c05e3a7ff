"""Reads JSON and JSON-LD: title and links. JSON Feed is read as a feed.

A link is an absolute URL under a name that means a URL. Guessing at other strings would fill the
crawl with URLs that are not links.
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
"""Names of titles, the best one first: two of schema.org, and a common one."""


def read(received: ReceivedDocument) -> PageParsed:
    """Return the contents of a JSON document; nothing if it is invalid."""
    parsed, decoded = received.decode(is_html=False)
    try:
        value = json.decode(decoded.text)
    except (DecodeError, RecursionError, UnicodeError):
        return parsed
    if isinstance(value, dict) and str(value.get("version")).startswith(JSON_FEED_PREFIX):
        return listings.read_json_feed(parsed, value, received.options)
    objects = [*_find_objects(value)]
    titles = (
        item[name] for item in objects for name in TITLE_NAMES if isinstance(item.get(name), str)
    )
    titled = replace(parsed, title=fold_whitespace(next(titles, ""))[:MAX_TITLE_LENGTH])
    return add_links(titled, _find_targets(objects), received.options)


def _find_objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects in *value*, the outer ones first."""
    queue = deque([value])
    while queue:
        item = queue.popleft()
        if isinstance(item, dict):
            yield item
            queue += item.values()
        elif isinstance(item, list):
            queue += item


def _find_targets(objects: list[dict[str, Any]]) -> Iterator[str]:
    for target in (item.get(name) for item in objects for name in LINK_NAMES):
        if isinstance(target, str) and target.lower().startswith(("http://", "https://")):
            yield target
