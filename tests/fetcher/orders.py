"""Orders, and the events that a fetcher emits for them."""

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_network
from typing import Any

from gossamer.clock import Clock
from gossamer.events import (
    CrawlDefined,
    Event,
    HostCheckedOut,
    PageFetched,
    Purpose,
    Visit,
    VisitEnded,
)
from gossamer.services.fetcher.http.client import Web
from gossamer.services.fetcher.limitations import (
    ClockSkew,
    Limitations,
    LocalBackoff,
    ShowLimitations,
)
from gossamer.services.fetcher.rate_limits import SlotSource
from gossamer.services.fetcher.service import BlobStore, EpochOf, Fetcher
from gossamer.services.fetcher.wiring import fixed_epoch
from gossamer.settings import FetcherSettings
from gossamer.volumes import Volume
from gossamer.web.robots import RobotsRules
from gossamer.web.url import host_key, site_of
from tests.fetcher.servers import Answer, Server, serving

LOOPBACK = ip_network("127.0.0.0/8")
PATIENT: dict[str, Any] = {
    "contact": "crawl@example.org",
    "address_gap": 0.0,
    "connect_limit": 15.0,
    "first_byte_limit": 15.0,
    "between_bytes_limit": 15.0,
    "visit_limit": 20.0,
    "head_limit": 100_000,
    "body_limit": 20_000,
    "allow_networks": (LOOPBACK,),
}
"""Limits that no response reaches if this machine is suspended for a moment."""
HASTY: dict[str, Any] = {"first_byte_limit": 1.0, "between_bytes_limit": 1.0, "visit_limit": 2.0}
"""Limits that are short enough for tests to reach."""


def settings(**changes: Any) -> FetcherSettings:
    """Return the settings of a fetcher; only loopback may be visited."""
    return FetcherSettings(**{**PATIENT, **changes})


def order(*urls: str, purpose: Purpose = Purpose.PAGE, **changes: Any) -> HostCheckedOut:
    """Return an order for *urls*, all of one host, without limits that stop it."""
    host = host_key(urls[0])
    visits = tuple(
        Visit(id=f"7.o.{index}@{url}", url=url, purpose=purpose) for index, url in enumerate(urls)
    )
    fields = {
        "at": time.time(),
        "site": site_of(urls[0]),
        "host": host,
        "order": "o",
        "epoch": 7,
        "expires_at": time.time() + 1000,
        "pause": 0.0,
        "robots": RobotsRules(),
        "visits": visits,
    }
    return HostCheckedOut(**{**fields, **changes})


def pause_crawl(paused: bool = True) -> CrawlDefined:
    """Return the definition that pauses or resumes the crawl."""
    return CrawlDefined(at=0.0, scope="any()", max_depth=1, paused=paused)


class Emitted:
    """The events that a fetcher emitted, a tuple for each call."""

    def __init__(self) -> None:
        self.calls: list[tuple[Event, ...]] = []

    def emit(self, *events: Event) -> None:
        self.calls.append(events)

    @property
    def ended(self) -> list[VisitEnded]:
        return [e for call in self.calls for e in call if isinstance(e, VisitEnded)]

    @property
    def captures(self) -> list[PageFetched]:
        """All responses."""
        return [e for call in self.calls for e in call if isinstance(e, PageFetched)]

    @property
    def pages(self) -> list[PageFetched]:
        """The responses that decide their visits."""
        return [page for page in self.captures if not page.intermediate]

    @property
    def outcomes(self) -> list[str]:
        return [ended.outcome.value for ended in self.ended]

    @property
    def one(self) -> VisitEnded:
        (ended,) = self.ended
        return ended


@asynccontextmanager
async def fetcher(
    void_through: int = 0,
    *,
    epoch_of: EpochOf | None = None,
    clock: Clock = time.time,
    tell: ShowLimitations = lambda why: None,
    volume: Volume | None = None,
    slots: SlotSource | None = None,
    **changes: Any,
) -> AsyncIterator[Fetcher]:
    """A fetcher on the real loopback, by default with the real clock and alone.

    It reports more than 150 s of clock skew, and stores bodies of more than 1,000 bytes in
    *volume*.
    """
    web, limitations = Web(settings(**changes), clock, slots), Limitations(tell)
    skew, backoff = ClockSkew(150.0, limitations), LocalBackoff(limitations)
    blobs = BlobStore(volume, 1000, limitations) if volume else None
    try:
        yield Fetcher(web, clock, epoch_of or fixed_epoch(void_through + 1), skew, backoff, blobs)
    finally:
        await web.close()


async def work(processor: Fetcher, *orders: HostCheckedOut) -> Emitted:
    """Return the events of *processor* for *orders*, one after another."""
    emitted = Emitted()
    for one in orders:
        await processor.work(one, emitted.emit)
    return emitted


async def run_order(*urls: str, given: HostCheckedOut | None = None, **changes: Any) -> Emitted:
    """Return the events of a fetcher for an order of *urls*, or for the order *given*."""
    async with fetcher(**changes) as processor:
        return await work(processor, given or order(*urls))


async def visit_page(answer: Answer, **changes: Any) -> Emitted:
    """Return the events of a fetcher for a page at which a server gives *answer*."""
    return (await visit_pages(changes, x=answer))[1]


async def visit_pages(
    changes: Mapping[str, Any] | None = None, /, **answers: Answer
) -> tuple[Server, Emitted]:
    """Return a server that gave *answers*, and the events of a fetcher for one order of all."""
    async with serving(**answers) as server:
        urls = (f"{server.root}/{name}" for name in answers)
        return server, await run_order(*urls, **changes or {})


def endings_are_sound(emitted: Emitted, visits: Sequence[Visit]) -> bool:
    """Return whether only the final outcome is the last, and outcomes are in order."""
    ended = emitted.ended
    turns = [one.index for one in ended] == list(range(len(ended)))
    lasts = [one.last for one in ended] == [False] * (len(ended) - 1) + [True]
    return turns and lasts and all(one.visit == visits[one.index] for one in ended)
