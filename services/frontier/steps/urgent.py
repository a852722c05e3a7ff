"""Urgent URLs: those that an operator requests by `gossamer fetch`.

An urgent URL is visited next, whether it was visited before, waits in a queue, is parked, or is
unknown. The URL-seen test, the budgets, the plans and the parked parts of its site do not hold it
up. Politeness does: its host keeps its lease, delays and backoffs, and robots.txt, the blocklist
and the scope of the crawl decide at the check-out as for any other URL.

The URL gets an entry in a queue of its own at its host, whose rank is better than any priority
(`ordering.py`). If it waits in another queue, too, that entry becomes surplus (`queue.py`). To look
for it in a long queue would take longer than its visit. So it is assumed to wait there, which costs
the host some reads of rows.

A URL that was never visited has the origin of a seed. Dedup is told to add it to the URL-seen set,
so that later links do not admit it.

Requests are on `visits.ended`, which the frontier reads before all other topics. Its lag is small:
it has only the outcomes of the frontier's own orders. So a request overtakes the admissions that
wait, and the admission of its URL may come after its visit. Hosts with requests therefore have
their admitted URLs compared with the rows of URLs (`Admission`).
"""

from typing import NamedTuple

from msgspec.structs import replace

from gossamer.events import Discovery, FetchRequested, UrlsDiscovered
from gossamer.events.pages import FETCH_VIA, group_by_site
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.partitions import Partitions
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.partition.workbench import Host
from gossamer.services.frontier.revisit import Basis
from gossamer.services.frontier.steps.admission import (
    MAX_SEARCHED_URLS,
    make_planned_url,
    pack_new_page,
    plan_of_request,
)
from gossamer.services.frontier.steps.revisits import Revisits
from gossamer.services.frontier.tables.hosts import HostRow, OffsetAndTime
from gossamer.services.frontier.tables.ordering import URGENT_RANK
from gossamer.services.frontier.tables.plans import PlanRow
from gossamer.services.frontier.tables.urls import Origin, QueuedUrl, UrlRow
from gossamer.store import Store
from gossamer.web.url import Site, fingerprint


class UrgentUrl(NamedTuple):
    """The entry of a URL, and what is known about the URL."""

    entry: QueuedUrl
    plan: PlanRow | None
    """The plan whose visit the entry is; None if the URL has none."""
    may_wait: bool
    """Whether another queue has, or may have, an entry of the URL."""


class UrgentRequests:
    """Queues the URLs that operators request by `gossamer fetch`."""

    def __init__(self, partitions: Partitions, revisits: Revisits, store: Store) -> None:
        self._partitions, self._revisits = partitions, revisits
        self._urls = store.table(UrlRow)

    def fetch(
        self,
        partition: Partition,
        share: CrawlShare,
        event: FetchRequested,
        now: float,
        record: OffsetAndTime | None = None,
    ) -> list[UrlsDiscovered]:
        """Queue the URLs of *event* before all others of their host. URLs that are urgent already
        or are being visited, and those of an erasure in progress, are ignored. Return the URLs that
        may be missing in the URL-seen set.

        *record*: the offset and the time of *event* on the log. A host that has applied it is not
        changed.
        """
        host = partition.find(event.site, event.host)
        if record and share.queues.of(host.row).requests.covers(record):
            return []
        present = share.queues.urgent_urls(host.row)
        wanted = [
            url
            for url in dict.fromkeys(event.urls)
            if url not in present and not partition.erasures.is_pending(url)
        ]
        found = [self._find(partition, share, event, host, url, now) for url in wanted]
        if not found:
            return []
        share.sites.enter(event.site)
        row, admitted = host.row, [one.entry for one in found if not (one.plan or one.may_wait)]
        if admitted:
            share.tally.count_admitted([_seen_discovery(entry) for entry in admitted], now)
            share.parts.count_admitted(row.site, len(admitted), depth=0)
            totals = replace(row.totals, admitted=row.totals.admitted + len(admitted))
            row = replace(row, totals=totals)
        if record:
            requests = row.of(share.crawl).requests.through(record)
            row = row.change_crawl(share.crawl, requests=requests)
        if waiting := sum(one.may_wait for one in found):
            row = share.queues.add_surplus(row, waiting)
        partition.queue_urgently(share, host, row, [one.entry for one in found], now)
        for one in found:
            if one.plan:
                self._revisits.mark_queued(one.plan)
        unseen = [_seen_discovery(one.entry) for one in found if one.plan is None]
        return group_by_site(unseen, FETCH_VIA, event.crawl, now)

    def _find(
        self,
        partition: Partition,
        share: CrawlShare,
        event: FetchRequested,
        host: Host,
        url: str,
        now: float,
    ) -> UrgentUrl:
        number = self._partitions.next_number(partition, now, URGENT_RANK)
        keys = event.crawl, event.host, url
        last, plan = self._urls.get(keys[:2], url), self._revisits.find_plan(*keys)
        if last is not None and (last.earlier or last.attempt or last.queued):
            return _entry_of_known(partition, event.site, plan or PlanRow(*keys), last, number, now)
        if plan is not None and plan.number is not None and not plan.queued:
            # It waits for the budget of first visits.
            plan = replace(plan, number=None)
            entry = make_planned_url(partition, event.site, plan, number, now)
            return UrgentUrl(entry, plan, False)
        entry = QueuedUrl(
            event.crawl,
            "",
            0,
            url,
            number,
            Origin(via=FETCH_VIA, trace=fingerprint(url)),
            statistics=pack_new_page(0, 0, 0, 0.0),
        )
        return UrgentUrl(entry, None, _may_wait(share, host.row, url))


def _entry_of_known(
    partition: Partition, site: Site, plan: PlanRow, last: UrlRow, number: int, now: float
) -> UrgentUrl:
    """Return the entry of a URL that was visited before, or failed."""
    waits = last.queued or (plan.queued and not plan.is_outdated(last))
    if plan.is_retry and not plan.queued:
        partition.count_wait_over()
    plan = plan_of_request(plan, last, now, Basis.REQUESTED)
    return UrgentUrl(make_planned_url(partition, site, plan, number, now), plan, waits)


def _may_wait(share: CrawlShare, row: HostRow, url: str) -> bool:
    """Return whether *url*, which was never visited, waits in a queue; True if the queues are too
    long for a search."""
    if share.queues.of(row).new.queued > MAX_SEARCHED_URLS:
        return True
    return url in share.queues.new_urls(row)


def _seen_discovery(entry: QueuedUrl) -> Discovery:
    """Return the URL of *entry* for the URL-seen set, which does not admit it."""
    return replace(entry.origin.discovery(entry.url), visited=True)
