"""How a visit ended, and the events that say so."""

from dataclasses import dataclass

from msgspec.structs import replace

from gossamer.events import Event, HostCheckedOut, Outcome, PageFetched, VisitEnded
from gossamer.robots import RobotsRules
from gossamer.url import host_key, site_of
from services.fetcher.outcome import Failure, Reply, Verdict


@dataclass(frozen=True, kw_only=True)
class Ending:
    """A visit's end. *url* is where the reply came from, if not from the visit's own URL."""

    verdict: Verdict
    answer: Reply | Failure | None = None
    robots: RobotsRules | None = None
    url: str = ""


def failed(failure: Failure) -> Ending:
    """Return the end of a visit that brought nothing."""
    hazards = (failure.hazard,) if failure.hazard else ()
    verdict = Verdict(outcome=failure.outcome, kept=False, reason=failure.reason, hazards=hazards)
    return Ending(verdict=verdict, answer=failure)


def without_request(outcome: Outcome, reason: str, *hazards: str) -> Ending:
    """Return the end of a visit that asked for nothing."""
    verdict = Verdict(outcome=outcome, kept=False, reason=reason, hazards=hazards)
    return Ending(verdict=verdict)


def unvisited(hop: Reply | None = None) -> Ending:
    """Return the end of a visit that was not made, or only as far as the redirect *hop*.

    That a request was made is said even so: the frontier rests the host after it.
    """
    return Ending(verdict=Verdict(outcome=Outcome.UNVISITED, kept=False), answer=hop)


def events(
    order: HostCheckedOut, index: int, ending: Ending, last: bool, now: float
) -> tuple[Event, ...]:
    """Return what is said of the visit *index*: the page before the outcome."""
    ended = _ended(order, index, ending, last, now)
    if isinstance(ending.answer, Reply) and ending.verdict.kept:
        return _fetched(order, index, ending, ending.answer, now), ended
    return (ended,)


def _ended(order: HostCheckedOut, index: int, ending: Ending, last: bool, now: float) -> VisitEnded:
    verdict, answer = ending.verdict, ending.answer
    reply = answer if isinstance(answer, Reply) else Reply(status=0)
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
        outcome=verdict.outcome,
        reason=verdict.reason,
        status=reply.status,
        location=verdict.location,
        started_at=answer.started_at if answer else 0.0,
        took=answer.took if answer else 0.0,
        received=len(reply.body),
        retry_after=verdict.retry_after,
        robots=ending.robots,
        hazards=verdict.hazards,
    )


def _fetched(
    order: HostCheckedOut, index: int, ending: Ending, reply: Reply, now: float
) -> PageFetched:
    visit = order.visits[index]
    url = ending.url or visit.url
    elsewhere = url != visit.url
    return PageFetched(
        crawl=order.crawl,
        at=now,
        # A robots.txt may come from where a redirect led: it is archived as what it is.
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
        truncated=reply.truncated,
        hazards=ending.verdict.hazards,
    )
