"""Check-in: outcomes move the cursor, bring the robots rules, and in the end release the host.

Outcomes and verdicts are written down here: the last of each URL, and each visit in its history. A
verdict may come before the outcome of its visit, since another topic brings it.
"""

from collections.abc import Callable

from msgspec.structs import replace

from gossamer.events import Outcome, PageJudged, Purpose, Verdict, VisitEnded
from gossamer.events.outcomes import GONE_VERDICTS, OUTCOMES, Fate, Health, VerdictSubject
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.web.cookies import merge_cookies
from gossamer.web.http import GONE, NOT_MODIFIED
from services.frontier.balance import Balance
from services.frontier.conditions import Condition, Trigger
from services.frontier.memory import Host
from services.frontier.overrides import DAY
from services.frontier.partition import Partition
from services.frontier.politeness import (
    count_unreadable,
    courtesy_delay,
    is_given_up,
    refused_wait,
    retry_wait,
    strained_delay,
    trouble_wait,
    update_strain,
)
from services.frontier.probes import probed
from services.frontier.queue import turned
from services.frontier.revisits import Revisits
from services.frontier.robots import ELSEWHERE, ROBOTS, RobotsReports, troubled, untroubled, why
from services.frontier.rows import HistoryRow, HostRow, HostTotals, Origin, UrlRow, VerdictRow

Ending = Callable[[Partition, Host, HostRow, VisitEnded, float], tuple[HostRow, float]]
"""Takes a host, its row so far, how a visit ended and the time; see `CheckIn._page_ended`."""


class CheckIn:
    """Applies outcomes and verdicts; drops outcomes that are not the next one of their host's last
    order, but for the time that a host asks for."""

    def __init__(
        self,
        settings: FrontierSettings,
        balance: Balance,
        revisits: Revisits,
        store: Store,
    ) -> None:
        self._settings, self._balance, self._revisits = settings, balance, revisits
        self.robots = RobotsReports(settings, revisits, store)
        self._urls = store.table(UrlRow)
        self._history, self._verdicts = store.table(HistoryRow), store.table(VerdictRow)

    def ended(self, partition: Partition, event: VisitEnded, now: float) -> None:
        """Take one outcome in; the last of an order releases the host."""
        host = partition.find(event.site, event.host)
        if (event.order, event.index) != (host.row.lease.order, host.row.lease.done):
            partition.wait_again(host)
            self._overtaken(partition, host, event, now)
            return
        if host.row.condition in (Condition.BACKING_OFF, Condition.IDLE):
            # One before it came after the lease, and ended the order.
            self._overtaken(partition, host, event, now)
            return
        if host.row.is_erased:
            self._erased_ended(partition, host, event, now)
            return
        row = _remembered(partition, _accounted(host.row, event), event, now)
        if event.started_at:
            row = update_strain(row, event)
        if event.outcome is Outcome.OTHER and event.retry_after:
            row = self._held_back(row, event, now)
        partition.count_visit(event, row.totals.received)
        if partition.erasures.covers(event.visit):
            partition.tally.erase(event.visit.url)
        partition.sites.noticed(event.site, event.hazards)
        row, backoff_until = self._ending(partition, event)(partition, host, row, event, now)
        if event.started_at:
            row = self._rested(partition, host, row, event, now)
        elif OUTCOMES[event.outcome].fate is Fate.STAY:
            row = self._handed_back(row, event, now)
        # Not checked out any more: its fetcher was slow, and reports only now.
        if event.last or row.condition is not Condition.CHECKED_OUT:
            self._release(partition, host, row, backoff_until, event)
        else:
            partition.update(host, row)

    def _erased_ended(
        self, partition: Partition, host: Host, event: VisitEnded, now: float
    ) -> None:
        """Apply one outcome of an order from before the host was erased, to its rest alone."""
        row, wait = host.row, min(event.retry_after, self._settings.retry_after_limit)
        ready_at = row.ready_at
        if event.started_at:
            ready_at = max(ready_at, now + max(row.politeness.delay, wait))
            partition.bench.visited(row.host, ready_at, now)
        row = replace(row, ready_at=ready_at, lease=replace(row.lease, done=row.lease.done + 1))
        if wait:
            row = replace(row, backoff_reason=event.reason or None, backoff_cause=Outcome.BUSY)
        if not event.last and row.condition is Condition.CHECKED_OUT:
            partition.update(host, row)
        elif row.queued:
            row = partition.queues.renumbered(row)
            (partition.back_off if wait else partition.delay)(host, row)
        else:
            partition.unload(host, row, Trigger.EMPTIED)

    def _overtaken(self, partition: Partition, host: Host, event: VisitEnded, now: float) -> None:
        """Heed what *host* asked for in a visit that is told too late to count.

        A store that was put back may not have the host yet: its admission is read after that.
        """
        if not host.stored and partition.erasures.covers(event.visit):
            return
        lease = host.row.lease
        counted = event.order == lease.order and event.index < lease.done
        if event.started_at and event.retry_after and not counted:
            partition.update(host, self._held_back(host.row, event, now))

    def _held_back(self, row: HostRow, event: VisitEnded, now: float) -> HostRow:
        """Return *row* with the time that its host has asked for, beside all other waits."""
        until = now + min(event.retry_after, self._settings.retry_after_limit)
        until = max(until, row.politeness.busy_until or 0.0)
        return replace(row, politeness=replace(row.politeness, busy_until=until))

    def _ending(self, partition: Partition, event: VisitEnded) -> Ending:
        if event.visit.on_behalf_of:
            return self._errand_ended
        if event.visit.purpose is Purpose.PROBE:
            return self._probe_ended
        if event.visit.purpose is Purpose.ROBOTS:
            return self.robots.ended
        is_erased = partition.erasures.covers(event.visit)
        return self._errand_ended if is_erased else self._page_ended

    def _errand_ended(
        self, partition: Partition, host: Host, row: HostRow, event: VisitEnded, now: float
    ) -> tuple[HostRow, float]:
        """Return the same of a visit for another host's robots.txt: that host has its answer; or of
        one to a URL that was erased since."""
        meaning = OUTCOMES[event.outcome]
        if meaning.fate is not Fate.STAY:
            row = partition.queues.advance(row)
        if meaning.fate is not Fate.WAIT:
            return row, 0.0
        return row, now + self._trouble_wait(row, event, meaning.health)

    def _probe_ended(
        self, partition: Partition, host: Host, row: HostRow, event: VisitEnded, now: float
    ) -> tuple[HostRow, float]:
        """Return the same of a visit to a page that cannot exist."""
        row, meaning = probed(row, event, now), OUTCOMES[event.outcome]
        wait = self._trouble_wait(row, event, meaning.health)
        return row, now + wait if meaning.fate is Fate.WAIT else 0.0

    def _trouble_wait(self, row: HostRow, event: VisitEnded, kind: str) -> float:
        times = row.politeness.troubles.get(kind, 0)
        return trouble_wait(self._settings, row.host, event.outcome, times, event.retry_after)

    def _rested(
        self, partition: Partition, host: Host, row: HostRow, event: VisitEnded, now: float
    ) -> HostRow:
        delay = courtesy_delay(self._settings, event.took, partition.robots(host))
        delay = partition.sites.overrides.delay(event.site, event.host, delay)
        delay = strained_delay(delay, row.politeness.strain)
        partition.sites.paced(event.site, delay)
        partition.bench.visited(event.host, now + delay, now)
        politeness = replace(row.politeness, delay=delay)
        row = replace(row, politeness=politeness, ready_at=now + delay)
        self._balance.visited(row, now)
        return row

    def _handed_back(self, row: HostRow, event: VisitEnded, now: float) -> HostRow:
        """Return the row of a host whose order no fetcher could begin: it comes when that asks."""
        wait = min(event.retry_after, self._settings.retry_after_limit)
        wait = wait or refused_wait(row.politeness.delay, row.politeness.refused)
        why = event.reason or None
        ready_at = max(row.ready_at, now + wait)
        return replace(row, ready_at=ready_at, backoff_reason=why, backoff_cause=event.outcome)

    def _page_ended(
        self, partition: Partition, host: Host, row: HostRow, event: VisitEnded, now: float
    ) -> tuple[HostRow, float]:
        """Return the row as it is then, and until when the host is in trouble; 0: it is well."""
        fate, kind = OUTCOMES[event.outcome].fate, OUTCOMES[event.outcome].health
        wait = self._trouble_wait(row, event, kind)
        times = row.politeness.troubles.get(kind, 0)
        given_up = is_given_up(self._settings, event.outcome, times, event.retry_after)
        earlier, attempt = event.visit.earlier, event.visit.attempt
        if fate is Fate.RETRY and attempt < self._settings.retries:
            self._revisits.retry(partition, event, now + retry_wait(attempt + 1))
            self._written(event, earlier, attempt + 1, now)
        elif fate is Fate.WAIT and not given_up:
            self._written(event, earlier, attempt, now, queued=True)
        elif fate is not Fate.STAY and self._written(event, earlier + 1, 0, now):
            self._revisits.record_absence(partition, event, event.visit, event.started_at or now)
        if fate in (Fate.DONE, Fate.RETRY) or (fate is Fate.WAIT and given_up):
            row = partition.queues.advance(row)
        in_trouble = fate is Fate.WAIT or (fate is Fate.RETRY and given_up)
        return row, now + wait if in_trouble else 0.0

    def _written(
        self, event: VisitEnded, earlier: int, attempt: int, now: float, queued: bool = False
    ) -> bool:
        """Write an outcome down; return whether it is one of a page that no verdict follows."""
        self._urls.put(
            UrlRow(
                crawl=event.crawl,
                host=event.host,
                url=event.visit.url,
                outcome=event.outcome,
                at=event.started_at or now,
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
            # The verdict may be here already.
            last = self._verdicts.get((event.crawl, event.host), event.visit.url)
            if last and last.verdict in GONE_VERDICTS and last.at >= row.at:
                to = last.redirects_to or row.redirects_to
                row = replace(row, verdict=last.verdict, redirects_to=to)
        return row

    def judged(self, partition: Partition, event: PageJudged) -> None:
        """Write a verdict down, and count the pages in a row that could not be read."""
        if event.verdict not in GONE_VERDICTS:
            sites = partition.sites
            before = sites.unreadable(event.site, event.host)
            sites.judged(event.site, event.host, count_unreadable(before, event, self._settings))
        self._verdicts.put(
            VerdictRow(
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
        )
        self._history.put(_history_of(event))

    def _release(
        self,
        partition: Partition,
        host: Host,
        row: HostRow,
        backoff_until: float,
        event: VisitEnded,
    ) -> None:
        row = partition.queues.renumbered(self._turned(partition, row, event))
        if backoff_until:
            until = max(row.ready_at, backoff_until)
            row = replace(
                row, ready_at=until, backoff_reason=why(event), backoff_cause=event.outcome
            )
        if not row.queued:
            partition.unload(host, row, Trigger.EMPTIED)
        elif backoff_until:
            partition.back_off(host, row)
        else:
            partition.delay(host, row)

    def _turned(self, partition: Partition, row: HostRow, event: VisitEnded) -> HostRow:
        """Return the row with the queue whose turn it is, if both wait."""
        new = row.new.queued
        share = self._revisits.allocation.discovery_share(partition, event.site) if new else 0.0
        partition.sites.shared(event.site, share)
        if not (new and row.again.queued):
            return replace(row, owed=0.0) if row.owed else row
        queued = event.visit.purpose not in (Purpose.ROBOTS, Purpose.PROBE)
        made = row.lease.done if queued else 0
        return turned(row, made, share)


def _remembered(partition: Partition, row: HostRow, event: VisitEnded, now: float) -> HostRow:
    """Return the row with the cookies that the visit has set for this host alone."""
    if not event.cookies:
        return row
    shared = [cookie for cookie in event.cookies if cookie.whole_domain]
    own = [cookie for cookie in event.cookies if not cookie.whole_domain]
    partition.sites.learn_cookies(event.site, shared, now)
    return replace(row, cookies=merge_cookies(row.cookies, own, now))


def _accounted(row: HostRow, event: VisitEnded) -> HostRow:
    asked = event.started_at > 0
    health = OUTCOMES[event.outcome].health
    if health.failed:
        row = troubled(row, health)
    elif asked and health is Health.WELL:
        row = untroubled(row, *(row.politeness.troubles.keys() - {ROBOTS, ELSEWHERE}))
    totals = row.totals
    day = int(event.started_at // DAY) if asked else totals.day
    totals = HostTotals(
        admitted=totals.admitted,
        visits=totals.visits + asked,
        pages=totals.pages + (event.outcome is Outcome.PAGE),
        received=totals.received + event.received,
        seconds=totals.seconds + event.took,
        day=day,
        day_visits=asked + (totals.day_visits if day == totals.day else 0),
    )
    was = row.politeness
    politeness = replace(
        was,
        last_took=event.took if asked else was.last_took,
        refused=was.refused + (event.outcome is Outcome.UNVISITED) if not asked else 0,
    )
    lease = replace(row.lease, done=row.lease.done + 1)
    return replace(row, totals=totals, lease=lease, politeness=politeness)


def _history_of(event: PageJudged) -> HistoryRow:
    return HistoryRow(
        crawl=event.crawl,
        url=event.visit.url,
        at=event.fetched_at or event.at,
        outcome=_outcome_of(event),
        status=event.status,
        size=event.size,
        verdict=event.verdict,
        digest=event.digest,
        duplicate_of=event.duplicate_of or event.near_duplicate_of,
        redirects_to=event.redirects_to,
        change=event.change,
    )


def _outcome_of(event: PageJudged) -> Outcome:
    """Return how the visit ended: for a document that is gone as the check-in has it."""
    if event.verdict is Verdict.REDIRECT:
        return Outcome.REDIRECT
    if event.verdict is Verdict.GONE:
        return Outcome.GONE if event.status in GONE else Outcome.CLIENT_ERROR
    return Outcome.NOT_MODIFIED if event.status == NOT_MODIFIED else Outcome.PAGE
