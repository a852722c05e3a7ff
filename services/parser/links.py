"""The links of a page, collected: each canonical URL once, in the order in which it was found.

Bytes are limited besides the number: a long base makes long URLs of short ones, and a page that is
small would make an event that no log takes.


What the headers of a response lead to: Link (RFC 8288) and Refresh.

Where the elements of a page lead, by the HTML standard, and what they call it.
"""

import re
from collections.abc import Callable, Iterator
from urllib.parse import quote

from msgspec import json

from gossamer.events import Link
from gossamer.events.hazards import Hazard
from gossamer.events.pages import LinkKind
from gossamer.text.folding import fold_whitespace
from gossamer.web.http import Headers, all_values, first_value
from gossamer.web.url import BadUrl, NotOfTheWeb, UrlTooLong, canonicalize, host_key
from services.parser.charset import codec_of
from services.parser.options import Options

MAX_TEXT_LENGTH = 200
TEXT_BUDGET = 4_000_000
"""Characters that are looked at for the texts of all links; where links lie in links, as they may
in SVG, each has the text of all that it holds."""
MAX_REL_LENGTH = 100
MAX_PLAIN_LENGTH = 500
"""Characters of a link that needs no parsing. Longer ones are few, and may be too long."""
NOFOLLOW_RELATIONS = frozenset(("nofollow", "ugc", "sponsored"))

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
        if len(target) <= MAX_PLAIN_LENGTH:
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


class LinkCollector:
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
        nofollow = not NOFOLLOW_RELATIONS.isdisjoint(rel)
        if before is None:
            words = " ".join(rel)[:MAX_REL_LENGTH]
            said = self._said(text)
            self._take(Link(url, said, nofollow, False, words, kind.value, position), 0)
        elif not before.text or before.nofollow > nofollow or before.kind != LinkKind.LINK:
            said = before.text or self._said(text)
            link = _merge(before, kind, nofollow, said, position)
            self._take(link, len(json.encode(before)))

    def _said(self, text: Callable[[], str]) -> str:
        whole = text() if self._text_budget > 0 else ""
        self._text_budget -= len(whole)
        return fold_whitespace(whole)[:MAX_TEXT_LENGTH]

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


def _merge(before: Link, kind: LinkKind, nofollow: bool, text: str, position: str) -> Link:
    """Return the link as it was found *before* and now: what people can click on is no less."""
    return Link(
        before.url,
        text,
        before.nofollow and nofollow,
        rel=before.rel,
        kind=kind.value if kind is LinkKind.LINK else before.kind,
        position=before.position or position,
    )


MAX_HEADER_LINKS = 100
"""Most links of a response's headers."""

_link = re.compile(r"[\s,]*<([^<>]*)>((?:[^,<\"]+|\"(?:[^\"\\]|\\.)*\"?)*)", re.DOTALL)
_parameter = re.compile(
    r""";\s*([\w!#$%&'*+.^`|~-]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"?|([^\s;,"]*)))?""", re.DOTALL
)
_escape = re.compile(r"\\(.)", re.DOTALL)

Parameters = dict[str, str]


def find_header_links(headers: Headers, url: str) -> tuple[Link, ...]:
    """Return where the headers of a response from the canonical *url* lead, each URL once."""
    found: dict[str, Link] = {}
    for target, kind, said in _header_targets(headers):
        leads_to = _canonical(target, url)
        if leads_to and leads_to != url and len(found) < MAX_HEADER_LINKS:
            rel = fold_whitespace(said.get("rel", "").lower())[:MAX_REL_LENGTH]
            text = fold_whitespace(said.get("title", ""))[:MAX_TEXT_LENGTH]
            found.setdefault(leads_to, Link(leads_to, text, rel=rel, kind=kind.value))
    return tuple(found.values())


def parse_link_header(value: str) -> Iterator[tuple[str, Parameters]]:
    """Yield the targets in a Link header, as they stand there, each with its parameters; of one
    that is there twice the first counts (section 3.3)."""
    for found in _link.finditer(value):
        said: Parameters = {}
        for name, quoted, plain in _parameter.findall(found[2]):
            said.setdefault(name.lower(), _escape.sub(r"\1", quoted) or plain)
        yield found[1].strip(), said


def _header_targets(headers: Headers) -> Iterator[tuple[str, LinkKind, Parameters]]:
    for value in all_values(headers, "link"):
        for target, said in parse_link_header(value):
            rel = said.get("rel", "").lower().split()
            kind = link_kind(rel, said.get("type", ""), "hreflang" in said)
            # With an anchor it is a link of another document (section 3.2).
            if kind and "anchor" not in said:
                yield target, kind, said
    if refresh := parse_refresh(first_value(headers, "refresh")):
        yield refresh, LinkKind.REFRESH, {}


def _canonical(target: str, url: str) -> str:
    try:
        return canonicalize(target, url) if target else ""
    except BadUrl:
        return ""


FEED_TYPES = frozenset(
    (
        "application/rss+xml",
        "application/atom+xml",
        "application/rdf+xml",
        "application/feed+json",
        "application/xml",
        "text/xml",
    )
)
KIND_BY_RELATION = {
    "canonical": LinkKind.CANONICAL,
    "next": LinkKind.NEXT,
    "prev": LinkKind.PREVIOUS,
    "previous": LinkKind.PREVIOUS,
    "amphtml": LinkKind.AMP,
}
"""Relations of a link element, or of a Link header, that lead to other documents by themselves."""

_refresh = re.compile(
    r"""[\s\0]*[\d.]+[;,\s]\s*(?:url\s*=\s*)?(?:"([^"]*)|'([^']*)|(.*))""",
    re.IGNORECASE | re.DOTALL,
)


def link_kind(rel: list[str], media_type: str, has_language: bool) -> LinkKind | None:
    """Return as what a link element, or a Link header, leads to another document; None if it does
    not.

    Of alternates only feeds and other languages: most of the others are interfaces for programs.
    """
    if "stylesheet" in rel:
        return None
    if "alternate" in rel:
        if media_type.partition(";")[0].strip().lower() in FEED_TYPES:
            return LinkKind.FEED
        return LinkKind.ALTERNATE if has_language else None
    return next((KIND_BY_RELATION[word] for word in rel if word in KIND_BY_RELATION), None)


def parse_refresh(value: str) -> str:
    """Return where a Refresh header or meta element leads (HTML standard, 4.2.4.3); "" if nowhere:
    to the same page, after a while."""
    found = _refresh.match(value)
    return next((part for part in found.groups() if part), "").strip() if found else ""
