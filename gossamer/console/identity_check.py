"""Checks what an operator has published against the best practices for crawlers.

The six MUSTs are those of draft-illyes-webbotauth-cbcp, section 2. Further checks are about the key
directory (draft-meunier-webbotauth-httpsig-protocol) and about reverse DNS.
"""

import json
import socket
from collections.abc import Callable, Iterator, Sequence
from http.client import HTTPException
from ipaddress import ip_network
from itertools import islice
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser

from gossamer.console.identity import DEFAULT_PRODUCT, RANGES_REL, Network, agent_url
from gossamer.errors import BadSettings
from gossamer.services.fetcher.access import request_headers
from gossamer.settings import Settings
from gossamer.web.http import Headers, content_type, first_value
from gossamer.web.signatures import (
    DIRECTORY_TAG,
    DIRECTORY_TYPE,
    BadKey,
    BadSignature,
    PublicKey,
    SigningKey,
    digest_header,
    parse_public_keys,
    verify_signature,
)

TIMEOUT = 20.0
MAX_BYTES = 2 << 20
CHECKED_ADDRESSES = 8
"""Addresses of each range whose names are looked up."""
MIN_VALIDITY = 86400.0
"""Seconds for which the signatures of the directory should still be valid."""


class Check(Struct, frozen=True):
    """The result of one check."""

    check: str
    is_met: bool
    found: str
    remedy: str = ""
    """What to do, a sentence; "" if the check is met."""
    must: int = 0
    """The number of the MUST in the draft; 0 for a further check."""


class Response(Struct, frozen=True):
    """A response, or the reason for its absence."""

    status: int = 0
    headers: Headers = ()
    body: bytes = b""
    error: str = ""

    @property
    def problem(self) -> str:
        """Why the response is not a document; "" if it is one."""
        return self.error or ("" if self.status == 200 else f"status {self.status}")


Get = Callable[[str], Response]
Names = Callable[[str], tuple[str, ...]]
"""Address → its names by reverse DNS that lead back to it; raise OSError if it has none."""


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Follow no redirect: verifiers do not, either."""


def make_get(settings: Settings, base: str = "") -> Get:
    """Return a function that requests a URL.

    *base* replaces scheme and authority of each URL: files can be checked before they are
    published.
    """
    opener = build_opener(ProxyHandler({}), _NoRedirects())
    sent = {name: value for name, value in request_headers(settings.fetcher) if name != "Accept"}
    sent["Accept-Encoding"] = "identity"

    def get(url: str) -> Response:
        parts = urlsplit(url)
        target = base.rstrip("/") + (parts.path or "/") if base else url
        if urlsplit(target).scheme not in ("http", "https"):
            return Response(error=f"{target} is not an http(s) URL")
        try:
            with opener.open(Request(target, headers=sent), timeout=TIMEOUT) as response:
                body = response.read(MAX_BYTES)
                return Response(response.status, tuple(response.headers.items()), body)
        except HTTPError as error:
            return Response(error.code, tuple(error.headers.items()))
        except (URLError, OSError, HTTPException, ValueError) as error:
            return Response(error=f"no response: {getattr(error, 'reason', error)}")

    return get


def confirm_names(address: str) -> tuple[str, ...]:
    """Return the names of *address* that lead back to it (forward-confirmed reverse DNS)."""
    name, aliases, _ = socket.gethostbyaddr(address)
    found = []
    for one in (name, *aliases):
        addresses = {entry[4][0] for entry in socket.getaddrinfo(one, None)}
        if address in addresses:
            found.append(one)
    return tuple(found)


def check_identity(
    settings: Settings,
    keys: Sequence[SigningKey],
    get: Get,
    now: float,
    names: Names | None = None,
) -> Iterator[Check]:
    """Yield the six MUSTs in the order of the draft, then further checks."""
    url = settings.fetcher.page
    page = get(url) if url else Response(error="fetcher.page is not set")
    ranges_check, ranges = _check_ranges(url, page, get)
    yield _check_robots(settings)
    yield _check_user_agent(settings)
    yield _check_load(settings)
    yield Check(
        "caching",
        True,
        "revisits are conditional (ETag, Last-Modified), and Cache-Control of robots.txt counts",
        must=4,
    )
    yield ranges_check
    yield _check_page(settings, page)
    if keys or settings.fetcher.signature_agent:
        yield from _check_directory(settings, keys, get, now)
    for network in ranges:
        yield _check_names(network, names or confirm_names)


def _check_robots(settings: Settings) -> Check:
    ignored = [name for name, found in (
        ("parser.not_indexed lacks noindex", "noindex" in settings.parser.not_indexed),
        ("parser.not_followed lacks nofollow", "nofollow" in settings.parser.not_followed),
    ) if not found]  # fmt: skip
    if ignored:
        remedy = "Let the settings have their defaults, so that X-Robots-Tag is respected."
        return Check("robots.txt", False, " and ".join(ignored), remedy, must=1)
    return Check("robots.txt", True, "robots.txt and X-Robots-Tag are respected", must=1)


def _check_user_agent(settings: Settings) -> Check:
    fetcher = settings.fetcher
    agent = dict(request_headers(fetcher))["User-Agent"]
    if fetcher.product.lower() == DEFAULT_PRODUCT:
        remedy = "Set fetcher.product to a name of your own, which names owner and purpose."
        return Check("user agent", False, f"{agent}: the name of the software", remedy, must=2)
    if not fetcher.page:
        remedy = "Set fetcher.page to the URL of the page about the crawler."
        return Check("user agent", False, f"{agent}: without a page", remedy, must=2)
    return Check("user agent", True, agent, must=2)


def _check_load(settings: Settings) -> Check:
    frontier = settings.frontier
    if not (frontier.delay or frontier.delay_factor):
        remedy = "Set frontier.delay to at least one second."
        return Check("load", False, "there is no delay between visits", remedy, must=3)
    found = f"one request at a time to a host, {frontier.delay:g} s apart, with backoff"
    return Check("load", True, found, must=3)


def _check_ranges(url: str, page: Response, get: Get) -> tuple[Check, list[Network]]:
    remedy = "Publish client-ranges.json (gossamer identity write --range) and link it."

    def fail(found: str) -> tuple[Check, list[Network]]:
        return Check("addresses", False, found, remedy, must=5), []

    if page.problem:
        return fail(f"the page about the crawler cannot be read: {page.problem}")
    if not (target := _find_ranges_link(page)):
        return fail(f"the page has no link with rel={RANGES_REL}")
    target = urljoin(url, target)
    response = get(target)
    if response.problem:
        return fail(f"{target}: {response.problem}")
    try:
        found = json.loads(response.body)
        networks = [_network(prefix) for prefix in found["prefixes"]]
        created = str(found["creationTime"])
    except (ValueError, TypeError, KeyError):
        return fail(f"{target} is not a list of prefixes with a creationTime")
    if not networks:
        return fail(f"{target} has no prefix")
    text = f"{target}: {len(networks)} prefixes, written at {created}"
    return Check("addresses", True, text, must=5), networks


def _network(prefix: dict[str, str]) -> Network:
    [text] = [prefix[name] for name in ("ipv4Prefix", "ipv6Prefix") if name in prefix]
    return ip_network(text)


def _find_ranges_link(page: Response) -> str:
    for part in first_value(page.headers, "link").split(","):
        target, *params = part.split(";")
        is_ranges = any(
            RANGES_REL in param.split("=", 1)[-1].strip(' "').split() for param in params
        )
        if is_ranges:
            return target.strip(" <>")
    for node in LexborHTMLParser(page.body).css("link[rel][href], a[rel][href]"):
        if RANGES_REL in (node.attributes["rel"] or "").lower().split():
            return node.attributes["href"] or ""
    return ""


def _check_page(settings: Settings, page: Response) -> Check:
    fetcher = settings.fetcher
    if page.problem:
        remedy = "Write the page (gossamer identity write), publish it, and set fetcher.page."
        return Check("page", False, page.problem, remedy, must=6)
    body = LexborHTMLParser(page.body).body
    text = (body.text(separator=" ") if body else "").lower()
    needed = {
        f"the name {fetcher.product}": fetcher.product.lower() in text,
        "how to block the crawler (Disallow)": "disallow" in text,
        "whether pages are rendered": "render" in text,
        "how the pages are used": "used" in text,
        "a contact": fetcher.contact.lower() in text,
    }
    if missing := [name for name, is_there in needed.items() if not is_there]:
        remedy = "Add it to the page; gossamer identity write has an example."
        return Check("page", False, f"lacks {', '.join(missing)}", remedy, must=6)
    if "states no purposes" in text:
        remedy = "State the purposes (--purpose)."
        return Check("page", False, "states no purposes", remedy, must=6)
    return Check("page", True, f"{fetcher.page} explains blocking, rendering and use", must=6)


def _check_directory(
    settings: Settings, keys: Sequence[SigningKey], get: Get, now: float
) -> Iterator[Check]:
    name, remedy = "keys", "Publish the directory that gossamer identity write makes."
    try:
        url = agent_url(settings)
    except BadSettings as error:
        yield Check(name, False, str(error), remedy)
        return
    response = get(url)
    if response.problem:
        yield Check(name, False, f"{url}: {response.problem}", remedy)
        return
    try:
        published = parse_public_keys(response.body)
    except BadKey as error:
        yield Check(name, False, f"{url}: {error}", remedy)
        return
    if b'"d"' in response.body and any("d" in jwk for _, jwk in published):
        remedy = "Create new keys at once, and publish only the directory."
        yield Check(name, False, f"{url} contains a private key", remedy)
        return
    known = {key.thumbprint for key, _ in published}
    if missing := [key.thumbprint for key in keys if key.thumbprint not in known]:
        yield Check(name, False, f"{url} lacks the key {', '.join(missing)}", remedy)
    elif wrong := [
        jwk["kid"] for key, jwk in published if jwk.get("kid") not in (None, key.thumbprint)
    ]:
        yield Check(name, False, f"the kid {wrong[0]} is not the thumbprint of its key", remedy)
    else:
        yield Check(name, True, f"{url} has {len(published)} keys")
    kind = content_type(response.headers)
    remedy = f"Let the server send Content-Type: {DIRECTORY_TYPE} (headers.json)."
    is_right = kind == DIRECTORY_TYPE
    yield Check("keys: type", is_right, kind or "no Content-Type", "" if is_right else remedy)
    yield _check_proof(url, response, [key for key, _ in published], now)


def _check_proof(url: str, response: Response, keys: list[PublicKey], now: float) -> Check:
    name = "keys: signatures"
    remedy = (
        "Write the files again (gossamer identity write), and send the headers of headers.json."
    )
    if first_value(response.headers, "content-digest") != digest_header(response.body):
        return Check(name, False, "Content-Digest is missing or belongs to another body", remedy)
    try:
        found = verify_signature(response.headers, url, keys, DIRECTORY_TAG, now)
    except BadSignature as error:
        return Check(name, False, str(error), remedy)
    if missing := {key.thumbprint for key in keys} - set(found):
        return Check(name, False, f"no signature by {', '.join(sorted(missing))}", remedy)
    try:
        verify_signature(response.headers, url, keys, DIRECTORY_TAG, now + MIN_VALIDITY)
    except BadSignature:
        return Check(name, False, "the signatures expire within a day", remedy)
    return Check(name, True, f"{len(found)} valid")


def _check_names(network: Network, names: Names) -> Check:
    """Check the names of the first addresses of a range."""
    missing = list[str]()
    found = list[str]()
    for address in islice(network.hosts(), CHECKED_ADDRESSES):
        try:
            confirmed = names(str(address))
        except OSError:
            confirmed = ()
        found += confirmed
        if not confirmed:
            missing.append(str(address))
    if missing:
        remedy = "Let the owner of the addresses set PTR records whose names lead back to them."
        text = f"{network}: no confirmed name for {', '.join(missing)}"
        return Check("reverse DNS", False, text, remedy)
    return Check("reverse DNS", True, f"{network}: {', '.join(dict.fromkeys(found))}")
