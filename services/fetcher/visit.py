"""The conversation of an order: which URL comes next, after what pause, and when to stop.

Asks for no more of a document than is read of it (RFC 9110, 14), where that is set.

Many servers ignore that, and are cut off; some answer 416 to any range (hazard `range_error`), and
are asked once more without one.
"""

import re

from msgspec import Struct
from msgspec.structs import replace

from gossamer.events import HostCheckedOut, Outcome, Purpose, Visit
from gossamer.events.hazards import Hazard
from gossamer.events.outcomes import OUTCOMES
from gossamer.web.http import Headers, first_value, redirect_target
from gossamer.web.robots import with_header
from gossamer.web.url import host_key
from services.fetcher.outcome import (
    Ending,
    Failure,
    Reply,
    anything,
    assess,
    events,
    failed,
    unvisited,
    without_request,
)
from services.fetcher.robots_visit import visit_robots
from services.fetcher.steps import Conversation, Emit, Fetch, Pace, Terms

UNKNOWN_ROBOTS = "the order does not say what robots.txt allows"
PASSED_WALL = "redirects set a cookie and led back here; the answer is the one with the cookie"
MAX_WALL_REDIRECTS = 5
"""Redirects that are followed within a visit at most."""


def refusal(order: HostCheckedOut, epoch: int, now: float) -> str:
    """Return why *order* must not be begun, or ""; *epoch* is the oldest that is in force."""
    if order.epoch < epoch:
        return f"epoch {order.epoch} is void"
    if order.expires_at > now:
        return ""
    return (
        f"its lease ended {now - order.expires_at:.0f} s ago by this clock, {now - order.at:.0f} s "
        "after the order was made: it waited too long, or this clock is ahead of the frontier's"
    )


def converse(order: HostCheckedOut, terms: Terms, now: float) -> Conversation[None]:
    """Visit the URLs of *order* until something ends it; emit how each visit ended.

    Exactly one ending is the last. URLs after it are not mentioned.
    """
    pace = Pace(order, terms, now)
    for index, visit in enumerate(order.visits):
        ending = yield from _visit(pace, visit)
        if cookies := pace.new_cookies():
            ending = replace(ending, cookies=cookies)
        ends_order = OUTCOMES[ending.assessment.outcome].ends_order
        last = ends_order or index == len(order.visits) - 1
        result = yield Emit(events(order, index, ending, last, pace.now))
        pace.now = result.now
        if last:
            return


def _visit(pace: Pace, visit: Visit) -> Conversation[Ending]:
    if visit.purpose is Purpose.ROBOTS:
        return (yield from visit_robots(pace, visit))
    robots = pace.order.robots
    if robots is None or not robots.allows(visit.url):
        reason = robots.explain(visit.url) if robots else UNKNOWN_ROBOTS
        return without_request(Outcome.ROBOTS_EXCLUDED, reason, Hazard.ROBOTS_EXCLUDED)
    request = _request(pace.terms, visit)
    walk = yield from _ask_past_wall(pace, request)
    if walk.answer is None:
        hop = walk.last if isinstance(walk.last, Reply) else None
        return unvisited(pace.why, pace.wait, hop)
    if isinstance(walk.answer, Failure):
        return failed(walk.answer)
    if walk.at != visit.url:
        trouble = assess(walk.answer, walk.at, pace.now)
        return Ending(assessment=trouble.unkept(), answer=walk.answer)
    answer = as_part(walk.answer) if pace.terms.ranges else walk.answer
    found = assess(answer, visit.url, pace.now, bool(visit.conditions), request.wanted)
    if walk.range_refused:
        found = replace(found, hazards=(Hazard.RANGE_ERROR, *found.hazards))
    if walk.returned and found.outcome is not Outcome.REDIRECT and not found.reason:
        found = replace(found, reason=PASSED_WALL)
    usage = with_header(robots.usage_of(visit.url), answer.headers)
    return Ending(assessment=found, answer=answer, usage=usage, last=walk.last)


class _Walk(Struct, frozen=True):
    """The requests of a visit, by the answer that counts."""

    answer: Reply | Failure | None
    """None: the order must end."""
    at: str
    """The URL that the answer is from."""
    range_refused: bool = False
    last: Reply | Failure | None = None
    """The answer to the last request, if that is another one."""
    returned: bool = False
    """Whether redirects led back to the visit's URL with another cookie."""


def _ask_past_wall(pace: Pace, request: Fetch) -> Conversation[_Walk]:
    """Ask for *request*; follow redirects that set a cookie and lead back to its URL.

    Redirects that lead elsewhere are not followed: the answer is then the redirect.
    """
    sent = pace.cookie(request.url)
    answer, range_refused = yield from _ask(pace, request)
    at, walk = request.url, _Walk(answer, request.url, range_refused)
    for _ in range(MAX_WALL_REDIRECTS):
        if not isinstance(answer, Reply):
            break
        target = _within_wall(pace, request.url, at, answer, sent)
        if not target:
            break
        redirect = answer
        if target != request.url:
            answer = yield from pace.ask(Fetch(target, anything, pace.terms.robots_limit))
            if answer is None:
                break
            walk = replace(walk, last=answer)
        else:
            is_first_cookie, sent = not sent, pace.cookie(target)
            answer, range_refused = yield from _ask(pace, request)
            if answer is None:
                # The next order sends the cookie. It is tried once, lest the URL never ends.
                return _Walk(None, target, last=redirect) if is_first_cookie else walk
            walk = _Walk(answer, target, range_refused, returned=True)
        at = target
    if at != request.url:
        pace.probes_walls = False
        if answer and _is_trouble(answer, at, pace.now):
            return _Walk(answer, at)
    return walk


def _within_wall(pace: Pace, url: str, at: str, answer: Reply, sent: Headers) -> str:
    """Return the URL that leads on through the cookie wall of *url*, or "" if there is none.

    *answer* came from *at*; *sent* is the Cookie header that *url* was last asked with.
    """
    target = redirect_target(answer.status, answer.headers, at)
    if not target or host_key(target) != pace.order.host:
        return ""
    has_new_cookie = pace.cookie(url) != sent
    if target == url:
        return url if has_new_cookie else ""
    marks_url = target.startswith(url + ("&" if "?" in url else "?"))
    if at == url and not (pace.probes_walls and (has_new_cookie or marks_url)):
        return ""
    robots = pace.order.robots
    allowed = robots is not None and robots.allows(target)
    return target if allowed and not pace.terms.blocklist.of_url(target) else ""


def _is_trouble(answer: Reply | Failure, url: str, now: float) -> bool:
    """Return whether *answer* says that the host is not to be asked any more."""
    if isinstance(answer, Reply):
        return OUTCOMES[assess(answer, url, now).outcome].ends_order
    return OUTCOMES[answer.outcome].ends_order


def _ask(pace: Pace, request: Fetch) -> Conversation[tuple[Reply | Failure | None, bool]]:
    """Return the answer to *request*, and whether a range of it was asked for and refused."""
    if not pace.terms.ranges:
        return (yield from pace.ask(request)), False
    answer = yield from pace.ask(ranged(request))
    if isinstance(answer, Reply) and answer.status == UNSATISFIABLE:
        return (yield from pace.ask(request)), True
    return answer, False


def _request(terms: Terms, visit: Visit) -> Fetch:
    if visit.purpose is Purpose.SITEMAP:
        # Servers give sitemaps all sorts of types, too.
        return Fetch(visit.url, anything, terms.sitemap_limit, visit.conditions)
    limits = terms.body_limits
    return Fetch(visit.url, terms.wanted, terms.body_limit, visit.conditions, limits)


PARTIAL, UNSATISFIABLE = 206, 416
_content_range = re.compile(r"bytes\s+0-(\d{1,15})/(\d{1,15}|\*)", re.IGNORECASE)


def ranged(request: Fetch) -> Fetch:
    """Return *request* for as many bytes as are read of any type."""
    most = max(request.limit, *request.limits.values(), 1)
    return replace(request, headers=(*request.headers, ("Range", f"bytes=0-{most - 1}")))


def as_part(reply: Reply) -> Reply:
    """Return *reply*, to such a request, marked as cut where it is not the whole document."""
    if reply.status != PARTIAL or reply.truncated:
        return reply
    said = _content_range.fullmatch(first_value(reply.headers, "content-range").strip())
    whole = said is not None and said[2] == str(int(said[1]) + 1)
    return reply if whole else replace(reply, truncated="length")
