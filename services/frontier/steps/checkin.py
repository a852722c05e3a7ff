"""Check-in: applies the outcomes of an order to its host and to the share of its crawl.

An outcome has many effects: on counts, delays and failures, on what is known about the site, and on
the URL itself. They are rows of one table, `OUTCOME_EFFECTS`, which are applied in its order. The
last outcome of an order releases the host.

`gossamer why` prints the effects of the last visit to a page that the rows of its URL and its host
show (`find_shown_effects`). Rows do not show the cookies, the address and the kept capture of a
visit, whose Retry-After the host obeys, and which 5xx counts as a failure of its host. A visit for
another host, a visit to a file of the host and a returned order leave no row of a URL.
"""

from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.events import Outcome, Purpose, VisitEnded
from gossamer.events.hazards import Hazard
from gossamer.events.outcomes import OUTCOMES, WALLED, Fate, Health, Meaning
from gossamer.services.frontier.choice.dispatch import Balance
from gossamer.services.frontier.features.cookies import store_cookies
from gossamer.services.frontier.features.ended_visit import EndedVisit
from gossamer.services.frontier.features.failures import count_failure
from gossamer.services.frontier.features.retry_after import extend_busy, has_other_retry_after
from gossamer.services.frontier.features.shared import SharedCaptures
from gossamer.services.frontier.features.signing import record_signing
from gossamer.services.frontier.features.slow_start import end_wait, gets_no_verdict
from gossamer.services.frontier.features.strain import update_strain
from gossamer.services.frontier.features.walls import count_wall
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.politeness import (
    DAY,
    next_delay,
    next_visit_at,
    returned_order_delay,
    robots_delay,
)
from gossamer.services.frontier.partition.queue import choose_next_queue
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.partition.workbench import Host
from gossamer.services.frontier.steps.endings import Endings
from gossamer.services.frontier.steps.revisits import Revisits, distrust_refused
from gossamer.services.frontier.steps.robots import (
    GIVEN_UP_PREFIX,
    make_entry_for_probe,
    needs_probe,
    reason_for_backoff,
)
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow, HostTotals, Lease, LostVisits
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.web.signing import SignMode


class StoredVisit(NamedTuple):
    """The last visit to a page, as rows show it later."""

    url: UrlRow
    host: HostRow
    """The row of its host, which later visits may have changed."""

    @property
    def outcome(self) -> Outcome:
        """The outcome of the visit."""
        return Outcome(self.url.outcome)

    @property
    def meaning(self) -> Meaning:
        """The policy for the outcome."""
        return OUTCOMES[self.outcome]

    @property
    def is_of_robots(self) -> bool:
        """Whether the outcome is that of the robots.txt, with which the URL was given up."""
        is_failure = self.meaning.fate in (Fate.RETRY, Fate.WAIT)
        return is_failure and self.url.reason.startswith(GIVEN_UP_PREFIX)

    @property
    def is_given_up(self) -> bool:
        """Whether the URL was given up after a failure."""
        is_final = not (self.url.queued or self.url.attempt) and self.url.earlier > 0
        # The blocklist may have excluded the URL before a visit, under the name of an outcome.
        return is_final and (self.meaning.fate is Fate.RETRY or self.meaning.health.is_failing)


class ShownEffect(NamedTuple):
    """An effect on the host or the URL, as `gossamer why` prints it."""

    text: str
    """A sentence about the past, without a capital letter and a full stop."""
    is_shown: Callable[[StoredVisit], bool]
    """Returns whether rows show that the visit had the effect."""


class OutcomeEffect(NamedTuple):
    """One effect of an outcome."""

    name: str
    text: str
    """What the effect does, for people."""
    applies: Callable[[EndedVisit], bool]
    """Whether a visit has the effect."""
    apply: Callable[["CheckIn", EndedVisit, HostRow], HostRow]
    """Applies the effect; returns the new row of the host."""
    decides: bool = False
    """Whether the effect decides what becomes of the URL. Each visit has exactly one of these."""
    shown: tuple[ShownEffect, ...] = ()
    """What `gossamer why` prints: the first one that rows show."""


class CheckIn:
    """Applies outcomes.

    The next outcome of a host's last order is applied. The outcome of a later order is *lost*: the
    store was restored, and the log still has the outcome. It is applied, too, but the URL stays in
    its queue until a check-out skips it. Any other outcome is late: only its Retry-After is
    applied.
    """

    def __init__(
        self,
        settings: FrontierSettings,
        balance: Balance,
        revisits: Revisits,
        captures: SharedCaptures,
        store: Store,
        sign: SignMode,
    ) -> None:
        self._settings, self._balance, self._revisits = settings, balance, revisits
        self.captures, self.sign = captures, sign
        self.endings = Endings(settings, revisits, store)

    def apply_outcome(
        self, partition: Partition, share: CrawlShare, event: VisitEnded, now: float
    ) -> None:
        """Apply one outcome; the last outcome of an order releases the host."""
        host = partition.find(event.site, event.host)
        ended, row = self._make_ended(partition, share, host, event, now), host.row
        if _is_lost(ended):
            self._apply_lost(ended)
            return
        if (event.order, event.index) != (row.lease.order, row.lease.done):
            partition.restore_backoff(host)
            self._apply_late(ended)
            return
        if row.condition in (Condition.BACKING_OFF, Condition.IDLE):
            # The order has ended: an earlier outcome of it came after the lease had expired.
            self._apply_late(ended)
            return
        if row.is_erased:
            self._apply_to_erased(ended)
            return
        for effect in OUTCOME_EFFECTS:
            if effect.applies(ended):
                row = effect.apply(self, ended, row)
        # If the host is not checked out, its lease has expired and a slow fetcher reports late.
        if event.last or row.condition is not Condition.CHECKED_OUT:
            self._release(ended, row)
            partition.end_waits_of_order(share, host, event.index + 1, now)
        else:
            partition.update(host, row)

    def end_unanswered(
        self,
        partition: Partition,
        share: CrawlShare,
        host: Host,
        row: HostRow,
        event: VisitEnded,
        now: float,
    ) -> HostRow:
        """Return *row* after *event*, which states how a visit ended that no fetcher reported."""
        partition.count_visit(share, event, row.totals.received)
        ended = self._make_ended(partition, share, host, event, now)
        [effect] = [one for one in OUTCOME_EFFECTS if one.decides and one.applies(ended)]
        return effect.apply(self, ended, row)

    def _make_ended(
        self, partition: Partition, share: CrawlShare, host: Host, event: VisitEnded, now: float
    ) -> EndedVisit:
        is_erased = share.is_removed or partition.erasures.covers(event.visit)
        return EndedVisit(partition, share, host, event, self._settings, now, is_erased)

    def _apply_to_erased(self, ended: EndedVisit) -> None:
        """Apply one outcome of an order from before the erasure of the host: only the delay and the
        Retry-After count."""
        partition, host, event, now = ended.partition, ended.host, ended.event, ended.now
        row, wait = host.row, min(event.retry_after, self._settings.retry_after_limit)
        ready_at = row.ready_at
        if event.started_at:
            ready_at = max(ready_at, now + max(row.politeness.delay, wait))
            partition.bench.start_name_delay(row.host, ready_at, now)
            row = replace(row, politeness=replace(row.politeness, delay_until=ready_at))
        row = replace(row, ready_at=ready_at, lease=replace(row.lease, done=row.lease.done + 1))
        if wait:
            row = replace(row, backoff_reason=event.reason or None, backoff_cause=Outcome.BUSY)
        if not event.last and row.condition is Condition.CHECKED_OUT:
            partition.update(host, row)
        else:
            partition.release(host, ended.share.queues.end_order(row), backs_off=wait > 0)

    def _apply_lost(self, ended: EndedVisit) -> None:
        """Apply an outcome whose order the store lacks. The host keeps its condition, unless it is
        still under the lease of an earlier order."""
        partition, host, event = ended.partition, ended.host, ended.event
        partition.restore_backoff(host)
        if host.row.condition is Condition.CHECKED_OUT:
            earlier = partition.share(host.row.lease.crawl or event.crawl)
            row = earlier.queues.end_order(host.row)
            partition.release(host, row)
        ended.is_lost = True
        lease = Lease(
            order=event.order,
            crawl=event.crawl,
            ordered_at=event.started_at or event.at,
            ordered=event.index + 1,
            done=event.index,
        )
        ended_at = max(event.at, host.row.lost.ended_at or 0.0)
        lost = LostVisits(ended_at=ended_at, queued_until=partition.tally.last_number)
        row = replace(host.row, lease=lease, lost=lost)
        for effect in OUTCOME_EFFECTS:
            if effect.applies(ended):
                row = effect.apply(self, ended, row)
        if ended.backoff_until is not None:
            until = max(ended.backoff_until, row.politeness.busy_until or 0.0)
            row = replace(row, politeness=replace(row.politeness, busy_until=until))
        partition.update(host, row)

    def _apply_late(self, ended: EndedVisit) -> None:
        """Apply the Retry-After of an outcome that comes too late to count.

        After the store was restored, the host may be missing until its admission is read again. Its
        Retry-After still counts, unless the host is missing because it was erased.
        """
        partition, host, event = ended.partition, ended.host, ended.event
        if not host.stored and partition.erasures.covers(event.visit):
            return
        lease = host.row.lease
        counted = event.order == lease.order and event.index < lease.done
        if event.started_at and event.retry_after and not counted:
            partition.update(host, extend_busy(self._settings, host.row, event, ended.now))

    def start_delay(self, ended: EndedVisit, row: HostRow) -> HostRow:
        """Return *row* with the courtesy delay that follows the visit."""
        partition, host, now = ended.partition, ended.host, ended.now
        robots, overrides = partition.robots(host), partition.overrides
        delay = next_delay(self._settings, row, robots, overrides)
        robots_until = now + robots_delay(self._settings, row, overrides)
        until, former_until = now + delay, _delay_to_continue(ended, row)
        if former_until is not None:
            # The delay since the last page goes on, with the Crawl-delay that was read now.
            until = max(former_until - row.politeness.delay + delay, robots_until)
        ended.share.sites.update_visit_limit(row.site, delay)
        partition.bench.start_name_delay(row.host, until, now, robots_until, former_until)
        politeness = replace(row.politeness, delay=delay, delay_until=until)
        ready_at = next_visit_at(until, robots_until, robots)
        row = replace(row, politeness=politeness, ready_at=ready_at)
        self._balance.record_visit(row, now)
        if row.queued and ended.backoff_until is None:
            ended.share.tally.daily.count_delay(min(delay, ready_at - now))
        return row

    def _release(self, ended: EndedVisit, row: HostRow) -> None:
        """Release the host with its new *row*: it is delayed, backs off, or has no work."""
        partition, share, host, event = ended.partition, ended.share, ended.host, ended.event
        backoff_until = ended.backoff_until
        if event.last:
            row = share.queues.end_order(self._choose_next_queue(share, row, event))
        else:
            # The lease has expired, and outcomes of the order may follow: its queue stays next.
            row = share.queues.update_number(row)
        if backoff_until is not None:
            until = max(row.ready_at, backoff_until)
            row = replace(
                row,
                ready_at=until,
                backoff_reason=reason_for_backoff(event),
                backoff_cause=event.outcome,
            )
        may_probe = row.has_copies and not share.is_removed
        if not row.queued and may_probe and needs_probe(row, self._settings.probe_after):
            row = share.queues.append(row, [make_entry_for_probe(row, event.crawl)])
        partition.release(host, row, backs_off=backoff_until is not None)

    def _choose_next_queue(self, share: CrawlShare, row: HostRow, event: VisitEnded) -> HostRow:
        """Return the row with the queue of the next order, chosen if new URLs and revisits wait.

        The site's share of visits to new URLs is updated too.
        """
        own = row.of(event.crawl)
        new = own.new.queued
        allocation = self._revisits.allocation(event.crawl)
        discovery = allocation.discovery_share(share, event.site) if new else 0.0
        share.sites.update_discovery_share(event.site, discovery)
        if not (new and own.again.queued):
            return row.change_crawl(event.crawl, owed=0.0) if own.owed else row
        made = row.lease.done if event.visit.purpose.is_queued else 0
        return row.with_crawl(event.crawl, choose_next_queue(own, made, discovery))


def _is_lost(ended: EndedVisit) -> bool:
    """Return whether the visit was of an order that the store lacks, and counts.

    A requisite, and a robots.txt on behalf of another host, are visited again.
    """
    row, event, visit = ended.host.row, ended.event, ended.event.visit
    if not row.lease.lacks(event.order, event.index) or row.is_erased or ended.is_erased:
        return False
    is_again = visit.purpose is Purpose.REQUISITE or visit.on_behalf_of
    return not is_again and OUTCOMES[event.outcome].fate is not Fate.STAY


def _delay_to_continue(ended: EndedVisit, row: HostRow) -> float | None:
    """Return the end of the courtesy delay since the last page, which a visit to robots.txt does
    not start again; None if the visit was another one, or the first one."""
    visit = ended.event.visit
    is_robots = visit.purpose is Purpose.ROBOTS and not visit.on_behalf_of
    return row.politeness.delay_until if is_robots else None


def _count_visit(ended: EndedVisit, row: HostRow) -> HostRow:
    """Return *row* with one more visit in the totals of the host and of its order."""
    event, was_requested, totals = ended.event, ended.was_requested, row.totals
    is_page = event.visit.purpose is Purpose.PAGE and event.outcome is Outcome.PAGE
    day = int(event.started_at // DAY) if was_requested else totals.day
    totals = HostTotals(
        admitted=totals.admitted,
        visits=totals.visits + was_requested,
        pages=totals.pages + is_page,
        received=totals.received + event.received,
        seconds=totals.seconds + event.took,
        day=day,
        day_visits=was_requested + (totals.day_visits if day == totals.day else 0),
    )
    before = row.politeness
    returned = before.returned_orders + (event.outcome is Outcome.UNVISITED)
    politeness = replace(
        before,
        last_took=event.took if was_requested else before.last_took,
        returned_orders=0 if was_requested else returned,
    )
    lease = replace(row.lease, done=row.lease.done + 1)
    if event.lease and lease.expires_at:
        # The fetcher ends the order at least as early: its time began with the outcome.
        lease = replace(lease, expires_at=min(lease.expires_at, ended.now + event.lease))
    return replace(row, totals=totals, lease=lease, politeness=politeness)


def _count_in_totals(ended: EndedVisit, row: HostRow) -> HostRow:
    """Count the visit in the totals of the crawl and of the partition."""
    ended.partition.count_visit(ended.share, ended.event, row.totals.received)
    if ended.is_erased:
        ended.share.tally.erase(ended.event.visit.url)
    return row


def _record_site(ended: EndedVisit, row: HostRow) -> HostRow:
    """Record what the visit shows about the whole site: wildcards of DNS, addresses, its load."""
    parts, event = ended.share.parts, ended.event
    ended.partition.sites.record_hazards(event.site, event.hazards)
    parts.record_address(event.site, event.address)
    if Hazard.DNS_WILDCARD_SUFFIX in event.hazards:
        parts.record_suffix(event.site)
    # Revisits bring no new URLs, so they use up no budget.
    if ended.is_page and not event.visit.earlier:
        parts.record_transfer(event.site, event.visit, event.received, event.took)
    elif event.visit.purpose.is_sitemap and not event.visit.earlier:
        parts.record_sitemap(event.site, event.received)
    return row


def _distrust_refused(ended: EndedVisit, row: HostRow) -> HostRow:
    distrust_refused(ended.partition, ended.share, row.site, row.host, ended.now)
    return row


def _keep_capture(step: CheckIn, ended: EndedVisit, row: HostRow) -> HostRow:
    step.captures.record(ended.event)
    return row


def _is_returned(ended: EndedVisit) -> bool:
    """Return whether a fetcher returned the order without a request, or with a page that it could
    not store."""
    event = ended.event
    unvisited = event.outcome is Outcome.UNVISITED
    return unvisited and (event.retry_after > 0 or not ended.was_requested)


def _record_return(ended: EndedVisit, row: HostRow) -> HostRow:
    """Return *row*, delayed for as long as the fetcher asks that returned the order. If it names no
    time, the delay grows with each returned order."""
    event = ended.event
    wait = min(event.retry_after, ended.settings.retry_after_limit)
    wait = wait or returned_order_delay(row.politeness.delay, row.politeness.returned_orders)
    reason = event.reason or None
    ready_at = max(row.ready_at, ended.now + wait)
    return replace(row, ready_at=ready_at, backoff_reason=reason, backoff_cause=event.outcome)


def find_shown_effects(visit: StoredVisit) -> dict[str, str]:
    """Return the effects of the last visit to a page that its rows show: name of the effect → a
    sentence. Its outcome must be one of a visit, and not the rule of a refusal."""
    found = dict[str, str]()
    for effect in OUTCOME_EFFECTS:
        texts = [one.text for one in effect.shown if one.is_shown(visit)]
        if texts:
            found[effect.name] = texts[0]
    return found


def _is_cause_of_backoff(visit: StoredVisit) -> bool:
    """Return whether the host backs off because of visits of the last order with this outcome,
    which alone would not have been a reason."""
    host, ordered_at = visit.host, visit.host.lease.ordered_at
    is_last_order = ordered_at is not None and ordered_at <= visit.url.at
    is_cause = host.condition is Condition.BACKING_OFF and host.backoff_cause == visit.outcome
    return visit.meaning.fate is Fate.RETRY and is_cause and is_last_order


def _is_counted_failure(visit: StoredVisit) -> bool:
    health = visit.meaning.health
    # Of 5xx in a row, some are not counted.
    return health.is_failing and health is not Health.SERVER and not visit.is_of_robots


def _had_wall(visit: StoredVisit) -> bool:
    is_wall = visit.outcome in (*WALLED, Outcome.SIGNATURE_ASKED)
    return is_wall and bool(visit.host.walls) and not visit.is_of_robots


def _began_trial(visit: StoredVisit) -> bool:
    return visit.outcome is Outcome.SIGNATURE_ASKED and visit.url.queued


def _always(ended: EndedVisit) -> bool:
    return True


def _decides(*purposes: Purpose) -> Callable[[EndedVisit], bool]:
    """Return whether a visit is for one of *purposes* and for its own host, and no other effect
    decides."""

    def decides(ended: EndedVisit) -> bool:
        visit = ended.event.visit
        is_own = not visit.on_behalf_of and not ended.is_tried_signed
        # An erased page ends as a visit on behalf: nothing is stored about it.
        is_erased = ended.is_erased and visit.purpose.is_queued
        return is_own and not is_erased and visit.purpose in purposes

    return decides


def _is_on_behalf(ended: EndedVisit) -> bool:
    visit = ended.event.visit
    is_erased = ended.is_erased and visit.purpose.is_queued
    return not ended.is_tried_signed and bool(visit.on_behalf_of or is_erased)


OUTCOME_EFFECTS = (
    OutcomeEffect(
        "failures",
        "counts failures in a row, or ends the count",
        _always,
        lambda step, ended, row: count_failure(ended.settings, row, ended.event),
        shown=(
            ShownEffect("the host backed off after failures in a row", _is_cause_of_backoff),
            ShownEffect("a failure of the host was counted", _is_counted_failure),
        ),
    ),
    OutcomeEffect(
        "visit",
        "counts the visit in the totals of the host, and in its order",
        _always,
        lambda step, ended, row: _count_visit(ended, row),
    ),
    OutcomeEffect(
        "wall",
        "counts the wall that answered in place of a page",
        lambda ended: ended.event.wall is not None,
        lambda step, ended, row: count_wall(row, ended.event.wall) if ended.event.wall else row,
        shown=(ShownEffect("a wall of the host was counted", _had_wall),),
    ),
    OutcomeEffect(
        "certificate",
        "records why the host's certificate is invalid, or that it is valid",
        lambda ended: ended.was_requested and bool(ended.event.status),
        lambda step, ended, row: replace(row, certificate_fault=ended.event.certificate_fault),
    ),
    OutcomeEffect(
        "cookies",
        "stores the cookies that the visit has set, in the row of the site",
        lambda ended: bool(ended.event.cookies),
        lambda step, ended, row: store_cookies(ended, row),
    ),
    OutcomeEffect(
        "strain",
        "doubles the delay of a strained server, or halves it again",
        lambda ended: ended.was_requested,
        lambda step, ended, row: update_strain(row, ended.event),
        shown=(
            ShownEffect(
                "the server was treated as strained",
                lambda visit: visit.meaning.strains and not visit.is_of_robots,
            ),
        ),
    ),
    OutcomeEffect(
        "Retry-After",
        "obeys a Retry-After that is not of a 429 or 503",
        lambda ended: has_other_retry_after(ended.event),
        lambda step, ended, row: extend_busy(ended.settings, row, ended.event, ended.now),
    ),
    OutcomeEffect(
        "totals",
        "counts the visit in the totals of its crawl and of the partition",
        _always,
        # It needs the bytes that the host has sent, with those of this visit.
        lambda step, ended, row: _count_in_totals(ended, row),
    ),
    OutcomeEffect(
        "site",
        "records DNS wildcards, the address and the load of the site",
        _always,
        lambda step, ended, row: _record_site(ended, row),
    ),
    OutcomeEffect(
        "conditions",
        "sends no conditions to a host that has refused some",
        lambda ended: not ended.is_erased and Hazard.CONDITIONS_REFUSED in ended.event.hazards,
        lambda step, ended, row: _distrust_refused(ended, row),
    ),
    OutcomeEffect(
        "signing",
        "begins or decides the trial of a host that asks for signatures",
        lambda ended: not ended.is_erased,
        # Before the effects that decide: the URL of a new trial is visited once more.
        lambda step, ended, row: record_signing(step.sign, ended, row),
        shown=(ShownEffect("a trial of signed requests to the host began", _began_trial),),
    ),
    OutcomeEffect(
        "capture",
        "stores where the capture is that other crawls may take",
        lambda ended: not ended.is_erased and bool(ended.event.kept),
        _keep_capture,
    ),
    OutcomeEffect(
        "repeated with a signature",
        "leaves the URL at the head of its queue",
        lambda ended: ended.is_tried_signed,
        lambda step, ended, row: step.endings.end_unsigned_visit(ended, row),
        decides=True,
        shown=(
            ShownEffect("the URL stayed first in its queue, to be visited signed", _began_trial),
        ),
    ),
    OutcomeEffect(
        "on behalf",
        "ends a visit on behalf of another host, or to an erased page",
        _is_on_behalf,
        lambda step, ended, row: step.endings.end_visit_on_behalf(ended, row),
        decides=True,
    ),
    OutcomeEffect(
        "robots.txt",
        "stores the rules of the host, or backs off from it",
        _decides(Purpose.ROBOTS),
        lambda step, ended, row: step.endings.end_robots_visit(ended, row),
        decides=True,
        shown=(
            ShownEffect(
                "the host backed off and the URL was given up, because robots.txt could not be "
                "fetched",
                lambda visit: visit.is_of_robots,
            ),
        ),
    ),
    OutcomeEffect(
        "probe",
        "stores how the host answers for a missing page",
        _decides(Purpose.PROBE),
        lambda step, ended, row: step.endings.end_probe(ended, row),
        decides=True,
    ),
    OutcomeEffect(
        "usage file",
        "stores the statements of the file, or that it cannot be read",
        _decides(Purpose.USAGE),
        lambda step, ended, row: step.endings.end_usage_visit(ended, row),
        decides=True,
    ),
    OutcomeEffect(
        "URL",
        "stores the outcome of the URL, and moves the cursor of its queue, unless the URL stays",
        _decides(*(purpose for purpose in Purpose if purpose.is_queued)),
        lambda step, ended, row: step.endings.end_page_visit(ended, row),
        decides=True,
        shown=(
            ShownEffect(
                "a retry of the URL was planned",
                lambda visit: visit.meaning.fate is Fate.RETRY and visit.url.attempt > 0,
            ),
            ShownEffect(
                "the host backed off, and the URL stayed first in its queue",
                lambda visit: visit.meaning.fate is Fate.WAIT and visit.url.queued,
            ),
            ShownEffect(
                "the host backed off, and the URL was given up",
                lambda visit: (
                    visit.meaning.fate is Fate.WAIT and visit.is_given_up and not visit.is_of_robots
                ),
            ),
            ShownEffect(
                "the URL was given up",
                lambda visit: visit.is_given_up and not visit.is_of_robots,
            ),
        ),
    ),
    OutcomeEffect(
        "slow start",
        "wakes hosts that wait for the verdict on a visit that gets none",
        gets_no_verdict,
        lambda step, ended, row: end_wait(ended, row),
    ),
    OutcomeEffect(
        "delay",
        "starts the courtesy delay",
        # A restored host gets its delay at the claim.
        lambda ended: ended.was_requested and not ended.is_lost,
        # Last, because it depends on the rules and the strain that the visit has shown.
        lambda step, ended, row: step.start_delay(ended, row),
    ),
    OutcomeEffect(
        "returned order",
        "delays a host whose order a fetcher has returned",
        _is_returned,
        lambda step, ended, row: _record_return(ended, row),
    ),
)
"""The effects of an outcome, in the order in which they are applied. Each row sees the host as the
rows before have left it; a comment says why its place matters."""
