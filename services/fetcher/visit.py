"""The conversation of an order: which URL comes next, after which pause, and when to stop.

If `fetcher.ranges` is set, a Range header (RFC 9110, 14) requests only as many bytes of a document
as the fetcher reads. Many servers ignore the header, and the fetcher cuts their responses. Some
servers answer 416 to any range (hazard `range_error`). A revisit sends conditions (RFC 9110, 13),
and some servers refuse any (hazard `conditions_refused`). The request is then repeated once without
the headers that were refused (`REFUSALS`).

Each response of a visit becomes a `PageFetched`. All but the one that decides the visit are
`intermediate`: they are archived and not read.

Visits of a robots.txt are different (RFC 9309, 2.3). Redirects within the host are followed, and
every response yields rules. A redirect to another host ends the visit, and the frontier of the
other host is requested to order the file. A wrong Content-Encoding is accepted if decoding yields
text.

200, 203, 204, 206             the rules of the file, up to the limit of its size
another 2xx                    "unreachable": no file was read. A 202 promises one for later
a wall, whatever its status    "unreachable": the wall is not the file (`gossamer.web.walls`)
4xx, too many redirects        "unavailable": everything is allowed (2.3.1.3)
5xx, broken or cut responses   "unreachable": everything is disallowed (2.3.1.4)
429, 503 with Retry-After,     no rules: the host is failing, and the frontier orders the visit
no address, no connection      again when the host may be visited

Visits of usage files (`tdmrep.json`, licenses) follow redirects within the host, too. A response
without any sign of their format says nothing.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import parse_qsl

from msgspec import Struct
from msgspec.structs import replace

from gossamer.events import HostCheckedOut, Outcome, Purpose, SharedCapture, Visit, VisitEnded
from gossamer.events.hazards import Hazard
from gossamer.events.outcomes import OUTCOMES
from gossamer.services.fetcher.outcome import (
    CUT_HAZARDS,
    PARTIAL,
    Assessment,
    Failure,
    Reply,
    VisitResult,
    accept_any,
    assess,
    assess_wall,
    failed_result,
    make_events,
    page_to_keep,
    reply_of,
    skipped_result,
    unvisited_result,
)
from gossamer.services.fetcher.steps import Conversation, Emit, Fetch, Keep, Pace, VisitLimits
from gossamer.web.coding import GZIP_MAGIC, Body, decode, is_plain
from gossamer.web.http import (
    Headers,
    freshness_lifetime,
    joined_values,
    redirect_target,
)
from gossamer.web.robots import REDIRECTS, RobotsRules, parse_robots
from gossamer.web.sniffing import HTML, whole_type
from gossamer.web.url import BadUrl, canonicalize, host_key, host_name
from gossamer.web.usage import Action, Statement, judge, limit_statements, read_headers
from gossamer.web.usage.files import ReadFile, UsageFile, statements_about
from gossamer.web.usage.reading import read_usage_file
from gossamer.web.validators import CONDITIONS, refuses_conditions
from gossamer.web.walls import Wall

UNKNOWN_ROBOTS = "the order has no rules of robots.txt"
PASSED_WALL = "redirects set a cookie and led back; the response is the one with the cookie"
MAX_WALL_REDIRECTS = 5
"""Maximum number of redirects that are followed within a visit."""
UNSATISFIABLE = 416
ROBOTS_FILE_STATUSES = frozenset({200, 203, 204, PARTIAL})
"""Statuses whose body is the robots.txt. A 204 is an empty file. HTML is a file without rules, as
on sites that send their home page for every missing file."""


def refusal(order: HostCheckedOut, epoch: int, now: float) -> str:
    """Return why *order* must not be started, or ""; *epoch* is the oldest valid epoch."""
    if order.epoch < epoch:
        return f"epoch {order.epoch} is fenced"
    if order.expires_at > now:
        return ""
    late, age = now - order.expires_at, now - order.at
    return (
        f"its lease expired {late:.0f} s ago by this clock, {age:.0f} s after the order was made: "
        "it waited too long, or this clock is ahead of the frontier's"
    )


def converse(order: HostCheckedOut, limits: VisitLimits, now: float) -> Conversation[None]:
    """Visit the URLs of *order* until the order ends; emit the events of each visit.

    The events of exactly one visit are marked as the last of the order. The URLs after it are not
    visited, and have no events.
    """
    pace = Pace(order, limits, now)
    for index, visit in enumerate(order.visits):
        result = yield from _visit(pace, visit)
        result = replace(result, cookies=pace.new_cookies(), exchanges=pace.pop_exchanges())
        ends_order = OUTCOMES[result.assessment.outcome].ends_order
        last = ends_order or index == len(order.visits) - 1
        lease = 0.0 if last else pace.shorten_lease(index + 1)
        events = make_events(order, index, result, last, pace.now, lease)
        if order.keep and (page := page_to_keep(events)):
            stored = yield Keep(page)
            events = tuple(
                replace(event, kept=stored.kept) if isinstance(event, VisitEnded) else event
                for event in events
            )
        emitted = yield Emit(events)
        pace.now = emitted.now
        if last:
            return


def _visit(pace: Pace, visit: Visit) -> Conversation[VisitResult]:
    if visit.purpose is Purpose.ROBOTS:
        return (yield from visit_robots(pace, visit))
    robots = pace.order.robots
    if robots is None or not robots.allows(visit.url):
        reason = robots.explain(visit.url) if robots else UNKNOWN_ROBOTS
        return skipped_result(Outcome.ROBOTS_EXCLUDED, reason, Hazard.ROBOTS_EXCLUDED)
    if visit.purpose is Purpose.USAGE:
        return (yield from visit_usage_file(pace, visit))
    # The statements of robots.txt and of usage files; the page's own are not known yet.
    from_files = statements_about(pace.order.usage_files, visit.url)
    stated = (*robots.usage_of(visit.url), *from_files)
    if reason := _usage_exclusion(pace, visit, stated):
        return skipped_result(Outcome.USAGE_EXCLUDED, reason, Hazard.USAGE_EXCLUDED)
    if visit.shared and (taken := (yield from _take_shared(pace, visit, visit.shared, stated))):
        return taken
    request = _make_request(pace.limits, visit)
    walk = yield from _pass_wall(pace, request, visit.redirected_from)
    if walk.response is None:
        hop = walk.last if isinstance(walk.last, Reply) else None
        return unvisited_result(pace.reason, pace.wait, hop)
    if isinstance(walk.response, Failure):
        return failed_result(walk.response)
    if walk.at != visit.url:
        failing = assess(walk.response, walk.at, pace.now)
        return VisitResult(
            assessment=failing.without_page(),
            response=walk.response,
            usage_statements=limit_statements(stated),
            is_intermediate=True,
        )
    if wall := _find_wall(pace, visit.url, walk.response):
        return VisitResult(
            assessment=assess_wall(wall, walk.response, pace.now),
            response=walk.response,
            last=walk.last,
        )
    response = walk.response
    assessment = assess(response, visit.url, pace.now, walk.is_conditional, request.accepts)
    assessment = replace(assessment, hazards=(*walk.hazards, *assessment.hazards))
    if walk.returned and assessment.outcome is not Outcome.REDIRECT and not assessment.reason:
        assessment = replace(assessment, reason=PASSED_WALL)
    statements = (*stated, *read_headers(response.headers, pace.limits.product))
    return VisitResult(
        assessment=assessment,
        response=response,
        usage_statements=limit_statements(statements),
        last=walk.last,
        unconditional=not walk.is_conditional,
    )


def _take_shared(
    pace: Pace, visit: Visit, shared: SharedCapture, stated: tuple[Statement, ...]
) -> Conversation[VisitResult | None]:
    """Return the result of *visit* with the *shared* capture; None if a request has to be made."""
    page = yield from pace.read_capture(shared, visit.url)
    if page is None:
        return None
    reply = reply_of(page)
    assessment = assess(reply, visit.url, pace.now, accepts=pace.limits.accepts)
    if assessment.outcome is not Outcome.PAGE:
        return None
    statements = (*stated, *read_headers(reply.headers, pace.limits.product))
    return VisitResult(
        assessment=replace(assessment, reason=shared.reason),
        response=reply,
        usage_statements=limit_statements(statements),
        shared=True,
    )


def _usage_exclusion(pace: Pace, visit: Visit, stated: tuple[Statement, ...]) -> str:
    """Return the statement because of which no request is made, or "".

    Sitemaps and probes are not used for a purpose of the crawl.
    """
    policy = pace.limits.usage.get(pace.order.crawl)
    if policy is None or not visit.purpose.is_collected:
        return ""
    decision = policy.decide(judge(stated))
    return decision.reason if decision.action is Action.SKIP else ""


def _find_wall(pace: Pace, url: str, reply: Reply) -> Wall | None:
    kind = reply.kind or whole_type(reply.headers, reply.body)
    return pace.walls.find(url, reply.status, reply.headers, reply.body, kind)


class _WallResult(Struct, frozen=True):
    """The response that decides a visit, and what was found on the way through a cookie wall."""

    response: Reply | Failure | None
    """None: the order must end."""
    at: str
    """The URL of the response."""
    hazards: tuple[Hazard, ...] = ()
    """The hazards of the headers that the server refused."""
    is_conditional: bool = False
    """Whether the request for the response had conditions."""
    last: Reply | Failure | None = None
    """The response to the last request, if that is not *response*."""
    returned: bool = False
    """Whether redirects led back to the visit's URL with another cookie."""


def _pass_wall(pace: Pace, request: Fetch, origin: str) -> Conversation[_WallResult]:
    """Make *request*; follow redirects that set a cookie and lead back to its URL.

    A cookie wall answers a request without its cookie by such redirects. Other redirects are not
    followed: the redirect is then the response. So is a redirect to *origin*, which redirected to
    the URL: the frontier orders that URL again if the cookies have changed. Another URL that
    redirects in a loop is requested once.
    """
    sent = pace.cookie(request.url)
    exchange = yield from _request_document(pace, request)
    response, at = exchange.response, request.url
    walk = _WallResult(
        response, at, exchange.hazards, exchange.is_conditional, last=exchange.refusal
    )
    passed = {origin}
    for _ in range(MAX_WALL_REDIRECTS):
        if not isinstance(response, Reply):
            break
        target = _within_wall(pace, request.url, at, response, sent)
        if not target or target in passed:
            break
        redirect = response
        if target != request.url:
            passed.add(target)
            response = yield from pace.request(Fetch(target, accept_any, pace.limits.robots_limit))
            if response is None:
                break
            walk = replace(walk, last=response)
        else:
            is_first_cookie, sent = not sent, pace.cookie(target)
            exchange = yield from _request_document(pace, request)
            response = exchange.response
            if response is None:
                # The order ends before the request with the cookie. After a first cookie the URL
                # stays unvisited, and the next order requests it with the cookie. After another
                # cookie the redirect is the response, so that the URL does not wait forever.
                last = exchange.refusal or redirect
                return _WallResult(None, target, last=last) if is_first_cookie else walk
            walk = _WallResult(
                response, target, exchange.hazards, exchange.is_conditional, returned=True
            )
        at = target
    if at != request.url:
        pace.tries_cookie_walls = False
        if response and _is_failing(response, at, pace.now):
            return _WallResult(response, at)
    return walk


def _within_wall(pace: Pace, url: str, at: str, response: Reply, sent: Headers) -> str:
    """Return the next URL on the way through the cookie wall of *url*, or "" if there is none.

    *response* came from *at*; *sent* is the Cookie header of the last request for *url*.
    """
    target = redirect_target(response.status, response.headers, at)
    if not target or host_key(target) != pace.order.host:
        return ""
    has_new_cookie = pace.cookie(url) != sent
    if target == url:
        return url if has_new_cookie else ""
    is_about_url = _marks(target, url) or _names(target, url)
    if at == url and not (pace.tries_cookie_walls and (has_new_cookie or is_about_url)):
        return ""
    return target if _is_open(pace, target) and not pace.limits.blocklist.of_url(target) else ""


def _marks(target: str, url: str) -> bool:
    """Return whether *target* is *url* with another parameter."""
    return target.startswith(url + ("&" if "?" in url else "?"))


def _names(target: str, url: str) -> bool:
    """Return whether a parameter of *target* is *url*, so that it may lead back."""
    for _, value in parse_qsl(target.partition("?")[2]):
        with suppress(BadUrl):
            if canonicalize(value, url) == url:
                return True
    return False


def _is_failing(response: Reply | Failure, url: str, now: float) -> bool:
    """Return whether *response* shows that the host is failing, which ends the order."""
    if isinstance(response, Reply):
        return OUTCOMES[assess(response, url, now).outcome].ends_order
    return OUTCOMES[response.outcome].ends_order


class Refusal(NamedTuple):
    """Headers that a request can do without, and that some servers refuse."""

    names: frozenset[str]
    hazard: Hazard
    is_refused: Callable[[Headers, Reply], bool]
    """Returns whether the response to a request with these headers refuses *names*."""
    by_host: bool
    """Whether the host refuses them for all of its pages."""


REFUSALS = (
    Refusal(
        frozenset({"Range"}),
        Hazard.RANGE_ERROR,
        lambda sent, reply: reply.status == UNSATISFIABLE and "Range" in dict(sent),
        # A 416 is also right for an empty document.
        by_host=False,
    ),
    Refusal(
        CONDITIONS,
        Hazard.CONDITIONS_REFUSED,
        lambda sent, reply: refuses_conditions(sent, reply.status, reply.headers),
        by_host=True,
    ),
)


class _Exchange(NamedTuple):
    """The response to a request, or to its repetition without the headers that were refused."""

    response: Reply | Failure | None
    """None: the order must end."""
    sent: Headers
    hazards: tuple[Hazard, ...]
    refusal: Reply | None
    """The response to the last request, if *response* is None and a request was made."""

    @property
    def is_conditional(self) -> bool:
        """Whether the last request had conditions."""
        return any(name in CONDITIONS for name, _ in self.sent)


def _request_document(pace: Pace, request: Fetch) -> Conversation[_Exchange]:
    """Make *request*, and once more without the headers that the response refuses.

    Another status proves that these headers were the reason.
    """
    hazards = tuple[Hazard, ...]()
    request = add_range(request) if pace.limits.ranges else request
    request = _without(request, pace.refused_headers)
    response = yield from pace.request(request)
    for refusal in REFUSALS:
        if not isinstance(response, Reply) or not refusal.is_refused(request.headers, response):
            continue
        before, request = response, _without(request, refusal.names)
        response = yield from pace.request(request)
        if response is None:
            return _Exchange(None, request.headers, hazards, before)
        if isinstance(response, Reply) and response.status != before.status:
            hazards = (*hazards, refusal.hazard)
            pace.refused_headers |= refusal.names if refusal.by_host else frozenset()
    return _Exchange(response, request.headers, hazards, None)


def _without(request: Fetch, names: frozenset[str]) -> Fetch:
    return replace(request, headers=tuple(one for one in request.headers if one[0] not in names))


def _make_request(limits: VisitLimits, visit: Visit) -> Fetch:
    if visit.purpose is Purpose.REQUISITE:
        return Fetch(visit.url, accept_any, limits.requisite_limit, visit.conditions)
    if visit.purpose.is_sitemap:
        # Servers send sitemaps with all sorts of types.
        return Fetch(visit.url, accept_any, limits.sitemap_limit, visit.conditions)
    body_limits = limits.body_limits
    return Fetch(visit.url, limits.accepts, limits.body_limit, visit.conditions, body_limits)


def add_range(request: Fetch) -> Fetch:
    """Return *request* with a Range header for the largest limit of any type."""
    size = max(request.limit, *request.limits.values(), 1)
    return replace(request, headers=(*request.headers, ("Range", f"bytes=0-{size - 1}")))


def visit_robots(pace: Pace, visit: Visit) -> Conversation[VisitResult]:
    """Fetch a robots.txt; return its rules or location, or `unvisited` if the order must end."""
    walk = yield from _follow(pace, visit, lambda target: leaves_host(visit.url, target))
    response, at = walk.response, walk.at
    if response is None:
        return unvisited_result(pace.reason, pace.wait, walk.redirect)
    if isinstance(response, Failure):
        return _robots_failure(pace, response, is_elsewhere=bool(visit.on_behalf_of))
    # Servers send a wall with any type in place of robots.txt.
    wall = pace.walls.find(at, response.status, response.headers, response.body, HTML[0])
    if wall:
        walled = assess_wall(wall, response, pace.now)
        walled = replace(walled, reason=f"robots.txt: {wall.text}")
        return _unreachable_robots(pace, response, at, walled)
    assessment = assess(response, at, pace.now)
    if not walk.target:
        return _robots_reply(pace, response, assessment, at)
    reason = f"robots.txt is requested from {walk.target}"
    return VisitResult(
        assessment=replace(assessment, location=walk.target, reason=reason),
        response=response,
        url=at,
        robots_location=(walk.target, walk.hops + 1),
    )


class _Followed(NamedTuple):
    """The response behind the redirects that were followed."""

    response: Reply | Failure | None
    """None: the order must end."""
    at: str
    """The URL of the response."""
    hops: int
    """Number of consecutive redirects that led there."""
    redirect: Reply | None
    """The redirect that led there."""
    target: str
    """The target of a redirect that was not followed, because it leaves. "" for another response,
    and after the last redirect that is followed."""


def _follow(pace: Pace, visit: Visit, leaves: Callable[[str], bool]) -> Conversation[_Followed]:
    """Request the file of *visit*, and follow redirects up to one whose target *leaves*."""
    at, hops, redirect = visit.url, visit.hops, None
    while True:
        response = yield from pace.request(Fetch(at, accept_any, pace.limits.robots_limit))
        target = ""
        if isinstance(response, Reply) and hops < REDIRECTS:
            target = redirect_target(response.status, response.headers, at)
        if not isinstance(response, Reply) or not target or leaves(target):
            return _Followed(response, at, hops, redirect, target)
        at, hops, redirect = target, hops + 1, response


def leaves_host(url: str, target: str) -> bool:
    """Return whether a redirect from *url* to *target* leads to another host."""
    return host_name(target) != host_name(url)


def _robots_failure(pace: Pace, failure: Failure, is_elsewhere: bool) -> VisitResult:
    rules = _disallow_all(pace, f"robots.txt could not be fetched: {failure.reason}")
    result = failed_result(failure)
    if is_elsewhere:
        return replace(result, robots=rules)
    if OUTCOMES[failure.outcome].ends_order:
        return result
    assessment = replace(result.assessment, reason=rules.forbidden)
    return replace(result, assessment=assessment, robots=rules)


def _robots_reply(pace: Pace, reply: Reply, assessment: Assessment, at: str) -> VisitResult:
    if reply.status in ROBOTS_FILE_STATUSES:
        return _parse_robots(pace, reply, at)
    if reply.status // 100 == 2:
        reason = f"robots.txt answered {reply.status}, which contains no file"
        broken = Assessment(outcome=Outcome.BROKEN, reason=reason)
        return _unreachable_robots(pace, reply, at, broken)
    rules: RobotsRules | None = RobotsRules(
        fetched_at=pace.now,
        expires_at=pace.now + _robots_validity(pace, reply),
        status=reply.status,
    )
    if assessment.outcome is Outcome.SERVER_ERROR:
        rules = _disallow_all(pace, f"robots.txt answered {reply.status}")
    elif assessment.outcome is Outcome.BUSY:
        rules = None
    return VisitResult(assessment=assessment, response=reply, robots=rules, url=at)


def _parse_robots(pace: Pace, reply: Reply, at: str) -> VisitResult:
    if reply.truncated not in ("", "length"):
        reason = f"robots.txt was cut after {len(reply.body)} bytes"
        hazard = CUT_HAZARDS[reply.truncated]
        cut = Assessment(outcome=Outcome.CUT_BODY, reason=reason, hazards=(hazard,))
        return _unreachable_robots(pace, reply, at, cut)
    body = _decode_robots(reply, pace.limits.robots_limit)
    if body.as_sent and not is_plain(body.data):
        coding = joined_values(reply.headers, "content-encoding")
        reason = f"robots.txt has a Content-Encoding of {coding[:40]!r}"
        broken = Assessment(outcome=Outcome.BROKEN, reason=reason)
        return _unreachable_robots(pace, reply, at, broken)
    is_cut, age = bool(reply.truncated) or body.cut, _robots_validity(pace, reply)
    file = parse_robots(body.data, pace.limits.product, pace.now, age, at, is_cut)
    hazards = (Hazard.ROBOTS_MALFORMED,) if file.malformed else ()
    return VisitResult(
        assessment=Assessment(outcome=Outcome.PAGE, hazards=hazards),
        response=reply,
        robots=file.rules,
        sitemaps=file.sitemaps,
        url=at,
    )


def _unreachable_robots(pace: Pace, reply: Reply, at: str, assessment: Assessment) -> VisitResult:
    """Return the result of a robots.txt that *reply* does not contain: nothing is allowed."""
    rules = _disallow_all(pace, assessment.reason)
    return VisitResult(assessment=assessment, response=reply, robots=rules, url=at)


def _decode_robots(reply: Reply, limit: int) -> Body:
    body = decode(reply.body, joined_values(reply.headers, "content-encoding"), limit)
    if not body.data.startswith(GZIP_MAGIC):
        return body
    # The server compressed the file without a Content-Encoding.
    inner = decode(body.data, "gzip", limit)
    return Body(inner.data, inner.cut or body.cut, inner.bomb, inner.as_sent)


def _robots_validity(pace: Pace, reply: Reply) -> float:
    """Return the seconds for which the rules are valid: as the server states, within our limits.

    See RFC 9309, 2.4.
    """
    limits, fresh = pace.limits, freshness_lifetime(reply.headers)
    if fresh is None:
        return limits.robots_age
    return min(max(fresh, limits.robots_age_floor), limits.robots_age)


def visit_usage_file(pace: Pace, visit: Visit) -> Conversation[VisitResult]:
    """Fetch a usage file; return its statements, or `unvisited` if the order must end.

    Redirects within the host are followed. A file that cannot be fetched says nothing.
    """
    walk = yield from _follow(pace, visit, lambda target: not _is_open(pace, target))
    response, at = walk.response, walk.at
    if response is None:
        return unvisited_result(pace.reason, pace.wait, walk.redirect)
    if isinstance(response, Failure):
        until = pace.now + pace.limits.robots_age
        file = UsageFile(visit.url, fault=response.reason, fetched_at=pace.now, expires_at=until)
        return replace(failed_result(response), usage_file=file)
    assessment = assess(response, at, pace.now)
    if wall := _find_wall(pace, at, response):
        assessment = replace(assessment, wall=wall)
    return _read_usage_file(pace, visit, response, assessment, at)


def _is_open(pace: Pace, target: str) -> bool:
    """Return whether *target* is of the order's host, and its rules allow it."""
    robots = pace.order.robots
    return host_key(target) == pace.order.host and robots is not None and robots.allows(target)


def _read_usage_file(
    pace: Pace, visit: Visit, reply: Reply, assessment: Assessment, at: str
) -> VisitResult:
    """Return the statements in *reply*, which came from *at*."""
    read = ReadFile(())
    if reply.status // 100 != 2:
        target = f", to {assessment.location}" if assessment.location else ""
        read = ReadFile((), f"the server answered {reply.status}{target}")
    else:
        body = _decode_robots(reply, pace.limits.robots_limit)
        read = read_usage_file(
            body.data, visit.url, pace.order.host, bool(reply.truncated) or body.cut
        )
    file = UsageFile(
        url=visit.url,
        statements=read.statements,
        fault=read.fault,
        fetched_at=pace.now,
        expires_at=pace.now + _robots_validity(pace, reply),
        status=reply.status,
    )
    if read.fault and not assessment.reason:
        assessment = replace(assessment, reason=read.fault)
    return VisitResult(assessment=assessment, response=reply, usage_file=file, url=at)


def _disallow_all(pace: Pace, reason: str) -> RobotsRules:
    return RobotsRules(
        forbidden=reason, fetched_at=pace.now, expires_at=pace.now + pace.limits.robots_age
    )
