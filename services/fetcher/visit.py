"""The conversation of an order: which URL next, whether, after what pause, and when to stop."""

from gossamer.events import HostCheckedOut, Outcome, Purpose, Visit
from services.fetcher.ending import Ending, events, failed, unvisited, without_request
from services.fetcher.outcome import HOST_TROUBLE, Failure, judge, wanted
from services.fetcher.robots_visit import visit_robots
from services.fetcher.steps import Ask, Pace, Say, Talk, Terms

ENDS_ORDER = {*HOST_TROUBLE, Outcome.UNVISITED}
UNKNOWN_ROBOTS = "the order does not say what robots.txt allows"


def refusal(order: HostCheckedOut, epoch: int, now: float) -> str:
    """Return why *order* must not be begun, or nothing; *epoch* is the oldest that counts."""
    if order.epoch < epoch:
        return f"epoch {order.epoch} is void"
    return "its lease has run out" if order.expires_at <= now else ""


def converse(order: HostCheckedOut, terms: Terms, now: float) -> Talk[None]:
    """Visit every URL of *order*, or as many as may be; say how each visit ended."""
    pace = Pace(order, terms, now)
    for index, visit in enumerate(order.visits):
        ending = yield from _visit(pace, visit)
        last = index == len(order.visits) - 1 or ending.verdict.outcome in ENDS_ORDER
        told = yield Say(events(order, index, ending, last, pace.now))
        pace.now = told.now
        if last:
            return


def _visit(pace: Pace, visit: Visit) -> Talk[Ending]:
    if visit.purpose is Purpose.ROBOTS:
        return (yield from visit_robots(pace, visit.url))
    robots = pace.order.robots
    if robots is None or not robots.allows(visit.url):
        reason = robots.explain(visit.url) if robots else UNKNOWN_ROBOTS
        return without_request(Outcome.ROBOTS_EXCLUDED, reason, "robots_excluded")
    answer = yield from pace.ask(Ask(visit.url, wanted, pace.terms.body_limit))
    if answer is None:
        return unvisited()
    if isinstance(answer, Failure):
        return failed(answer)
    return Ending(verdict=judge(answer, visit.url, pace.now), answer=answer)
