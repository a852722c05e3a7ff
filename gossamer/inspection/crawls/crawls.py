"""The crawls of a folder or a fleet: their states, weights and totals."""

from collections.abc import Iterator

from msgspec import Struct

from gossamer.events import CrawlDefined
from gossamer.inspection.basics.views import view_of
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.services.frontier.tables.partitions import partition_keys
from gossamer.services.frontier.tables.totals import merge
from gossamer.services.frontier.totals.tally import TallyRow

ACTIVE, PAUSED, REMOVED = "active", "paused", "removed"


class CrawlSummary(Struct, frozen=True):
    """A crawl among others."""

    crawl: str
    """The id of the crawl."""
    state: str
    """`active`, `paused` or `removed`."""
    scope: str
    weight: float
    share: float
    """The share of the crawl in visits for which all active crawls compete, from 0 to 1. Crawls
    without URLs to visit lend theirs. 0 unless the crawl is active."""
    pages: int
    """Fetched pages."""
    admitted: int
    """URLs that were accepted."""
    queued: int
    """URLs that wait for a visit."""
    max_pages: int
    """Maximum number of fetched pages; 0 means no limit."""
    defined_at: float
    """Epoch seconds of the active definition."""


def state_of(crawl: CrawlDefined) -> str:
    """Return ACTIVE, PAUSED or REMOVED."""
    return REMOVED if crawl.removed else PAUSED if crawl.paused else ACTIVE


def read_crawls(opened: OpenCrawl) -> list[CrawlSummary]:
    """Return all crawls of the folder or fleet, sorted by id; removed crawls too."""
    return list(_summaries(opened, opened.crawls()))


def _summaries(opened: OpenCrawl, crawls: dict[str, CrawlDefined]) -> Iterator[CrawlSummary]:
    active = {name for name, crawl in crawls.items() if state_of(crawl) == ACTIVE}
    weights = sum(crawls[name].weight for name in active)
    table = opened.store().table(TallyRow)
    partitions = partition_keys(opened.log.partitions)
    for name, crawl in crawls.items():
        rows = table.get_all([(partition, name) for partition in partitions])
        yield view_of(
            CrawlSummary,
            crawl,
            merge(TallyRow(name, ""), *rows),
            crawl=name,
            state=state_of(crawl),
            share=crawl.weight / weights if name in active else 0.0,
            max_pages=crawl.page_limit,
            defined_at=crawl.at,
        )
