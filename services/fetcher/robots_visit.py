"""The visit of a robots.txt (RFC 9309, 2.3): redirects within the host are followed, and any answer
gives rules. A redirect to another host ends the visit: that host's frontier is asked for the file.
A coding that is not what the server calls it is no obstacle as long as text comes out.

2xx                          what the file says, up to the limit of its length
4xx, too many redirects      "unavailable": nothing is forbidden (2.3.1.3)
5xx, a broken or cut answer  "unreachable": everything is forbidden (2.3.1.4)
429, 503 with Retry-After,   no rules: the host is in trouble, and the frontier orders the visit
no address, no connection    again when the host may be visited
"""

from msgspec.structs import replace

from gossamer.events import Outcome, Visit
from gossamer.events.hazards import Hazard
from gossamer.events.outcomes import OUTCOMES
from gossamer.web.coding import MEMBER, Body, decoded
from gossamer.web.http import fresh_for, joined_values, redirect_target
from gossamer.web.robots import REDIRECTS, RobotsRules, is_text, parse_robots
from gossamer.web.url import host_name
from services.fetcher.outcome import (
    CUT,
    Assessment,
    Ending,
    Failure,
    Passed,
    Reply,
    anything,
    assess,
    failed,
    unvisited,
)
from services.fetcher.steps import Conversation, Fetch, Pace


def visit_robots(pace: Pace, visit: Visit) -> Conversation[Ending]:
    """Fetch a robots.txt and return what it says, or where it lies; unvisited if the order must
    end. All responses are kept: those that led on as what was passed."""
    passed: list[Passed] = []
    ending = yield from _follow(pace, visit, passed)
    return replace(ending, passed=tuple(passed))


def _follow(pace: Pace, visit: Visit, passed: list[Passed]) -> Conversation[Ending]:
    at, hops = visit.url, visit.hops
    while True:
        answer = yield from pace.ask(Fetch(at, anything, pace.terms.robots_limit))
        if answer is None:
            return unvisited(pace.why, pace.wait, passed[-1].reply if passed else None)
        if isinstance(answer, Failure):
            return _unreachable(pace, answer, elsewhere=bool(visit.on_behalf_of))
        assessment = assess(answer, at, pace.now)
        if assessment.outcome is not Outcome.REDIRECT or hops == REDIRECTS:
            return _answered(pace, answer, assessment, at)
        target = redirect_target(answer.status, answer.headers, at)
        hops += 1
        if leaves_host(visit.url, target):
            why = f"robots.txt is asked for at {target}"
            lies = replace(assessment, location=target, reason=why)
            return Ending(assessment=lies, answer=answer, url=at, elsewhere=(target, hops))
        passed.append(Passed(at, answer))
        at = target


def leaves_host(url: str, target: str) -> bool:
    """Return whether a redirect from *url* to *target* leads to another host."""
    return host_name(target) != host_name(url)


def _unreachable(pace: Pace, failure: Failure, elsewhere: bool) -> Ending:
    rules = _forbidden(pace, f"robots.txt could not be fetched: {failure.reason}")
    if elsewhere:
        return replace(failed(failure), robots=rules)
    if OUTCOMES[failure.outcome].ends_order:
        return failed(failure)
    ending = failed(failure)
    unread = replace(ending.assessment, reason=rules.forbidden)
    return replace(ending, assessment=unread, robots=rules)


def _answered(pace: Pace, reply: Reply, assessment: Assessment, at: str) -> Ending:
    if reply.status // 100 == 2:
        return _read(pace, reply, at)
    rules: RobotsRules | None = RobotsRules(
        fetched_at=pace.now, expires_at=pace.now + _age(pace, reply), status=reply.status
    )
    if assessment.outcome is Outcome.SERVER_ERROR:
        rules = _forbidden(pace, f"robots.txt answered {reply.status}")
    elif assessment.outcome is Outcome.BUSY:
        rules = None
    return Ending(assessment=assessment, answer=reply, robots=rules, url=at)


def _read(pace: Pace, reply: Reply, at: str) -> Ending:
    if reply.truncated not in ("", "length"):
        why = f"robots.txt broke off after {len(reply.body)} bytes"
        return _unread(pace, reply, at, Outcome.CUT_BODY, why, CUT[reply.truncated])
    body = _decoded(reply, pace.terms.robots_limit)
    if body.as_sent and not is_text(body.data):
        coding = joined_values(reply.headers, "content-encoding")
        why = f"robots.txt has a Content-Encoding of {coding[:40]!r}"
        return _unread(pace, reply, at, Outcome.BROKEN, why)
    cut, age = bool(reply.truncated) or body.cut, _age(pace, reply)
    file = parse_robots(body.data, pace.terms.product, pace.now, age, at, cut)
    hazards = (Hazard.ROBOTS_MALFORMED,) if file.malformed else ()
    return Ending(
        assessment=Assessment(outcome=Outcome.PAGE, hazards=hazards),
        answer=reply,
        robots=file.rules,
        sitemaps=file.sitemaps,
        url=at,
    )


def _unread(
    pace: Pace, reply: Reply, at: str, outcome: Outcome, why: str, *hazards: Hazard
) -> Ending:
    unread = Assessment(outcome=outcome, reason=why, hazards=hazards)
    return Ending(assessment=unread, answer=reply, robots=_forbidden(pace, why), url=at)


def _decoded(reply: Reply, limit: int) -> Body:
    body = decoded(reply.body, joined_values(reply.headers, "content-encoding"), limit)
    if not body.data.startswith(MEMBER):
        return body
    # A coding that the server applied and did not name.
    inner = decoded(body.data, "gzip", limit)
    return Body(inner.data, inner.cut or body.cut, inner.bomb, inner.as_sent)


def _age(pace: Pace, reply: Reply) -> float:
    """Return for how many seconds a file is believed: for as long as the server says, within our
    bounds (RFC 9309, 2.4)."""
    terms, fresh = pace.terms, fresh_for(reply.headers)
    if fresh is None:
        return terms.robots_age
    return min(max(fresh, terms.robots_age_floor), terms.robots_age)


def _forbidden(pace: Pace, why: str) -> RobotsRules:
    return RobotsRules(
        forbidden=why, fetched_at=pace.now, expires_at=pace.now + pace.terms.robots_age
    )
