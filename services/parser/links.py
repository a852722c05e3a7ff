"""The links of a page: every element that leads to another document, in document order."""

import re
from urllib.parse import quote

from msgspec import json
from selectolax.lexbor import LexborNode

from gossamer.events import Link
from gossamer.events.hazards import Hazard
from gossamer.web.url import BadUrl, NotOfTheWeb, UrlTooLong, canonicalize
from services.parser.labels import codec_of
from services.parser.options import Options
from services.parser.text import folded

TEXT_LIMIT = 200
SELECTOR = "a[href], area[href], link[href], iframe[src], frame[src], meta[http-equiv][content]"
LEADING = frozenset(("next", "prev", "previous", "alternate"))
"""Relations of a link element that lead to other documents, not to parts of this one."""
NOFOLLOW = frozenset(("nofollow", "ugc", "sponsored"))

_refresh = re.compile(
    r"""\s*[\d.]+\s*[;,\s]\s*(?:url\s*=\s*)?(?:"([^"]*)|'([^']*)|(.*))""",
    re.IGNORECASE | re.DOTALL,
)
_not_ascii = re.compile(r"[^\x00-\x7f]+")

Attributes = dict[str, str | None]


def tokens(value: str | None) -> frozenset[str]:
    """Return the words of a space-separated attribute, in lower case."""
    return frozenset((value or "").lower().split())


class Links:
    """Collects links, each canonical URL once, and the hazards met with the others.

    Bytes are limited besides the number: a long base makes long URLs of short ones, and a page that
    is small would make an event that no log takes.
    """

    def __init__(self, base: str, charset: str, options: Options) -> None:
        self._base = base
        self._codec = codec_of(charset)
        self._limit, self._room = options.links_limit, options.links_bytes
        self._found: dict[str, Link] = {}
        self.hazards: set[Hazard] = set()

    def add(self, node: LexborNode) -> None:
        """Add the link of *node*, if it has one."""
        attributes = node.attributes
        target = _target(node.tag or "", attributes)
        url = self.resolved(target) if target and self._room else ""
        if not url:
            return
        nofollow = bool(NOFOLLOW & tokens(attributes.get("rel")))
        before = self._found.get(url)
        text = before.text if before else ""
        self._take(
            Link(
                url,
                text or _text(node, attributes),
                nofollow and (before is None or before.nofollow),
            )
        )

    def _take(self, link: Link) -> None:
        before = self._found.get(link.url)
        more = len(json.encode(link)) - (len(json.encode(before)) if before else 0)
        if more > self._room or (before is None and len(self._found) == self._limit):
            self.hazards.add(Hazard.TOO_MANY_LINKS)
            self._room = 0
        else:
            self._found[link.url] = link
            self._room -= more

    def resolved(self, target: str) -> str:
        """Return *target* as a canonical URL; "", and note the hazard, if it is none to visit."""
        try:
            return canonicalize(self._in_charset(target), self._base)
        except UrlTooLong:
            self.hazards.add(Hazard.URL_TOO_LONG)
        except NotOfTheWeb:
            self.hazards.add(Hazard.NON_WEB_LINK)
        except BadUrl:
            self.hazards.add(Hazard.MALFORMED_URL)
        return ""

    def _in_charset(self, target: str) -> str:
        # URL standard, 4.4, query state: a query is spelt in the document's own encoding.
        path, mark, query = target.partition("?")
        if not mark or query.isascii() or self._codec.startswith("utf-"):
            return target
        return path + mark + _not_ascii.sub(self._escaped, query)

    def _escaped(self, characters: re.Match[str]) -> str:
        return quote(characters[0].encode(self._codec, "xmlcharrefreplace"), safe="")

    def all(self) -> tuple[Link, ...]:
        """Return the links in the order in which they were first found."""
        return tuple(self._found.values())


def _target(tag: str, attributes: Attributes) -> str:
    match tag:
        case "a" | "area":
            return attributes.get("href") or ""
        case "link":
            rel = tokens(attributes.get("rel"))
            return (
                (attributes.get("href") or "") if LEADING & rel and "stylesheet" not in rel else ""
            )
        case "meta":
            return _refresh_target(attributes)
    return attributes.get("src") or ""


def _refresh_target(attributes: Attributes) -> str:
    if (attributes.get("http-equiv") or "").lower() != "refresh":
        return ""
    found = _refresh.match(attributes.get("content") or "")
    return next((part for part in found.groups() if part), "") if found else ""


def _text(node: LexborNode, attributes: Attributes) -> str:
    text = attributes.get("alt") or "" if node.tag == "area" else ""
    if node.tag == "a":
        text = node.text(separator=" ")
    return folded(text)[:TEXT_LIMIT]
