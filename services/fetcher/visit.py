"""The conversation of an order: which URL comes next, after what pause, and when to stop."""

from msgspec.structs import replace

from gossamer.events import HostCheckedOut, Outcome, Purpose, Visit
from gossamer.events.hazards import Hazard
from gossamer.events.outcomes import OUTCOMES
from gossamer.web.robots import with_header
from services.fetcher.ending import Ending, events, failed, unvisited, without_request
from services.fetcher.outcome import Failure, Reply, assess
from services.fetcher.ranges import UNSATISFIABLE, as_part, ranged
from services.fetcher.robots_visit import visit_robots
from services.fetcher.steps import Conversation, Emit, Fetch, Pace, Terms
from services.fetcher.wanted import anything

UNKNOWN_ROBOTS = "the order does not say what robots.txt allows"


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
    request, hazards = _request(pace.terms, visit), tuple[Hazard, ...]()
    answer = yield from pace.ask(ranged(request) if pace.terms.ranges else request)
    if pace.terms.ranges and isinstance(answer, Reply) and answer.status == UNSATISFIABLE:
        hazards = (Hazard.RANGE_ERROR,)
        answer = yield from pace.ask(request)
    if answer is None:
        return unvisited(pace.why, pace.wait)
    if isinstance(answer, Failure):
        return failed(answer)
    answer = as_part(answer) if pace.terms.ranges else answer
    found = assess(answer, visit.url, pace.now, bool(visit.conditions), request.wanted)
    usage = with_header(robots.usage_of(visit.url), answer.headers)
    found = replace(found, hazards=(*hazards, *found.hazards)) if hazards else found
    return Ending(assessment=found, answer=answer, usage=usage)


def _request(terms: Terms, visit: Visit) -> Fetch:
    if visit.purpose is Purpose.SITEMAP:
        # Servers give sitemaps all sorts of types, too.
        return Fetch(visit.url, anything, terms.sitemap_limit, visit.conditions)
    limits = terms.body_limits
    return Fetch(visit.url, terms.wanted, terms.body_limit, visit.conditions, limits)
