"""Leases that end without the last outcome of their order: it did not come in time, or the fetcher
that had begun the order is dead.

One expired lease means little: the fetcher crashed, or was cut off. Its host is delayed, and gets
orders of one URL until a visit to one of its queued URLs ends. The next lease may expire because a
visit to this host stops the process of its fetcher. Viuva-negra met such hosts (4.2). A second
lease in a row, and each further one, therefore makes the host back off exponentially.

**An outage of ours blames no host.** When fetchers are stopped, all leases expire. A lease counts
only if a fetcher has reported that it began the order: otherwise it made no request. And it counts
only if the fetcher of the same partition of `visits.ordered` had made a visit between the end of
the host's previous lease and the order. If it had made none, the order is for the host's
robots.txt: an answer shows that the fetcher works, and the next order counts. The first lease of a
begun order always counts, because it causes no backoff. Until a fetcher answers, the host is
delayed for at most five minutes.

**A dead fetcher** need not be waited for. A fetcher reports each order that it begins, and each of
its own starts, on `visits.ended`. Its name belongs to one living process, so a start proves that
the earlier process is dead. Its orders are those that the log has as begun before the start. Their
outcomes were applied by then, because a partition of the log is read in order. The last request may
have been sent just before the death, so the host waits for its courtesy delay. An order that lies
unread on the log is carried out: a start also states up to which offset fetchers have committed. A
report precedes its commit, so an order may have reports of two fetchers, of which only one has
begun it; then the lease holds.

**A dead frontier** may have stored an order that it never appended. Fetchers refuse orders of
earlier claims. So a frontier that has claimed a partition and has read all earlier reports ends the
leases of orders that nobody has begun (`Lease.is_fenced`).

**The URL.** The outcomes of an order come in the order of its visits. When a lease expires, the
first queued URL is the one in flight, or follows a visit whose outcome was lost. Orders of one URL
isolate it. A URL at which `MAX_URL_LEASES` leases in a row expired is given up, with the outcome
`internal_error`. The host's other URLs are visited after the backoff.
"""

from msgspec.structs import replace

from gossamer.events import (
    DEFAULT_CRAWL,
    FetcherStarted,
    OrderBegun,
    OrderId,
    Outcome,
    Purpose,
    VisitEnded,
)
from gossamer.events.hazards import Hazard, count_hazards
from gossamer.services.frontier.features.failures import add_failure
from gossamer.services.frontier.features.usage_files import give_up_usage_files
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.politeness import (
    LEASE_FAILURE,
    expired_wait,
    returned_order_delay,
)
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.partition.workbench import Host
from gossamer.services.frontier.steps.checkin import CheckIn
from gossamer.services.frontier.steps.robots import needs_probe
from gossamer.services.frontier.tables.conditions import Condition, Trigger
from gossamer.services.frontier.tables.hosts import HostRow, Suspect
from gossamer.settings import FrontierSettings
from gossamer.telemetry import count
from gossamer.web.soft_404 import Signature

MAX_URL_LEASES = 3
"""Leases in a row that may expire at one URL before it is given up."""

NO_ANSWER = "the lease of the last order expired, and no fetcher has answered since"
NO_BEGIN = (
    "the lease of the last order expired, and no fetcher has reported that it began the order"
)
"""Why a host is delayed after a lease that does not count."""


class Leases:
    """Ends leases."""

    def __init__(self, settings: FrontierSettings, check_in: CheckIn) -> None:
        self._settings, self._check_in = settings, check_in

    def end(self, partition: Partition, until: float, now: float) -> None:
        """Delay the hosts whose lease had expired at *until*, or back off from them."""
        for host in partition.bench.leases_over(until):
            self._end(partition, host, now)

    def record_begun(self, partition: Partition, event: OrderBegun, offset: int | None) -> None:
        """Store which fetcher has begun the order of a host, as the record at *offset* reports."""
        host = partition.find(event.site, event.host)
        lease = host.row.lease
        if host.row.condition is not Condition.CHECKED_OUT or lease.order != event.order:
            return
        # A fetcher that lost the order's partition before it could commit has not begun it.
        name = event.fetcher if lease.begun_by in (None, event.fetcher) else ""
        lease = replace(lease, begun_by=name, begun_offset=offset, order_offset=event.offset)
        partition.update(host, replace(host.row, lease=lease))

    def end_begun(
        self, partition: Partition, event: FetcherStarted, offset: int, now: float
    ) -> None:
        """End the leases of orders that the earlier process of a fetcher has begun; it started
        again as the record at *offset* reports."""
        for host in partition.bench.checked_out_hosts():
            lease = host.row.lease
            number = partition.number if lease.sent_to is None else lease.sent_to
            if lease.was_begun_before(event.fetcher, offset, event.committed.get(number, 0)):
                self._end(partition, host, now)

    def _end(self, partition: Partition, host: Host, now: float) -> None:
        """Delay *host*, whose lease ends, or back off from it."""
        share = partition.share(host.row.lease.crawl or DEFAULT_CRAWL)
        count("gossamer_leases_expired_total")
        row, wait = host.row, 0.0
        if row.is_erased or share.is_removed or not self._settings.expired_wait:
            pass
        elif row.lease.counts_if_expired and row.lease.begun_by is not None:
            row = self._count_lease(share, row, now)
            wait = expired_wait(self._settings, row.host, row.politeness.failures[LEASE_FAILURE])
            if row.suspect.leases >= MAX_URL_LEASES:
                row = self._give_up(partition, share, host, row, now)
        else:
            returned = row.politeness.returned_orders + 1
            politeness = replace(row.politeness, returned_orders=returned)
            row = replace(
                row,
                politeness=politeness,
                suspect=replace(row.suspect, expired_at=now),
                backoff_reason=NO_ANSWER if row.lease.begun_by is not None else NO_BEGIN,
                backoff_cause=Outcome.UNVISITED,
            )
        failures = row.politeness.failures.get(LEASE_FAILURE, 0)
        if row.lease.purpose is Purpose.USAGE and failures >= MAX_URL_LEASES:
            give_up_usage_files(partition, host, now + wait, now)
        self._release(partition, share, host, row, wait, now)
        partition.end_waits_of_order(share, host, row.lease.done, now)

    def _count_lease(self, share: CrawlShare, row: HostRow, now: float) -> HostRow:
        """Return *row* with one more expired lease."""
        before, url = row.suspect, None
        if row.lease.purpose is Purpose.PAGE and (first := share.queues.first(row, 1)):
            url = first[0].url or None
        leases = before.leases + 1 if url and url == before.url else int(url is not None)
        politeness = replace(row.politeness, returned_orders=0)
        row = replace(row, politeness=politeness, suspect=Suspect(now, url, leases))
        return add_failure(row, LEASE_FAILURE)

    def _give_up(
        self, partition: Partition, share: CrawlShare, host: Host, row: HostRow, now: float
    ) -> HostRow:
        """Return *row* without the URL at which the leases expired."""
        [first] = share.queues.first(row, 1)
        event = VisitEnded(
            crawl=first.crawl,
            at=now,
            site=row.site,
            host=row.host,
            order=OrderId(row.lease.order or ""),
            epoch=partition.epoch,
            index=row.lease.done,
            last=True,
            visit=replace(
                first.visit(f"expired@{first.url}"),
                conditional=False,
                attempt=self._settings.retries,
            ),
            outcome=Outcome.INTERNAL_ERROR,
            reason=f"{row.suspect.leases} leases in a row expired while the URL was visited: it "
            "seems to stop the fetchers",
        )
        row = self._check_in.end_unanswered(partition, share, host, row, event, now)
        # A late outcome of the order must not move the queue again.
        lease = replace(row.lease, done=row.lease.ordered)
        suspect = Suspect(row.suspect.expired_at)
        return share.queues.update_number(replace(row, lease=lease, suspect=suspect))

    def _release(
        self,
        partition: Partition,
        share: CrawlShare,
        host: Host,
        row: HostRow,
        wait: float,
        now: float,
    ) -> None:
        """Delay *host* with its new *row*, or back off from it for *wait* seconds."""
        times, delay = row.politeness.failures.get(LEASE_FAILURE, 0), row.politeness.delay
        partition.bench.start_name_delay(row.host, now + delay, now)
        politeness = replace(row.politeness, delay_until=now + delay)
        if row.politeness.returned_orders:
            delay = returned_order_delay(delay, row.politeness.returned_orders)
        row = replace(row, ready_at=now + max(delay, wait), politeness=politeness)
        if wait:
            if needs_probe(row, self._settings.probe_after) and row.lease.purpose is Purpose.PROBE:
                row = replace(row, signature=Signature(at=now))
            count_hazards("frontier", [Hazard.EXPIRED_LEASES])
            share.tally.count_hazard(Hazard.EXPIRED_LEASES)
            reason = f"{times} leases in a row expired: visits seem to stop the fetchers"
            row = replace(row, backoff_reason=reason, backoff_cause=LEASE_FAILURE)
        if not row.queued:
            partition.unload(host, row, Trigger.EMPTIED)
        elif wait:
            partition.back_off(host, row, Trigger.SUSPECTED)
        else:
            partition.update(host, row, Trigger.LEASE_EXPIRED)
