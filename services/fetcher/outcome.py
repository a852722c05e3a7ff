"""What came back from the Web, and which outcome that is."""

import math
from email.utils import parsedate_to_datetime

from msgspec import Struct
from msgspec.structs import replace

from gossamer.events import Outcome
from gossamer.events.hazards import Hazard
from gossamer.web.http import GONE, Headers, content_type, first_value, redirect_target
from gossamer.web.sniffing import whole_type
from services.fetcher.wanted import Wanted, anything, is_readable_cut

YEAR = 31536000.0
CUT = {
    "length": Hazard.INFINITE_BODY,
    "time": Hazard.TRAP_TIME,
    "slow": Hazard.SLOW_TRANSFER,
    "disconnect": Hazard.CUT_SHORT,
}
"""What may cut a body, and the hazard that it is counted as."""


class Reply(Struct, frozen=True, kw_only=True):
    """A response. Header names and values are the bytes received, as Latin-1."""

    status: int
    reason: str = ""
    http_version: str = "1.1"
    headers: Headers = ()
    body: bytes = b""
    kind: str = ""
    """The type of a document, if it is known already."""
    truncated: str = ""
    """Why the body is not whole, as a key of `CUT`; or empty."""
    address: str = ""
    request_headers: Headers = ()
    started_at: float = 0.0
    took: float = 0.0


class Failure(Struct, frozen=True, kw_only=True):
    """There was no response. *took* is 0 where nothing was sent.

    *stale*: the server hung up on a connection that had been kept, before a byte of the answer.
    """

    outcome: Outcome
    reason: str
    hazard: Hazard | None = None
    stale: bool = False
    wait: float = 0.0
    """Seconds after which it is to be tried again, where nothing was asked."""
    started_at: float = 0.0
    took: float = 0.0


class Assessment(Struct, frozen=True, kw_only=True):
    """How a visit ended; *kept* says whether its response becomes a `PageFetched`."""

    outcome: Outcome
    kept: bool = True
    reason: str = ""
    location: str = ""
    retry_after: float = 0.0
    hazards: tuple[Hazard, ...] = ()

    def unkept(self) -> "Assessment":
        """Return the same for a response that is not kept."""
        return replace(self, kept=False)


def assess(
    reply: Reply, url: str, now: float, conditional: bool = False, wants: Wanted = anything
) -> Assessment:
    """Return how the visit of *url* ended whose response is *reply*.

    *conditional*: it was asked for only if it has changed; *wants*: and only if it is so.
    """
    assessment = _not_modified(conditional) if reply.status == 304 else _by_status(reply, url, now)
    if assessment.outcome is Outcome.PAGE:
        assessment = _document(reply, wants)
    if hazard := CUT.get(reply.truncated):
        assessment = replace(assessment, hazards=(*assessment.hazards, hazard))
    return assessment


def _document(reply: Reply, wants: Wanted) -> Assessment:
    kind = reply.kind or whole_type(reply.headers, reply.body)
    declared = content_type(reply.headers)
    if not wants(reply.status, kind):
        named = f"{kind}, not {declared} as its server says," if kind != declared else kind
        hazards = [Hazard.UNWANTED_TYPE]
        if reply.body and kind != declared:
            hazards.append(Hazard.WRONG_CONTENT_TYPE)
        return _unwanted(f"{named} is not among the types that are read", *hazards)
    if not reply.truncated or (reply.body and is_readable_cut(kind)):
        return Assessment(outcome=Outcome.PAGE)
    if reply.truncated == "length":
        return _unwanted("the document is binary and was cut")
    reason = f"nothing of use in the {len(reply.body)} bytes that came of the body"
    return Assessment(outcome=Outcome.CUT_BODY, kept=False, reason=reason)


def _by_status(reply: Reply, url: str, now: float) -> Assessment:
    if reply.status == 429 or (reply.status == 503 and first_value(reply.headers, "retry-after")):
        return _busy(reply, now)
    match reply.status // 100:
        case 2:
            return Assessment(outcome=Outcome.PAGE)
        case 3:
            return _redirect(reply, url)
        case 4:
            gone = reply.status in GONE
            return Assessment(outcome=Outcome.GONE if gone else Outcome.CLIENT_ERROR)
    # RFC 9110, 15: an invalid status code is treated as a server error.
    return Assessment(outcome=Outcome.SERVER_ERROR)


def _not_modified(conditional: bool) -> Assessment:
    if conditional:
        return Assessment(outcome=Outcome.NOT_MODIFIED)
    # RFC 9110, 15.4.5: it answers a condition. Mostly a cache has kept somebody else's answer; that
    # says nothing about the page, so it is asked for again.
    reason = "status 304, though no condition was sent"
    return Assessment(outcome=Outcome.SERVER_ERROR, reason=reason)


def _unwanted(reason: str, *hazards: Hazard) -> Assessment:
    return Assessment(outcome=Outcome.UNWANTED_TYPE, kept=False, reason=reason, hazards=hazards)


def _redirect(reply: Reply, url: str) -> Assessment:
    location = first_value(reply.headers, "location")
    if redirect_target(reply.status, reply.headers, url):
        return Assessment(outcome=Outcome.REDIRECT, location=location, hazards=(Hazard.REDIRECT,))
    target = f"Location {location[:200]!r}" if location else "no Location"
    reason = f"status {reply.status} and {target} leads nowhere"
    return Assessment(outcome=Outcome.BAD_REDIRECT, reason=reason, hazards=(Hazard.BAD_REDIRECT,))


def _busy(reply: Reply, now: float) -> Assessment:
    asked = first_value(reply.headers, "retry-after")
    hazards = (Hazard.RETRY_AFTER,) if asked else ()
    return Assessment(outcome=Outcome.BUSY, retry_after=retry_after(asked, now), hazards=hazards)


def retry_after(value: str, now: float) -> float:
    """Return the seconds that a Retry-After asks for (RFC 9110, 10.2.3); 0 if it is malformed."""
    if value.isdecimal():
        return min(float(value[:12]), YEAR)
    try:
        wait = parsedate_to_datetime(value).timestamp() - now
    except (ValueError, OverflowError):
        return 0.0
    return min(max(wait, 0.0), YEAR) if math.isfinite(wait) else 0.0
