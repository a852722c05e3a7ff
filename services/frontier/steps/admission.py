"""Admission: queues URLs at their hosts, or records the rule that refuses them.

URLs are queued again in three cases: their plan is due, an operator requests a refetch, or an
operator requests a retry (`gossamer retry`). An operator may know that the server is up again, or
that the name exists now, so a retry resets the host's failures as a success does. The courtesy
delay, a Retry-After and robots.txt are still obeyed.

**Each URL is queued once.** The row of a host says which records of `urls.admitted` it has applied,
and a plan says whether its URL is in the queue. Only dedup can admit a URL twice: after a crash
between an admission and the commit of the record that caused it. Dedup marks such events as
`repeated`. The frontier checks the URLs of marked events before it queues them, and those of hosts
with requests for urgent URLs, which overtake admissions. It checks no others.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby

from msgspec.structs import replace

from gossamer.events import (
    CrawlDefined,
    Discovery,
    Outcome,
    RefetchRequested,
    ReleaseRequested,
    RetryRequested,
    UrlsAdmitted,
)
from gossamer.events.outcomes import FAILURES
from gossamer.events.pages import is_in_content
from gossamer.services.frontier import revisit
from gossamer.services.frontier.partition.parked import PARKING_RULES, ParkedRow
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.partitions import Partitions
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.partition.sites import NO_RECORD, RecordAtSite
from gossamer.services.frontier.partition.workbench import Host
from gossamer.services.frontier.revisit import Basis, add_request, pack, unpack_page
from gossamer.services.frontier.steps.refusals import (
    AdmissionCandidate,
    Refusals,
    find_budgets_in_reach,
    find_refusal,
)
from gossamer.services.frontier.steps.revisits import Revisits
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow, OffsetAndTime, Suspect
from gossamer.services.frontier.tables.ordering import BREADTH, next_of_walk, request_number
from gossamer.services.frontier.tables.plans import DueRow, PlanRow
from gossamer.services.frontier.tables.sites import UnreadablePages
from gossamer.services.frontier.tables.totals import pick
from gossamer.services.frontier.tables.urls import Origin, QueuedUrl, UrlRow
from gossamer.services.frontier.worth.budgets import BUDGETS
from gossamer.store import Store
from gossamer.telemetry import count
from gossamer.web.links import Sketch, add_link, linking_site
from gossamer.web.url import HostKey, Site, host_key
from gossamer.web.validators import NO_VALIDATORS, UNCONDITIONAL_INTERVAL, is_conditional

OPERATOR_REASON = "requested by an operator"
QUEUE_SEARCH_PERIOD = 3600.0
"""Seconds after a claim in which the queue is searched before the URL of a due plan is queued. A
former owner may have crashed after it queued the URL and before it updated the plan. If its clock
was ahead, the plan is due some time after our claim."""
MAX_SEARCHED_URLS = 500
"""URLs in the queues of a host that are searched for URLs to promote."""
ERASURE_WAIT = 60.0
"""Seconds by which a due visit is postponed while its URL, host or site is erased."""


class Admission:
    """Queues new URLs, and URLs that are due again."""

    def __init__(
        self, partitions: Partitions, refusals: Refusals, revisits: Revisits, store: Store
    ) -> None:
        self._partitions, self._urls = partitions, store.table(UrlRow)
        self._refusals, self._revisits = refusals, revisits

    def admit(
        self,
        partition: Partition,
        share: CrawlShare,
        event: UrlsAdmitted,
        crawl: CrawlDefined | None,
        now: float,
        record: OffsetAndTime | None = None,
        is_again: bool = False,
    ) -> int:
        """Queue the URLs of *event* in their order, or record why they are refused; return the
        number of queued URLs.

        *record* is the offset and the time of *event* on the log. Hosts that have applied it are
        not changed. *is_again*: the URLs were parked at their site.
        """
        at_site = partition.sites.begin(event.site, record)
        is_counted = is_again or at_site.is_counted
        if not is_counted:
            _count_links(share, event)
        queued = opening = 0
        has_applied = dict[HostKey, bool]()
        for key, group in groupby(event.urls, lambda found: host_key(found.url)):
            host = partition.find(event.site, key)
            if has_applied.setdefault(key, bool(record and host.row.applied.covers(record))):
                continue
            accepted, urls = list[Discovery](), [*group]
            if event.repeated:
                urls = [*self._select_unseen(share, host, event.crawl, urls)]
            elif share.queues.of(host.row).requests.until:
                urls = [*self._select_not_overtaken(share, host.row, urls)]
            if not urls:
                continue
            budgets = find_budgets_in_reach(share, event.site, urls)
            for found in urls:
                candidate = AdmissionCandidate(
                    found, host, len(accepted), crawl, self._refusals.blocklist, partition, share,
                    at_site, now, budgets,
                )  # fmt: skip
                refused = find_refusal(candidate)
                if refused is None or refused.rule in BUDGETS:
                    opening += is_in_content(found) and not found.duplicates
                if refused:
                    origin = Origin.of(found, event.via)
                    self._refusals.record(
                        share, event.site, found, origin, 0, refused, crawl, now, is_again, at_site
                    )
                else:
                    accepted.append(found)
            if accepted:
                self._accept(partition, share, host, accepted, event, now, at_site)
                queued += len(accepted)
        if opening and not is_counted and not linking_site(event.via, event.site):
            novelty = event.urls[0].novelty
            share.parts.record_opening(event.site, opening, event.known_links, novelty)
        return queued

    def promote(
        self,
        partition: Partition,
        share: CrawlShare,
        event: UrlsAdmitted,
        crawl: CrawlDefined | None,
        now: float,
        record: OffsetAndTime | None = None,
    ) -> int:
        """Queue the waiting URLs of *event* once more, under the better rank that a later link
        gives them; return their number.

        A URL is not promoted if it was visited, refused or planned, or if no worse rank of its host
        has URLs.
        """
        strategy = self._partitions.strategy_of(share.crawl)
        if self._revisits.allocation(event.crawl).limited:
            return 0
        by_host = defaultdict[HostKey, list[Discovery]](list)
        for found in event.urls:
            by_host[host_key(found.url)].append(found)
        linking, promoted = linking_site(event.via, event.site), 0
        for key, group in by_host.items():
            host = partition.find(event.site, key)
            waiting = share.queues.of(host.row).new.waiting
            if not waiting or (record and host.row.applied.covers(record)):
                continue
            origins = {found.url: Origin.of(found, event.via) for found in group}
            ranks = {
                found.url: share.rank(
                    event.site, found.url, origins[found.url], strategy, bool(linking),
                    good_links=found.good_links,
                )
                for found in group
            }  # fmt: skip
            urls = list[QueuedUrl]()
            # Most links promote nothing, and rows are read for the others only.
            better = [found for found in group if ranks[found.url] < max(waiting)]
            for found in self._select_waiting(share, host.row, event.crawl, better):
                candidate = AdmissionCandidate(
                    found, host, 0, crawl, self._refusals.blocklist, partition, share, NO_RECORD,
                    now,
                )  # fmt: skip
                refused = find_refusal(candidate)
                # The URL is in the site's budgets already.
                if refused is None or refused.rule in BUDGETS:
                    number = self._partitions.next_number(partition, now, ranks[found.url])
                    url = _make_queued_url(found, origins[found.url], event, linking, number)
                    urls.append(replace(url, good_links=found.good_links))
            if urls:
                applied = host.row.applied.through(record) if record else host.row.applied
                row = share.queues.add_surplus(host.row, len(urls))
                partition.queue(share, host, replace(row, applied=applied), urls, now)
                promoted += len(urls)
        count("gossamer_urls_promoted_total", promoted, crawl=share.crawl)
        return promoted

    def _select_waiting(
        self, share: CrawlShare, host: HostRow, crawl: str, urls: Sequence[Discovery]
    ) -> list[Discovery]:
        """Return those of *urls* that are in the queues of new URLs of *host*.

        Not each parked URL has a row. So if URLs are parked at the site, the queues are searched;
        if they are long, the result is empty.
        """
        if not urls:
            return []
        keys = [found.url for found in urls]
        gone = {row.url for row in self._urls.get_many((crawl, host.host), keys)}
        gone |= {plan.url for plan in self._revisits.plans(crawl, host.host, keys)}
        waiting = [found for found in urls if found.url not in gone]
        if waiting and share.parts.parked(host.site):
            if share.queues.of(host).new.queued > MAX_SEARCHED_URLS:
                return []
            queued = share.queues.new_urls(host)
            waiting = [found for found in waiting if found.url in queued]
        return waiting

    def release_parked(
        self,
        partition: Partition,
        share: CrawlShare,
        site: Site,
        crawl: CrawlDefined | None,
        now: float,
    ) -> None:
        """Admit one more bucket of each part of *site* that is being released."""
        is_fruitless = False
        for name, rows in share.parts.step(site, now):
            queued = self._admit_parked(partition, share, site, rows, crawl, now)
            share.parts.end_bucket(site, name, queued)
            is_fruitless = is_fruitless or not queued
        if is_fruitless:
            share.release_budgets(site, now)

    def _admit_parked(
        self,
        partition: Partition,
        share: CrawlShare,
        site: Site,
        rows: Sequence[ParkedRow],
        crawl: CrawlDefined | None,
        now: float,
    ) -> int:
        """Admit the URLs of *rows*, which were parked at *site*; return the number of queued
        ones."""
        of_hosts = defaultdict[HostKey, list[Discovery]](list)
        for row in rows:
            for found in row.urls:
                of_hosts[host_key(found.url)].append(found)
        unseen = set[str]()
        for key, urls in of_hosts.items():
            host = partition.find(site, key)
            for found in self._select_unseen(share, host, share.crawl, urls):
                if not partition.erasures.is_pending(found.url):
                    unseen.add(found.url)
        queued = 0
        for row in rows:
            # A crash may have parked a URL twice.
            left = tuple(found for found in row.urls if found.url in unseen)
            unseen.difference_update(found.url for found in left)
            if left:
                event = UrlsAdmitted(crawl=share.crawl, at=now, site=site, via=row.via, urls=left)
                queued += self.admit(partition, share, event, crawl, now, is_again=True)
        return queued

    def _select_unseen(
        self, share: CrawlShare, host: Host, crawl: str, repeated: Sequence[Discovery]
    ) -> Iterator[Discovery]:
        """Yield the URLs of *repeated* that were not visited, planned or queued."""
        key, urls = host.row.host, [found.url for found in repeated]
        rows = self._urls.get_many((crawl, key), urls)
        plans = self._revisits.plans(crawl, key, urls)
        # A URL that was parked also has an outcome, but the crawl may no longer exclude it.
        seen = {one.url for one in rows if one.outcome not in PARKING_RULES}
        for plan in plans:
            if plan.waits_until is not None:
                seen.add(plan.url)
                if plan.number is not None:
                    # A crash may have prevented the plan's entry in the calendar.
                    self._revisits.enter_first_visit(share, host.row.site, plan)
        if seen.issuperset(urls):
            return
        seen |= share.queues.new_urls(host.row)
        yield from (found for found in repeated if found.url not in seen)

    def _select_not_overtaken(
        self, share: CrawlShare, host: HostRow, admitted: Sequence[Discovery]
    ) -> Iterator[Discovery]:
        """Yield the URLs of *admitted* that no request for an urgent URL has overtaken: those that
        were not visited, and are neither urgent nor ordered."""
        rows = self._urls.get_many((share.crawl, host.host), [one.url for one in admitted])
        overtaken = {row.url for row in rows if row.outcome not in PARKING_RULES}
        overtaken |= share.queues.urgent_urls(host)
        yield from (found for found in admitted if found.url not in overtaken)

    def _accept(
        self,
        partition: Partition,
        share: CrawlShare,
        host: Host,
        accepted: list[Discovery],
        event: UrlsAdmitted,
        now: float,
        at_site: RecordAtSite,
    ) -> None:
        linking = linking_site(event.via, event.site)
        share.tally.count_admitted(accepted, now)
        depth = min(found.depth for found in accepted)
        sitemaps = sum(found.purpose.is_sitemap for found in accepted)
        share.parts.count_admitted(host.row.site, len(accepted), sitemaps, depth)
        applied = at_site.add_to(host.row.applied)
        totals = host.row.totals
        totals = replace(totals, admitted=totals.admitted + len(accepted))
        row = replace(host.row, totals=totals, applied=applied)
        moment = self._partitions.next_moment(partition, now, len(accepted))
        if row.lost.ended_at is not None and event.at <= row.lost.ended_at:
            # The store was restored, and the record is read again after these visits were.
            row = replace(row, lost=replace(row.lost, queued_until=partition.tally.last_number))
        strategy = self._partitions.strategy_of(share.crawl)
        following = next_of_walk(event.urls, event.via) if strategy.is_walk else None
        if any(found.depth == 0 for found in accepted):
            share.sites.record_seed(event.site)
            row = row.change_crawl(share.crawl, is_seeded=True)
        urls = list[QueuedUrl]()
        for found in accepted:
            origin = Origin.of(found, event.via)
            is_next = found.url == following
            rank = share.rank(event.site, found.url, origin, strategy, bool(linking), is_next)
            number = request_number(rank, moment + len(urls))
            urls.append(_make_queued_url(found, origin, event, linking, number))
        if self._revisits.allocation(event.crawl).limited:
            # The host is one of the crawl's hosts before its first URL is queued.
            partition.update(host, row.change_crawl(share.crawl), at_site=at_site)
            for url in urls:
                self._revisits.plan_first_visit(share, row, url, now)
        else:
            partition.queue(share, host, row, urls, now, at_site)

    def queue_due_plan(
        self, partition: Partition, share: CrawlShare, entry: DueRow, now: float
    ) -> None:
        """Queue the URL of a due *entry* of the calendar.

        Refund the visit if the URL is not queued: the entry is obsolete, the policy has planned
        another visit, the URL is in the queue already, or it is being erased.
        """
        plan = self._revisits.confirm_due_plan(share, entry, now)
        if plan is None or not self._queue_unless_erasing(partition, share, entry.site, plan, now):
            share.plans.refund()

    def queue_due_retry(
        self, partition: Partition, share: CrawlShare, entry: DueRow, now: float
    ) -> None:
        """Queue the URL of a due *entry* that failed, unless the entry is obsolete.

        The plan after the last attempt may have the time of that attempt, as its entry has.
        """
        plan = self._revisits.find_due_plan(share, entry)
        if plan and plan.is_retry:
            partition.count_wait_over()
            self._queue_unless_erasing(partition, share, entry.site, plan, now)

    def _queue_unless_erasing(
        self, partition: Partition, share: CrawlShare, site: Site, plan: PlanRow, now: float
    ) -> bool:
        """Queue the URL of a due *plan*; return False if it is in the queue already, or is
        postponed."""
        if partition.erasures.is_pending(plan.url):
            # The erasure also erases the plan, unless the URL was admitted after the erasure began.
            # Such a URL keeps its plan, so the visit is postponed and not dropped.
            self._revisits.postpone(partition, share, site, plan, now + ERASURE_WAIT)
            return False
        return self._queue_planned(partition, share, site, plan, now)

    def refetch(
        self, partition: Partition, share: CrawlShare, event: RefetchRequested, now: float
    ) -> None:
        """Queue the URLs of *event* that were visited before, unless they are in the queue
        (`gossamer refetch`)."""
        for url in event.urls:
            last = self._urls.get((event.crawl, event.host), url)
            if last is not None and (last.earlier or last.attempt):
                self._queue_requested(
                    partition, share, event.site, last, now, Basis.REQUESTED, event.whole
                )

    def retry(
        self, partition: Partition, share: CrawlShare, event: RetryRequested, now: float
    ) -> None:
        """Reset the failures of the host, and queue its URLs that failed, before their next attempt
        is due or after their last one (`gossamer retry`)."""
        host = partition.find(event.site, event.host)
        if not host.stored:
            return
        _reset_failures(partition, host, now)
        for url in event.urls:
            last = self._urls.get((event.crawl, event.host), url)
            if last is not None and last.outcome in FAILURES:
                self._queue_requested(partition, share, event.site, last, now)

    def _queue_requested(
        self,
        partition: Partition,
        share: CrawlShare,
        site: Site,
        last: UrlRow,
        now: float,
        basis: str = "",
        is_whole: bool = False,
    ) -> None:
        if partition.erasures.is_pending(last.url):
            return
        keys = last.crawl, last.host, last.url
        plan = self._revisits.find_plan(*keys) or PlanRow(*keys)
        if last.queued or (plan.queued and not plan.is_outdated(last)):
            return
        if plan.is_retry and not plan.queued:
            partition.count_wait_over()
        plan = plan_of_request(plan, last, now, basis)
        if is_whole:
            plan = replace(plan, validators=NO_VALIDATORS)
        self._queue_planned(partition, share, site, plan, now)

    def _queue_planned(
        self, partition: Partition, share: CrawlShare, site: Site, plan: PlanRow, now: float
    ) -> bool:
        """Queue the URL of *plan*, conditionally if the host's validators are trusted.

        Return False if the URL is in the queue already, because a crash came after the host's row
        was written and before the plan was.
        """
        host = partition.find(site, plan.host)
        is_recent_claim = now < partition.opened_at + QUEUE_SEARCH_PERIOD
        if is_recent_claim and share.queues.is_recently_queued(
            host.row, plan.url, plan.earlier > 0, plan.attempt
        ):
            self._revisits.mark_queued(plan)
            return False
        number = plan.number
        if number is None:
            strategy = BREADTH if plan.earlier else self._partitions.strategy_of(plan.crawl)
            is_linked = bool(linking_site(plan.origin.via, site))
            rank = share.rank(site, plan.url, plan.origin, strategy, is_linked)
            number = self._partitions.next_number(partition, now, rank)
        url = make_planned_url(partition, site, plan, number, now)
        partition.queue(share, host, host.row, [url], now)
        self._revisits.mark_queued(plan)
        return True


def plan_of_request(plan: PlanRow, last: UrlRow, now: float, basis: str) -> PlanRow:
    """Return *plan* for a visit that an operator requests *now*; *last*: the last outcome."""
    statistics = plan.statistics
    if basis == Basis.REQUESTED:
        statistics = pack(add_request(unpack_page(statistics)))
    newest = last if plan.is_outdated(last) else plan
    return replace(
        plan, at=now, reason=OPERATOR_REASON, basis=basis, statistics=statistics, number=None,
        origin=newest.origin, earlier=newest.earlier, attempt=newest.attempt,
    )  # fmt: skip


def make_planned_url(
    partition: Partition, site: Site, plan: PlanRow, number: int, now: float
) -> QueuedUrl:
    """Return the queue entry of the URL of *plan*, conditional if the host's validators are
    trusted *now*."""
    trust = partition.sites.validators(site, plan.host, now)
    return pick(
        QueuedUrl,
        plan,
        bucket="",
        bucket_index=0,
        number=number,
        # Once in UNCONDITIONAL_INTERVAL visits, the visit is unconditional.
        conditional=is_conditional(plan.validators, trust, plan.earlier % UNCONDITIONAL_INTERVAL),
        validators=NO_VALIDATORS if trust.distrust_reason else plan.validators,
    )


def _count_links(share: CrawlShare, event: UrlsAdmitted) -> None:
    """Count the links of *event* for the page that has them, and for the site they lead to."""
    if linking := linking_site(event.via, event.site):
        share.parts.record_in_links(event.site, linking, event.urls)
    else:
        share.parts.record_links(event.site, event.via, event.urls)


def _make_queued_url(
    found: Discovery, origin: Origin, event: UrlsAdmitted, linking: Site | None, number: int
) -> QueuedUrl:
    """Return the queue entry of *found*; *linking*: the site of the page that links to it."""
    in_links = add_link(0, linking, found.url) if linking else 0
    statistics = pack_new_page(found.depth, found.priority, in_links, found.every)
    return QueuedUrl(event.crawl, "", 0, found.url, number, origin, statistics=statistics)


@lru_cache(maxsize=10_000)
def pack_new_page(depth: int, priority: int, in_links: Sketch, every: float) -> bytes:
    """Pack the state of a new page. Most new pages share one state."""
    return pack(revisit.new_page(depth, priority, in_links, every))


def release_parts(
    partition: Partition, share: CrawlShare, event: ReleaseRequested, now: float
) -> None:
    """Admit the parked URLs of parts of a site, whatever their worth and the site's budgets
    (`gossamer release`)."""
    parked = share.parts.parked(event.site)
    for name in event.parts or [*parked]:
        if part := parked.get(name):
            share.parts.release(event.site, name, now, urls=max(1, part.urls))


def _reset_failures(partition: Partition, host: Host, now: float) -> None:
    row = host.row
    if not row.backoff_reason or row.backoff_cause in (Outcome.BUSY, Outcome.UNVISITED):
        return
    robots = partition.robots(host)
    if robots and robots.rules.forbidden:
        rules = replace(robots.rules, expires_at=min(robots.rules.expires_at, now))
        partition.learn_robots(host, replace(robots, rules=rules))
    partition.sites.store_unreadable(row.site, row.host, UnreadablePages())
    politeness = replace(row.politeness, failures={})
    ready_at = min(row.ready_at, now + politeness.delay)
    row = replace(row, ready_at=ready_at, politeness=politeness, suspect=Suspect())
    if row.condition is Condition.BACKING_OFF:
        partition.reschedule_backoff(host, row)
    elif row.condition is Condition.IDLE:
        partition.update(host, replace(row, backoff_reason=None, backoff_cause=None))
