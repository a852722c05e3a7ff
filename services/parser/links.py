"""Links: canonical URLs, the links of a page, and the links in HTTP headers.

A page's links are limited in number and in bytes. A long base URL makes long URLs of short targets,
so that a small page would make an event larger than a message of the log.
"""

import re
from collections.abc import Callable, Iterator
from urllib.parse import quote

from msgspec import json

from gossamer.events import Link
from gossamer.events.hazards import Hazard
from gossamer.events.pages import LinkKind
from gossamer.services.parser.charset import codec_of
from gossamer.services.parser.options import Options
from gossamer.text.blocks import fold_whitespace, word_set
from gossamer.web.http import (
    Headers,
    escape_octets,
    first_reference,
    parse_refresh,
    raw_values,
    to_text,
)
from gossamer.web.url import BadUrl, NotHttpUrl, UrlTooLong, canonicalize, host_key

MAX_TEXT_LENGTH = 200
TEXT_BUDGET = 4_000_000
"""Characters that are read for the texts of all links. Links can be nested, as in SVG, and each has
the text of all its descendants."""
MAX_REL_LENGTH = 100
MAX_PLAIN_LENGTH = 500
"""Longest target that is matched against the patterns of plain links. Longer ones are rare."""
NOFOLLOW_RELATIONS = frozenset(("nofollow", "ugc", "sponsored"))
MAX_LANGUAGE_TAG_LENGTH = 35
MAX_HEADER_LINKS = 100
"""Most links in the headers of a response."""
FEED_TYPES = word_set("""
    application/rss+xml application/atom+xml application/rdf+xml application/feed+json
    application/xml text/xml
""")
KIND_BY_RELATION = {
    "canonical": LinkKind.CANONICAL,
    "next": LinkKind.NEXT,
    "prev": LinkKind.PREVIOUS,
    "previous": LinkKind.PREVIOUS,
    "amphtml": LinkKind.AMP,
}
"""Relations of a link element or a Link header that always lead to another document."""

_names = {kind: kind.value for kind in LinkKind}
_path = r"(?:(?:/[\w~-][\w.~-]*)++/?(?:\?[\w.~&=/-]++)?|/)"
_plain = re.compile(_path, re.ASCII)
"""A path, with or without a query, that is canonical as it is written."""
_absolute = re.compile(
    rf"https?://(?!xn--|[^/]*\.xn--)(?:[a-z0-9-]+\.)++[a-z]{{2,}}{_path}", re.ASCII
)
"""An absolute URL that is canonical as it is written."""
_not_ascii = re.compile(r"[^\x00-\x7f]+")
_link = re.compile(r"[\s,]*<([^<>]*)>((?:[^,<\"]+|\"(?:[^\"\\]|\\.)*\"?)*)", re.DOTALL | re.ASCII)
_parameter = re.compile(
    r""";\s*([\w!#$%&'*+.^`|~-]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"?|([^\s;,"]*)))?""",
    re.DOTALL | re.ASCII,
)
_escape = re.compile(r"\\(.)", re.DOTALL)

Parameters = dict[str, str]


class Resolver:
    """Resolves the targets of a page to canonical URLs, and collects the hazards of bad targets."""

    def __init__(self, base: str, charset: str) -> None:
        self._base, self._codec = base, codec_of(charset)
        self._host = host_key(base)
        self._cache: dict[str, str] = {}
        self.hazards: set[Hazard] = set()

    def resolve(self, target: str) -> str:
        """Return *target* as a canonical URL; "" if it is not a URL that can be visited."""
        url = self._cache.get(target)
        if url is None:
            is_whole = "#" not in target
            url = self._canonicalize(target) if is_whole else self.resolve(target.split("#", 1)[0])
            self._cache[target] = url
        return url

    def _canonicalize(self, target: str) -> str:
        # Most links are plain. Parsing them would double the time for links.
        if len(target) <= MAX_PLAIN_LENGTH:
            path = target if target[:1] == "/" else target.removeprefix(self._host)
            if _plain.fullmatch(path):
                return self._host + path
            if _absolute.fullmatch(target):
                return target
        try:
            return canonicalize(self._encode_query(target), self._base)
        except UrlTooLong:
            self.hazards.add(Hazard.URL_TOO_LONG)
        except NotHttpUrl:
            self.hazards.add(Hazard.NON_WEB_LINK)
        except BadUrl:
            self.hazards.add(Hazard.MALFORMED_URL)
        return ""

    def _encode_query(self, target: str) -> str:
        # URL standard, 4.4, query state: a query is in the encoding of the document.
        path, mark, query = target.partition("?")
        if not mark or query.isascii() or self._codec.startswith("utf-"):
            return target
        return path + mark + _not_ascii.sub(self._escape_match, query)

    def _escape_match(self, match: re.Match[str]) -> str:
        return quote(match[0].encode(self._codec, "xmlcharrefreplace"), safe="")


class LinkCollector:
    """Collects links, each canonical URL once and in the order of the page, up to the limits."""

    def __init__(self, options: Options) -> None:
        self._limit, self._bytes_left = options.links_limit, options.links_bytes
        self._links: dict[str, Link] = {}
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
        """Add a link to the canonical *url*; *text* is called if the link has no text yet."""
        if not self._bytes_left:
            return
        previous = self._links.get(url)
        nofollow = bool(rel) and not NOFOLLOW_RELATIONS.isdisjoint(rel)
        if previous is None:
            words = " ".join(rel)[:MAX_REL_LENGTH] if rel else ""
            link = Link(url, self._read(text), nofollow, False, words, _names[kind], position)
            self._store(link, 0)
        elif not previous.text or previous.nofollow > nofollow or previous.kind != LinkKind.LINK:
            link_text = previous.text or self._read(text)
            link = _merge(previous, kind, nofollow, link_text, position)
            self._store(link, len(json.encode(previous)))

    def _read(self, text: Callable[[], str]) -> str:
        whole = text() if self._text_budget > 0 else ""
        self._text_budget -= len(whole)
        return fold_whitespace(whole)[:MAX_TEXT_LENGTH]

    def _store(self, link: Link, replaced_size: int) -> None:
        growth = len(json.encode(link)) - replaced_size
        is_full = not replaced_size and len(self._links) == self._limit
        if growth > self._bytes_left or is_full:
            self.hazards.add(Hazard.TOO_MANY_LINKS)
            self._bytes_left = 0
        else:
            self._links[link.url] = link
            self._bytes_left -= growth

    def __contains__(self, url: str) -> bool:
        return url in self._links

    def all(self) -> tuple[Link, ...]:
        """Return the links in the order in which they were first found."""
        return tuple(self._links.values())


def _merge(previous: Link, kind: LinkKind, nofollow: bool, text: str, position: str) -> Link:
    """Return *previous* with a second occurrence. The kind LINK, which can be clicked, wins."""
    return Link(
        previous.url,
        text,
        previous.nofollow and nofollow,
        rel=previous.rel,
        kind=kind.value if kind is LinkKind.LINK else previous.kind,
        position=previous.position or position,
    )


def find_header_links(headers: Headers, url: str) -> tuple[Link, ...]:
    """Return the links in the Link (RFC 8288) and Refresh headers of *url*, each URL once."""
    if not (found := list(_header_targets(headers))):
        return ()
    links, resolver = dict[str, Link](), Resolver(url, "utf-8")
    for target, kind, parameters in found:
        link_url = resolver.resolve(target)
        if link_url and link_url != url and len(links) < MAX_HEADER_LINKS:
            rel = fold_whitespace(parameters.get("rel", "").lower())[:MAX_REL_LENGTH]
            text = fold_whitespace(parameters.get("title", ""))[:MAX_TEXT_LENGTH]
            links.setdefault(link_url, Link(link_url, text, rel=rel, kind=kind.value))
    return tuple(links.values())


def find_header_alternates(headers: Headers, url: str) -> dict[str, str]:
    """Return the translations of *url* in its Link headers: the URLs by language."""
    alternates, resolver = dict[str, str](), Resolver(url, "utf-8")
    for target, kind, parameters in _header_targets(headers):
        language = parameters.get("hreflang", "").strip().lower()
        is_named = kind is LinkKind.ALTERNATE and 0 < len(language) <= MAX_LANGUAGE_TAG_LENGTH
        if is_named and len(alternates) < MAX_HEADER_LINKS and (link := resolver.resolve(target)):
            alternates.setdefault(language, link)
    return alternates


def parse_link_header(value: str) -> Iterator[tuple[str, Parameters]]:
    """Yield the targets of a Link header with their parameters; *value* is octets, as Latin-1.

    The octets of a target are escaped, and a parameter is text. The first of two parameters with a
    name counts (RFC 8288, 3.3).
    """
    for link in _link.finditer(value):
        parameters: Parameters = {}
        for name, quoted, plain in _parameter.findall(link[2]):
            parameters.setdefault(name.lower(), to_text(_escape.sub(r"\1", quoted) or plain))
        yield escape_octets(link[1]).strip(), parameters


def _header_targets(headers: Headers) -> Iterator[tuple[str, LinkKind, Parameters]]:
    for value in raw_values(headers, "link"):
        for target, parameters in parse_link_header(value):
            rel = parameters.get("rel", "").lower().split()
            kind = link_kind(rel, parameters.get("type", ""), "hreflang" in parameters)
            # A link with an anchor belongs to another document (RFC 8288, 3.2).
            if kind and target and "anchor" not in parameters:
                yield target, kind, parameters
    if refresh := parse_refresh(first_reference(headers, "refresh")):
        yield refresh, LinkKind.REFRESH, {}


def link_kind(rel: list[str], media_type: str, has_language: bool) -> LinkKind | None:
    """Return the kind of a link element or a Link header; None if it does not lead to a document.

    Alternates that are neither feeds nor translations are skipped: most are interfaces for
    programs.
    """
    if "stylesheet" in rel:
        return None
    if "canonical" in rel:
        # Also of a link that is a translation, too (HTML standard, 4.6.2: each word is a type).
        return LinkKind.CANONICAL
    if "alternate" in rel:
        if media_type.partition(";")[0].strip().lower() in FEED_TYPES:
            return LinkKind.FEED
        return LinkKind.ALTERNATE if has_language else None
    return next((KIND_BY_RELATION[word] for word in rel if word in KIND_BY_RELATION), None)
