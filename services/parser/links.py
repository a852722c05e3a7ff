"""The links of a page, collected: each canonical URL once, in the order in which it was found.

Bytes are limited besides the number: a long base makes long URLs of short ones, and a page that is
small would make an event that no log takes.
"""

import re
from collections.abc import Callable
from urllib.parse import quote

from msgspec import json

from gossamer.events import Link
from gossamer.events.hazards import Hazard
from gossamer.events.pages import LinkKind
from gossamer.text.folding import folded
from gossamer.web.url import BadUrl, NotOfTheWeb, UrlTooLong, canonicalize, host_key
from services.parser.labels import codec_of
from services.parser.options import Options

TEXT_LIMIT = 200
TEXT_BUDGET = 4_000_000
"""Characters that are looked at for the texts of all links; where links lie in links, as they may
in SVG, each has the text of all that it holds."""
REL_LIMIT = 100
PLAIN = 500
"""Characters of a link that needs no parsing. Longer ones are few, and may be too long."""
NOFOLLOW = frozenset(("nofollow", "ugc", "sponsored"))

_path = r"(?:(?:/[\w~-][\w.~-]*)++/?(?:\?[\w.~&=/-]++)?|/)"
_plain = re.compile(_path, re.ASCII)
"""A path, perhaps with a query, that is spelt as it will be: nothing in it is to be escaped."""
_absolute = re.compile(
    rf"https?://(?!xn--|[^/]*\.xn--)(?:[a-z0-9-]+\.)++[a-z]{{2,}}{_path}", re.ASCII
)
"""The same with a host, of which nothing is to be undone either."""
_not_ascii = re.compile(r"[^\x00-\x7f]+")


class Resolver:
    """Turns what a page points at into canonical URLs, and notes the hazards met with it."""

    def __init__(self, base: str, charset: str) -> None:
        self._base, self._codec = base, codec_of(charset)
        self._host = host_key(base)
        self._known: dict[str, str] = {}
        self.hazards: set[Hazard] = set()

    def url(self, target: str) -> str:
        """Return *target* as a canonical URL; "", and note the hazard, if it is none to visit."""
        document = target.partition("#")[0]
        known = self._known.get(document)
        if known is None:
            known = self._known[document] = self._canonical(document)
        return known

    def _canonical(self, target: str) -> str:
        # Most links are plain: to parse those takes as long as all else of them.
        if len(target) <= PLAIN:
            path = target.removeprefix(self._host)
            if _plain.fullmatch(path):
                return self._host + path
            if _absolute.fullmatch(target):
                return target
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


class Links:
    """Collects links as far as *options* say."""

    def __init__(self, options: Options) -> None:
        self._limit, self._room = options.links_limit, options.links_bytes
        self._found: dict[str, Link] = {}
        self._text_budget = TEXT_BUDGET
        self.hazards: set[Hazard] = set()

    def add(
        self,
        url: str,
        kind: LinkKind,
        rel: list[str],
        text: Callable[[], str],
        position: str = "",
    ) -> None:
        """Add a link to the canonical *url*; *text* is asked for where none is known yet."""
        if not self._room:
            return
        before = self._found.get(url)
        nofollow = not NOFOLLOW.isdisjoint(rel)
        if before is None:
            words = " ".join(rel)[:REL_LIMIT]
            said = self._said(text)
            self._take(Link(url, said, nofollow, False, words, kind.value, position), 0)
        elif not before.text or before.nofollow > nofollow or before.kind != LinkKind.LINK:
            said = before.text or self._said(text)
            link = _merged(before, kind, nofollow, said, position)
            self._take(link, len(json.encode(before)))

    def _said(self, text: Callable[[], str]) -> str:
        whole = text() if self._text_budget > 0 else ""
        self._text_budget -= len(whole)
        return folded(whole)[:TEXT_LIMIT]

    def _take(self, link: Link, size: int) -> None:
        more = len(json.encode(link)) - size
        if more > self._room or (not size and len(self._found) == self._limit):
            self.hazards.add(Hazard.TOO_MANY_LINKS)
            self._room = 0
        else:
            self._found[link.url] = link
            self._room -= more

    def __contains__(self, url: str) -> bool:
        return url in self._found

    def all(self) -> tuple[Link, ...]:
        """Return the links in the order in which they were first found."""
        return tuple(self._found.values())


def _merged(before: Link, kind: LinkKind, nofollow: bool, text: str, position: str) -> Link:
    """Return the link as it was found *before* and now: what people can click on is no less."""
    return Link(
        before.url,
        text,
        before.nofollow and nofollow,
        rel=before.rel,
        kind=kind.value if kind is LinkKind.LINK else before.kind,
        position=before.position or position,
    )
