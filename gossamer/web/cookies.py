"""Cookies by RFC 6265, as its successor (draft-ietf-httpbis-rfc6265bis) has them where they differ.

A server that cannot keep its session identifier in a cookie writes it into every URL, and each
visit finds all pages anew (hazard `session_id`). So cookies are kept, few and small, sent back to
the site that they came from, and never to another: a domain that is a public suffix owns none.

What only matters to somebody who sits before a browser is left out: HttpOnly, SameSite, and that a
http page may not replace a cookie of the https one. Cookies that are not printable ASCII are not
kept (4.1.1 allows no others), so that what is sent back are the octets that came.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from gossamer.web.http import Headers, all_values
from gossamer.web.suffixes import registrable_domain
from gossamer.web.url import host_key, host_name, is_address

MOST = 50
"""Cookies of one host, or of all hosts of a site, that are kept at most (6.1)."""
SESSION = 86400.0
"""Seconds for which a cookie without an expiry is kept: a browser would be closed by then."""
LONGEST = 400 * 86400.0
"""Seconds for which any cookie is kept (6265bis, 5.5)."""

_months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_delimiter = re.compile(r"[\t\x20-\x2f\x3b-\x40\x5b-\x60\x7b-\x7e]+")
_time = re.compile(r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\D.*)?", re.ASCII)
_day = re.compile(r"(\d{1,2})(?:\D.*)?", re.ASCII)
_month = re.compile(rf"({'|'.join(_months)}).*", re.IGNORECASE)
_year = re.compile(r"(\d{2,4})(?:\D.*)?", re.ASCII)


class Cookie(Struct, frozen=True, omit_defaults=True):
    """One cookie; its *value* is a secret of ours and the site's, and in no message."""

    name: str
    value: str
    domain: str
    path: str = "/"
    expires_at: float = 0.0
    """When it is forgotten, in epoch seconds; what has expired deletes one of its name."""
    whole_domain: bool = False
    """Whether it goes to all hosts of the domain, not to the host of that name alone."""
    secure: bool = False
    """Whether it goes over https only."""

    def __repr__(self) -> str:
        return f"<Cookie {self.name} of {self.domain}{self.path}>"

    @property
    def key(self) -> tuple[str, str, str, bool]:
        """What it replaces another one by (5.3, step 11)."""
        return self.name, self.domain, self.path, self.whole_domain


class Jar:
    """The cookies of an order: those that it came with, and what its visits change.

    At most *most* of the host and as many of its domain are kept and sent, each of at most *size*
    bytes; the first ones stay.
    """

    def __init__(self, cookies: Iterable[Cookie], most: int, size: int) -> None:
        self._most, self._size = most, size
        self._kept: dict[bool, tuple[Cookie, ...]] = {False: (), True: ()}
        for cookie in cookies:
            self._kept[cookie.whole_domain] += (cookie,)
        self._told = self._by_key()

    def header(self, url: str, now: float) -> Headers:
        """Return the Cookie header of a request for the canonical *url*; () without any (5.4)."""
        first = [cookie for kept in self._kept.values() for cookie in kept[: self._most]]
        sent = [cookie for cookie in first if _belongs(cookie, url, now)]
        sent.sort(key=lambda cookie: -len(cookie.path))
        text = "; ".join(f"{cookie.name}={cookie.value}" for cookie in sent)
        return (("Cookie", text),) if text else ()

    def take(self, url: str, headers: Headers, now: float) -> None:
        """Take in what the response from the canonical *url* sets and deletes (5.3)."""
        if not self._most:
            return
        for text in all_values(headers, "set-cookie"):
            cookie = parse_cookie(text, url, now)
            if cookie is None or _size(cookie) > self._size:
                continue
            kept = self._kept[cookie.whole_domain]
            self._kept[cookie.whole_domain] = merge_cookies(kept, (cookie,), now, self._most)

    def changes(self) -> tuple[Cookie, ...]:
        """Return, once, what was set and deleted since this was last asked."""
        before, self._told = self._told, self._by_key()
        news = [one for key, one in self._told.items() if before.get(key) != one]
        gone = [one for key, one in before.items() if key not in self._told]
        return *news, *(replace(one, value="", expires_at=0.0) for one in gone)

    def _by_key(self) -> dict[object, Cookie]:
        return {cookie.key: cookie for kept in self._kept.values() for cookie in kept}


def merge_cookies(
    kept: Iterable[Cookie], changes: Iterable[Cookie], now: float, most: int = MOST
) -> tuple[Cookie, ...]:
    """Return the cookies *kept* with *changes* made, without those that have expired, oldest first.

    Of new ones there are only taken as many as leave at most *most*. One that merely expires a
    little later stays as it is, so that not every visit changes something.
    """
    jar = {cookie.key: cookie for cookie in kept if cookie.expires_at > now}
    for cookie in changes:
        known = jar.get(cookie.key)
        if cookie.expires_at <= now:
            jar.pop(cookie.key, None)
        elif known is None:
            jar |= {cookie.key: cookie} if len(jar) < most else {}
        elif not _is_renewed_alike(known, cookie, now):
            jar[cookie.key] = cookie
    return tuple(jar.values())


def cookies_for(host: str, cookies: Iterable[Cookie], now: float) -> tuple[Cookie, ...]:
    """Return those of *cookies* that a request to the host key *host* may need."""
    name = host_name(host)
    return tuple(one for one in cookies if one.expires_at > now and _is_of(one, name))


def parse_cookie(text: str, url: str, now: float) -> Cookie | None:
    """Return the cookie that a Set-Cookie header sets or deletes at the canonical *url*; None if it
    is malformed, or not the host's to set (5.2, 5.3)."""
    pair, *pieces = text.split(";")
    name, equals, value = (part.strip(" \t") for part in pair.partition("="))
    if not (name and equals and (name + value).isascii() and (name + value).isprintable()):
        return None
    attributes = {
        key.strip(" \t").lower(): said.strip(" \t")
        for key, _, said in (piece.partition("=") for piece in pieces)
    }
    scope = _scope(attributes.get("domain", ""), host_name(url))
    secure = "secure" in attributes
    if scope is None or (secure and not url.startswith("https:")):
        return None
    path = attributes.get("path", "")
    cookie = Cookie(
        name=name,
        value=value,
        domain=scope[0],
        path=path if path.startswith("/") else _directory(url),
        expires_at=_expires_at(attributes, now),
        whole_domain=scope[1],
        secure=secure,
    )
    return cookie if _keeps_its_prefix(cookie) else None


def cookie_date(text: str) -> float | None:
    """Return the instant that an Expires names, in epoch seconds; None if it names none (5.1.1)."""
    found: dict[str, re.Match[str]] = {}
    patterns = {"time": _time, "day": _day, "month": _month, "year": _year}
    for token in _delimiter.split(text):
        for part, pattern in patterns.items():
            if part not in found and (match := pattern.fullmatch(token)):
                found[part] = match
                break
    if len(found) < len(patterns):
        return None
    year = int(found["year"][1])
    if year < 100:
        year += 1900 if year >= 70 else 2000
    month = _months.index(found["month"][1].lower()) + 1
    hour, minute, second = map(int, found["time"].groups())
    try:
        at = datetime(year, month, int(found["day"][1]), hour, minute, second, tzinfo=UTC)
        return at.timestamp()
    except ValueError:
        return None


def _scope(domain: str, host: str) -> tuple[str, bool] | None:
    """Return of which domain the cookie is, and whether all of it; None if it is not *host*'s."""
    domain = domain.lower().removeprefix(".")
    alone = is_address(host) or not registrable_domain(host)
    if not domain or (domain == host and alone):
        return host, False
    if not registrable_domain(domain) or not _is_within(host, domain):
        return None
    return domain, True


def _is_within(host: str, domain: str) -> bool:
    """Domain-match (5.1.3)."""
    return host == domain or (host.endswith("." + domain) and not is_address(host))


def _is_of(cookie: Cookie, host: str) -> bool:
    return _is_within(host, cookie.domain) if cookie.whole_domain else host == cookie.domain


def _belongs(cookie: Cookie, url: str, now: float) -> bool:
    over = cookie.secure and not url.startswith("https:")
    live = cookie.expires_at > now and not over
    return live and _is_of(cookie, host_name(url)) and _is_below(_path(url), cookie.path)


def _path(url: str) -> str:
    return url[len(host_key(url)) :].partition("?")[0]


def _directory(url: str) -> str:
    """The default path (5.1.4)."""
    return _path(url).rpartition("/")[0] or "/"


def _is_below(path: str, prefix: str) -> bool:
    """Path-match (5.1.4)."""
    return path == prefix or path.startswith(prefix.removesuffix("/") + "/")


def _expires_at(attributes: dict[str, str], now: float) -> float:
    """Max-Age wins over Expires (5.3, step 3)."""
    if re.fullmatch(r"-?\d+", age := attributes.get("max-age", ""), re.ASCII):
        return now + min(int(age[:12]), LONGEST) if int(age[:12]) > 0 else 0.0
    at = cookie_date(attributes.get("expires", ""))
    return now + SESSION if at is None else min(at, now + LONGEST)


def _keeps_its_prefix(cookie: Cookie) -> bool:
    """6265bis, 4.1.3: what a name promises must be so."""
    name = cookie.name.lower()
    if name.startswith("__host-"):
        return cookie.secure and not cookie.whole_domain and cookie.path == "/"
    return cookie.secure or not name.startswith("__secure-")


def _is_renewed_alike(known: Cookie, cookie: Cookie, now: float) -> bool:
    alike = (known.value, known.secure) == (cookie.value, cookie.secure)
    gained, left = abs(cookie.expires_at - known.expires_at), cookie.expires_at - now
    return alike and gained < left / 10


def _size(cookie: Cookie) -> int:
    return sum(map(len, (cookie.name, cookie.value, cookie.domain, cookie.path)))
