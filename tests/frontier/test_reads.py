"""The loop reads the rows of a step's records together, so handlers read no rows."""

from collections.abc import Callable

import pytest

from gossamer.events import (
    ChangeHint,
    ChangesHinted,
    CrawlDefined,
    Discovery,
    Event,
    EvidenceKind,
    MissingPageRead,
    OrderId,
    Outcome,
    PageDeduplicated,
    RefetchRequested,
    RetryRequested,
    RobotsRequested,
    UrlsAdmitted,
    Verdict,
    Visit,
    VisitEnded,
)
from gossamer.runtime.handling import read_ahead
from gossamer.services.frontier.service import Frontier
from gossamer.settings import FrontierSettings
from gossamer.web.url import HostKey, Site
from tests.support.read_ahead import ReadAheadStore

NOW = 1_700_000_000.0
EVENT_COUNT = 1000
SITE, HOST = Site("shop.example"), HostKey("https://www.shop.example")
URLS = tuple(f"{HOST}/{number}" for number in range(EVENT_COUNT))
NAMES = tuple(f"https://h{number}.trap.example/" for number in range(EVENT_COUNT))


def frontier(store: ReadAheadStore) -> Frontier:
    """Return a frontier that has just taken over, with empty caches."""
    made = Frontier(FrontierSettings(), store, 60.0, 1, alone=False)
    made.assign(frozenset([0]), NOW)
    made.finish_catching_up(frozenset([0]), NOW)
    list(made.handle(CrawlDefined(at=NOW, scope="any()", max_depth=9, revisit="optimal"), NOW))
    made.settle()
    store.flush()
    return made


def urls_admitted(*urls: str) -> UrlsAdmitted:
    site = SITE if urls[0] in URLS else "trap.example"
    return UrlsAdmitted(at=NOW, site=Site(site), via="v", urls=tuple(Discovery(u, 1) for u in urls))


def page_deduplicated(url: str, novelty: float | None = None) -> PageDeduplicated:
    visit = Visit(id=f"1.0@{url}", url=url)
    return PageDeduplicated(
        at=NOW,
        site=SITE,
        host=HOST,
        visit=visit,
        verdict=Verdict.FIRST,
        digest="d",
        fetched_at=NOW,
        status=200,
        novelty=novelty,
    )


def visit_ended(url: str) -> VisitEnded:
    visit = Visit(id=f"1.0@{url}", url=url, earlier=3)
    return VisitEnded(
        at=NOW, site=SITE, host=HOST, order=OrderId("1"), epoch=1, index=0, visit=visit,
        outcome=Outcome.GONE,
        started_at=NOW, last=True,
    )  # fmt: skip


EVENTS: dict[str, Callable[[], list[Event]]] = {
    "links to one host": lambda: [urls_admitted(*URLS)],
    "links to many names of a site": lambda: [urls_admitted(*NAMES)],
    "a sitemap": lambda: [
        ChangesHinted(
            at=NOW,
            site=SITE,
            host=HOST,
            hints=tuple(ChangeHint(url, EvidenceKind.SITEMAP, NOW - 5) for url in URLS),
        )
    ],
    "verdicts": lambda: [page_deduplicated(url) for url in URLS[:50]],
    "verdicts on known words": lambda: [page_deduplicated(url, 0.05) for url in URLS[:50]],
    "an outcome": lambda: [visit_ended(URLS[0])],
    "a missing page": lambda: [
        MissingPageRead(at=NOW, site=SITE, host=HOST, digest="d", simhash="00000000000000ff")
    ],
    "robots.txt elsewhere": lambda: [
        RobotsRequested(
            at=NOW,
            site=SITE,
            url=f"{HOST}/robots.txt",
            on_behalf_of=HostKey("https://a.example"),
            hops=1,
        )
    ],
    "refetch": lambda: [RefetchRequested(at=NOW, site=SITE, host=HOST, urls=URLS)],
    "retry": lambda: [RetryRequested(at=NOW, site=SITE, host=HOST, urls=URLS)],
}


@pytest.mark.parametrize("name", EVENTS)
def test_handlers_read_only_cached_rows(name: str) -> None:
    store = ReadAheadStore()
    before = frontier(store)
    for event in (
        urls_admitted(*URLS),
        urls_admitted(*NAMES[:10]),
        *map(page_deduplicated, URLS[:100]),
    ):
        list(before.handle(event, NOW))
    before.settle()
    store.flush()
    new, events = frontier(store), EVENTS[name]()
    store.alone.clear()
    read_ahead(store, new.reads_of(events))
    store.alone.clear()
    for event in events:
        list(new.handle(event, NOW + 1))
    assert not store.alone


def test_order_reads_no_rows() -> None:
    store = ReadAheadStore()
    new, events = frontier(store), [urls_admitted(*URLS[:5])]
    read_ahead(store, new.reads_of(events))
    for event in events:
        list(new.handle(event, NOW))
    new.settle()
    store.flush()
    store.alone.clear()
    assert len(list(new.wake(NOW + 1))) == 1
    assert not store.alone
