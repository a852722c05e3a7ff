"""The result of a visit: the response or failure, its outcome, and the events that report it.

1. Which types of documents are accepted. The type is decided from the first bytes; a body of a type
   that is not accepted is not read any further.
2. `Reply` or `Failure`, and the outcome that it gets (`assess`).
3. `VisitResult`, and the events and metrics of it.
"""

import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from gossamer.events import (
    Event,
    HostCheckedOut,
    Outcome,
    PageFetched,
    Purpose,
    RobotsAnswered,
    RobotsRequested,
    Timing,
    Visit,
    VisitEnded,
)
from gossamer.events.hazards import Hazard, count_hazards
from gossamer.events.outcomes import OUTCOMES
from gossamer.events.records import NO_TIMING
from gossamer.telemetry import count
from gossamer.web.coding import decode
from gossamer.web.cookies import Cookie
from gossamer.web.http import (
    GONE,
    Headers,
    content_type,
    first_reference,
    first_value,
    parse_date,
    redirect_target,
)
from gossamer.web.robots import RobotsRules
from gossamer.web.signing import asks_for_signature, is_signed
from gossamer.web.sniffing import DECIDING_BYTES, GZIP, PACKED_XML, Declared, is_textual, whole_type
from gossamer.web.soft_404 import NO_SIGNATURE
from gossamer.web.url import host_key, site_of
from gossamer.web.usage import Statement
from gossamer.web.usage.files import UsageFile
from gossamer.web.validators import (
    NO_VALIDATORS,
    Validators,
    validators_after_304,
    validators_of,
)
from gossamer.web.walls import Wall, WallKind

Accepts = Callable[[int, str], bool]
"""Takes a status and a document type; returns whether the body is read."""


def accept_types(types: tuple[str, ...]) -> Accepts:
    """Return a function that accepts documents of *types*, which may contain `*`.

    It also accepts the body of every response that is not a 2xx, because that body explains why
    there is no document.
    """

    exact = frozenset(types)

    def accepts(status: int, kind: str) -> bool:
        if status // 100 != 2 or kind in exact:
            return True
        return any(fnmatchcase(kind, pattern) for pattern in types)

    return accepts


def accept_any(status: int, kind: str) -> bool:
    """Accept any body: servers send robots.txt and sitemaps with all sorts of types."""
    return True


def decide_type(declared: Declared, codings: str, body: bytes) -> str | None:
    """Return the type of a document; None if more bytes could change the type.

    *body* is the content-encoded beginning of the document.
    """
    if not (declared.needs and codings):
        return declared.type_of(body) if len(body) >= declared.needs else None
    first = decode(body[:DECIDING_BYTES], codings, declared.needs)
    is_enough = len(first.data) >= declared.needs and not first.as_sent
    return declared.type_of(first.data) if is_enough or len(body) >= DECIDING_BYTES else None


def is_readable_cut(kind: str) -> bool:
    """Return whether a document of this type can be parsed without its end."""
    return is_textual(kind) or kind in (PACKED_XML, *GZIP)


OK, PARTIAL = 200, 206
YEAR_SECONDS = 31536000.0
CUT_HAZARDS = {
    "length": Hazard.INFINITE_BODY,
    "time": Hazard.TRAP_TIME,
    "slow": Hazard.SLOW_TRANSFER,
    "disconnect": Hazard.CUT_SHORT,
}
"""Why a body is cut → the hazard."""

_content_range = re.compile(r"bytes\s+0-(\d{1,15})/(\d{1,15}|\*)", re.IGNORECASE)


class Tls(NamedTuple):
    """The TLS of a connection, as `PageFetched` names version and cipher suite."""

    version: str = ""
    cipher_suite: str = ""
    fault: str = ""
    """Why the certificate is invalid; "" if it is valid, or the only one that is accepted."""


class Reply(Struct, frozen=True, kw_only=True):
    """A response. Header names and values are the bytes received, as Latin-1."""

    status: int
    reason: str = ""
    http_version: str = "1.1"
    headers: Headers = ()
    body: bytes = b""
    kind: str = ""
    """The type of the document; "" if it is not decided yet."""
    truncated: str = ""
    """Why the body is cut, as a key of `CUT_HAZARDS`; or ""."""
    address: str = ""
    tls: Tls = Tls()
    request_headers: Headers = ()
    started_at: float = 0.0
    took: float = 0.0
    timing: Timing = NO_TIMING


def mark_partial(reply: Reply) -> Reply:
    """Return *reply* to a request with a range, marked as cut if it is not the whole document."""
    if reply.status != PARTIAL or reply.truncated:
        return reply
    match = _content_range.fullmatch(first_value(reply.headers, "content-range").strip())
    is_whole = match is not None and match[2] == str(int(match[1]) + 1)
    return reply if is_whole else replace(reply, truncated="length")


class Failure(Struct, frozen=True, kw_only=True):
    """A visit without a response. *took* is 0 if nothing was sent.

    *stale*: the server closed a reused connection before it sent a byte of the response.
    """

    outcome: Outcome
    reason: str
    hazard: Hazard | None = None
    stale: bool = False
    wait: float = 0.0
    """Seconds after which the order may be made again; 0 if that is not known."""
    started_at: float = 0.0
    took: float = 0.0
    timing: Timing = NO_TIMING


class Assessment(Struct, frozen=True, kw_only=True):
    """The outcome of a visit; *has_page*: its response becomes a `PageFetched`."""

    outcome: Outcome
    has_page: bool = True
    reason: str = ""
    location: str = ""
    retry_after: float = 0.0
    hazards: tuple[Hazard, ...] = ()
    wall: Wall | None = None

    def without_page(self) -> "Assessment":
        """Return this assessment without a `PageFetched`."""
        return replace(self, has_page=False)


def assess(
    reply: Reply, url: str, now: float, conditional: bool = False, accepts: Accepts = accept_any
) -> Assessment:
    """Return the assessment of *reply*, the response to a visit to *url*.

    *conditional*: the request had conditions. *accepts*: which documents are accepted.
    """
    assessment = (
        _assess_304(conditional) if reply.status == 304 else _assess_status(reply, url, now)
    )
    if assessment.outcome is Outcome.PAGE:
        assessment = _assess_document(reply, accepts)
    if hazard := CUT_HAZARDS.get(reply.truncated):
        assessment = replace(assessment, hazards=(*assessment.hazards, hazard))
    return assessment


WALL_OUTCOMES = {
    WallKind.CHALLENGE: (Outcome.CHALLENGED, Hazard.CHALLENGED),
    WallKind.PAYMENT: (Outcome.PAYMENT_REQUIRED, Hazard.PAYMENT_REQUIRED),
    WallKind.LICENSE: (Outcome.LICENSE_REQUIRED, Hazard.LICENSE_REQUIRED),
}
"""What a wall demands → the outcome and the hazard of the visit."""


def assess_wall(wall: Wall, reply: Reply, now: float) -> Assessment:
    """Return the assessment of *reply*, which is *wall*.

    It becomes a `PageFetched`, which says that it is a wall: the archive may store it.
    """
    outcome, hazard = WALL_OUTCOMES[wall.kind]
    return Assessment(
        outcome=outcome,
        reason=wall.text,
        retry_after=parse_retry_after(first_value(reply.headers, "retry-after"), now),
        hazards=(hazard,),
        wall=wall,
    )


def _assess_document(reply: Reply, accepts: Accepts) -> Assessment:
    kind = reply.kind or whole_type(reply.headers, reply.body)
    declared = content_type(reply.headers)
    if not accepts(reply.status, kind):
        description = f"{kind}, declared as {declared or 'nothing'}," if kind != declared else kind
        hazards = [Hazard.UNWANTED_TYPE]
        if reply.body and kind != declared:
            hazards.append(Hazard.WRONG_CONTENT_TYPE)
        return _assess_unwanted_type(f"{description} is not an accepted type", *hazards)
    if not reply.truncated or (reply.body and is_readable_cut(kind)):
        return Assessment(outcome=Outcome.PAGE)
    if reply.truncated == "length":
        return _assess_unwanted_type("the document is binary and larger than the size limit")
    reason = f"the body was cut after {len(reply.body)} bytes, which cannot be parsed"
    return Assessment(outcome=Outcome.CUT_BODY, has_page=False, reason=reason)


def _assess_status(reply: Reply, url: str, now: float) -> Assessment:
    if reply.status == 429 or (reply.status == 503 and first_value(reply.headers, "retry-after")):
        return _assess_busy(reply, now)
    match reply.status // 100:
        case 2:
            return Assessment(outcome=Outcome.PAGE)
        case 3:
            return _assess_redirect(reply, url)
        case 4:
            if asks_for_signature(reply.status, reply.headers):
                wall = Wall(WallKind.SIGNATURE, "request signatures", "its Accept-Signature")
                return Assessment(outcome=Outcome.SIGNATURE_ASKED, wall=wall)
            gone = reply.status in GONE
            return Assessment(outcome=Outcome.GONE if gone else Outcome.CLIENT_ERROR)
    # RFC 9110, 15: an invalid status code is treated as a server error.
    return Assessment(outcome=Outcome.SERVER_ERROR)


def _assess_304(conditional: bool) -> Assessment:
    if conditional:
        return Assessment(outcome=Outcome.NOT_MODIFIED)
    # A 304 answers a condition (RFC 9110, 15.4.5). Mostly a cache has stored another client's
    # response. That says nothing about the page, so the visit is retried.
    reason = "status 304, though no condition was sent"
    return Assessment(outcome=Outcome.SERVER_ERROR, reason=reason)


def _assess_unwanted_type(reason: str, *hazards: Hazard) -> Assessment:
    return Assessment(outcome=Outcome.UNWANTED_TYPE, has_page=False, reason=reason, hazards=hazards)


def _assess_redirect(reply: Reply, url: str) -> Assessment:
    location = first_reference(reply.headers, "location")
    if redirect_target(reply.status, reply.headers, url):
        return Assessment(outcome=Outcome.REDIRECT, location=location, hazards=(Hazard.REDIRECT,))
    target = f"Location {location[:200]!r}" if location else "no Location"
    reason = f"status {reply.status} and {target}: not a valid redirect"
    return Assessment(outcome=Outcome.BAD_REDIRECT, reason=reason, hazards=(Hazard.BAD_REDIRECT,))


def _assess_busy(reply: Reply, now: float) -> Assessment:
    value = first_value(reply.headers, "retry-after")
    hazards = (Hazard.RETRY_AFTER,) if value else ()
    return Assessment(
        outcome=Outcome.BUSY, retry_after=parse_retry_after(value, now), hazards=hazards
    )


def parse_retry_after(value: str, now: float) -> float:
    """Return the seconds of a Retry-After (RFC 9110, 10.2.3); 0 if it is malformed."""
    if value.isdecimal():
        return min(float(value[:12]), YEAR_SECONDS)
    at = parse_date(value)
    return 0.0 if at is None else min(max(at - now, 0.0), YEAR_SECONDS)


WARC_WORDS = {"slow": "time"}
"""Key of `CUT_HAZARDS` → the word of WARC 1.1 (5.13), if it is another one."""


class Exchange(NamedTuple):
    """A request of a visit and its response."""

    url: str
    reply: Reply


class VisitResult(Struct, frozen=True, kw_only=True):
    """The result of a visit. *url* is the URL of the reply, or "" if that is the visit's URL.

    *robots_location* is the URL of a robots.txt at another host, and the number of redirects.
    """

    assessment: Assessment
    response: Reply | Failure | None = None
    robots: RobotsRules | None = None
    sitemaps: tuple[str, ...] = ()
    """The sitemaps that robots.txt names."""
    usage_statements: tuple[Statement, ...] = ()
    """Statements of the site about the use of the page."""
    usage_file: UsageFile | None = None
    """The statements of a usage file."""
    cookies: tuple[Cookie, ...] = ()
    """Cookies that the host set or deleted."""
    url: str = ""
    robots_location: tuple[str, int] | None = None
    exchanges: tuple[Exchange, ...] = ()
    """All requests of the visit that had a response."""
    last: Reply | Failure | None = None
    """The response to the last request of the visit, if that is not *response*."""
    shared: bool = False
    """Whether *response* is from the capture of another crawl, so that no request was made."""
    unconditional: bool = False
    """Whether *response* is to a request without conditions, also if the order has some."""
    is_intermediate: bool = False
    """Whether *response* is intermediate: no response of the visit is one for its URL."""


def failed_result(failure: Failure) -> VisitResult:
    """Return the result of a visit without a response."""
    hazards = (failure.hazard,) if failure.hazard else ()
    assessment = Assessment(
        outcome=failure.outcome,
        has_page=False,
        reason=failure.reason,
        retry_after=failure.wait,
        hazards=hazards,
    )
    return VisitResult(assessment=assessment, response=failure)


def skipped_result(outcome: Outcome, reason: str, *hazards: Hazard) -> VisitResult:
    """Return the result of a visit that needed no request."""
    assessment = Assessment(outcome=outcome, has_page=False, reason=reason, hazards=hazards)
    return VisitResult(assessment=assessment)


def unvisited_result(reason: str, wait: float = 0.0, hop: Reply | None = None) -> VisitResult:
    """Return the result of a visit that was not made, or was ended after the response *hop*.

    It may be made in *wait* seconds. The request for *hop* is reported, so that the frontier delays
    the next visit to the host.
    """
    assessment = Assessment(
        outcome=Outcome.UNVISITED, has_page=False, reason=reason, retry_after=wait
    )
    return VisitResult(assessment=assessment, response=hop, is_intermediate=True)


def make_events(
    order: HostCheckedOut,
    index: int,
    result: VisitResult,
    last: bool,
    now: float,
    lease: float = 0.0,
) -> tuple[Event, ...]:
    """Return the events of the visit *index*: intermediate responses and the page, then the
    outcome, with the *lease* of the visits that follow.

    A robots.txt of another host adds `RobotsRequested` or `RobotsAnswered`.
    """
    visit = order.visits[index]
    if visit.shared and not result.shared:
        visit = replace(visit, shared=None)
    if visit.conditional and result.unconditional:
        visit = replace(visit, conditional=False)
    if visit is not order.visits[index]:
        order = replace(order, visits=(*order.visits[:index], visit, *order.visits[index + 1 :]))
    emitted: list[Event] = [
        replace(
            _make_page(order, visit, *exchange, now),
            usage_statements=result.usage_statements,
            intermediate=True,
        )
        for exchange in result.exchanges
        if exchange.reply is not result.response or result.is_intermediate
    ]
    if isinstance(result.response, Reply) and result.assessment.has_page:
        page = _make_page(order, visit, result.url or visit.url, result.response, now)
        hazards = (*result.assessment.hazards, *_certificate_hazards(result.response))
        statements, wall = result.usage_statements, result.assessment.wall
        emitted.append(replace(page, hazards=hazards, usage_statements=statements, wall=wall))
    emitted.append(replace(_make_ended(order, index, result, last, now), lease=lease))
    on_behalf_of = visit.on_behalf_of
    if result.robots_location:
        url, hops = result.robots_location
        emitted.append(
            RobotsRequested(
                crawl=order.crawl,
                at=now,
                site=site_of(url),
                url=url,
                on_behalf_of=on_behalf_of or order.host,
                hops=hops,
            )
        )
    elif on_behalf_of and result.assessment.outcome is not Outcome.UNVISITED:
        emitted.append(_make_robots_answered(order, visit, result, now))
    return tuple(emitted)


def _make_robots_answered(
    order: HostCheckedOut, visit: Visit, result: VisitResult, now: float
) -> RobotsAnswered:
    assessment, rules = result.assessment, result.robots
    # An outcome that ends the order shows that the host with the file is failing, not the host that
    # the rules are for.
    host_failed = rules is not None and OUTCOMES[assessment.outcome].ends_order
    return RobotsAnswered(
        crawl=order.crawl,
        at=now,
        site=site_of(visit.on_behalf_of),
        host=visit.on_behalf_of,
        url=visit.url,
        outcome=Outcome.BROKEN if host_failed else assessment.outcome,
        reason=rules.forbidden if rules and host_failed else assessment.reason,
        retry_after=assessment.retry_after,
        robots=rules,
        sitemaps=result.sitemaps,
    )


def reply_of(page: PageFetched) -> Reply:
    """Return the response in *page*, which is complete."""
    return Reply(
        status=page.status,
        reason=page.reason,
        http_version=page.http_version,
        headers=page.headers,
        body=page.body,
        address=page.address,
        tls=Tls(page.tls_version, page.cipher_suite, page.certificate_fault),
        request_headers=page.request_headers,
        started_at=page.started_at,
        took=page.took,
    )


def page_to_keep(events: Iterable[Event]) -> PageFetched | None:
    """Return the page among the *events* of a visit if other crawls may take it: a whole document
    that was requested. None otherwise."""
    pages = [one for one in events if isinstance(one, PageFetched) and not one.intermediate]
    ended = [event for event in events if isinstance(event, VisitEnded)]
    if len(pages) != 1 or not ended or ended[0].outcome is not Outcome.PAGE:
        return None
    page = pages[0]
    is_whole = page.status == OK and not page.truncated and page.wall is None
    is_page = page.visit.purpose is Purpose.PAGE and page.visit.shared is None
    return page if is_whole and is_page else None


def count_visit(event: VisitEnded) -> None:
    """Count *event* in the metrics, after it was appended to the log."""
    shared = "true" if event.visit.shared else "false"
    count("gossamer_outcomes_total", outcome=event.outcome, crawl=event.crawl, shared=shared)
    count("gossamer_received_bytes_total", event.received, crawl=event.crawl)
    count_hazards("fetcher", event.hazards)
    if event.wall:
        count("gossamer_walls_total", kind=event.wall.kind, product=event.wall.name)


def _make_ended(
    order: HostCheckedOut, index: int, result: VisitResult, last: bool, now: float
) -> VisitEnded:
    assessment, response = result.assessment, result.response
    reply = response if isinstance(response, Reply) else Reply(status=0)
    # A shared capture has no request of this visit.
    latest = None if result.shared else result.last or response
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
        reason="; ".join(filter(None, (assessment.reason, reply.tls.fault))),
        status=reply.status,
        address=reply.address,
        location=assessment.location,
        started_at=latest.started_at if latest else 0.0,
        took=latest.took if latest else 0.0,
        timing=latest.timing if latest else NO_TIMING,
        received=0 if result.shared else len(reply.body),
        content_type=_type_of(reply),
        retry_after=assessment.retry_after,
        wall=assessment.wall,
        robots=None if order.visits[index].on_behalf_of else result.robots,
        sitemaps=() if order.visits[index].on_behalf_of else result.sitemaps,
        usage_file=result.usage_file,
        cookies=result.cookies,
        validators=_validators_of(order.visits[index], reply),
        hazards=(*assessment.hazards, *_certificate_hazards(reply)),
        signed=latest is not None and is_signed(reply.request_headers),
        certificate_fault=reply.tls.fault,
    )


def _validators_of(visit: Visit, reply: Reply) -> Validators:
    """Return the validators of a requisite; none for other visits and without content."""
    if visit.purpose is not Purpose.REQUISITE:
        return NO_VALIDATORS
    found = validators_of(reply.headers)
    if reply.status == 304 and visit.conditions:
        return validators_after_304(found, visit.validators)
    return found if reply.status // 100 == 2 else NO_VALIDATORS


def _type_of(reply: Reply) -> str:
    """Return the type of a successful *reply*; "" for others, whose bodies nobody reads."""
    if reply.status // 100 != 2:
        return ""
    return reply.kind or whole_type(reply.headers, reply.body)


def _make_page(
    order: HostCheckedOut, visit: Visit, url: str, reply: Reply, now: float
) -> PageFetched:
    is_redirect_target = url != visit.url
    return PageFetched(
        crawl=order.crawl,
        at=now,
        # A robots.txt or a usage file may come from the target of a redirect: it is archived
        # under that URL.
        site=site_of(url) if is_redirect_target else order.site,
        host=host_key(url) if is_redirect_target else order.host,
        visit=replace(visit, url=url) if is_redirect_target else visit,
        started_at=reply.started_at,
        took=reply.took,
        address=reply.address,
        tls_version=reply.tls.version,
        cipher_suite=reply.tls.cipher_suite,
        certificate_fault=reply.tls.fault,
        request_headers=reply.request_headers,
        http_version=reply.http_version,
        status=reply.status,
        reason=reply.reason,
        headers=reply.headers,
        body=reply.body,
        truncated=WARC_WORDS.get(reply.truncated, reply.truncated),
        signature=NO_SIGNATURE if is_redirect_target else order.signature,
        hazards=_certificate_hazards(reply),
    )


def _certificate_hazards(reply: Reply) -> tuple[Hazard, ...]:
    return (Hazard.INVALID_CERTIFICATE,) if reply.tls.fault else ()
