"""Which rows the events of a step name, so that they are read together."""

from collections.abc import Iterable, Iterator

from gossamer.events import (
    ChangesHinted,
    Event,
    LinksSetAside,
    RefetchAsked,
    RetryAsked,
    RobotsAsked,
    UrlsAdmitted,
    VisitEnded,
)
from gossamer.events.outcomes import OUTCOMES, Judged
from gossamer.runtime.processor import Key
from gossamer.web.url import host_key
from services.frontier.plan_rows import PlanRow
from services.frontier.rows import DueRow, JudgementRow, UrlRow


def places_of(events: Iterable[Event]) -> Iterator[tuple[str, str]]:
    """Yield the sites and hosts that *events* name; a site alone with "" for its host."""
    for event in events:
        site = getattr(event, "site", "")
        match event:
            case UrlsAdmitted(urls=urls):
                yield from dict.fromkeys((site, host_key(found.url)) for found in urls)
            case RobotsAsked(url=url):
                yield site, host_key(url)
            case LinksSetAside():
                pass
            case _ if site:
                yield site, getattr(event, "host", "")


def urls_of(events: Iterable[Event]) -> Iterator[Key]:
    """Yield the rows of the URLs that *events* name, where what they say is compared with them."""
    for event in events:
        match event:
            case ChangesHinted(host=host, hints=hints):
                for hint in hints:
                    yield PlanRow, host, hint.url
                    yield UrlRow, host, hint.url
            case RetryAsked(host=host, urls=urls) | RefetchAsked(host=host, urls=urls):
                for url in urls:
                    yield PlanRow, host, url
                    yield UrlRow, host, url
            case VisitEnded(host=host, visit=visit) if visit.earlier:
                if OUTCOMES[event.outcome].judged is Judged.ABSENCE:
                    yield JudgementRow, host, visit.url


def urls_due(due: Iterable[DueRow]) -> Iterator[Key]:
    """Yield the rows of the URLs whose retry is *due*."""
    for one in due:
        if one.url:
            yield UrlRow, one.host, one.url
            yield PlanRow, one.host, one.url
