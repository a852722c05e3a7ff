"""Shared captures: a page that one crawl has fetched counts as the visit of another crawl, without
a request (`share_for` of a crawl).

An order for a host at which another crawl has URLs asks the fetcher to keep whole documents. The
outcome of such a visit names the blob of its capture, which check-in stores with the URL. Check-out
gives a capture to the visit of another crawl if it is young enough for that crawl, and newer than
the last visit of that crawl to the URL. The fetcher emits the page again for that crawl. If the
blob is gone, the fetcher makes a request. So a row is only a proposal, and may be lost or outdated.
"""

from collections.abc import Iterable, Mapping, Sequence

from gossamer.events import CrawlDefined, Purpose, SharedCapture, VisitEnded
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.ordering import is_urgent
from gossamer.services.frontier.tables.urls import BUCKETS, QueuedUrl, UrlRow
from gossamer.store import Row, Store, iterate_partition
from gossamer.web.url import HostKey, host_key


class SharedCaptureRow(Row, frozen=True):
    """The last capture of a page at a host of several crawls, which other crawls may take."""

    table = "shared_captures"
    partition_key, sort_key = "host", "url"
    buckets = BUCKETS
    kept_for, aged_by = "frontier.shared_age", "at"
    about = ("url",)

    host: HostKey
    url: str
    crawl: str
    """The crawl that made the visit."""
    at: float
    """When the request was made."""
    blob: str
    """The name of the capture in the volume `blobs.volume`."""


class SharedCaptures:
    """The captures at the hosts of the claimed partitions that other crawls may take."""

    def __init__(self, store: Store) -> None:
        self._rows, self._urls = store.table(SharedCaptureRow), store.table(UrlRow)
        self._takers = set[str]()
        """The crawls that take captures of others now."""

    def define(self, crawl: CrawlDefined) -> None:
        """Use the definition of *crawl*."""
        takes = crawl.share_for > 0 and not (crawl.paused or crawl.removed)
        (self._takers.add if takes else self._takers.discard)(crawl.crawl)

    def is_wanted(self, row: HostRow, crawl: str) -> bool:
        """Return whether another crawl than *crawl* may take captures at the host of *row*."""
        return any(other in self._takers for other in row.crawls if other != crawl)

    def find(
        self, row: HostRow, crawl: CrawlDefined, queued: Sequence[QueuedUrl], now: float
    ) -> dict[str, SharedCapture]:
        """Return the captures that the visits of *crawl* to *queued* URLs take, by URL."""
        if not crawl.share_for or row.crawls.keys() <= {crawl.crawl}:
            return {}
        urls = {url.url: url for url in queued if _is_page(url)}
        rows = self._rows.get_many(row.host, [*urls]) if urls else []
        young = {
            one.url: SharedCapture(one.crawl, one.at, one.blob)
            for one in rows
            if one.crawl != crawl.crawl and one.at >= now - crawl.share_for
        }
        visited = self._last_visits(row, crawl, [urls[url] for url in young])
        return {url: one for url, one in young.items() if one.at > visited.get(url, 0.0)}

    def _last_visits(
        self, row: HostRow, crawl: CrawlDefined, queued: Iterable[QueuedUrl]
    ) -> Mapping[str, float]:
        """Return the time of the last visit of *crawl* to each *queued* URL, without new URLs."""
        urls = [url.url for url in queued if url.earlier or url.attempt]
        rows = self._urls.get_many((crawl.crawl, row.host), urls) if urls else []
        return {one.url: one.at for one in rows}

    def record(self, event: VisitEnded) -> None:
        """Store the capture of a visit that the fetcher has kept."""
        if event.kept:
            self._rows.put(
                SharedCaptureRow(
                    host=event.host,
                    url=event.visit.url,
                    crawl=event.crawl,
                    at=event.started_at,
                    blob=event.kept,
                )
            )

    def drop_host(self, host: HostKey) -> None:
        """Forget all captures at *host*, which is erased."""
        self._rows.drop(host)

    def erase(self, url: str) -> None:
        """Forget the capture of *url*, which is erased."""
        self._rows.erase(host_key(url), url)

    def drop_crawl(self, hosts: Sequence[str], crawl: str) -> None:
        """Forget the captures at *hosts* by *crawl*, which is removed."""
        self._rows.scan_ahead(hosts)
        for host in hosts:
            for row in iterate_partition(self._rows, host):
                if row.crawl == crawl:
                    self._rows.erase(host, row.url)


def _is_page(url: QueuedUrl) -> bool:
    # An urgent URL is requested: the operator wants the page as it is now.
    is_page = url.origin.purpose is Purpose.PAGE and not is_urgent(url.number)
    return bool(url.url) and not url.on_behalf_of and is_page
