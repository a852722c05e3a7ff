"""Admission: puts URLs into the queues of their hosts, or writes down which rule refuses them.

URLs come again in three ways: their plan is due, a person wants a page fetched again, or a person
says that a host is well (`gossamer retry`). A person knows what no wait can know: that the server
is up again, that the name exists now. So the trouble counts as over, as after an answer. Politeness
stays: the courtesy delay is kept, and a Retry-After and robots.txt are obeyed.

**Each URL is queued once.** The row of a host says which records of `urls.admitted` it has applied,
and a plan says whether its URL is in the queue. Only dedup may admit a URL twice: a crash may come
between an admission and the commit of the record that it answers. Dedup marks what it may have
admitted before, and such URLs alone are looked for here before they are queued.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby

from msgspec.structs import replace

from gossamer.events import (
    CrawlDefined,
    Discovery,
    Outcome,
    RefetchRequested,
    RetryRequested,
    UrlsAdmitted,
)
from gossamer.events.outcomes import FAILURES
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.web.in_links import Sketch, add_link, linking_site
from gossamer.web.url import host_key
from gossamer.web.validators import NO_VALIDATORS, UNCONDITIONAL_INTERVAL, is_conditional
from services.frontier import revisit
from services.frontier.conditions import Condition
from services.frontier.directory import request_number
from services.frontier.memory import Host
from services.frontier.partition import Partition
from services.frontier.partitions import Partitions
from services.frontier.refusals import LEFT_OUT, Candidate, Refusals, refusal
from services.frontier.revisit import Basis, add_request, pack, unpack_page
from services.frontier.revisits import Revisits
from services.frontier.rows import (
    DueRow,
    Origin,
    PlanRow,
    Position,
    QueuedUrl,
    UnreadablePages,
    UrlRow,
)

ASKED = "an operator asked for it"
IN_DOUBT = 3600.0
"""Seconds after a claim in which a due plan is looked for in the queue. The clock of a former owner
may have been ahead."""
ERASURE_WAIT = 60.0
"""Seconds by which a visit is postponed that is due while its URL, host or site is erased."""


class Admission:
    """Queues URLs that are new, and those whose time has come again."""

    def __init__(
        self,
        settings: FrontierSettings,
        partitions: Partitions,
        refusals: Refusals,
        revisits: Revisits,
        store: Store,
    ) -> None:
        self._settings, self._partitions = settings, partitions
        self._urls, self._refusals, self._revisits = store.table(UrlRow), refusals, revisits

    def admit(
        self,
        partition: Partition,
        event: UrlsAdmitted,
        crawl: CrawlDefined | None,
        now: float,
        record: Position | None = None,
    ) -> None:
        """Queue the URLs of *event*, in their order, or write down why not.

        Hosts that have applied *record*, where the event lies, are left as they are.
        """
        partition.sites.begin(event.site, record)
        queued = dict[str, bool]()
        for key, group in groupby(event.urls, _host_of):
            host = partition.find(event.site, key)
            if queued.setdefault(key, bool(record and host.row.applied.covers(record))):
                continue
            accepted = list[Discovery]()
            if event.repeated:
                group = self._not_admitted_yet(partition, host, event.crawl, [*group])
            for found in group:
                candidate = Candidate(
                    found, host, len(accepted), crawl, self._refusals.blocklist, self._settings,
                    partition, now,
                )  # fmt: skip
                if refused := refusal(candidate):
                    origin = Origin.of(found, event.via)
                    self._refusals.write(
                        partition, event.site, found, origin, 0, refused, crawl, now
                    )
                else:
                    accepted.append(found)
            if accepted:
                self._accept(partition, host, accepted, event, now, record)
        partition.sites.begin(event.site, None)

    def _not_admitted_yet(
        self, partition: Partition, host: Host, crawl: str, repeated: Sequence[Discovery]
    ) -> Iterator[Discovery]:
        """Yield those of *repeated* that are not visited, planned or queued."""
        key, urls = host.row.host, [found.url for found in repeated]
        rows = self._urls.get_many((crawl, key), urls)
        plans = self._revisits.plans(crawl, key, urls)
        # A URL that the crawl left out has an outcome as well, and may fit now.
        known = {one.url for one in rows if one.outcome not in LEFT_OUT}
        for plan in plans:
            if plan.waits_until is not None:
                known.add(plan.url)
                if plan.number is not None:
                    # A crash may have come between the plan and its entry.
                    self._revisits.enter_held(partition, host.row.site, plan)
        if known.issuperset(urls):
            return
        known |= partition.queues.new_urls(host.row)
        yield from (found for found in repeated if found.url not in known)

    def _accept(
        self,
        partition: Partition,
        host: Host,
        accepted: list[Discovery],
        event: UrlsAdmitted,
        now: float,
        record: Position | None,
    ) -> None:
        partition.count_admitted(len(accepted))
        applied = host.row.applied.through(record) if record else host.row.applied
        totals = host.row.totals
        totals = replace(totals, admitted=totals.admitted + len(accepted))
        row = replace(host.row, totals=totals, applied=applied)
        first = self._partitions.next_moment(partition, now, len(accepted))
        linking = linking_site(event.via, event.site)
        urls = [_queued(found, event, linking, first + n) for n, found in enumerate(accepted)]
        if self._revisits.allocation.limited:
            partition.update(host, row)
            for url in urls:
                self._revisits.hold(partition, row, url, now)
        else:
            partition.queue(host, row, urls, now)

    def plan_due(self, partition: Partition, entry: DueRow, now: float) -> None:
        """Queue the URL of a due *entry* of the calendar.

        Refund the visit if the entry does not hold any more, or the policy leaves the page out.
        """
        plan = self._revisits.take_due(partition, entry, now)
        if plan is None or not self._queue_due(partition, entry.site, plan, now):
            partition.plans.refund()

    def retry_due(self, partition: Partition, entry: DueRow, now: float) -> None:
        """Queue the URL of a due *entry* that failed, unless the entry does not hold any more."""
        if plan := self._revisits.due_plan(partition, entry):
            partition.stop_waiting()
            self._queue_due(partition, entry.site, plan, now)

    def _queue_due(self, partition: Partition, site: str, plan: PlanRow, now: float) -> bool:
        """Queue the URL of a due *plan*; return False if it is in the queue, or is postponed."""
        if partition.erasures.is_pending(plan.url):
            # The end of the erasure erases the plans of the URLs that were known when it began.
            # A URL that was admitted since keeps its plan, and must not lose its turn.
            self._revisits.postpone(partition, site, plan, now + ERASURE_WAIT)
            return False
        return self._queue_planned(partition, site, plan, now)

    def refetch(self, partition: Partition, event: RefetchRequested, url: str, now: float) -> None:
        """Queue a URL that was visited, unless it is in the queue."""
        last = self._urls.get((event.crawl, event.host), url)
        if last is not None and (last.earlier or last.attempt):
            self._queue_asked(partition, event.site, last, now, Basis.REQUESTED)

    def once_more(self, partition: Partition, event: RetryRequested, url: str, now: float) -> None:
        """Queue a URL that failed, although no attempt is left to it or its time has not come."""
        last = self._urls.get((event.crawl, event.host), url)
        if last is not None and last.outcome in FAILURES:
            self._queue_asked(partition, event.site, last, now)

    def _queue_asked(
        self, partition: Partition, site: str, last: UrlRow, now: float, basis: str = ""
    ) -> None:
        if partition.erasures.is_pending(last.url):
            return
        keys = last.crawl, last.host, last.url
        plan = self._revisits.plan_of(*keys) or PlanRow(*keys)
        is_made = plan.is_outdated(last)
        if last.queued or (plan.queued and not is_made):
            return
        if plan.is_retry and not plan.queued:
            partition.stop_waiting()
        statistics = plan.statistics
        if basis == Basis.REQUESTED:
            statistics = pack(add_request(unpack_page(statistics)))
        known = last if is_made else plan
        plan = replace(
            plan, at=now, why=ASKED, basis=basis, statistics=statistics, number=None,
            origin=known.origin, earlier=known.earlier, attempt=known.attempt,
        )  # fmt: skip
        self._queue_planned(partition, site, plan, now)

    def _queue_planned(self, partition: Partition, site: str, plan: PlanRow, now: float) -> bool:
        """Queue the URL of *plan*; on condition, as long as the host's validators are trusted.

        Return False if the URL is in the queue: a crash came between the host's row and the plan.
        """
        host, trust = partition.find(site, plan.host), partition.sites.validators(site, plan.host)
        lately = now < partition.opened_at + IN_DOUBT
        if lately and partition.queues.has_lately(host.row, plan.url, plan.earlier > 0):
            self._revisits.mark_queued(plan)
            return False
        number = plan.number
        if number is None:
            number = self._partitions.next_number(partition, now)
        url = QueuedUrl(
            crawl=plan.crawl,
            bucket="",
            position=0,
            url=plan.url,
            number=number,
            # Now and then a visit asks for the whole page.
            conditional=is_conditional(
                plan.validators, trust, plan.earlier % UNCONDITIONAL_INTERVAL
            ),
            validators=NO_VALIDATORS if trust.lie else plan.validators,
            statistics=plan.statistics,
            basis=plan.basis,
            origin=plan.origin,
            attempt=plan.attempt,
            earlier=plan.earlier,
        )
        partition.queue(host, host.row, [url], now)
        self._revisits.mark_queued(plan)
        return True


def _host_of(found: Discovery) -> str:
    return host_key(found.url)


def _queued(found: Discovery, event: UrlsAdmitted, linking: str, moment: int) -> QueuedUrl:
    """Return *found*, which a page of the site *linking* links to, as it is queued."""
    in_links = add_link(0, linking, found.url) if linking else 0
    statistics = _found(found.depth, found.priority, in_links, found.every)
    number, origin = request_number(found.priority, moment), Origin.of(found, event.via)
    return QueuedUrl(event.crawl, "", 0, found.url, number, origin, statistics=statistics)


@lru_cache(maxsize=10_000)
def _found(depth: int, priority: int, in_links: Sketch, every: float) -> bytes:
    """Return what is known of a page that is new; of most new pages it is the same."""
    return pack(revisit.new_page(depth, priority, in_links, every))


class Retries:
    """Carries out what `gossamer retry` asks for."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission

    def asked(self, partition: Partition, event: RetryRequested, now: float) -> None:
        """Take the host's trouble for over, and queue its URLs that failed."""
        host = partition.find(event.site, event.host)
        if not host.stored:
            return
        _lift(partition, host, now)
        for url in event.urls:
            self._admission.once_more(partition, event, url, now)

    def refetch(self, partition: Partition, event: RefetchRequested, now: float) -> None:
        """Queue URLs that were visited before."""
        for url in event.urls:
            self._admission.refetch(partition, event, url, now)


def _lift(partition: Partition, host: Host, now: float) -> None:
    row = host.row
    if not row.backoff_reason or row.backoff_cause in (Outcome.BUSY, Outcome.UNVISITED):
        return
    robots = partition.robots(host)
    if robots and robots.rules.forbidden:
        rules = replace(robots.rules, expires_at=min(robots.rules.expires_at, now))
        partition.learn_robots(host, replace(robots, rules=rules))
    partition.sites.judged(row.site, row.host, UnreadablePages())
    politeness = replace(row.politeness, troubles={})
    ready_at = min(row.ready_at, now + politeness.delay)
    row = replace(row, ready_at=ready_at, politeness=politeness)
    if row.condition is Condition.BACKING_OFF:
        partition.wait_until(host, row)
    elif row.condition is Condition.IDLE:
        partition.update(host, replace(row, backoff_reason=None, backoff_cause=None))
