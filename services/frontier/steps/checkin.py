"""Check-in: applies the outcomes of an order.

The outcome of a page moves the cursor of the host's queue, unless the URL stays in the queue. The
outcome of a robots.txt contains the host's rules. The last outcome of an order releases the host.

Check-in stores the last outcome and the last verdict of each URL, and adds each visit to the
history of its page. A verdict may come before the outcome of its visit, because it comes on another
topic.
"""

from collections.abc import Callable

from msgspec.structs import replace

from gossamer.events import Imported, Outcome, PageDeduplicated, Purpose, Verdict, VisitEnded
from gossamer.events.hazards import Hazard
from gossamer.events.outcomes import (
    GONE_VERDICTS,
    OUTCOMES,
    WALLED,
    Fate,
    Health,
    VerdictSubject,
)
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.web.cookies import merge_cookies
from gossamer.web.http import GONE, NOT_MODIFIED
from gossamer.web.signing import SignMode
from services.frontier.choice.dispatch import Balance
from services.frontier.features.replicas import without_own_session
from services.frontier.features.shared import SharedCaptures
from services.frontier.features.signing import begins_trial, record_signing
from services.frontier.features.usage_files import give_up_usage_files, record_usage_file
from services.frontier.partition.partition import Partition
from services.frontier.partition.parts import may_be_repeated, new_texts_of
from services.frontier.partition.politeness import (
    DAY,
    LEASE_FAILURE,
    allowed_failures,
    count_unreadable,
    failure_wait,
    is_given_up,
    next_delay,
    retry_wait,
    returned_order_delay,
    update_strain,
)
from services.frontier.partition.queue import choose_next_queue
from services.frontier.partition.workbench import Host
from services.frontier.steps.requisites import is_repeated, make_retry, make_row
from services.frontier.steps.revisits import Revisits
from services.frontier.steps.robots import (
    REDIRECTED_ROBOTS_FAILURE,
    ROBOTS_FAILURE,
    RobotsOutcomes,
    add_failure,
    are_copies,
    counts_as_failure,
    needs_probe,
    reason_for_backoff,
    record_probe,
    reset_failures,
)
from services.frontier.tables.conditions import Condition, Trigger
from services.frontier.tables.harvest import HarvestPoint
from services.frontier.tables.hosts import HostRow, HostTotals, Suspect
from services.frontier.tables.urls import (
    HistoryRow,
    Origin,
    QueuedUrl,
    RequisiteRow,
    UrlRow,
    VerdictRow,
)

OTHERS_WITH_RETRY_AFTER = frozenset({Outcome.OTHER, *WALLED})
"""The outcomes beside `busy` whose Retry-After is obeyed."""
IMPORTED = "imported from a WARC file"
"""The reason in the rows of a capture that another crawl made."""
LASTING_FAILURES = frozenset({ROBOTS_FAILURE, REDIRECTED_ROBOTS_FAILURE, LEASE_FAILURE})
"""The kinds of failure that a page without a failure does not end by itself."""
ApplyOutcome = Callable[[Partition, Host, HostRow, VisitEnded, float], tuple[HostRow, float | None]]
"""Applies an outcome to a host and its row so far. Returns the new row, and until when the host
backs off; None if it does not."""


class CheckIn:
    """Applies outcomes and verdicts.

    The next outcome of a host's last order is applied. Any other outcome is late: only its
    Retry-After is applied.
    """

    def __init__(
        self,
        settings: FrontierSettings,
        balance: Balance,
        revisits: Revisits,
        shared: SharedCaptures,
        store: Store,
        sign: SignMode,
    ) -> None:
        self._settings, self._balance, self._revisits = settings, balance, revisits
        self._shared, self._sign = shared, sign
        self.robots = RobotsOutcomes(settings, revisits, store)
        self._urls, self._requisites = store.table(UrlRow), store.table(RequisiteRow)
        self._history, self._verdicts = store.table(HistoryRow), store.table(VerdictRow)

    def end_unanswered(
        self, partition: Partition, host: Host, row: HostRow, event: VisitEnded, now: float
    ) -> HostRow:
        """Return *row* after *event*, which states how a visit ended that no fetcher reported."""
        partition.count_visit(event, row.totals.received)
        return self._choose_handler(partition, event)(partition, host, row, event, now)[0]

    def apply_outcome(self, partition: Partition, event: VisitEnded, now: float) -> None:
        """Apply one outcome; the last outcome of an order releases the host."""
        host = partition.find(event.site, event.host)
        if (event.order, event.index) != (host.row.lease.order, host.row.lease.done):
            partition.restore_backoff(host)
            self._apply_late(partition, host, event, now)
            return
        if host.row.condition in (Condition.BACKING_OFF, Condition.IDLE):
            # The order has ended: an earlier outcome of it came after the lease had expired.
            self._apply_late(partition, host, event, now)
            return
        if host.row.is_erased:
            self._apply_to_erased(partition, host, event, now)
            return
        row = _store_cookies(partition, self._count_outcome(host.row, event), event, now)
        if event.started_at:
            row = update_strain(row, event)
        if event.outcome in OTHERS_WITH_RETRY_AFTER and event.retry_after:
            row = self._extend_busy(row, event, now)
        is_erased = partition.is_removed or partition.erasures.covers(event.visit)
        partition.count_visit(event, row.totals.received)
        if is_erased:
            partition.tally.erase(event.visit.url)
        partition.sites.record_hazards(event.site, event.hazards)
        partition.parts.record_address(event.site, event.address)
        if Hazard.DNS_WILDCARD_SUFFIX in event.hazards:
            partition.parts.record_suffix(event.site)
        if event.started_at and event.visit.purpose is Purpose.PAGE:
            partition.parts.record_transfer(event.site, event.visit, event.received, event.took)
        repeats_signed = begins_trial(self._sign, row, event) and not is_erased
        if not is_erased:
            row = record_signing(self._sign, row, event)
            self._shared.record(event)
        handler = self._repeat_signed if repeats_signed else self._choose_handler(partition, event)
        row, backoff_until = handler(partition, host, row, event, now)
        if backoff_until is not None or _has_no_verdict(event):
            partition.end_wait(event.visit.url, now)
        if event.started_at:
            row = self._start_delay(partition, host, row, event, now)
            if row.queued and backoff_until is None:
                partition.tally.daily.count_delay(row.politeness.delay)
        if event.outcome is Outcome.UNVISITED and (event.retry_after or not event.started_at):
            row = self._record_return(row, event, now)
        # If the host is not checked out, its lease has expired and a slow fetcher reports late.
        if event.last or row.condition is not Condition.CHECKED_OUT:
            self._release(partition, host, row, backoff_until, event)
        else:
            partition.update(host, row)

    def _count_outcome(self, row: HostRow, event: VisitEnded) -> HostRow:
        row, was_requested = self._count_failure(row, event), event.started_at > 0
        totals, page = row.totals, event.visit.purpose is Purpose.PAGE
        is_page = page and event.outcome is Outcome.PAGE
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
        walls = row.walls
        if event.wall:
            name = f"{event.wall.kind}: {event.wall.name}"
            walls = {**walls, name: walls.get(name, 0) + 1}
        return replace(row, totals=totals, lease=lease, politeness=politeness, walls=walls)

    def _count_failure(self, row: HostRow, event: VisitEnded) -> HostRow:
        was_requested, health = event.started_at > 0, OUTCOMES[event.outcome].health
        if was_requested and event.visit.purpose.is_queued:
            row = replace(reset_failures(row, LEASE_FAILURE), suspect=Suspect())
        if counts_as_failure(event):
            if health is Health.SERVER and not self._counts_as_server_error(row, event):
                return row
            return add_failure(row, health)
        if was_requested and health is Health.WELL:
            # Walls often let requests for robots.txt pass.
            is_robots = event.visit.purpose is Purpose.ROBOTS
            kept = LASTING_FAILURES | ({Health.CHALLENGE} if is_robots else set())
            return reset_failures(row, *(row.politeness.failures.keys() - kept))
        return row

    def _counts_as_server_error(self, row: HostRow, event: VisitEnded) -> bool:
        """Return whether a 5xx is evidence that the whole host fails. A retry is not. While the
        host is failing, only the first visit of an order is: the others were ordered before."""
        limit = allowed_failures(self._settings, row, Health.SERVER)
        is_failing = row.politeness.failures.get(Health.SERVER, 0) > limit
        return not event.visit.attempt and not (is_failing and event.index)

    def _apply_to_erased(
        self, partition: Partition, host: Host, event: VisitEnded, now: float
    ) -> None:
        """Apply one outcome of an order from before the erasure of the host: only the delay and the
        Retry-After count."""
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
        elif row.queued:
            row = partition.queues.end_order(row)
            (partition.back_off if wait else partition.delay)(host, row)
        else:
            partition.unload(host, row, Trigger.EMPTIED)

    def _apply_late(self, partition: Partition, host: Host, event: VisitEnded, now: float) -> None:
        """Apply the Retry-After of an outcome of *host* that comes too late to count.

        After the store was restored, the host may be missing until its admission is read again. Its
        Retry-After still counts, unless the host is missing because it was erased.
        """
        if not host.stored and partition.erasures.covers(event.visit):
            return
        lease = host.row.lease
        counted = event.order == lease.order and event.index < lease.done
        if event.started_at and event.retry_after and not counted:
            partition.update(host, self._extend_busy(host.row, event, now))

    def _extend_busy(self, row: HostRow, event: VisitEnded, now: float) -> HostRow:
        """Return *row* with `busy_until` at the end of the event's Retry-After, unless it is later
        already."""
        until = now + min(event.retry_after, self._settings.retry_after_limit)
        until = max(until, row.politeness.busy_until or 0.0)
        return replace(row, politeness=replace(row.politeness, busy_until=until))

    def _choose_handler(self, partition: Partition, event: VisitEnded) -> ApplyOutcome:
        if event.visit.on_behalf_of:
            return self._end_visit_on_behalf
        if event.visit.purpose is Purpose.PROBE:
            return self._end_probe
        if event.visit.purpose is Purpose.ROBOTS:
            return self.robots.apply
        if event.visit.purpose is Purpose.USAGE:
            return self._end_usage_visit
        is_erased = partition.is_removed or partition.erasures.covers(event.visit)
        return self._end_visit_on_behalf if is_erased else self._end_page_visit

    def _end_visit_on_behalf(
        self, partition: Partition, host: Host, row: HostRow, event: VisitEnded, now: float
    ) -> tuple[HostRow, float | None]:
        """Return the row and until when the host backs off; None if it does not.

        The visit was made on behalf of another host, or its URL was erased after the order. The
        queues of a removed crawl are empty.
        """
        meaning = OUTCOMES[event.outcome]
        if meaning.fate is not Fate.STAY and not partition.is_removed:
            row = partition.queues.advance(row)
        if meaning.fate is not Fate.WAIT:
            return row, None
        times = row.politeness.failures.get(meaning.health, 0)
        return row, now + self._failure_wait(row, event, times)

    def _end_usage_visit(
        self, partition: Partition, host: Host, row: HostRow, event: VisitEnded, now: float
    ) -> tuple[HostRow, float | None]:
        """Return the row and until when the host backs off after a visit to a usage file; None if
        it does not."""
        meaning = OUTCOMES[event.outcome]
        wait = self._failure_wait(row, event, row.politeness.failures.get(meaning.health, 0))
        until = now + wait if meaning.fate is Fate.WAIT else None
        record_usage_file(partition, host, event, until or now, now)
        if until:
            give_up_usage_files(partition, host, until, now)
        return row, until

    def _end_probe(
        self, partition: Partition, host: Host, row: HostRow, event: VisitEnded, now: float
    ) -> tuple[HostRow, float | None]:
        """Return the row and until when the host backs off after a probe; None if it does not."""
        row, meaning = record_probe(row, event, now), OUTCOMES[event.outcome]
        wait = self._failure_wait(row, event, row.politeness.failures.get(meaning.health, 0))
        return row, now + wait if meaning.fate is Fate.WAIT else None

    def _failure_wait(self, row: HostRow, event: VisitEnded, times: int) -> float:
        return failure_wait(self._settings, row.host, event.outcome, times, event.retry_after)

    def _start_delay(
        self, partition: Partition, host: Host, row: HostRow, event: VisitEnded, now: float
    ) -> HostRow:
        overrides = partition.sites.overrides
        delay = next_delay(self._settings, row, partition.robots(host), overrides)
        partition.sites.update_visit_limit(event.site, delay)
        partition.bench.start_name_delay(event.host, now + delay, now)
        politeness = replace(row.politeness, delay=delay, delay_until=now + delay)
        row = replace(row, politeness=politeness, ready_at=now + delay)
        self._balance.record_visit(row, now)
        return row

    def _record_return(self, row: HostRow, event: VisitEnded, now: float) -> HostRow:
        """Return the row of a host whose order a fetcher returned without a request, or with a page
        that it could not store.

        The host is delayed for as long as the fetcher asks. If it names no time, the delay grows
        with each returned order.
        """
        wait = min(event.retry_after, self._settings.retry_after_limit)
        wait = wait or returned_order_delay(row.politeness.delay, row.politeness.returned_orders)
        reason = event.reason or None
        ready_at = max(row.ready_at, now + wait)
        return replace(row, ready_at=ready_at, backoff_reason=reason, backoff_cause=event.outcome)

    def _end_page_visit(
        self, partition: Partition, host: Host, row: HostRow, event: VisitEnded, now: float
    ) -> tuple[HostRow, float | None]:
        """Return the row and until when the host backs off after a visit to a page; None if it does
        not back off."""
        fate, kind = OUTCOMES[event.outcome].fate, OUTCOMES[event.outcome].health
        times = row.politeness.failures.get(kind, 0)
        allowed = allowed_failures(self._settings, row, kind)
        given_up = times > allowed and is_given_up(
            self._settings, event.outcome, times, event.retry_after
        )
        wait = self._failure_wait(row, event, times - allowed if fate is Fate.RETRY else times)
        earlier, attempt = event.visit.earlier, event.visit.attempt
        is_requisite = event.visit.purpose is Purpose.REQUISITE
        if fate is Fate.RETRY and attempt < self._settings.retries and not is_requisite:
            at = now + retry_wait(attempt + 1, event.outcome)
            self._revisits.retry(partition, event, at)
            self._store_outcome(event, earlier, attempt + 1, now)
        elif fate is Fate.WAIT and not given_up:
            self._store_outcome(event, earlier, attempt, now, queued=True)
        elif fate is not Fate.STAY:
            if not is_requisite:
                partition.tally.record_finished(event)
            if not earlier and event.visit.purpose is Purpose.PAGE:
                counted = HarvestPoint(event.at, visits=1, first_visits=1)
                partition.parts.count_harvest(event.site, counted)
            self._count_worthless(partition, event, now)
            if self._store_outcome(event, earlier + 1, 0, now):
                at = event.started_at or now
                self._revisits.record_absence(partition, event, event.visit, at)
        if fate in (Fate.DONE, Fate.RETRY) or (fate is Fate.WAIT and given_up):
            row = partition.queues.advance(row)
        if is_requisite and is_repeated(event, self._settings.retries):
            row = partition.queues.append(row, [make_retry(row, event)])
        backs_off = fate is Fate.WAIT or (fate is Fate.RETRY and given_up)
        return row, now + wait if backs_off else None

    def _repeat_signed(
        self, partition: Partition, host: Host, row: HostRow, event: VisitEnded, now: float
    ) -> tuple[HostRow, float | None]:
        """Return the row after a visit that is repeated with a signature. A file of the host is
        requested again because it is not known; any other URL stays first in its queue."""
        if event.visit.purpose.is_queued:
            visit = event.visit
            self._store_outcome(event, visit.earlier, visit.attempt, now, queued=True)
        return row, None

    def _count_worthless(self, partition: Partition, event: VisitEnded, now: float) -> None:
        """Count the first visit to a URL without a document as one without a new text. A redirect
        does not count: it may lead to one."""
        meaning, visit = OUTCOMES[event.outcome], event.visit
        is_first = not visit.earlier and visit.purpose is Purpose.PAGE and event.started_at > 0
        has_document = meaning.verdict_subject is VerdictSubject.DOCUMENT
        if is_first and not has_document and event.outcome is not Outcome.REDIRECT:
            partition.parts.record_visit(event.site, visit, 0.0, 0, now)

    def _store_outcome(
        self, event: VisitEnded, earlier: int, attempt: int, now: float, queued: bool = False
    ) -> bool:
        """Store an outcome. Return whether the visit was to a page and returned no document, so
        that no verdict about a document follows."""
        if event.visit.purpose is Purpose.REQUISITE:
            if not queued:
                self._requisites.put(make_row(event, earlier, now))
            return False
        self._urls.put(
            UrlRow(
                crawl=event.crawl,
                host=event.host,
                url=event.visit.url,
                outcome=event.outcome,
                at=event.captured_at or now,
                status=event.status,
                reason=event.reason,
                location=event.location,
                origin=Origin.of(event.visit, event.visit.via),
                attempt=attempt,
                earlier=earlier,
                queued=queued,
            )
        )
        page = event.visit.purpose is Purpose.PAGE
        if page and OUTCOMES[event.outcome].verdict_subject is VerdictSubject.DOCUMENT:
            return False
        self._history.put(self._history_row(event, now))
        return page

    def _history_row(self, event: VisitEnded, now: float) -> HistoryRow:
        row = HistoryRow(
            crawl=event.crawl,
            url=event.visit.url,
            at=event.started_at or now,
            outcome=event.outcome,
            status=event.status,
            reason=event.reason,
            size=event.received,
            redirects_to=event.location,
        )
        if (
            event.visit.earlier
            and OUTCOMES[event.outcome].verdict_subject is VerdictSubject.ABSENCE
        ):
            # The verdict may have come already.
            last = self._verdicts.get((event.crawl, event.host), event.visit.url)
            if last and last.verdict in GONE_VERDICTS and last.at >= row.at:
                to = last.redirects_to or row.redirects_to
                row = replace(row, verdict=last.verdict, redirects_to=to)
        return row

    def record_verdict(self, partition: Partition, event: PageDeduplicated, now: float) -> None:
        """Store a verdict, and count consecutive unreadable pages and the worth of the visit."""
        site, row = event.site, partition.find(event.site, event.host).row
        if event.in_links:
            partition.parts.record_page_in_links(site, event.in_links)
        is_repeated = self._is_repeated(event)
        counts = not is_repeated and not _is_other_session(row, event)
        if counts and (new := new_texts_of(event)) is not None:
            partition.parts.count_harvest(site, HarvestPoint(event.at, links=event.links))
            partition.parts.record_visit(site, event.visit, new, event.size, now)
            partition.release_budgets(site, now)
        partition.end_wait(event.visit.url, now)
        if event.verdict not in GONE_VERDICTS and not is_repeated:
            sites = partition.sites
            before = sites.unreadable(event.site, event.host)
            sites.store_unreadable(
                event.site, event.host, count_unreadable(before, event, self._settings)
            )
        if are_copies(event):
            self._note_copies(partition, event, now)
        self._verdicts.put(_verdict_row(event))
        self._history.put(_history_row_of_verdict(event))

    def _is_repeated(self, event: PageDeduplicated) -> bool:
        """Return whether the first visit of *event*, which brought no new text or part of one, was
        made before: after a crash. Its words are known from then, so it says nothing about the
        site."""
        if not may_be_repeated(event):
            return False
        return self._verdicts.get((event.crawl, event.host), event.visit.url) is not None

    def record_imported(self, partition: Partition, event: PageDeduplicated) -> None:
        """Add the capture of another crawl to the history of its page.

        If it counts as a visit, and the URL has no plan, it is planned again.
        """
        history = _history_row_of_verdict(event)
        reason = "; ".join(filter(None, (IMPORTED, history.reason)))
        self._history.put(replace(history, reason=reason))
        is_visit = event.visit.imported is Imported.VISITED
        plan = self._revisits.find_plan(event.crawl, event.host, event.visit.url)
        if is_visit and plan is None and event.verdict not in GONE_VERDICTS:
            self._urls.put(_url_row_of_imported(event))
            self._verdicts.put(_verdict_row(event))
            self._revisits.record_verdict(partition, event)

    def _note_copies(self, partition: Partition, event: PageDeduplicated, now: float) -> None:
        """Note that two URLs of the host have the same text, so that the host is probed."""
        host = partition.find(event.site, event.host)
        row = host.row
        if not host.stored or row.is_erased or row.has_copies or row.signature:
            return
        row = replace(row, has_copies=True)
        if row.condition is Condition.IDLE and self._settings.probe_after:
            partition.queue(host, row, [_make_entry_for_probe(row, event.crawl)], now)
        else:
            partition.update(host, row)

    def _release(
        self,
        partition: Partition,
        host: Host,
        row: HostRow,
        backoff_until: float | None,
        event: VisitEnded,
    ) -> None:
        if event.last:
            row = partition.queues.end_order(self._choose_next_queue(partition, row, event))
        else:
            # The lease has expired, and outcomes of the order may follow: its queue stays next.
            row = partition.queues.update_number(row)
        if backoff_until is not None:
            until = max(row.ready_at, backoff_until)
            row = replace(
                row,
                ready_at=until,
                backoff_reason=reason_for_backoff(event),
                backoff_cause=event.outcome,
            )
        may_probe = row.has_copies and not partition.is_removed
        if not row.queued and may_probe and needs_probe(row, self._settings.probe_after):
            row = partition.queues.append(row, [_make_entry_for_probe(row, event.crawl)])
        if not row.queued:
            partition.unload(host, row, Trigger.EMPTIED)
        elif backoff_until is not None:
            partition.back_off(host, row)
        else:
            partition.delay(host, row)

    def _choose_next_queue(self, partition: Partition, row: HostRow, event: VisitEnded) -> HostRow:
        """Return the row with the queue of the next order, chosen if new URLs and revisits wait.

        The site's share of visits to new URLs is updated too.
        """
        own = row.of(event.crawl)
        new = own.new.queued
        allocation = self._revisits.allocation(event.crawl)
        share = allocation.discovery_share(partition, event.site) if new else 0.0
        partition.sites.update_discovery_share(event.site, share)
        if not (new and own.again.queued):
            return row.with_crawl(event.crawl, replace(own, owed=0.0)) if own.owed else row
        made = row.lease.done if event.visit.purpose.is_queued else 0
        return row.with_crawl(event.crawl, choose_next_queue(own, made, share))


def _has_no_verdict(event: VisitEnded) -> bool:
    """Return whether no verdict on a document follows the visit to a page."""
    is_document = OUTCOMES[event.outcome].verdict_subject is VerdictSubject.DOCUMENT
    return event.visit.purpose is Purpose.PAGE and not is_document


def _make_entry_for_probe(row: HostRow, crawl: str) -> QueuedUrl:
    """Return an entry of the queue that makes a host ready for its probe. It has no URL, so it is
    skipped afterwards."""
    return QueuedUrl(crawl, "", 0, "", row.number)


def _store_cookies(partition: Partition, row: HostRow, event: VisitEnded, now: float) -> HostRow:
    """Return the row with the cookies that the visit set for this host alone. Cookies for several
    hosts are stored in the row of the site."""
    if not event.cookies:
        return row
    shared = [cookie for cookie in event.cookies if cookie.whole_domain]
    of_host = [cookie for cookie in event.cookies if not cookie.whole_domain]
    partition.sites.store_cookies(event.site, shared, now)
    return replace(row, cookies=merge_cookies(row.cookies, of_host, now))


def _verdict_row(event: PageDeduplicated) -> VerdictRow:
    return VerdictRow(
        crawl=event.crawl,
        host=event.host,
        url=event.visit.url,
        verdict=event.verdict,
        at=event.at,
        digest=event.digest,
        duplicate_of=event.duplicate_of or event.near_duplicate_of,
        redirects_to=event.redirects_to,
        links=event.links,
        reason=event.reason,
        change=event.change,
    )


def _url_row_of_imported(event: PageDeduplicated) -> UrlRow:
    """Return the row of a URL that another crawl has visited."""
    return UrlRow(
        crawl=event.crawl,
        host=event.host,
        url=event.visit.url,
        outcome=_outcome_of(event),
        at=event.fetched_at or event.at,
        status=event.status,
        reason=IMPORTED,
        origin=Origin.of(event.visit, event.visit.via),
        earlier=1,
    )


def _history_row_of_verdict(event: PageDeduplicated) -> HistoryRow:
    shared = event.visit.shared
    return HistoryRow(
        crawl=event.crawl,
        url=event.visit.url,
        at=event.fetched_at or event.at,
        outcome=_outcome_of(event),
        status=event.status,
        reason="; ".join(filter(None, (shared.reason if shared else "", event.reason))),
        size=event.size,
        verdict=event.verdict,
        digest=event.digest,
        duplicate_of=event.duplicate_of or event.near_duplicate_of,
        redirects_to=event.redirects_to,
        change=event.change,
    )


def _outcome_of(event: PageDeduplicated) -> Outcome:
    """Return the outcome of the visit that *event* is about, by its verdict and status."""
    if event.verdict is Verdict.REDIRECT:
        return Outcome.REDIRECT
    if event.verdict is Verdict.GONE:
        return Outcome.GONE if event.status in GONE else Outcome.CLIENT_ERROR
    return Outcome.NOT_MODIFIED if event.status == NOT_MODIFIED else Outcome.PAGE


def _is_other_session(row: HostRow, event: PageDeduplicated) -> bool:
    """Return whether the visit of *event* had another session id than the URLs that are left, or
    found a page again that was visited under another one. It says nothing about those URLs."""
    url = without_own_session(row, event.visit.url)
    copied = event.duplicate_of or event.near_duplicate_of
    return url != event.visit.url or (
        bool(row.url_rules) and without_own_session(row, copied) == url
    )
