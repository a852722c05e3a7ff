"""The visit of a robots.txt (RFC 9309, 2.3): redirects within the host are followed, and any answer
gives rules. A redirect to another host ends the visit: that host's frontier is asked for the file.

2xx                          what the file says
4xx, too many redirects      "unavailable": nothing is forbidden (2.3.1.3)
5xx, a broken answer         "unreachable": everything is forbidden (2.3.1.4)
429, 503 with Retry-After,   no rules: the host is in trouble, and the frontier orders the visit
no address, no connection    again when the host may be visited
"""

from dataclasses import replace

from gossamer.events import Outcome, Visit
from gossamer.events.outcomes import OUTCOMES
from gossamer.web.coding import decoded
from gossamer.web.http import joined_values, redirect_target
from gossamer.web.robots import REDIRECTS, RobotsRules, parse_robots, whole_lines
from gossamer.web.url import host_name
from services.fetcher.ending import Ending, failed, unvisited
from services.fetcher.outcome import Assessment, Failure, Reply, anything, assess
from services.fetcher.steps import Conversation, Fetch, Pace


def visit_robots(pace: Pace, visit: Visit) -> Conversation[Ending]:
    """Fetch a robots.txt and return what it says, or where it lies; unvisited if the order must
    end."""
    at, hops, hop = visit.url, visit.hops, None
    while True:
        answer = yield from pace.ask(Fetch(at, anything, pace.terms.robots_limit))
        if answer is None:
            return unvisited(pace.why, hop)
        if isinstance(answer, Failure):
            return _unreachable(pace, answer, elsewhere=bool(visit.asker))
        assessment = assess(answer, at, pace.now)
        if assessment.outcome is not Outcome.REDIRECT or hops == REDIRECTS:
            return _answered(pace, answer, assessment, at)
        target = redirect_target(answer.status, answer.headers, at)
        hops, hop = hops + 1, answer
        if host_name(target) != host_name(visit.url):
            why = f"robots.txt is asked for at {target}"
            lies = replace(assessment.unkept(), location=target, reason=why)
            return Ending(assessment=lies, answer=answer, elsewhere=(target, hops))
        at = target


def _unreachable(pace: Pace, failure: Failure, elsewhere: bool) -> Ending:
    rules = _forbidden(pace, f"robots.txt could not be fetched: {failure.reason}")
    if elsewhere:
        return replace(failed(failure), robots=rules)
    if OUTCOMES[failure.outcome].ends_order:
        return failed(failure)
    broken = Assessment(outcome=Outcome.BROKEN, kept=False, reason=rules.forbidden)
    return Ending(assessment=broken, answer=failure, robots=rules)


def _answered(pace: Pace, reply: Reply, assessment: Assessment, at: str) -> Ending:
    if reply.status // 100 == 2:
        return _read(pace, reply, at)
    rules: RobotsRules | None = RobotsRules(
        fetched_at=pace.now, expires_at=pace.now + pace.terms.robots_age
    )
    if assessment.outcome is Outcome.SERVER_ERROR:
        rules = _forbidden(pace, f"robots.txt answered {reply.status}")
    elif assessment.outcome is Outcome.BUSY:
        rules = None
    return Ending(assessment=assessment.unkept(), answer=reply, robots=rules, url=at)


def _read(pace: Pace, reply: Reply, at: str) -> Ending:
    coding = joined_values(reply.headers, "content-encoding")
    body = decoded(reply.body, coding, pace.terms.robots_limit)
    if body.as_sent:
        rules = _forbidden(pace, f"robots.txt has a Content-Encoding of {coding[:40]!r}")
        broken = Assessment(outcome=Outcome.BROKEN, kept=False, reason=rules.forbidden)
        return Ending(assessment=broken, answer=reply, robots=rules, url=at)
    lines = whole_lines(body.data) if reply.truncated or body.cut else body.data
    rules = parse_robots(lines, pace.terms.product, pace.now, pace.terms.robots_age)
    return Ending(assessment=Assessment(outcome=Outcome.PAGE), answer=reply, robots=rules, url=at)


def _forbidden(pace: Pace, why: str) -> RobotsRules:
    return RobotsRules(
        forbidden=why, fetched_at=pace.now, expires_at=pace.now + pace.terms.robots_age
    )
