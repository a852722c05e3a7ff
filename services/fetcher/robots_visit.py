"""The visit of a robots.txt (RFC 9309, 2.3): redirects are followed, and every answer is a rule.

2xx                          what the file says
4xx, too many redirects      "unavailable": nothing is forbidden (2.3.1.3)
5xx, a broken answer         "unreachable": everything is forbidden (2.3.1.4)
429, 503 with Retry-After,   the host is in trouble: nothing was learnt, and the frontier
no address, no connection    asks again when the host may be visited again
"""

import zlib

from gossamer.events import Headers, Outcome
from gossamer.robots import RobotsRules, parse_robots, whole_lines
from gossamer.url import host_name
from services.fetcher.ending import Ending, failed, unvisited
from services.fetcher.outcome import (
    HOST_TROUBLE,
    Failure,
    Reply,
    Verdict,
    anything,
    header,
    judge,
    target,
)
from services.fetcher.steps import Ask, Pace, Talk

HOPS = 5
"""Redirects that are followed (2.3.1.2), to any host."""

_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
_BARE = -zlib.MAX_WBITS
CODINGS = {"gzip": (_GZIP_OR_ZLIB,), "x-gzip": (_GZIP_OR_ZLIB,), "deflate": (_GZIP_OR_ZLIB, _BARE)}
"""How zlib is told to read a coding; deflate is sent in two ways."""


def visit_robots(pace: Pace, url: str) -> Talk[Ending]:
    """Fetch the robots.txt at *url* and learn what it says; unvisited if the order must end."""
    at, hops, hop = url, 0, None
    while True:
        answer = yield from pace.ask(Ask(at, anything, pace.terms.robots_limit))
        if answer is None:
            return unvisited(hop)
        if isinstance(answer, Failure):
            return _unreachable(pace, answer, elsewhere=host_name(at) != host_name(url))
        verdict = judge(answer, at, pace.now)
        if verdict.outcome is not Outcome.REDIRECT or hops == HOPS:
            return _learnt(pace, answer, verdict, at)
        at, hops, hop = target(verdict.location, at), hops + 1, answer


def _unreachable(pace: Pace, failure: Failure, elsewhere: bool) -> Ending:
    if not elsewhere and failure.outcome in HOST_TROUBLE:
        return failed(failure)
    rules = _forbidden(pace, f"robots.txt could not be had: {failure.reason}")
    # Trouble of another host, where a redirect led, is none of this one.
    broken = Verdict(outcome=Outcome.BROKEN, kept=False, reason=rules.forbidden)
    return Ending(verdict=broken, answer=failure, robots=rules)


def _learnt(pace: Pace, reply: Reply, verdict: Verdict, at: str) -> Ending:
    if reply.status // 100 == 2:
        return _read(pace, reply, at)
    rules: RobotsRules | None = RobotsRules(
        fetched_at=pace.now, expires_at=pace.now + pace.terms.robots_age
    )
    if verdict.outcome is Outcome.SERVER_ERROR:
        rules = _forbidden(pace, f"robots.txt answered {reply.status}")
    elif verdict.outcome is Outcome.BUSY:
        rules = None
    return Ending(verdict=verdict.unkept(), answer=reply, robots=rules, url=at)


def _read(pace: Pace, reply: Reply, at: str) -> Ending:
    body = decoded(reply.body, reply.headers, pace.terms.robots_limit)
    if body is None:
        coding = header(reply.headers, "content-encoding")
        rules = _forbidden(pace, f"robots.txt cannot be read, it came encoded as {coding[:40]!r}")
        broken = Verdict(outcome=Outcome.BROKEN, kept=False, reason=rules.forbidden)
        return Ending(verdict=broken, answer=reply, robots=rules, url=at)
    if reply.truncated or len(body) == pace.terms.robots_limit:
        body = whole_lines(body)
    rules = parse_robots(body, pace.terms.product, pace.now, pace.terms.robots_age)
    return Ending(verdict=Verdict(outcome=Outcome.PAGE), answer=reply, robots=rules, url=at)


def decoded(body: bytes, headers: Headers, limit: int) -> bytes | None:
    """Return the first *limit* bytes of a body without its coding; None if it has a strange one."""
    coding = header(headers, "content-encoding").lower()
    if coding in ("", "identity") or not body:
        return body[:limit]
    for bits in CODINGS.get(coding, ()):
        try:
            return zlib.decompressobj(bits).decompress(body, limit)
        except zlib.error:
            continue
    return None


def _forbidden(pace: Pace, why: str) -> RobotsRules:
    return RobotsRules(
        forbidden=why, fetched_at=pace.now, expires_at=pace.now + pace.terms.robots_age
    )
