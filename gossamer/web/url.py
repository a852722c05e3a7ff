"""URLs: the canonical form of each, and the keys that are derived from it.

    canonical URL   http://www.example.org:8080/a?b     in every event, row and set
    host key        http://www.example.org:8080         key of politeness and robots.txt
    host name       www.example.org
    site            example.org                         registrable domain; key of the topics
    fingerprint     128 bits of the canonical URL       key of the URL-seen set

URLs are parsed by the WHATWG URL standard. Named steps normalize the remaining differences
(escapes, credentials, a dot at the end of the host). They are the same for every crawl;
docs/urls.md lists them.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from hashlib import blake2b
from ipaddress import ip_address
from typing import NamedTuple, NewType

from ada_url import join_url

from gossamer.errors import Poison
from gossamer.web.suffixes import registrable_domain

SCHEMES = ("http://", "https://")
MAX_LENGTH = 2000
# fmt: off
BAD_PORTS = frozenset({
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
})
# fmt: on
"""Ports of other protocols, whose servers might execute parts of a request (the Fetch standard,
"port blocking")."""


_other_scheme = re.compile(r"[\0- ]*(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_escape = re.compile("%([0-9A-Fa-f]{2})")
_credentials = re.compile("^(https?://)[^/?#]*@")
_unreserved = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class Step(NamedTuple):
    """A step to the canonical form of a URL."""

    apply: Callable[[str], str]
    """Takes and returns a URL as the standard serializes it."""
    text: str
    """A sentence that describes the step."""
    source: str


OWN_RULE = "ours"


Site = NewType("Site", str)
HostKey = NewType("HostKey", str)


class BadUrl(Poison):
    """Not a URL that can be visited."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url[:200]!r} is not a URL to visit: {reason}")
        self.reason = reason


class BlockedPort(BadUrl):
    """A URL at a port that browsers block, because servers of other protocols have it."""

    def __init__(self, url: str, port: str) -> None:
        super().__init__(url, f"port {port} is blocked, as in browsers")


class NotHttpUrl(BadUrl):
    """A URL with a scheme other than HTTP's: mailto:, tel:, javascript:, ftp: …"""

    def __init__(self, url: str) -> None:
        super().__init__(url, "only http: and https: are visited")


class UrlTooLong(BadUrl):
    """Longer than MAX_LENGTH."""

    def __init__(self, url: str) -> None:
        super().__init__(url, f"it is longer than {MAX_LENGTH} characters")


def canonicalize(url: str, base: str = "") -> str:
    """Return the canonical form of *url*, resolved against *base*; raise BadUrl if it has none."""
    if len(url) > 10 * MAX_LENGTH:
        raise NotHttpUrl(url) if _other_scheme.match(url) else UrlTooLong(url)
    absolute = _parse(url, base)
    while (stepped := _apply_steps(absolute)) != absolute:
        # The result of a step may need normalization, such as an escaped escape or a dot.
        absolute = _parse(stepped)
    if len(absolute) > MAX_LENGTH:
        raise UrlTooLong(url)
    return absolute


def _parse(url: str, base: str = "") -> str:
    try:
        return join_url(base or url, url if base else "")
    except (ValueError, UnicodeError) as error:
        is_other = not base and _other_scheme.match(url)
        raise NotHttpUrl(url) if is_other else BadUrl(url, "it does not parse") from error


def _apply_steps(url: str) -> str:
    for step in _steps:
        url = step(url)
    return url


def require_http(url: str) -> str:
    """Raise NotHttpUrl unless the scheme is http or https."""
    if not url.startswith(SCHEMES):
        raise NotHttpUrl(url)
    return url


def without_fragment(url: str) -> str:
    """Drop the fragment, which is never sent to a server."""
    return url.partition("#")[0]


def without_credentials(url: str) -> str:
    """Drop user and password. Links with credentials are mistakes or traps."""
    return _credentials.sub(r"\1", url) if "@" in url else url


def normalize_escapes(url: str) -> str:
    """Write escapes in upper case, and unreserved characters unescaped (RFC 3986, 6.2.2)."""
    return _escape.sub(_plain, url) if "%" in url else url


def without_root_dot(url: str) -> str:
    """Drop the dot of the DNS root: `example.org.` is `example.org`."""
    if "./" not in url and ".:" not in url:
        return url
    key = host_key(url)
    name, colon, port = key.rpartition(":") if key.count(":") > 1 else (key, "", "")
    if not name.endswith("."):
        return url
    if name.strip(".").endswith("/"):
        raise BadUrl(url, "it has no host")
    return name.rstrip(".") + colon + port + url[len(key) :]


def require_web_port(url: str) -> str:
    """Raise BadUrl for a port that browsers block."""
    if url.find(":", 6, url.index("/", 8)) < 0:
        return url
    port = host_key(url).rpartition(":")[2]
    if port.isdecimal() and int(port) in BAD_PORTS:
        raise BlockedPort(url, port)
    return url


STEPS: dict[str, Step] = {
    "scheme": Step(require_http, "only http: and https: are visited", "viuva-negra 4.3"),
    "fragment": Step(without_fragment, "the fragment is dropped", "viuva-negra 4.3"),
    "credentials": Step(
        without_credentials,
        "user and password are dropped: such links are mistakes or traps",
        OWN_RULE,
    ),
    "escapes": Step(
        normalize_escapes,
        "escapes have upper-case digits, and unreserved characters are not escaped (`%7euser` is "
        "`~user`)",
        "RFC 3986, 6.2.2",
    ),
    "root_dot": Step(without_root_dot, "`example.org.` is `example.org`", "RFC 3986, 3.2.2"),
    "port": Step(
        require_web_port,
        "ports that browsers block are not visited",
        "Fetch standard, port blocking",
    ),
}
"""Steps after parsing, for every crawl. `gossamer.web.url_steps` has those of single crawls."""
_steps = tuple(step.apply for step in STEPS.values())


def trace_steps(url: str) -> Iterator[tuple[str, str]]:
    """Yield each step that changes *url*, and the changed URL; `standard` is the parsing.

    Raise BadUrl if *url* cannot be visited.
    """
    parsing = ("standard", _parse)
    before = None
    while url != before:
        before = url
        for name, apply in (parsing, *((name, step.apply) for name, step in STEPS.items())):
            if (after := apply(url)) != url:
                url = after
                yield name, url


def _plain(escape: re.Match[str]) -> str:
    character = chr(int(escape[1], 16))
    return character if character in _unreserved else escape[0].upper()


def host_key(url: str) -> HostKey:
    """Return scheme and authority of a canonical *url*: the key of politeness."""
    return HostKey(url[: url.index("/", 8)])


def host_name(url: str) -> str:
    """Return the host of a canonical *url* or a host key, without port; IPv6 in brackets."""
    authority = url.split("/", 3)[2]
    if ":" not in authority:
        return authority
    if authority[0] == "[":
        return authority.partition("]")[0] + "]"
    return authority.partition(":")[0]


def suffix_of(site: str) -> str:
    """Return the public suffix of *site*, a registrable domain; "" for an address, and for a name
    without a suffix."""
    return "" if is_address(site) else site.partition(".")[2]


def site_of(url: str) -> Site:
    """Return the registrable domain of a canonical *url*; an IP address is its own site."""
    return site_of_host(host_name(url))


def site_of_host(name: str) -> Site:
    """Return the site of the host with this *name*, as `site_of` does."""
    if is_address(name):
        return Site(name)
    # A public suffix (github.io) and a name without a dot (localhost) are sites of their own.
    return Site(registrable_domain(name) or name)


@lru_cache(maxsize=8192)
def is_address(name: str) -> bool:
    """Whether a host name is an IP literal."""
    if ":" not in name and not name[-1:].isdigit():
        return False  # The common case. An exception would cost as much as finding the site.
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


@lru_cache(maxsize=8192)
def fingerprint(url: str) -> str:
    """Return 128 bits of a canonical *url*, in hexadecimal."""
    return blake2b(url.encode(), digest_size=16).hexdigest()
