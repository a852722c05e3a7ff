"""Check-out: makes an order for a ready host, with all data that its visits need."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from gossamer.bounds import Exclusion, exclusion_of
from gossamer.events import CrawlDefined, Event, HostCheckedOut, OrderId, Purpose, Visit
from gossamer.events.records import max_seconds
from gossamer.services.frontier.choice.dispatch import Balance
from gossamer.services.frontier.features.cookies import cookies_of_order
from gossamer.services.frontier.features.replicas import (
    COMPARED_BATCH,
    FORWARDING_PAUSE,
    Replicas,
    forwarding_exclusion,
    may_forward,
)
from gossamer.services.frontier.features.shared import SharedCaptures
from gossamer.services.frontier.features.signing import is_signed_for
from gossamer.services.frontier.features.slow_start import await_verdicts
from gossamer.services.frontier.features.usage_files import (
    carried_files,
    due_usage_urls,
    make_usage_visits,
)
from gossamer.services.frontier.partition.gates import (
    Closure,
    Effect,
    Gate,
    HostInputs,
    closed_host_gates,
)
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.politeness import (
    is_suspect,
    is_unreadable,
    next_delay,
    robots_delay,
    taken_over_until,
    unreadable_until,
)
from gossamer.services.frontier.partition.queue import BUCKET_URLS, is_requisite
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.partition.shares import shares_at
from gossamer.services.frontier.partition.workbench import Host, servable_crawls
from gossamer.services.frontier.steps.queue_fates import Fate, QueueHead, QueueWalk
from gossamer.services.frontier.steps.refusals import Refusals
from gossamer.services.frontier.steps.revisits import Revisits
from gossamer.services.frontier.steps.robots import (
    make_forbidden_answer,
    make_probe_visit,
    needs_probe,
)
from gossamer.services.frontier.tables.conditions import Trigger
from gossamer.services.frontier.tables.hosts import HostRow, Lease, RobotsRow
from gossamer.services.frontier.tables.ordering import is_urgent, moment_of, strategy_row
from gossamer.services.frontier.tables.urls import QueuedUrl, UrlRow
from gossamer.services.frontier.worth.worth import describe_part
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.telemetry import count
from gossamer.web.robots import RobotsRules
from gossamer.web.signing import SignMode
from gossamer.web.soft_404 import NO_SIGNATURE
from gossamer.web.url import HostKey
from gossamer.web.validators import Trust

MAX_BATCH_SECONDS = 60.0
"""Seconds of pauses in one order: with a long delay the batch is short. An urgent URL waits for the
running order of its host."""


@dataclass(frozen=True, slots=True)
class PolitenessRules:
    """The *delay* between visits to a host, that before a visit to its robots.txt, and its robots
    rules while they are valid.

    Without valid rules only robots.txt is visited.
    """

    delay: float
    robots_delay: float
    stored: RobotsRow | None
    """The valid rules, with the usage files; None without valid rules."""

    @property
    def robots(self) -> RobotsRules | None:
        """The valid rules."""
        return self.stored.rules if self.stored else None

    @property
    def pause(self) -> float:
        """Seconds between two requests of the next order."""
        return self.delay if self.stored else self.robots_delay


class CheckOut:
    """Makes orders for ready hosts."""

    def __init__(
        self,
        settings: FrontierSettings,
        visit_limit: float,
        balance: Balance,
        refusals: Refusals,
        revisits: Revisits,
        replicas: Replicas,
        shared: SharedCaptures,
        store: Store,
        sign: SignMode,
    ) -> None:
        self._settings, self._visit_limit, self._sign = settings, visit_limit, sign
        self._balance, self._refusals, self._revisits = balance, refusals, revisits
        self._replicas, self._shared, self._outputs = replicas, shared, list[Event]()
        self._urls = store.table(UrlRow)

    def pop_outputs(self) -> Iterator[Event]:
        """Yield once the answers to skipped robots.txt visits on behalf of other hosts, and the
        forwarded URLs of replicas."""
        outputs, self._outputs = self._outputs, []
        yield from outputs

    def order(
        self,
        partition: Partition,
        share: CrawlShare,
        host: Host,
        limit: int,
        crawl: CrawlDefined,
        now: float,
        open_crawls: Collection[str] = (),
    ) -> HostCheckedOut | None:
        """Check out *host* with at most *limit* of its URLs of *crawl*: put the lease into its row,
        and return the order.

        Return None if a gate is closed, whose effect is applied to the host. Return None also if no
        queued URL must be visited, because *crawl* excludes it or its answer is cached; the host is
        idle then, unless another crawl has URLs at it. Return None for a replica whose next URLs
        are sent to its original, and if the next URL waits for the verdicts on others; the host is
        delayed then. If it may be ordered for others of the *open_crawls* now, only *crawl* waits.
        """
        slow_start, key = share.slow_start, host.row.host
        slow_start.end_late(now)
        freed = *slow_start.end(_robots_url(key)), *slow_start.end_wait(key)
        self._replicas.end_if_expired(partition, host, now)
        walk = QueueWalk(
            partition=partition,
            share=share,
            host=host,
            crawl=crawl,
            strategy=strategy_row(crawl),
            blocklist=self._refusals.blocklist,
            settings=self._settings,
            parts=share.parts,
            slow_start=share.slow_start,
            has_seed=share.sites.has_seed,
            robots=lambda: partition.robots(host),
            now=now,
            row=host.row,
        )
        order = self._order(walk, limit, open_crawls)
        partition.wake(share, freed, now)
        return order

    def _order(
        self, walk: QueueWalk, limit: int, open_crawls: Collection[str]
    ) -> HostCheckedOut | None:
        partition, host, crawl, now = walk.partition, walk.host, walk.crawl, walk.now
        if found := next(closed_host_gates(self._gate_inputs(partition, host, now)), None):
            self._postpone(partition, host, *found)
            return None
        rules = self._politeness_rules(partition, host, now)
        queued = list[QueuedUrl]()
        size = self._batch_size(walk, rules.delay, limit)
        is_probe = rules.robots and needs_probe(walk.row, self._settings.probe_after)
        is_probe = is_probe and not is_urgent(walk.row.of(crawl.crawl).number)
        is_probe = is_probe and not self._is_next_excluded(walk)
        if not is_probe:
            batch = self._next_batch(walk, size)
            if isinstance(batch, Trigger):
                if {*open_crawls} & servable_crawls(host.row, now) - {crawl.crawl}:
                    partition.update(host, _let_wait(host.row, walk.row, crawl.crawl))
                else:
                    partition.update(host, walk.row, batch)
                return None
            queued = batch
        row = walk.row
        if not (queued or is_probe):
            if row.queued:
                partition.update(host, row)
            else:
                partition.unload(host, row, Trigger.EXCLUDED)
            return None
        usage_urls = self._due_usage_urls(row, rules, crawl, now)[:size] if queued else []
        event = self._make_order(walk, queued, usage_urls, rules)
        await_verdicts(walk.share, event, queued)
        counts = self._balance.answers_since_expiry(row)
        row = _charge(row, event, crawl.weight, open_crawls)
        partition.update(host, _with_lease(row, event, rules.delay, counts), Trigger.ORDERED)
        count("gossamer_orders_total", crawl=crawl.crawl)
        if host.row.lease.sent_to is not None:
            count("gossamer_orders_moved_total")
        return event

    def _is_next_excluded(self, walk: QueueWalk) -> bool:
        """Return whether the crawl or the blocklist excludes the next queued URL; for an entry
        without a URL, the home page of the host."""
        queues, home = walk.share.queues, f"{walk.row.host}/"
        queue, _ = queues.choose_queue(walk.row)
        return any(
            exclusion_of(walk.crawl, walk.blocklist, url.origin.discovery(url.url or home))
            for url in queues.first(queue, 1)
        )

    def _due_usage_urls(
        self, row: HostRow, rules: PolitenessRules, crawl: CrawlDefined, now: float
    ) -> list[str]:
        if rules.stored is None:
            return []
        return due_usage_urls(row.host, rules.stored, self._settings.usage_files, crawl, now)

    def _gate_inputs(self, partition: Partition, host: Host, now: float) -> HostInputs:
        """Return what decides whether *host* is visited. Its rules are read only where they decide,
        because one step may postpone many hosts."""
        row, bench, sites = host.row, partition.bench, partition.sites
        unreadable = sites.unreadable(row.site, row.host)
        return HostInputs(
            now=now,
            host=row,
            overrides=sites.overrides,
            neighbours=bench.checked_out_neighbours(row),
            site_at_once=self._settings.site_at_once,
            unreadable=unreadable.pages,
            unreadable_until=unreadable_until(unreadable, self._settings),
            name_delay_until=self._name_delay_until(partition, host, now),
            taken_over_until=self._taken_over_until(partition, host, now),
        )

    def _name_delay_until(self, partition: Partition, host: Host, now: float) -> float | None:
        until = partition.bench.name_delay_until(host.row)
        if until is None or until <= now or self._politeness_rules(partition, host, now).stored:
            return until
        return partition.bench.name_delay_until(host.row, is_robots=True)

    def _postpone(
        self, partition: Partition, host: Host, gate: Gate[HostInputs], closed: Closure
    ) -> None:
        """Apply the effect of a closed *gate* to *host*."""
        match gate.effect:
            case Effect.BEHIND_NAME:
                partition.bench.wait_for_name(host)
            case Effect.BEHIND_SITE:
                partition.bench.wait_for_site(host)
            case Effect.DELAY:
                row = replace(host.row, ready_at=closed.until)
                partition.update(host, row, gate.trigger)
            case Effect.BACK_OFF:
                row = replace(
                    host.row,
                    ready_at=closed.until,
                    backoff_reason=closed.reason,
                    backoff_cause=gate.cause,
                )
                partition.back_off(host, row, Trigger.POSTPONED)
            case Effect.STOP | Effect.WAIT:
                raise AssertionError(f"{host.row.host} was chosen although {closed.reason}")

    def _taken_over_until(self, partition: Partition, host: Host, now: float) -> float | None:
        if not partition.was_visited_before(host.row):
            return None
        rules = self._politeness_rules(partition, host, now)
        if not rules.stored:
            return partition.claimed_at + rules.robots_delay
        return taken_over_until(partition.claimed_at, rules.delay, host.row)

    def _politeness_rules(self, partition: Partition, host: Host, now: float) -> PolitenessRules:
        robots = partition.robots(host)
        is_valid = robots is not None and robots.rules.expires_at > now
        # A visit to the robots.txt of a host whose lease expired shows whether a fetcher works.
        is_valid = is_valid and self._balance.answers_since_expiry(host.row)
        settings, overrides = self._settings, partition.overrides
        return PolitenessRules(
            delay=next_delay(settings, host.row, robots, overrides),
            robots_delay=robots_delay(settings, host.row, overrides),
            stored=robots if is_valid else None,
        )

    def _next_batch(self, walk: QueueWalk, count: int) -> list[QueuedUrl] | Trigger:
        """Return at most *count* URLs from the head of a queue, to visit in one order. The row of
        *walk* is then without the URLs that were skipped. Instead of URLs, return the trigger of a
        delay if the next ones are sent to the original of the host, a replica, or wait for
        verdicts.

        The URLs at the head are examined in runs of one fate, until the head is to be visited. At
        most `MAX_MOVED` URLs are moved to the queue of another rank; the next ones are visited
        under their old rank.
        """
        self._park_sent(walk)
        queues = walk.share.queues
        walk.row, walk.explores = queues.choose_queue(walk.host.row)
        if walk.explores and may_forward(walk.row):
            self._end_exploring(walk)
        while queued := queues.first(walk.row, BUCKET_URLS if may_forward(walk.row) else count):
            run = self._examine_run(walk, queued)
            match run[0].fate:
                # 1. Send URLs to the original of the host. A later step parks them.
                case Fate.FORWARD:
                    sent = [(one.url, one.target) for one in run if one.target]
                    self._outputs += self._replicas.send(walk.row.host, sent, walk.now)
                    walk.row = replace(walk.row, ready_at=walk.now + FORWARDING_PAUSE)
                    return Trigger.FORWARDED
                # 2. Skip URLs that must not be visited, or are visited by another entry.
                case Fate.SKIP | Fate.DROP:
                    self._skip(walk, run)
                    walk.explores &= queues.of(walk.row).new.ordered is not None
                # 3. Move URLs whose rank has changed.
                case Fate.MOVE:
                    walk.moved += len(run)
                    walk.row = queues.move(walk.row, [one.ranked_url for one in run])
                    walk.explores &= queues.of(walk.row).new.ordered is not None
                # 4. Return to the best rank: better URLs of the explored rank were moved forward,
                # or it is explored for such URLs alone.
                case Fate.VISIT | Fate.WAIT if walk.explores and (
                    walk.moved or not walk.strategy.predicts
                ):
                    self._end_exploring(walk)
                # 5. Wait for verdicts on the part of the next URL.
                case Fate.WAIT:
                    self._await_verdicts(walk, run[0])
                    return Trigger.AWAITS_VERDICT
                # 6. Visit the URLs.
                case Fate.VISIT:
                    walk.row = queues.hold_queue(walk.row)
                    return queued[: min(len(run), count)]
        return []

    def _end_exploring(self, walk: QueueWalk) -> None:
        walk.explores, walk.row = False, walk.share.queues.choose_best(walk.row)

    def _examine_run(self, walk: QueueWalk, queued: Sequence[QueuedUrl]) -> list[QueueHead]:
        """Return the first of the *queued* URLs, and those after it that have the same fate."""
        run, urls = list[QueueHead](), set[str]()
        has_surplus = walk.share.queues.of(walk.row).new.surplus > 0
        walk.begin(self._rows_of_promoted(walk, queued))
        for url in queued:
            if url.url in urls and has_surplus:
                break  # The next check-out skips the second entry of a promoted URL.
            urls.add(url.url)
            head = walk.examine(url)
            if run and head.fate is not run[0].fate:
                break
            run.append(head)
        return run

    def _await_verdicts(self, walk: QueueWalk, head: QueueHead) -> None:
        """Delay the row of the host until the verdicts have come that *head* waits for."""
        row, part = walk.share.queues.hold_queue(walk.row), head.part
        assert part, "a URL that waits has a part"
        until = walk.share.slow_start.wait(part, row.host)
        reason = f"awaits verdicts on {describe_part(part.name, part.site)}"
        walk.row = replace(row, ready_at=until, backoff_reason=reason)

    def _rows_of_promoted(
        self, walk: QueueWalk, queued: Sequence[QueuedUrl]
    ) -> Mapping[str, UrlRow]:
        """Return the rows of the *queued* URLs, by URL, if the host has surplus entries or the URLs
        may be those of lost visits."""
        row = walk.row
        may_be_lost = any(row.lost.may_include(moment_of(url.number)) for url in queued)
        if not (walk.share.queues.of(row).new.surplus or may_be_lost):
            return {}
        urls = [url.url for url in queued if url.url]
        found = self._urls.get_many((queued[0].crawl, row.host), urls)
        return {one.url: one for one in found}

    def _skip(self, walk: QueueWalk, run: Sequence[QueueHead]) -> None:
        """Skip the URLs of *run*, at the head of the queue that is next."""
        share, row = walk.share, walk.row
        self._outputs += [head.answer for head in run if head.answer]
        readmitted = [
            head.url
            for head in run
            if head.exclusion and self._exclude(walk, head.url, head.exclusion)
        ]
        share.plans.refund_excluded([head.url for head in run])
        row = share.queues.skip(row, len(run))
        if run[0].fate is Fate.DROP:
            row = share.queues.skip_surplus(row, len(run))
        self._leave_queue(walk, row, readmitted)

    def _park_sent(self, walk: QueueWalk) -> None:
        """Park the URLs of a replica that an earlier step sent to its original."""
        queues, host = walk.share.queues, walk.host
        sent = self._replicas.pop_sent(walk.crawl.crawl, host.row.host)
        row, _ = queues.choose_queue(host.row)
        row = queues.choose_best(row) if sent and queues.of(row).new.ordered is not None else row
        queued = queues.first(row, len(sent)) if sent else []
        if not queued or [url.url for url in queued] != [one.url for one in sent]:
            return
        for url, (_, target) in zip(queued, sent, strict=True):
            exclusion = forwarding_exclusion(row, target)
            self._refusals.refuse_queued(walk.share, row, url, exclusion, walk.crawl, walk.now)
        self._leave_queue(walk, queues.skip(row, len(queued)), queued)

    def _leave_queue(self, walk: QueueWalk, row: HostRow, parked: Sequence[QueuedUrl]) -> None:
        """Update the host to *row*, without the *parked* URLs of its queues. They count as admitted
        once more when they are released."""
        admitted = max(0, row.totals.admitted - len(parked))
        walk.row = replace(row, totals=replace(row.totals, admitted=admitted))
        if parked:
            sitemaps = sum(url.origin.purpose.is_sitemap for url in parked)
            walk.share.parts.count_admitted(row.site, -len(parked), -sitemaps)
            walk.share.release_budgets(row.site, walk.now)
        walk.partition.update(walk.host, walk.row)

    def _exclude(self, walk: QueueWalk, url: QueuedUrl, exclusion: Exclusion) -> bool:
        """Record that *url* is skipped. Return whether it counts as admitted once more when nothing
        excludes it: it was never visited."""
        if url.on_behalf_of:
            self._outputs.append(make_forbidden_answer(url, exclusion.reason, walk.now))
            return False
        share, row, now = walk.share, walk.row, walk.now
        self._refusals.refuse_queued(share, row, url, exclusion, walk.crawl, now)
        if is_requisite(url):
            return False
        if url.earlier:
            self._revisits.postpone_excluded(share, row, url, now)
        return not url.earlier

    def _batch_size(self, walk: QueueWalk, delay: float, limit: int) -> int:
        """Return the number of URLs in an order, at most *limit*."""
        row, sites = walk.row, walk.partition.sites
        unreadable = sites.unreadable(row.site, row.host)
        if is_unreadable(unreadable, self._settings) or is_suspect(self._settings, row):
            return 1
        if row.is_compared:
            limit = min(limit, COMPARED_BATCH)
        in_time = int(MAX_BATCH_SECONDS // delay) if delay else self._settings.batch
        left_today = sites.overrides.visits_left_today(row, limit, walk.now)
        return max(1, min(self._settings.batch, left_today, in_time, limit))

    def _make_order(
        self,
        walk: QueueWalk,
        queued: list[QueuedUrl],
        usage_urls: list[str],
        rules: PolitenessRules,
    ) -> HostCheckedOut:
        partition, row, crawl, now = walk.partition, walk.row, walk.crawl, walk.now
        overrides, order = partition.overrides, partition.next_order()
        sent_to = self._balance.choose(partition, row.site, now)
        trust = partition.sites.validators(row.site, row.host, now)
        visits = self._choose_visits(walk, order, queued, usage_urls, bool(rules.robots), trust)
        visits = self._share(walk, visits, queued)
        urls = [visit.url for visit in visits]
        longest = max_seconds(visits, rules.pause, self._visit_limit)
        return HostCheckedOut(
            crawl=crawl.crawl,
            at=now,
            site=row.site,
            host=row.host,
            order=order,
            epoch=partition.epoch,
            expires_at=now + self._settings.lease_slack + longest,
            pause=rules.pause,
            pause_factor=overrides.factor(row.site, row.host, self._settings.delay_factor),
            cookies=cookies_of_order(partition, row, now),
            signature=row.signature or NO_SIGNATURE,
            sign=is_signed_for(self._sign, row),
            site_gap=self._settings.site_gap
            * overrides.site_delay(row.site, row.host, self._settings.delay),
            sent_to=-1 if sent_to is None else sent_to,
            robots=rules.robots and rules.robots.narrow_to(urls),
            usage_files=carried_files(rules.stored, urls)
            if rules.stored and not usage_urls
            else (),
            keep=self._shared.is_wanted(row, crawl.crawl),
            visits=visits,
        )

    def _share(
        self, walk: QueueWalk, visits: tuple[Visit, ...], queued: list[QueuedUrl]
    ) -> tuple[Visit, ...]:
        """Return *visits* with the captures of other crawls that they take instead of requests."""
        if not visits[0].purpose.is_queued or not queued:
            return visits
        found = self._shared.find(walk.row, walk.crawl, queued, walk.now)
        return tuple(
            replace(visit, shared=found[visit.url]) if visit.url in found else visit
            for visit in visits
        )

    def _choose_visits(
        self,
        walk: QueueWalk,
        order: OrderId,
        queued: list[QueuedUrl],
        usage_urls: list[str],
        has_robots: bool,
        trust: Trust,
    ) -> tuple[Visit, ...]:
        """Return the visits of an order: to robots.txt if it is needed first, to the usage files at
        *usage_urls*, to the *queued* URLs, or a probe if there are none.

        *trust*: that in the validators of the host.
        """
        if not has_robots:
            return (_make_robots_visit(order, walk.row.host),)
        if usage_urls:
            return make_usage_visits(order, usage_urls)
        if not queued:
            return (make_probe_visit(order, walk.row.host),)
        walk.share.plans.count_ordered(queued)
        pages = ((url.url, url.origin.duplicates) for url in queued if not is_requisite(url))
        walk.share.parts.count_orders(walk.row.site, pages)
        return _make_visits(order, queued, trust)


def _let_wait(before: HostRow, row: HostRow, crawl: str) -> HostRow:
    """Return *row*, which was delayed because of the next URL of *crawl*, with a wait of that crawl
    instead of the delay; *before*: the row without the delay."""
    row = row.change_crawl(crawl, waits_until=row.ready_at)
    return replace(row, ready_at=before.ready_at, backoff_reason=before.backoff_reason)


def _charge(
    row: HostRow, order: HostCheckedOut, weight: float, open_crawls: Collection[str]
) -> HostRow:
    """Return *row* with the requests of *order* charged to its crawl, which has a *weight*.

    Crawls that are not open, such as paused ones, lend their shares: when they are open again, they
    have not saved up the visits of the meantime.
    """
    shares = shares_at(row)
    for crawl in row.crawls.keys() - {order.crawl, *open_crawls}:
        shares.sleep(crawl)
    shares.charge(order.crawl, order.requests, weight)
    used = {crawl: replace(own, used=shares.used(crawl)) for crawl, own in row.crawls.items()}
    row = replace(row, crawls=used)
    return row.change_crawl(order.crawl, waits_until=0.0)


def _with_lease(
    row: HostRow, order: HostCheckedOut, delay: float, counts_if_expired: bool
) -> HostRow:
    first = order.visits[0]
    is_queued = first.on_behalf_of or first.purpose.is_queued
    lease = Lease(
        order=order.order,
        crawl=order.crawl,
        ordered_at=order.at,
        expires_at=order.expires_at,
        ordered=len(order.visits),
        sent_to=order.sent_to if order.sent_to >= 0 else None,
        purpose=Purpose.PAGE if is_queued else first.purpose,
        counts_if_expired=counts_if_expired,
    )
    politeness = replace(row.politeness, delay=delay)
    return replace(
        row,
        lease=lease,
        politeness=politeness,
        backoff_reason=None,
        backoff_cause=None,
        is_erased=False,
    )


def _make_visits(order: OrderId, queued: list[QueuedUrl], trust: Trust) -> tuple[Visit, ...]:
    """Return the visits to *queued* URLs; *trust*: that in the validators of their host, which may
    have lost it since they were queued."""
    visits = (url.visit(f"{order}.{index}@{url.url}") for index, url in enumerate(queued))
    if trust.distrust_reason:
        return tuple(replace(visit, conditional=False) for visit in visits)
    return tuple(visits)


def _robots_url(host: HostKey) -> str:
    return f"{host}/robots.txt"


def _make_robots_visit(order: OrderId, host: HostKey) -> Visit:
    url = _robots_url(host)
    return Visit(id=f"{order}.0@{url}", url=url, purpose=Purpose.ROBOTS)
