"""Check-in: outcomes move the cursor, teach the robots rules, and at last release the host."""

from msgspec.structs import replace

from gossamer.config import FrontierSettings
from gossamer.events import Outcome, Purpose, VisitEnded
from gossamer.robots import RobotsRules
from gossamer.store import Store
from services.frontier import directory
from services.frontier.hosts import Hosts
from services.frontier.politeness import (
    FATES,
    TROUBLE,
    Fate,
    courtesy_delay,
    retry_wait,
    trouble_wait,
)
from services.frontier.rows import Condition, HistoryRow, HostRow, RobotsRow, UrlRow
from services.frontier.workbench import Host, rest

UNASKED_ROBOTS_AGE = 86400.0


class CheckIn:
    """Takes outcomes in. One that does not belong to the host's last order is dropped."""

    def __init__(self, settings: FrontierSettings, hosts: Hosts, store: Store) -> None:
        self._settings, self._hosts = settings, hosts
        self._urls = store.table(UrlRow)
        self._history = store.table(HistoryRow)

    def ended(self, event: VisitEnded, now: float) -> None:
        """Take one outcome in; the last of an order releases the host."""
        host = self._hosts.bench.hosts.get(event.host)
        if host is None or (event.order, event.index) != (host.row.order, host.row.done):
            return
        tally = self._hosts.claim(event.site).tally
        tally.ended(event)
        self._hosts.move(host, _accounted(host.row, event))
        tally.weighed(event.host, host.row.received)
        if event.visit.purpose is Purpose.ROBOTS:
            blocked_until = self._robots_ended(host, event, now)
        else:
            blocked_until = self._page_ended(host, event, now)
        if event.started_at:
            self._hosts.move(host, self._rested(host, event, now))
        # Not checked out any more: its fetcher died, and what it had said before comes only now.
        if event.last or host.row.condition is not Condition.CHECKED_OUT:
            self._release(host, blocked_until, event, now)

    def _rested(self, host: Host, event: VisitEnded, now: float) -> HostRow:
        robots = self._hosts.robots(host)
        crawl_delay = robots.rules.crawl_delay if robots else 0.0
        delay = courtesy_delay(self._settings, event.took, crawl_delay)
        return replace(host.row, delay=delay, ready_at=now + delay)

    def _page_ended(self, host: Host, event: VisitEnded, now: float) -> float:
        fate, failures = FATES[event.outcome], host.row.failures
        wait = trouble_wait(self._settings, event.outcome, max(failures, 1), event.retry_after)
        given_up = failures > self._settings.retries
        next_visit_at = 0.0
        if fate is Fate.AGAIN and event.visit.attempt < self._settings.retries:
            next_visit_at = now + retry_wait(event.visit.attempt + 1)
            self._come_again(event, next_visit_at)
        if fate is Fate.WAIT and not given_up:
            next_visit_at = now + wait
        if fate is not Fate.STAY:
            counted = fate is not Fate.WAIT or given_up
            self._urls.put(_url_row(event, next_visit_at, counted, now))
            if event.outcome is not Outcome.PAGE:
                self._history.put(_history_row(event, now))
        if fate in (Fate.DONE, Fate.AGAIN) or (fate is Fate.WAIT and given_up):
            self._hosts.move(host, self._hosts.queues.advance(host.row))
        in_trouble = fate is Fate.WAIT or (fate is Fate.AGAIN and given_up)
        return now + wait if in_trouble else 0.0

    def _come_again(self, event: VisitEnded, at: float) -> None:
        claim = self._hosts.claim(event.site)
        claim.calendar.add(at, event.site, event.host, event.visit.url)
        claim.tally.due_count += 1

    def _robots_ended(self, host: Host, event: VisitEnded, now: float) -> float:
        if event.outcome is Outcome.UNVISITED:
            return 0.0
        if event.robots and not event.robots.forbidden:
            self._hosts.learn_robots(host, RobotsRow(event.host, event.robots))
            return 0.0
        if event.outcome is Outcome.PRIVATE_ADDRESS:
            # Nothing of this host is going to be asked: let each URL of its queue learn that.
            expires_at = now + UNASKED_ROBOTS_AGE
            rules = RobotsRules(fetched_at=now, expires_at=expires_at)
            self._hosts.learn_robots(host, RobotsRow(event.host, rules))
            return 0.0
        return self._robots_unreachable(host, event, now)

    def _robots_unreachable(self, host: Host, event: VisitEnded, now: float) -> float:
        """RFC 9309, 2.3.1.4: everything is disallowed; after 30 days, as if there were no file."""
        known = self._hosts.robots(host)
        since = (known.unreachable_since if known else 0.0) or now
        until = now + trouble_wait(
            self._settings, event.outcome, max(host.row.failures, 1), event.retry_after
        )
        if now - since >= self._settings.robots_unreachable_limit and event.robots:
            rules = RobotsRules(fetched_at=now, expires_at=now + UNASKED_ROBOTS_AGE)
            self._hosts.learn_robots(host, RobotsRow(event.host, rules, since))
            return 0.0
        why = event.robots.forbidden if event.robots else event.reason or str(event.outcome)
        rules = RobotsRules(forbidden=why, fetched_at=now, expires_at=until)
        self._hosts.learn_robots(host, RobotsRow(event.host, rules, since))
        if host.row.failures > self._settings.retries and not event.robots:
            self._urls.put(self._given_up(host.row, event, now))
            self._hosts.move(host, self._hosts.queues.advance(host.row))
        return until

    def _given_up(self, row: HostRow, event: VisitEnded, now: float) -> UrlRow:
        [first] = self._hosts.queues.first(row, 1)
        return UrlRow(
            host=row.host,
            url=first.url,
            outcome=event.outcome,
            at=now,
            reason=f"robots.txt: {event.reason}",
            depth=first.depth,
            via=first.via,
            crawl=first.crawl,
        )

    def _release(self, host: Host, blocked_until: float, event: VisitEnded, now: float) -> None:
        row, why = self._hosts.queues.renumbered(host.row), ""
        if blocked_until:
            forbidden = event.robots.forbidden if event.robots else ""
            why = forbidden or event.reason or str(event.outcome)
            row = replace(row, ready_at=max(row.ready_at, blocked_until))
        if not row.queued:
            row = replace(row, condition=Condition.IDLE, blocked_why=why)
            self._hosts.put_away(host, row)
            self._hosts.fill(now)
        elif blocked_until:
            self._hosts.move(host, row)
            self._hosts.block(host, row.ready_at, why)
            self._hosts.fill(now)
        else:
            row = rest(row, row.ready_at)
            if row.number - row.listed > directory.BUCKET:
                self._hosts.relist(host, row)
            else:
                self._hosts.move(host, row)


def _accounted(row: HostRow, event: VisitEnded) -> HostRow:
    asked = event.started_at > 0
    trouble = event.outcome in TROUBLE
    well = asked and not trouble and event.outcome is not Outcome.SERVER_ERROR
    return replace(
        row,
        done=row.done + 1,
        visits=row.visits + asked,
        pages=row.pages + (event.outcome is Outcome.PAGE),
        received=row.received + event.received,
        seconds=row.seconds + event.took,
        last_took=event.took if asked else row.last_took,
        failures=0 if well else row.failures + trouble,
    )


def _history_row(event: VisitEnded, now: float) -> HistoryRow:
    return HistoryRow(
        url=event.visit.url,
        at=event.started_at or now,
        outcome=event.outcome,
        status=event.status,
        reason=event.reason,
        size=event.received,
    )


def _url_row(event: VisitEnded, next_visit_at: float, counted: bool, now: float) -> UrlRow:
    visit = event.visit
    return UrlRow(
        host=event.host,
        url=visit.url,
        outcome=event.outcome,
        at=event.started_at or now,
        status=event.status,
        reason=event.reason,
        location=event.location,
        depth=visit.depth,
        hops=visit.hops,
        via=visit.via,
        attempt=visit.attempt + counted,
        crawl=event.crawl,
        next_visit_at=next_visit_at,
        trace=visit.trace,
    )
