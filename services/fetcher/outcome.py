"""Which types of documents are wanted, and from when on the first bytes leave no doubt of the type.

The type is decided before the rest of a body is read: what is not wanted ends with the bytes that
have come by then.

What came back from the Web, and which outcome that is.

How a visit ended, and the events and metrics that report it.
"""

import math
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from fnmatch import fnmatchcase
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from gossamer.events import (
    Event,
    HostCheckedOut,
    Outcome,
    PageFetched,
    RobotsAnswered,
    RobotsRequested,
    Visit,
    VisitEnded,
)
from gossamer.events.hazards import Hazard, count_hazards
from gossamer.events.outcomes import OUTCOMES
from gossamer.telemetry import count
from gossamer.web.coding import decoded
from gossamer.web.cookies import Cookie
from gossamer.web.http import GONE, Headers, content_type, first_value, redirect_target
from gossamer.web.robots import RobotsRules
from gossamer.web.sniffing import ENOUGH, GZIP, PACKED_XML, Declared, is_textual, whole_type
from gossamer.web.soft_404 import NO_SIGNATURE
from gossamer.web.url import host_key, site_of

Wanted = Callable[[int, str], bool]
"""Whether the body of a response is read on, by its status and the document's type."""


def wanting(types: tuple[str, ...]) -> Wanted:
    """Return what wants documents of *types*, where `*` stands for anything, and all else that
    explains why there is none: error pages and redirects."""

    named = frozenset(types)

    def wanted(status: int, kind: str) -> bool:
        if status // 100 != 2 or kind in named:
            return True
        return any(fnmatchcase(kind, one) for one in types)

    return wanted


def anything(status: int, kind: str) -> bool:
    """Read any body: servers give robots.txt and sitemaps all sorts of types."""
    return True


def settled_type(declared: Declared, codings: str, body: bytes) -> str | None:
    """Return the type of a response of which *body* has come so far, still content-encoded; None
    if more of it could show another."""
    if not (declared.needs and codings):
        settled = len(body) >= declared.needs
        return declared.type_of(body) if settled else None
    first = decoded(body[:ENOUGH], codings, declared.needs)
    enough = len(first.data) >= declared.needs and not first.as_sent
    return declared.type_of(first.data) if enough or len(body) >= ENOUGH else None


def is_readable_cut(kind: str) -> bool:
    """Return whether the beginning of a document is of use without its end."""
    return is_textual(kind) or kind in (PACKED_XML, *GZIP)


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


WARC_WORDS = {"slow": "time"}
"""What cut a body, where WARC has another word for it (WARC 1.1, 5.13)."""


class Passed(NamedTuple):
    """A redirect that was followed within a visit."""

    url: str
    reply: Reply


class Ending(Struct, frozen=True, kw_only=True):
    """A visit's end. *url* is where the reply came from, or "" if from the visit's own URL.

    *elsewhere* is where a robots.txt lies at another host, after how many redirects in a row.
    """

    assessment: Assessment
    answer: Reply | Failure | None = None
    robots: RobotsRules | None = None
    sitemaps: tuple[str, ...] = ()
    """That robots.txt names."""
    usage: dict[str, str] = {}
    """What the site says about the use of the page."""
    cookies: tuple[Cookie, ...] = ()
    """That it set or deleted."""
    url: str = ""
    elsewhere: tuple[str, int] | None = None
    passed: tuple[Passed, ...] = ()
    """The redirects on the way, which are kept, too."""
    last: Reply | Failure | None = None
    """The answer to the visit's last request, if that is not the answer that counts."""


def failed(failure: Failure) -> Ending:
    """Return the end of a visit that got no response."""
    hazards = (failure.hazard,) if failure.hazard else ()
    assessment = Assessment(
        outcome=failure.outcome, kept=False, reason=failure.reason, hazards=hazards
    )
    return Ending(assessment=assessment, answer=failure)


def without_request(outcome: Outcome, reason: str, *hazards: Hazard) -> Ending:
    """Return the end of a visit that needed no request."""
    assessment = Assessment(outcome=outcome, kept=False, reason=reason, hazards=hazards)
    return Ending(assessment=assessment)


def unvisited(why: str, wait: float = 0.0, hop: Reply | None = None) -> Ending:
    """Return the end of a visit that was not made, or was given up after the redirect *hop*; it may
    be made in *wait* seconds.

    The request for *hop* is reported all the same, so that the frontier lets the host rest.
    """
    assessment = Assessment(outcome=Outcome.UNVISITED, kept=False, reason=why, retry_after=wait)
    return Ending(assessment=assessment, answer=hop)


def events(
    order: HostCheckedOut, index: int, ending: Ending, last: bool, now: float
) -> tuple[Event, ...]:
    """Return the events of the visit *index*: what was passed and its page, if one is kept, before
    its outcome, and what is asked or answered of a robots.txt that lies elsewhere."""
    visit = order.visits[index]
    found: list[Event] = [_fetched(order, visit, *passed, now) for passed in ending.passed]
    if isinstance(ending.answer, Reply) and ending.assessment.kept:
        page = _fetched(order, visit, ending.url or visit.url, ending.answer, now)
        hazards = ending.assessment.hazards
        found.append(replace(page, hazards=hazards, usage=ending.usage))
    found.append(_ended(order, index, ending, last, now))
    on_behalf_of = visit.on_behalf_of
    if ending.elsewhere:
        found.append(_robots_requested(order, on_behalf_of or order.host, ending.elsewhere, now))
    elif on_behalf_of and ending.assessment.outcome is not Outcome.UNVISITED:
        found.append(_answered(order, visit, ending, now))
    return tuple(found)


def _robots_requested(
    order: HostCheckedOut, on_behalf_of: str, elsewhere: tuple[str, int], now: float
) -> RobotsRequested:
    url, hops = elsewhere
    return RobotsRequested(
        crawl=order.crawl, at=now, site=site_of(url), url=url, on_behalf_of=on_behalf_of, hops=hops
    )


def _answered(order: HostCheckedOut, visit: Visit, ending: Ending, now: float) -> RobotsAnswered:
    assessment, rules = ending.assessment, ending.robots
    # The host where the file lies is in trouble then, not the one that it is about.
    failed = rules is not None and OUTCOMES[assessment.outcome].ends_order
    return RobotsAnswered(
        crawl=order.crawl,
        at=now,
        site=site_of(visit.on_behalf_of),
        host=visit.on_behalf_of,
        url=visit.url,
        outcome=Outcome.BROKEN if failed else assessment.outcome,
        reason=rules.forbidden if rules and failed else assessment.reason,
        retry_after=assessment.retry_after,
        robots=rules,
        sitemaps=ending.sitemaps,
    )


def count_visit(event: VisitEnded) -> None:
    """Count *event* in the metrics, once it is on the log."""
    count("gossamer_outcomes_total", outcome=event.outcome)
    count("gossamer_received_bytes_total", event.received)
    count_hazards("fetcher", event.hazards)


def _ended(order: HostCheckedOut, index: int, ending: Ending, last: bool, now: float) -> VisitEnded:
    assessment, answer = ending.assessment, ending.answer
    reply = answer if isinstance(answer, Reply) else Reply(status=0)
    latest = ending.last or answer
    return VisitEnded(
        crawl=order.crawl,
        at=now,
        site=order.site,
        host=order.host,
        order=order.order,
        epoch=order.epoch,
        index=index,
        last=last,
        visit=order.visits[index],
        outcome=assessment.outcome,
        reason=assessment.reason,
        status=reply.status,
        location=assessment.location,
        started_at=latest.started_at if latest else 0.0,
        took=latest.took if latest else 0.0,
        received=len(reply.body),
        retry_after=assessment.retry_after,
        robots=None if order.visits[index].on_behalf_of else ending.robots,
        sitemaps=() if order.visits[index].on_behalf_of else ending.sitemaps,
        cookies=ending.cookies,
        hazards=assessment.hazards,
    )


def _fetched(
    order: HostCheckedOut, visit: Visit, url: str, reply: Reply, now: float
) -> PageFetched:
    elsewhere = url != visit.url
    return PageFetched(
        crawl=order.crawl,
        at=now,
        # A robots.txt may come from where a redirect led: it is archived under that URL.
        site=site_of(url) if elsewhere else order.site,
        host=host_key(url) if elsewhere else order.host,
        visit=replace(visit, url=url) if elsewhere else visit,
        started_at=reply.started_at,
        took=reply.took,
        address=reply.address,
        request_headers=reply.request_headers,
        http_version=reply.http_version,
        status=reply.status,
        reason=reply.reason,
        headers=reply.headers,
        body=reply.body,
        truncated=WARC_WORDS.get(reply.truncated, reply.truncated),
        signature=NO_SIGNATURE if elsewhere else order.signature,
    )
