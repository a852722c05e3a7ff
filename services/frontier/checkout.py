"""Check-out: a ready host becomes an order, with all that its visits need."""

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import asdict, replace

from gossamer.bounds import Exclusion
from gossamer.events import CrawlDefined, HostCheckedOut, OrderId, Purpose, RobotsAnswered, Visit
from gossamer.settings import FrontierSettings
from gossamer.telemetry import count
from gossamer.web.cookies import cookies_for
from gossamer.web.robots import REDIRECTS, RobotsRules
from gossamer.web.soft_404 import NO_SIGNATURE
from services.frontier.balance import Balance
from services.frontier.conditions import Trigger
from services.frontier.gates import Closed, Effect, Gate, Situation, closed_gates
from services.frontier.memory import Host
from services.frontier.partition import Partition
from services.frontier.politeness import (
    courtesy_delay,
    is_unreadable,
    left_alone_until,
    strained_delay,
)
from services.frontier.probes import is_due, probe
from services.frontier.refusals import Refusals
from services.frontier.revisits import Revisits
from services.frontier.robots import forbidden_answer, known_answer
from services.frontier.rows import HostRow, Lease, QueuedUrl

LONGEST_BATCH = 600.0
"""Seconds of pauses in one order: where the delay is long the batch is short."""


@dataclass(frozen=True, slots=True)
class Manners:
    """How a host is to be visited: the *delay* between visits, and its rules while they are valid;
    without them only robots.txt is visited."""

    delay: float
    robots: RobotsRules | None


class CheckOut:
    """Makes orders, each for a host that is ready."""

    def __init__(
        self,
        settings: FrontierSettings,
        visit_limit: float,
        balance: Balance,
        refusals: Refusals,
        revisits: Revisits,
    ) -> None:
        self._settings, self._visit_limit = settings, visit_limit
        self._balance, self._refusals, self._revisits = balance, refusals, revisits
        self._answers: list[RobotsAnswered] = []

    def answers(self) -> Iterator[RobotsAnswered]:
        """Yield, once, the answers to errands that were skipped since, as they were known."""
        answers, self._answers = self._answers, []
        yield from answers

    def order(
        self, partition: Partition, host: Host, most: int, crawl: CrawlDefined, now: float
    ) -> HostCheckedOut | None:
        """Check *host* out with at most *most* of its URLs; its row says so in the store.

        None if a gate is closed, or if nothing is left of its queue but what *crawl* leaves out, or
        errands whose answer is known: then the host is idle.
        """
        if found := next(closed_gates(self._situation(partition, host, most, crawl, now)), None):
            self._hold_back(partition, host, *found)
            return None
        manners = self._manners(partition, host, now)
        queued = self._first(
            partition, host, self._batch(partition, host, manners.delay, most, now), crawl, now
        )
        if not queued:
            partition.unload(host, host.row, Trigger.LEFT_OUT)
            return None
        event = self._event(partition, host.row, queued, manners, now)
        partition.update(host, _checked_out(host.row, event), Trigger.ORDERED)
        count("gossamer_orders_total")
        if host.row.lease.sent_to is not None:
            count("gossamer_orders_moved_total")
        return event

    def _situation(
        self, partition: Partition, host: Host, most: int, crawl: CrawlDefined, now: float
    ) -> Situation:
        row, bench, sites = host.row, partition.bench, partition.sites
        unreadable = sites.unreadable(row.site, row.host)
        return Situation(
            now=now,
            host=row,
            crawl=crawl,
            overrides=sites.overrides,
            pages_left=most,
            others=bench.others(row),
            site_at_once=self._settings.site_at_once,
            unreadable=unreadable.pages,
            unreadable_until=left_alone_until(unreadable, self._settings),
            name_rests_until=bench.name_rests_until(row),
            taken_over_until=lambda: self._taken_over_until(partition, host, now),
        )

    def _hold_back(self, partition: Partition, host: Host, gate: Gate, closed: Closed) -> None:
        """Do what the table says of a host whose turn has come while *gate* is closed."""
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
                    backoff_reason=closed.why,
                    backoff_cause=gate.cause,
                )
                partition.back_off(host, row, Trigger.HELD_BACK)
            case Effect.STOP | Effect.WAIT:
                raise AssertionError(f"{host.row.host} had its turn though {closed.why}")

    def _taken_over_until(self, partition: Partition, host: Host, now: float) -> float:
        if not partition.was_visited_before(host.row):
            return 0.0
        return partition.claimed_at + self._manners(partition, host, now).delay

    def _manners(self, partition: Partition, host: Host, now: float) -> Manners:
        robots = partition.robots(host)
        politeness = host.row.politeness
        delay = courtesy_delay(self._settings, politeness.last_took or 0.0, robots)
        delay = partition.sites.overrides.delay(host.row.site, host.row.host, delay)
        return Manners(
            delay=strained_delay(delay, politeness.strain),
            robots=robots.rules if robots and robots.rules.expires_at > now else None,
        )

    def _first(
        self, partition: Partition, host: Host, count: int, crawl: CrawlDefined, now: float
    ) -> list[QueuedUrl]:
        """Return URLs from the head of the queue, at most *count*, to visit in one order.

        It skips URLs that *crawl* leaves out, because it was wider when they were admitted; those
        that have been blocklisted since; and errands whose answer is known.
        """
        queues, robots = partition.queues, partition.robots(host)
        while queued := queues.first(host.row, count):
            answers = [
                known_answer(url, robots, now) if url.on_behalf_of else None for url in queued
            ]
            left = [
                None if answer or not url.url else self._refusals.left_out(url, crawl)
                for answer, url in zip(answers, queued, strict=True)
            ]
            skipped = [
                not url.url or bool(why or answer)
                for url, why, answer in zip(queued, left, answers, strict=True)
            ]
            other = not skipped[0]
            alike = skipped.index(other) if other in skipped else len(skipped)
            if not skipped[0]:
                return queued[:alike]
            self._answers += [answer for answer in answers[:alike] if answer]
            again = sum(
                self._leave_out(partition, host.row, url, why, crawl, now)
                for url, why in zip(queued[:alike], left, strict=False)
                if why
            )
            partition.plans.refund_excluded(queued[:alike])
            row = queues.passed(host.row, alike)
            totals = replace(row.totals, admitted=max(0, row.totals.admitted - again))
            partition.update(host, replace(row, totals=totals))
        return []

    def _leave_out(
        self,
        partition: Partition,
        row: HostRow,
        url: QueuedUrl,
        why: Exclusion,
        crawl: CrawlDefined,
        now: float,
    ) -> bool:
        """Skip *url*; return whether it will be admitted again when nothing leaves it out."""
        if url.on_behalf_of:
            self._answers.append(forbidden_answer(url, why.reason, now))
            return False
        self._refusals.leave_out(partition, row, url, why, crawl, now)
        if url.earlier:
            self._revisits.postpone_excluded(partition, row, url, now)
        return not url.earlier

    def _batch(self, partition: Partition, host: Host, delay: float, most: int, now: float) -> int:
        """Return how many URLs an order may have: at most *most*."""
        row, sites = host.row, partition.sites
        if is_unreadable(sites.unreadable(row.site, row.host), self._settings):
            return 1
        patient = int(LONGEST_BATCH // delay) if delay else self._settings.batch
        left = sites.overrides.left_today(row, most, now)
        return max(1, min(self._settings.batch, left, patient))

    def _event(
        self,
        partition: Partition,
        row: HostRow,
        queued: list[QueuedUrl],
        manners: Manners,
        now: float,
    ) -> HostCheckedOut:
        overrides, order = partition.sites.overrides, partition.next_order()
        sent_to = self._balance.choose(partition, row.site, now)
        visits = self._visits(partition, order, row, queued, bool(manners.robots))
        longest = sum(map(_requests, visits)) * (manners.delay + self._visit_limit)
        return HostCheckedOut(
            crawl=queued[0].crawl,
            at=now,
            site=row.site,
            host=row.host,
            order=order,
            epoch=partition.epoch,
            expires_at=now + self._settings.lease_slack + longest,
            pause=manners.delay,
            pause_factor=overrides.factor(row.site, row.host, self._settings.delay_factor),
            cookies=cookies_for(row.host, partition.cookies(row), now),
            signature=row.signature or NO_SIGNATURE,
            site_gap=self._settings.site_gap
            * overrides.site_delay(row.site, row.host, self._settings.delay),
            sent_to=-1 if sent_to is None else sent_to,
            robots=manners.robots and manners.robots.carried_for(visit.url for visit in visits),
            visits=visits,
        )

    def _visits(
        self,
        partition: Partition,
        order: OrderId,
        row: HostRow,
        queued: list[QueuedUrl],
        allowed: bool,
    ) -> tuple[Visit, ...]:
        """Return what is visited: what is queued, unless something must be known first."""
        if not allowed:
            return (_robots_visit(order, row.host),)
        if is_due(row, self._settings.probe_after):
            return (probe(order, row.host),)
        partition.plans.count_ordered(queued)
        return _visits(order, queued)


def _requests(visit: Visit) -> int:
    """Return how many requests a visit may take, each with a pause: redirects of a robots.txt are
    followed within its host."""
    return 1 if visit.purpose is not Purpose.ROBOTS else 1 + REDIRECTS - visit.hops


def _checked_out(row: HostRow, order: HostCheckedOut) -> HostRow:
    lease = Lease(
        order=order.order,
        ordered_at=order.at,
        expires_at=order.expires_at,
        ordered=len(order.visits),
        sent_to=order.sent_to if order.sent_to >= 0 else None,
    )
    politeness = replace(row.politeness, delay=order.pause)
    return replace(
        row,
        lease=lease,
        politeness=politeness,
        backoff_reason=None,
        backoff_cause=None,
        is_erased=False,
    )


def _visits(order: OrderId, queued: list[QueuedUrl]) -> tuple[Visit, ...]:
    return tuple(
        Visit(
            id=f"{order}.{index}@{url.url}",
            url=url.url,
            on_behalf_of=url.on_behalf_of,
            validators=url.validators,
            conditional=url.conditional,
            statistics=url.statistics,
            attempt=url.attempt,
            earlier=url.earlier,
            **asdict(url.origin),
        )
        for index, url in enumerate(queued)
    )


def _robots_visit(order: OrderId, host: str) -> Visit:
    url = f"{host}/robots.txt"
    return Visit(id=f"{order}.0@{url}", url=url, purpose=Purpose.ROBOTS)
