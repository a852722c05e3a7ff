"""Cookies by RFC 6265, and by draft-ietf-httpbis-rfc6265bis where they differ.

A server that cannot store its session identifier in a cookie writes it into every URL, and each
visit discovers all pages again (hazard `session_id`). So a few small cookies are stored. They are
sent back only to the site that set them; a public suffix cannot own cookies. A cookie is not bound
to a port or scheme (8.5), but a secure one is sent over https only.

Rules that only protect the user of a browser are not implemented: HttpOnly and SameSite. The texts
of a cookie are octets, as Latin-1, and are sent back as they were received (6265bis, 5.7).
"""

import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from gossamer.web.http import Headers, raw_values
from gossamer.web.suffixes import registrable_domain
from gossamer.web.url import host_key, host_name, is_address

MAX_COOKIES = 50
"""Maximum number of cookies of a domain (6.1)."""
SITE_BYTES = 64 << 10
"""Maximum bytes of all cookies of a site. They are in one row, and in orders of its hosts."""
ENTRY_BYTES = 100
"""Bytes of a cookie without its texts."""
MAX_ATTRIBUTE_BYTES = 1024
"""A longer value of an attribute is ignored (6265bis, 5.6)."""
USE_INTERVAL = 3600.0
"""Seconds after which the use of a cookie is reported, if no cookie is set or deleted."""
SESSION_COOKIE_SECONDS = 86400.0
"""Seconds for which a cookie without an expiry is stored, as for the session of a browser."""
MAX_COOKIE_SECONDS = 400 * 86400.0
"""Maximum seconds for which a cookie is stored (6265bis, 5.5)."""

_months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_control = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_delimiter = re.compile(r"[\t\x20-\x2f\x3b-\x40\x5b-\x60\x7b-\x7e]+")
_time = re.compile(r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\D.*)?", re.ASCII)
_day = re.compile(r"(\d{1,2})(?:\D.*)?", re.ASCII)
_month = re.compile(rf"({'|'.join(_months)}).*", re.IGNORECASE)
_year = re.compile(r"(\d{2,4})(?:\D.*)?", re.ASCII)


class Cookie(Struct, frozen=True, omit_defaults=True):
    """One cookie; its texts are octets, as Latin-1. Its *value* is a secret, and is not in any
    message."""

    name: str
    value: str
    domain: str
    path: str = "/"
    expires_at: float = 0.0
    """Epoch seconds. A cookie that has expired deletes the stored cookie of the same key."""
    whole_domain: bool = False
    """Whether it is sent to all hosts of the domain, not only to the host of that name."""
    secure: bool = False
    """Whether it is sent over https only."""
    used_at: float = 0.0
    """Epoch seconds when it was last set or sent, up to an hour too early while none is set."""

    def __repr__(self) -> str:
        return f"<Cookie {self.name} of {self.domain}{self.path}>"

    @property
    def key(self) -> tuple[str, str, str, bool]:
        """The identity of the cookie: a new one replaces the old one (5.3, step 11)."""
        return self.name, self.domain, self.path, self.whole_domain


class Jar:
    """The cookies of an order, and the changes that its visits make.

    At most *limit* cookies of a domain are stored and sent, each with at most *size* bytes of name
    and value. The least recently used one makes room for a new one.
    """

    def __init__(self, cookies: Iterable[Cookie], limit: int, size: int) -> None:
        self._limit, self._size = limit, size
        self._cookies = tuple(cookies)
        self._reported = self._by_key()

    def header(self, url: str, now: float) -> Headers:
        """Return the Cookie header for the canonical *url*, octets as Latin-1; () without cookies
        (5.4)."""
        stored = _evict(self._cookies, self._limit)
        sent = [cookie for cookie in stored if _belongs(cookie, url, now)]
        used = {one.key for one in sent}
        self._cookies = tuple(
            replace(one, used_at=now) if one.key in used else one for one in self._cookies
        )
        sent.sort(key=lambda cookie: -len(cookie.path))
        text = "; ".join(f"{one.name}={one.value}" if one.name else one.value for one in sent)
        return (("Cookie", text),) if text else ()

    def take(self, url: str, headers: Headers, now: float) -> None:
        """Apply the Set-Cookie headers of the response from the canonical *url* (5.3)."""
        if not self._limit:
            return
        for text in raw_values(headers, "set-cookie"):
            cookie = parse_cookie(text, url, now)
            if cookie is not None and _size(cookie) <= self._size and self._may_set(cookie, url):
                self._cookies = merge_cookies(self._cookies, (cookie,), now, self._limit)

    def _may_set(self, cookie: Cookie, url: str) -> bool:
        """Return whether *url* may replace the stored cookie: http does not replace https's."""
        if url.startswith("https:"):
            return True
        return not any(one.secure and one.key == cookie.key for one in self._cookies)

    def changes(self) -> tuple[Cookie, ...]:
        """Return the cookies that were set or deleted since the last call, and those in use.

        A use alone is reported once in USE_INTERVAL, so that not every visit changes a row.
        """
        before, after = self._reported, self._by_key()
        changed = [one for key, one in after.items() if before.get(key) != one]
        deleted = [one for key, one in before.items() if key not in after]
        if not deleted and all(_only_used(before.get(one.key), one) for one in changed):
            return ()
        self._reported = after
        return *changed, *(replace(one, value="", expires_at=0.0) for one in deleted)

    def _by_key(self) -> dict[object, Cookie]:
        return {cookie.key: cookie for cookie in self._cookies}


def merge_cookies(
    cookies: Iterable[Cookie], changes: Iterable[Cookie], now: float, limit: int = MAX_COOKIES
) -> tuple[Cookie, ...]:
    """Return *cookies* with *changes*, without expired cookies, oldest first.

    The least recently used cookies beyond *limit* for a domain, and beyond SITE_BYTES, are dropped.
    A cookie that only expires a little later is not changed, so that not every visit changes the
    row of the site.
    """
    jar = {cookie.key: cookie for cookie in cookies if cookie.expires_at > now}
    for cookie in changes:
        old = jar.get(cookie.key)
        if cookie.expires_at <= now:
            jar.pop(cookie.key, None)
        elif old is not None and _only_renews(old, cookie, now):
            jar[cookie.key] = replace(old, used_at=cookie.used_at)
        else:
            jar[cookie.key] = cookie
    return _evict(jar.values(), limit)


def _evict(cookies: Iterable[Cookie], limit: int) -> tuple[Cookie, ...]:
    """Return *cookies* in their order without the least recently used ones beyond the limits."""
    kept, counts, size = set[object](), Counter[str](), 0
    stored = tuple(cookies)
    for _, cookie in sorted(
        enumerate(stored), key=lambda one: (one[1].used_at, one[0]), reverse=True
    ):
        counts[cookie.domain] += 1
        size += ENTRY_BYTES + _size(cookie) + len(cookie.domain) + len(cookie.path)
        if size > SITE_BYTES:
            break
        if counts[cookie.domain] <= limit:
            kept.add(cookie.key)
    return tuple(cookie for cookie in stored if cookie.key in kept)


def cookies_for(host: str, cookies: Iterable[Cookie], now: float) -> tuple[Cookie, ...]:
    """Return the *cookies* that may be sent to the host key *host*."""
    name = host_name(host)
    return tuple(one for one in cookies if one.expires_at > now and _is_of(one, name))


def parse_cookie(text: str, url: str, now: float) -> Cookie | None:
    """Return the cookie that a Set-Cookie header sets or deletes at the canonical *url*.

    *text* is octets, as Latin-1. Return None if the header is malformed, or the host may not set
    the cookie (5.2, 5.3).
    """
    pair, *pieces = text.split(";")
    name, equals, value = (part.strip(" \t") for part in pair.partition("="))
    if not equals:
        # A cookie without a name (6265bis, 5.6).
        name, value = "", name
    if not name + value or _control.search(text):
        return None
    attributes = _attributes(pieces)
    scope = _scope(attributes.get("domain", ""), host_name(url))
    secure = "secure" in attributes
    if scope is None or (secure and not url.startswith("https:")):
        return None
    path = attributes.get("path", "")
    if path.startswith("/") and not path.isascii():
        # The path of a URL is ASCII. Browsers do not store such a cookie.
        return None
    cookie = Cookie(
        name=name,
        value=value,
        domain=scope[0],
        path=path if path.startswith("/") else _directory(url),
        expires_at=_expires_at(attributes, now),
        whole_domain=scope[1],
        secure=secure,
        used_at=now,
    )
    return cookie if _has_valid_prefix(cookie, path) else None


def _attributes(pieces: Iterable[str]) -> dict[str, str]:
    """Return the attributes of a cookie by name; the last one of a name counts.

    One that is too long is ignored, and so is an empty Domain (RFC 6265, 5.2.3).
    """
    found = dict[str, str]()
    for piece in pieces:
        name, _, value = (part.strip(" \t") for part in piece.partition("="))
        if len(value) <= MAX_ATTRIBUTE_BYTES and (value or name.lower() != "domain"):
            found[name.lower()] = value
    return found


def cookie_date(text: str) -> float | None:
    """Return the instant of an Expires in epoch seconds; None if it is not a date (5.1.1)."""
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
    """Return the domain of a cookie of *host*, and whether it is for the whole domain.

    Return None if *host* may not set cookies for *domain*.
    """
    domain = domain.lower().removeprefix(".")
    has_no_domain = is_address(host) or not registrable_domain(host)
    if not domain or (domain == host and has_no_domain):
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
    is_insecure = cookie.secure and not url.startswith("https:")
    is_valid = cookie.expires_at > now and not is_insecure
    return is_valid and _is_of(cookie, host_name(url)) and _is_below(_path(url), cookie.path)


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
        return now + min(int(age[:12]), MAX_COOKIE_SECONDS) if int(age[:12]) > 0 else 0.0
    at = cookie_date(attributes.get("expires", ""))
    return now + SESSION_COOKIE_SECONDS if at is None else min(at, now + MAX_COOKIE_SECONDS)


def _has_valid_prefix(cookie: Cookie, path: str) -> bool:
    """Check the promise of the prefixes `__Host-` and `__Secure-` (6265bis, 4.1.3).

    *path* is the attribute. A default path of "/" does not keep the promise of `__Host-`.
    """
    name = (cookie.name or cookie.value).lower()
    if not cookie.name and name.startswith(("__host-", "__secure-")):
        return False
    if name.startswith("__host-"):
        return cookie.secure and not cookie.whole_domain and path == "/"
    return cookie.secure or not name.startswith("__secure-")


def _only_renews(old: Cookie, new: Cookie, now: float) -> bool:
    is_equal = (old.value, old.secure) == (new.value, new.secure)
    gained, left = abs(new.expires_at - old.expires_at), new.expires_at - now
    return is_equal and gained < left / 10


def _only_used(old: Cookie | None, new: Cookie) -> bool:
    is_equal = old is not None and replace(old, used_at=new.used_at) == new
    return is_equal and old is not None and new.used_at - old.used_at < USE_INTERVAL


def _size(cookie: Cookie) -> int:
    return len(cookie.name) + len(cookie.value)
