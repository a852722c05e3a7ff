"""How a visit ended, and the events and metrics that report it."""

from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from gossamer.events import (
    Event,
    HostCheckedOut,
    Outcome,
    PageFetched,
    RobotsAnswered,
    RobotsRequested,
    Visit,
    VisitEnded,
)
from gossamer.events.hazards import Hazard, count_hazards
from gossamer.events.outcomes import OUTCOMES
from gossamer.telemetry import count
from gossamer.web.cookies import Cookie
from gossamer.web.robots import RobotsRules
from gossamer.web.soft_404 import NO_SIGNATURE
from gossamer.web.url import host_key, site_of
from services.fetcher.outcome import Assessment, Failure, Reply

WARC_WORDS = {"slow": "time"}
"""What cut a body, where WARC has another word for it (WARC 1.1, 5.13)."""


class Passed(NamedTuple):
    """A redirect that was followed within a visit."""

    url: str
    reply: Reply


class Ending(Struct, frozen=True, kw_only=True):
    """A visit's end. *url* is where the reply came from, or "" if from the visit's own URL.

    *elsewhere* is where a robots.txt lies at another host, after how many redirects in a row.
    """

    assessment: Assessment
    answer: Reply | Failure | None = None
    robots: RobotsRules | None = None
    sitemaps: tuple[str, ...] = ()
    """That robots.txt names."""
    usage: dict[str, str] = {}
    """What the site says about the use of the page."""
    cookies: tuple[Cookie, ...] = ()
    """That it set or deleted."""
    url: str = ""
    elsewhere: tuple[str, int] | None = None
    passed: tuple[Passed, ...] = ()
    """The redirects on the way, which are kept, too."""
    last: Reply | Failure | None = None
    """The answer to the visit's last request, if that is not the answer that counts."""


def failed(failure: Failure) -> Ending:
    """Return the end of a visit that got no response."""
    hazards = (failure.hazard,) if failure.hazard else ()
    assessment = Assessment(
        outcome=failure.outcome, kept=False, reason=failure.reason, hazards=hazards
    )
    return Ending(assessment=assessment, answer=failure)


def without_request(outcome: Outcome, reason: str, *hazards: Hazard) -> Ending:
    """Return the end of a visit that needed no request."""
    assessment = Assessment(outcome=outcome, kept=False, reason=reason, hazards=hazards)
    return Ending(assessment=assessment)


def unvisited(why: str, wait: float = 0.0, hop: Reply | None = None) -> Ending:
    """Return the end of a visit that was not made, or was given up after the redirect *hop*; it may
    be made in *wait* seconds.

    The request for *hop* is reported all the same, so that the frontier lets the host rest.
    """
    assessment = Assessment(outcome=Outcome.UNVISITED, kept=False, reason=why, retry_after=wait)
    return Ending(assessment=assessment, answer=hop)


def events(
    order: HostCheckedOut, index: int, ending: Ending, last: bool, now: float
) -> tuple[Event, ...]:
    """Return the events of the visit *index*: what was passed and its page, if one is kept, before
    its outcome, and what is asked or answered of a robots.txt that lies elsewhere."""
    visit = order.visits[index]
    found: list[Event] = [_fetched(order, visit, *passed, now) for passed in ending.passed]
    if isinstance(ending.answer, Reply) and ending.assessment.kept:
        page = _fetched(order, visit, ending.url or visit.url, ending.answer, now)
        hazards = ending.assessment.hazards
        found.append(replace(page, hazards=hazards, usage=ending.usage))
    found.append(_ended(order, index, ending, last, now))
    on_behalf_of = visit.on_behalf_of
    if ending.elsewhere:
        found.append(_robots_requested(order, on_behalf_of or order.host, ending.elsewhere, now))
    elif on_behalf_of and ending.assessment.outcome is not Outcome.UNVISITED:
        found.append(_answered(order, visit, ending, now))
    return tuple(found)


def _robots_requested(
    order: HostCheckedOut, on_behalf_of: str, elsewhere: tuple[str, int], now: float
) -> RobotsRequested:
    url, hops = elsewhere
    return RobotsRequested(
        crawl=order.crawl, at=now, site=site_of(url), url=url, on_behalf_of=on_behalf_of, hops=hops
    )


def _answered(order: HostCheckedOut, visit: Visit, ending: Ending, now: float) -> RobotsAnswered:
    assessment, rules = ending.assessment, ending.robots
    # The host where the file lies is in trouble then, not the one that it is about.
    failed = rules is not None and OUTCOMES[assessment.outcome].ends_order
    return RobotsAnswered(
        crawl=order.crawl,
        at=now,
        site=site_of(visit.on_behalf_of),
        host=visit.on_behalf_of,
        url=visit.url,
        outcome=Outcome.BROKEN if failed else assessment.outcome,
        reason=rules.forbidden if rules and failed else assessment.reason,
        retry_after=assessment.retry_after,
        robots=rules,
        sitemaps=ending.sitemaps,
    )


def count_visit(event: VisitEnded) -> None:
    """Count *event* in the metrics, once it is on the log."""
    count("gossamer_outcomes_total", outcome=event.outcome)
    count("gossamer_received_bytes_total", event.received)
    count_hazards("fetcher", event.hazards)


def _ended(order: HostCheckedOut, index: int, ending: Ending, last: bool, now: float) -> VisitEnded:
    assessment, answer = ending.assessment, ending.answer
    reply = answer if isinstance(answer, Reply) else Reply(status=0)
    latest = ending.last or answer
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
        reason=assessment.reason,
        status=reply.status,
        location=assessment.location,
        started_at=latest.started_at if latest else 0.0,
        took=latest.took if latest else 0.0,
        received=len(reply.body),
        retry_after=assessment.retry_after,
        robots=None if order.visits[index].on_behalf_of else ending.robots,
        sitemaps=() if order.visits[index].on_behalf_of else ending.sitemaps,
        cookies=ending.cookies,
        hazards=assessment.hazards,
    )


def _fetched(
    order: HostCheckedOut, visit: Visit, url: str, reply: Reply, now: float
) -> PageFetched:
    elsewhere = url != visit.url
    return PageFetched(
        crawl=order.crawl,
        at=now,
        # A robots.txt may come from where a redirect led: it is archived under that URL.
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
        truncated=WARC_WORDS.get(reply.truncated, reply.truncated),
        signature=NO_SIGNATURE if elsewhere else order.signature,
    )
