"""Recognises walls: responses in place of a page that demand a proof, a payment or a license.

A wall is not the page, whatever its status says. `find_refusal` reads statuses and headers that
demand a payment or a license. `Walls.find` also recognises challenges, which demand that the client
runs a script or solves a puzzle: by `SIGNATURES`, a table of what vendors publish or send, and by
structure.

**Structure.** An application that makes its pages by script sends one document without text for all
URLs, and that is not a wall. So the lack of text alone proves nothing. A document without links and
with at most a few words is a challenge if it also does what an application does not do:

- it loads its own URL again, by a meta refresh, or by a script that sets a cookie before;
- or it has no text at all, its status is not one of an application's pages (202, 403, 429 or 503),
  and another URL of the order got the same bytes.

The table is heuristic. A signature in markup counts only in a small document with little text and
few links, so that an article about a wall is not one.
"""

import re
from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Iterator, Sequence
from contextlib import suppress
from enum import StrEnum
from hashlib import blake2b
from html import unescape
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gossamer.web.coding import decode
from gossamer.web.http import (
    Headers,
    all_values,
    escape_octets,
    first_value,
    joined_values,
    parse_refresh,
    raw_values,
)
from gossamer.web.signing import asks_for_signature
from gossamer.web.sniffing import HTML


class WallKind(StrEnum):
    """What a wall demands."""

    CHALLENGE = "challenge"
    """A script or a puzzle. It is never solved."""
    PAYMENT = "payment"
    """A price. Nothing is ever paid."""
    LICENSE = "license"
    """A license token. None is ever requested."""
    SIGNATURE = "signature"
    """A signed request. Whether it is repeated with a signature is a setting (`fetcher.sign`)."""


class Wall(Struct, frozen=True, omit_defaults=True):
    """A wall that answered in place of a page."""

    kind: WallKind
    name: str
    """The product or protocol, as `Anubis` or `RSL`; `script` for a challenge of unknown make."""
    evidence: str
    """What identifies the wall, as text for people."""
    price: str = ""
    """The price as the server wrote it, cut at 300 characters; "" without one."""
    amount: str = ""
    """The amount of the price, as a decimal number; "" if it could not be parsed. The amounts of
    x402 are in the smallest unit of their currency."""
    currency: str = ""
    """The currency or asset of the price; "" if it could not be parsed."""
    license_url: str = ""
    """The URL of the license; "" if the response names none."""

    @property
    def text(self) -> str:
        """The wall as a sentence for people."""
        match self.kind:
            case WallKind.PAYMENT:
                return f"payment required: {self.price or 'no price stated'} ({self.name})"
            case WallKind.LICENSE:
                return f"license required: {self.license_url or 'no license named'} ({self.name})"
            case WallKind.SIGNATURE:
                return f"signature asked: {self.evidence}"
        maker = "an unknown script" if self.name == UNKNOWN else self.name
        return f"challenged by {maker}: {self.evidence}"


UNKNOWN = "script"
"""The name of a challenge that no signature describes."""


class WallSignature(NamedTuple):
    """What identifies the challenges of one product. All stated conditions must hold."""

    name: str
    source: str
    """Where the condition is published, or observed."""
    header: tuple[str, str] = ("", "")
    """Name of a header, and a word of its value; both in lower case. "" allows any value."""
    statuses: frozenset[int] = frozenset()
    """The statuses of responses with this signature. An empty set allows any status."""
    marks: tuple[bytes, ...] = ()
    """Bytes of the document, in lower case, which must all occur."""
    is_empty: bool = False
    """Whether the document must be without text."""

    @property
    def evidence(self) -> str:
        """The condition as text for people."""
        name, value = self.header
        if name:
            return f"header {name}: {value}" if value else f"header {name}"
        return f"its document has {self.marks[0].decode()!r}"


REFUSALS = frozenset({401, 403, 405, 406, 429, 503})
"""Statuses with which products refuse a request."""

# fmt: off
SIGNATURES = (
    WallSignature("Cloudflare",
        "https://developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/"
        "detect-response",
        header=("cf-mitigated", "challenge")),
    WallSignature("Cloudflare",
        "https://developers.cloudflare.com/cloudflare-challenges/ (platform of challenge scripts)",
        statuses=REFUSALS, marks=(b"_cf_chl_opt", b"/cdn-cgi/challenge-platform/")),
    WallSignature("Vercel",
        "https://vercel.com/docs/vercel-firewall (attack challenge mode)",
        header=("x-vercel-mitigated", "challenge")),
    WallSignature("AWS WAF",
        "https://docs.aws.amazon.com/waf/latest/developerguide/"
        "waf-captcha-and-challenge-actions.html",
        header=("x-amzn-waf-action", "challenge")),
    WallSignature("AWS WAF",
        "https://docs.aws.amazon.com/waf/latest/APIReference/API_CaptchaAction.html",
        header=("x-amzn-waf-action", "captcha")),
    WallSignature("Anubis",
        "https://github.com/TecharoHQ/anubis (cookie of a challenge that was issued)",
        header=("set-cookie", "techaro.lol-anubis"), marks=(b"<script",)),
    WallSignature("Anubis",
        "https://github.com/TecharoHQ/anubis (lib/challenge: the challenge as JSON in a script)",
        marks=(b'id="anubis_challenge"',)),
    WallSignature("Anubis",
        "https://github.com/TecharoHQ/anubis (static files of its pages, refusals included)",
        marks=(b"/.within.website/x/cmd/anubis/",)),
    WallSignature("go-away",
        "https://git.gammaspectra.live/git/go-away (path of its challenges)",
        marks=(b"/.well-known/.git.gammaspectra.live/git/go-away/",)),
    WallSignature("Akamai",
        "https://techdocs.akamai.com/bot-manager/ (challenge action; observed meta refresh)",
        marks=(b"bm-verify=",)),
    WallSignature("Akamai",
        "https://techdocs.akamai.com/bot-manager/ (crypto challenge; observed path)",
        marks=(b"/_sec/cp_challenge/",)),
    WallSignature("Akamai",
        "https://community.akamai.com/ (Access Denied pages with a reference number)",
        header=("server", "akamaighost"), statuses=frozenset({403}),
        marks=(b"access denied", b"reference")),
    WallSignature("DataDome",
        "https://docs.datadome.co/ (response page; captcha-delivery.com serves the challenge)",
        statuses=REFUSALS, marks=(b"captcha-delivery.com/",)),
    WallSignature("HUMAN",
        "https://docs.humansecurity.com/applications/ (block page of PerimeterX enforcers)",
        statuses=REFUSALS, marks=(b"_pxappid",)),
    WallSignature("HUMAN",
        "https://docs.humansecurity.com/applications/ (block page: press and hold)",
        statuses=REFUSALS, marks=(b"px-captcha",)),
    WallSignature("Imperva",
        "https://docs.imperva.com/ (error pages with an incident id)",
        marks=(b"incapsula incident id",)),
    WallSignature("Imperva",
        "https://docs.imperva.com/ (challenge in a frame)",
        marks=(b"main-iframe", b"/_incapsula_resource?")),
    WallSignature("Imperva",
        "https://docs.imperva.com/ (script challenge; honest pages have the script beside a text)",
        marks=(b"/_incapsula_resource?",), is_empty=True),
    WallSignature("Sucuri",
        "https://docs.sucuri.net/website-firewall/ (script that sets a cookie and reloads)",
        marks=(b"sucuri_cloudproxy_js",)),
    WallSignature("Sucuri",
        "https://docs.sucuri.net/website-firewall/ (block page)",
        header=("x-sucuri-block", ""), statuses=REFUSALS),
    WallSignature("DDoS-Guard",
        "https://ddos-guard.net/ (browser check; path observed by FlareSolverr)",
        statuses=REFUSALS, marks=(b"/.well-known/ddos-guard/",)),
    WallSignature("SiteGround",
        "https://www.siteground.com/ (anti-bot page; observed with status 202)",
        marks=(b"/.well-known/sgcaptcha/",)),
    WallSignature("testcookie",
        "https://github.com/kyprizel/testcookie-nginx-module (encrypted cookie)",
        marks=(b"slowaes.decrypt(", b"document.cookie")),
)
# fmt: on
"""The challenges that are recognised by what their products send."""

MAX_WALL_BYTES, MAX_CODED_BYTES = 32 << 10, 16 << 10
"""The size of the largest document that is searched, and of the largest body with a coding. Larger
ones are no walls, and decoding them would cost the fetcher as much as their visit."""
MAX_WALL_TEXT = 1500
"""Characters of text of a document in which a signature counts. A wall explains itself briefly."""
MAX_WALL_LINKS = 10
"""Links of a document in which a signature counts."""
MAX_SHELL_BYTES = 16 << 10
"""Bytes of a document that may be a challenge by its structure."""
SHOWN_ELEMENTS = b"<a ", b"<img", b"<frame", b"<iframe", b"<input", b"<object", b"<video"
"""The beginnings of elements of which a document without text may consist."""
MAX_SHELL_TEXT = 200
"""Characters of text of a document that loads itself again, such as a request to wait."""
SHELL_STATUSES = frozenset({202, 403, 429, 503})
"""Statuses with which documents without text are compared. Pages of an application have 200."""
MAX_PRICE_LENGTH = 300
MAX_HEADER = 4096
"""Characters of a header that are searched for a license."""

_tag = re.compile(rb"<[^<>]*>")
_refresh = re.compile(rb"""<meta[^<>]{0,200}http-equiv=["']?refresh["']?[^<>]{0,200}>""")
_content = re.compile(rb"""content=("[^"]*"|'[^']*'|[^\s>]*)""")
_sets_cookie = re.compile(rb"document\.cookie\s*=[^=]")
_reloads = re.compile(
    rb"location\.reload\s*\(|location(?:\.replace\s*\(|\.assign\s*\(|(?:\.href)?\s*=)\s*"
    rb"(?:window\.|document\.|self\.)?location\b"
)
_price = re.compile(r"([A-Za-z]{3})\s+(\d{1,12}(?:\.\d{1,12})?)")
_license_scheme = re.compile(r"(?:^|,)\s*license(?:\s|,|$)", re.IGNORECASE)
_quoted = re.compile(r'"[^"]*"')
_url_parameter = re.compile(r"""=\s*"(https?://[^"\s]+)\"""", re.IGNORECASE)
_link = re.compile(r"<([^<>]*)>([^<]*)")
_license_relation = re.compile(r"""rel\s*=\s*"?[^";]*\blicense\b""", re.IGNORECASE)


class Walls:
    """Recognises the challenges among the responses of one host, in the order received."""

    def __init__(self) -> None:
        self._shells: dict[bytes, str] = {}
        """Digest of a document without text → the first URL that got it."""

    def find(self, url: str, status: int, headers: Headers, body: bytes, kind: str) -> Wall | None:
        """Return the wall that a response with a document of type *kind* is, or None.

        *body* is as received. A 401 or 403 that asks for a signed request is not a wall of this
        table.
        """
        if wall := find_refusal(url, status, headers, body):
            return wall
        if status // 100 == 3 or asks_for_signature(status, headers):
            return None
        document = _document(headers, body) if kind in HTML else b""
        lowered = document.lower()
        candidates = [row for row in SIGNATURES if _matches(row, status, headers, lowered)]
        for row in candidates:
            if not row.marks or _has_shape(row, lowered):
                return Wall(WallKind.CHALLENGE, row.name, row.evidence)
        return self._find_shell(url, status, document)

    def _find_shell(self, url: str, status: int, document: bytes) -> Wall | None:
        """Return the challenge that *document* is by its structure, or None."""
        is_possible = status in SHELL_STATUSES or status // 100 == 2
        if not is_possible or not 0 < len(document) <= MAX_SHELL_BYTES:
            return None
        lowered = document.lower()
        sets_cookie, refreshes = b"document.cookie" in lowered, b"refresh" in lowered
        if not (sets_cookie or refreshes or status in SHELL_STATUSES):
            return None
        text = _text_of_shell(lowered)
        if text is None or len(text) > MAX_SHELL_TEXT:
            return None
        if refreshes and _reloads_by_refresh(lowered, url):
            evidence = "no content, and a meta refresh to its own URL"
            return Wall(WallKind.CHALLENGE, UNKNOWN, evidence)
        if _sets_cookie.search(document) and _reloads.search(document):
            evidence = "no content, and a script that sets a cookie and loads the page again"
            return Wall(WallKind.CHALLENGE, UNKNOWN, evidence)
        if text or status not in SHELL_STATUSES or b"<script" not in lowered:
            return None
        first = self._shells.setdefault(blake2b(document, digest_size=16).digest(), url)
        if first == url:
            return None
        evidence = f"status {status}, no text, and the same document as {first}"
        return Wall(WallKind.CHALLENGE, UNKNOWN, evidence)


def find_refusal(url: str, status: int, headers: Headers, body: bytes) -> Wall | None:
    """Return the wall of a response to *url* that demands a payment or a license, or None.

    Prices come from `crawler-price` (Cloudflare pay per crawl) and from x402. Licenses are those of
    the Crawler Authorization Protocol of RSL 1.0: `WWW-Authenticate: License`, or a Link with the
    relation `license`.
    """
    if status not in (401, 402, 403):
        return None
    license_url = _license_link(url, headers)
    challenges = [value[:MAX_HEADER] for value in all_values(headers, "www-authenticate")]
    asked = next(filter(_names_license_scheme, challenges), "")
    if asked and not license_url:
        found = _url_parameter.search(asked)
        license_url = found[1] if found else ""
    if status == 402 and not (asked and not _has_price(headers)):
        return _payment(headers, body, license_url)
    if asked:
        evidence = f"status {status} with WWW-Authenticate: License"
        return Wall(WallKind.LICENSE, "RSL", evidence, license_url=license_url)
    if status == 403 and license_url and not asks_for_signature(status, headers):
        evidence = f"status {status} with a Link to a license"
        return Wall(WallKind.LICENSE, "RSL", evidence, license_url=license_url)
    return None


def _names_license_scheme(challenge: str) -> bool:
    """Return whether a WWW-Authenticate has the scheme `License`, outside of quoted strings."""
    return bool(_license_scheme.search(_quoted.sub('""', challenge)))


def _has_price(headers: Headers) -> bool:
    return any(first_value(headers, name) for name in (*PRICE_HEADERS, X402_HEADER))


PRICE_HEADERS = "crawler-price", "crawler-exact-price"
X402_HEADER = "payment-required"


def _payment(headers: Headers, body: bytes, license_url: str) -> Wall:
    """Return the wall of a 402, with its price if it states one."""
    for name in PRICE_HEADERS:
        if value := first_value(headers, name).strip():
            found = _price.fullmatch(value)
            return Wall(
                WallKind.PAYMENT,
                "pay per crawl",
                f"status 402 with {name}",
                price=value[:MAX_PRICE_LENGTH],
                amount=found[2] if found else "",
                currency=found[1].upper() if found else "",
                license_url=license_url,
            )
    if offer := _x402_offer(headers, body):
        return replace(offer, license_url=license_url)
    return Wall(WallKind.PAYMENT, "402", "status 402", license_url=license_url)


class _Offer(Struct):
    """One way to pay, by the x402 specification, versions 1 and 2."""

    amount: str = ""
    maxAmountRequired: str = ""
    asset: str = ""
    network: str = ""


class _Offers(Struct):
    x402Version: int
    accepts: list[_Offer] = []


def _x402_offer(headers: Headers, body: bytes) -> Wall | None:
    """Return the first offer of x402: in its header (version 2), or in the body (version 1)."""
    for place, text in _x402_texts(headers, body):
        try:
            offers = msgspec.json.decode(text, type=_Offers).accepts
        except msgspec.DecodeError:
            continue
        first = offers[0] if offers else _Offer()
        amount = first.amount or first.maxAmountRequired
        currency = " ".join(filter(None, (first.asset, first.network)))[:MAX_PRICE_LENGTH]
        return Wall(
            WallKind.PAYMENT,
            "x402",
            f"status 402 with x402 in the {place}",
            price=f"{amount} {currency}".strip()[:MAX_PRICE_LENGTH],
            amount=amount if amount.isdecimal() and len(amount) < 80 else "",
            currency=currency,
        )
    return None


def _x402_texts(headers: Headers, body: bytes) -> Iterator[tuple[str, bytes]]:
    if value := first_value(headers, X402_HEADER):
        with suppress(BadBase64, ValueError):
            yield "header", b64decode(value[:MAX_WALL_BYTES], validate=True)
    document = _document(headers, body)
    if document.lstrip()[:1] == b"{":
        yield "body", document


def _license_link(url: str, headers: Headers) -> str:
    for target, parameters in _link.findall(
        escape_octets(", ".join(raw_values(headers, "link")))[:MAX_HEADER]
    ):
        if _license_relation.search(parameters):
            return _absolute(target, url)
    return ""


def _absolute(target: str, url: str) -> str:
    try:
        return urljoin(url, target.strip())
    except ValueError:
        return ""


def _document(headers: Headers, body: bytes) -> bytes:
    """Return the decoded *body*; empty if it is too large for a wall."""
    codings = joined_values(headers, "content-encoding")
    if not 0 < len(body) <= (MAX_CODED_BYTES if codings else MAX_WALL_BYTES):
        return b""
    data = decode(body, codings, MAX_WALL_BYTES + 1).data if codings else body
    return data if len(data) <= MAX_WALL_BYTES else b""


def _matches(row: WallSignature, status: int, headers: Headers, lowered: bytes) -> bool:
    if row.statuses and status not in row.statuses:
        return False
    name, word = row.header
    if name and not any(word in value.lower() for value in all_values(headers, name)):
        return False
    return all(mark in lowered for mark in row.marks)


def _has_shape(row: WallSignature, lowered: bytes) -> bool:
    """Return whether a document has as little text and as few links as a challenge of *row*."""
    if row.is_empty:
        return _text_of_shell(lowered) == ""
    if lowered.count(b"<a ") > MAX_WALL_LINKS:
        return False
    return len(_text(lowered, (b"script", b"style", b"template"))) <= MAX_WALL_TEXT


def _text_of_shell(lowered: bytes) -> str | None:
    """Return the text that a document shows without scripts; None if it shows other content."""
    hidden = (b"script", b"style", b"template", b"noscript", b"title")
    shown = _without(_without_comments(lowered), hidden)
    if any(tag in shown for tag in SHOWN_ELEMENTS):
        return None
    return _text(lowered, hidden)


def _text(lowered: bytes, hidden: Sequence[bytes]) -> str:
    visible = _tag.sub(b" ", _without(_without_comments(lowered), hidden))
    return " ".join(unescape(visible.decode("utf-8", "replace")).split())


def _without_comments(markup: bytes) -> bytes:
    return _cut(markup, b"<!--", b"-->")


def _without(lowered: bytes, names: Sequence[bytes]) -> bytes:
    """Return markup without the elements of these *names*. It takes linear time."""
    for name in names:
        lowered = _cut(lowered, b"<" + name, b"</" + name)
    return lowered


def _cut(markup: bytes, begin: bytes, end: bytes) -> bytes:
    """Return *markup* without its parts from *begin* to the next `>` at or after *end*."""
    parts, at = [], 0
    while (start := markup.find(begin, at)) >= 0:
        parts.append(markup[at:start])
        at = markup.find(end, start)
        at = markup.find(b">", at) + 1 if at >= 0 else 0
        if not at:
            return b" ".join(parts)
    return b" ".join((*parts, markup[at:]))


def _reloads_by_refresh(lowered: bytes, url: str) -> bool:
    """Return whether a meta element outside noscript loads *url* again.

    The fragment and the case of letters are ignored.
    """
    here = urlsplit(url.lower())
    place = (here.netloc, here.path or "/", here.query)
    for element in _refresh.findall(_without(lowered, (b"noscript", b"script"))):
        content = _content.search(element)
        value = content[1].decode("utf-8", "replace").strip("\"'") if content else ""
        if (target := parse_refresh(unescape(value))) is None:
            continue
        with suppress(ValueError):
            there = urlsplit(_absolute(target, url).lower())
            if (there.netloc, there.path or "/", there.query) == place:
                return True
    return False
