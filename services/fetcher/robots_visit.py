"""The visit of a robots.txt (RFC 9309, 2.3).

Redirects within the host are followed, and every response yields rules. A redirect to another host
ends the visit, and the frontier of the other host is requested to order the file. A wrong
Content-Encoding is accepted if decoding yields text.

2xx                            the rules of the file, up to the limit of its size
4xx, too many redirects        "unavailable": everything is allowed (2.3.1.3)
5xx, broken or cut responses   "unreachable": everything is disallowed (2.3.1.4)
429, 503 with Retry-After,     no rules: the host is failing, and the frontier orders the visit
no address, no connection      again when the host may be visited
"""

from msgspec.structs import replace

from gossamer.events import Outcome, Visit
from gossamer.events.hazards import Hazard
from gossamer.events.outcomes import OUTCOMES
from gossamer.web.coding import GZIP_MAGIC, Body, decode
from gossamer.web.http import freshness_lifetime, joined_values, redirect_target
from gossamer.web.robots import REDIRECTS, RobotsRules, is_text, parse_robots
from gossamer.web.url import host_name
from services.fetcher.outcome import (
    CUT_HAZARDS,
    Assessment,
    Failure,
    FollowedRedirect,
    Reply,
    VisitResult,
    accept_any,
    assess,
    failed_result,
    unvisited_result,
)
from services.fetcher.steps import Conversation, Fetch, Pace


def visit_robots(pace: Pace, visit: Visit) -> Conversation[VisitResult]:
    """Fetch a robots.txt; return its rules or location, or `unvisited` if the order must end."""
    redirects: list[FollowedRedirect] = []
    result = yield from _follow(pace, visit, redirects)
    return replace(result, redirects=tuple(redirects))


def _follow(
    pace: Pace, visit: Visit, redirects: list[FollowedRedirect]
) -> Conversation[VisitResult]:
    at, hops = visit.url, visit.hops
    while True:
        answer = yield from pace.request(Fetch(at, accept_any, pace.limits.robots_limit))
        if answer is None:
            return unvisited_result(pace.why, pace.wait, redirects[-1].reply if redirects else None)
        if isinstance(answer, Failure):
            return _result_of_failure(pace, answer, is_elsewhere=bool(visit.on_behalf_of))
        assessment = assess(answer, at, pace.now)
        if assessment.outcome is not Outcome.REDIRECT or hops == REDIRECTS:
            return _result_of_reply(pace, answer, assessment, at)
        target = redirect_target(answer.status, answer.headers, at)
        hops += 1
        if leaves_host(visit.url, target):
            why = f"robots.txt is requested from {target}"
            moved = replace(assessment, location=target, reason=why)
            return VisitResult(
                assessment=moved, answer=answer, url=at, robots_location=(target, hops)
            )
        redirects.append(FollowedRedirect(at, answer))
        at = target


def leaves_host(url: str, target: str) -> bool:
    """Return whether a redirect from *url* to *target* leads to another host."""
    return host_name(target) != host_name(url)


def _result_of_failure(pace: Pace, failure: Failure, is_elsewhere: bool) -> VisitResult:
    rules = _disallow_all(pace, f"robots.txt could not be fetched: {failure.reason}")
    if is_elsewhere:
        return replace(failed_result(failure), robots=rules)
    if OUTCOMES[failure.outcome].ends_order:
        return failed_result(failure)
    result = failed_result(failure)
    assessment = replace(result.assessment, reason=rules.forbidden)
    return replace(result, assessment=assessment, robots=rules)


def _result_of_reply(pace: Pace, reply: Reply, assessment: Assessment, at: str) -> VisitResult:
    if reply.status // 100 == 2:
        return _parse(pace, reply, at)
    rules: RobotsRules | None = RobotsRules(
        fetched_at=pace.now, expires_at=pace.now + _validity(pace, reply), status=reply.status
    )
    if assessment.outcome is Outcome.SERVER_ERROR:
        rules = _disallow_all(pace, f"robots.txt answered {reply.status}")
    elif assessment.outcome is Outcome.BUSY:
        rules = None
    return VisitResult(assessment=assessment, answer=reply, robots=rules, url=at)


def _parse(pace: Pace, reply: Reply, at: str) -> VisitResult:
    if reply.truncated not in ("", "length"):
        why = f"robots.txt was cut after {len(reply.body)} bytes"
        return _unreachable(pace, reply, at, Outcome.CUT_BODY, why, CUT_HAZARDS[reply.truncated])
    body = _decode(reply, pace.limits.robots_limit)
    if body.as_sent and not is_text(body.data):
        coding = joined_values(reply.headers, "content-encoding")
        why = f"robots.txt has a Content-Encoding of {coding[:40]!r}"
        return _unreachable(pace, reply, at, Outcome.BROKEN, why)
    cut, age = bool(reply.truncated) or body.cut, _validity(pace, reply)
    file = parse_robots(body.data, pace.limits.product, pace.now, age, at, cut)
    hazards = (Hazard.ROBOTS_MALFORMED,) if file.malformed else ()
    return VisitResult(
        assessment=Assessment(outcome=Outcome.PAGE, hazards=hazards),
        answer=reply,
        robots=file.rules,
        sitemaps=file.sitemaps,
        url=at,
    )


def _unreachable(
    pace: Pace, reply: Reply, at: str, outcome: Outcome, why: str, *hazards: Hazard
) -> VisitResult:
    assessment = Assessment(outcome=outcome, reason=why, hazards=hazards)
    return VisitResult(assessment=assessment, answer=reply, robots=_disallow_all(pace, why), url=at)


def _decode(reply: Reply, limit: int) -> Body:
    body = decode(reply.body, joined_values(reply.headers, "content-encoding"), limit)
    if not body.data.startswith(GZIP_MAGIC):
        return body
    # The server compressed the file without a Content-Encoding.
    inner = decode(body.data, "gzip", limit)
    return Body(inner.data, inner.cut or body.cut, inner.bomb, inner.as_sent)


def _validity(pace: Pace, reply: Reply) -> float:
    """Return the seconds for which the rules are valid: as the server states, within our limits.

    See RFC 9309, 2.4.
    """
    limits, fresh = pace.limits, freshness_lifetime(reply.headers)
    if fresh is None:
        return limits.robots_age
    return min(max(fresh, limits.robots_age_floor), limits.robots_age)


def _disallow_all(pace: Pace, why: str) -> RobotsRules:
    return RobotsRules(
        forbidden=why, fetched_at=pace.now, expires_at=pace.now + pace.limits.robots_age
    )
