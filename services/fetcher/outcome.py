"""What came back, and how a visit therefore ended. No I/O: the shell tells, this judges."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime

from gossamer.events import Headers, Outcome
from gossamer.url import BadUrl, canonicalize

TEXT_TYPES = {
    "application/xhtml+xml",
    "application/xml",
    "application/json",
    "application/ld+json",
    "application/feed+json",
    "application/rss+xml",
    "application/atom+xml",
    "application/rdf+xml",
}
BINARY_TYPES = {"application/pdf"}
"""Wanted too, but worth nothing when they are not whole."""

HOST_TROUBLE = {
    Outcome.DNS_FAILURE,
    Outcome.DNS_UNANSWERED,
    Outcome.HOST_DOWN,
    Outcome.SILENT_SERVER,
    Outcome.PRIVATE_ADDRESS,
    Outcome.BUSY,
}
"""Outcomes that say something of the host, not of the URL: the order ends with them."""

REDIRECTS = {300, 301, 302, 303, 305, 307, 308}
YEAR = 31536000.0

_token = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A response. Header names and values are the bytes received, as Latin-1."""

    status: int
    reason: str = ""
    http_version: str = "1.1"
    headers: Headers = ()
    body: bytes = b""
    truncated: str = ""
    """As in `PageFetched`."""
    address: str = ""
    request_headers: Headers = ()
    started_at: float = 0.0
    took: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Failure:
    """There is no response. *took* is 0 where nothing was sent."""

    outcome: Outcome
    reason: str
    hazard: str = ""
    started_at: float = 0.0
    took: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How a visit ended; *kept* says whether the response is a page event."""

    outcome: Outcome
    kept: bool = True
    reason: str = ""
    location: str = ""
    retry_after: float = 0.0
    hazards: tuple[str, ...] = ()

    def unkept(self) -> "Verdict":
        """Return the same for a response that is no page."""
        return replace(self, kept=False)


Wanted = Callable[[int, Headers], bool]
"""Whether the body of a response is read, by its status and headers."""


def wanted(status: int, headers: Headers) -> bool:
    """Whether a page's body is read: the types that somebody can read, and all error pages."""
    kind = content_type(headers)
    return status // 100 != 2 or not kind or _is_text(kind) or kind in BINARY_TYPES


def anything(status: int, headers: Headers) -> bool:
    """Read any body: a robots.txt is one whatever it is called."""
    return True


def judge(reply: Reply, url: str, now: float) -> Verdict:
    """Say how the visit of *url* that brought *reply* ended."""
    verdict = _by_status(reply, url, now)
    hazard = {"length": "infinite_body", "time": "trap_time"}.get(reply.truncated)
    if hazard is None:
        return verdict
    if verdict.outcome is Outcome.PAGE and content_type(reply.headers) in BINARY_TYPES:
        reason = "a binary document that was cut is of no use"
        return Verdict(outcome=Outcome.UNWANTED_TYPE, kept=False, reason=reason, hazards=(hazard,))
    return replace(verdict, hazards=(*verdict.hazards, hazard))


def _by_status(reply: Reply, url: str, now: float) -> Verdict:
    if reply.status == 429 or (reply.status == 503 and header(reply.headers, "retry-after")):
        return _busy(reply, now)
    match reply.status // 100:
        case 2:
            return _success(reply)
        case 3:
            return _redirect(reply, url)
        case 4:
            gone = reply.status in (404, 410)
            return Verdict(outcome=Outcome.GONE if gone else Outcome.CLIENT_ERROR)
    # RFC 9110, 15: an invalid status code is treated as a server error.
    return Verdict(outcome=Outcome.SERVER_ERROR)


def _success(reply: Reply) -> Verdict:
    if wanted(reply.status, reply.headers):
        return Verdict(outcome=Outcome.PAGE)
    reason = f"{content_type(reply.headers)} is not among the types that are read"
    return Verdict(
        outcome=Outcome.UNWANTED_TYPE, kept=False, reason=reason, hazards=("unwanted_type",)
    )


def _redirect(reply: Reply, url: str) -> Verdict:
    location = header(reply.headers, "location")
    if reply.status in REDIRECTS and target(location, url):
        return Verdict(outcome=Outcome.REDIRECT, location=location, hazards=("redirect",))
    said = f"Location {location[:200]!r}" if location else "no Location"
    reason = f"status {reply.status} with {said} leads nowhere"
    return Verdict(outcome=Outcome.BAD_REDIRECT, reason=reason, hazards=("bad_redirect",))


def _busy(reply: Reply, now: float) -> Verdict:
    asked = header(reply.headers, "retry-after")
    hazards = ("retry_after",) if asked else ()
    return Verdict(outcome=Outcome.BUSY, retry_after=retry_after(asked, now), hazards=hazards)


def target(location: str, url: str) -> str:
    """Return the canonical URL that *location* means at *url*, or nothing."""
    try:
        return canonicalize(location, url) if location else ""
    except BadUrl:
        return ""


def retry_after(value: str, now: float) -> float:
    """Return the seconds that a Retry-After asks for (RFC 9110, 10.2.3); 0 if it says nothing."""
    if value.isdecimal():
        return min(float(value[:12]), YEAR)
    try:
        wait = parsedate_to_datetime(value).timestamp() - now
    except (ValueError, OverflowError):
        return 0.0
    return min(max(wait, 0.0), YEAR) if math.isfinite(wait) else 0.0


def content_type(headers: Headers) -> str:
    """Return type and subtype in small letters, or nothing where none is said."""
    essence = header(headers, "content-type").partition(";")[0].strip().lower()
    return essence if _token.fullmatch(essence) else ""


def header(headers: Headers, name: str) -> str:
    """Return the first value of *name*; what is UTF-8 is read as that."""
    for key, value in headers:
        if key.lower() == name:
            return _utf8(value.strip())
    return ""


def _utf8(value: str) -> str:
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value


def _is_text(kind: str) -> bool:
    return kind.startswith("text/") or kind in TEXT_TYPES or kind.endswith("+xml")
