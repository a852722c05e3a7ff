"""The rules of a host's robots.txt: what visits to it teach, and where it lies.

While a robots.txt cannot be had (RFC 9309, 2.3.1.4) everything is disallowed, unless the last copy
of it is known: that holds meanwhile (2.4). After 30 days it counts as if there were none. It is
asked for again after ten minutes, and then more and more rarely.

**Errands.** A robots.txt may redirect to another host (RFC 9309, 2.3.1.2). That host has a delay, a
lease and perhaps a frontier of its own, so the fetcher does not follow the redirect within the
visit. It sends `RobotsRequested` to the frontier of the host where the file lies. That frontier
queues the URL as an errand, a visit like any other, and answers with `RobotsAnswered`. Meanwhile
the first host waits, as while its robots.txt is unreachable.

Known rules need no visit. If the URL is the robots.txt of its own host, the valid rules of that
host are the answer, also to errands that were queued before the rules were known: however many
hosts redirect there, the file is visited once. If that host waits for its own rules from elsewhere,
the errand goes there. So robots.txt files that redirect to each other come to an end, after the
redirects that are followed. Hosts whose files lie at each other, and are no robots.txt there, wait
for each other as for what is unreachable.
"""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from gossamer.blocklist import Blocklist
from gossamer.bounds import exclusion_of
from gossamer.events import (
    CrawlDefined,
    Discovery,
    Event,
    Outcome,
    Purpose,
    RobotsAnswered,
    RobotsRequested,
    UrlsDiscovered,
    VisitEnded,
)
from gossamer.events.outcomes import OUTCOMES, Fate
from gossamer.events.provenance import group_by_site
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.web.robots import REDIRECTS, RobotsRules
from gossamer.web.url import fingerprint, host_key, site_of
from services.frontier.conditions import Condition
from services.frontier.memory import Host
from services.frontier.partition import Partition
from services.frontier.partitions import Partitions
from services.frontier.politeness import elsewhere_wait, is_given_up, trouble_wait
from services.frontier.revisits import Revisits
from services.frontier.rows import HostRow, Origin, QueuedUrl, RobotsRow, UrlRow

UNASKED_AGE = 86400.0
"""Seconds for which nothing is forbidden without anybody's having said so."""
DEPTH = 1
"""Of a sitemap: as of what the start page links to."""
ROBOTS, ELSEWHERE = "robots", "robots elsewhere"
"""The kinds of trouble of a host whose robots.txt cannot be had though it answers, and of one whose
robots.txt was asked for where it lies, and has not come."""
Report = VisitEnded | RobotsAnswered


class RobotsReports:
    """Takes in how visits to robots.txt ended, at the host itself or where its file lies."""

    def __init__(self, settings: FrontierSettings, revisits: Revisits, store: Store) -> None:
        self._settings, self._revisits = settings, revisits
        self._urls = store.table(UrlRow)

    def ended(
        self, partition: Partition, host: Host, row: HostRow, event: Report, now: float
    ) -> tuple[HostRow, float]:
        """Return the row as it is then, and until when the host is in trouble; 0: it is well."""
        if OUTCOMES[event.outcome].fate is Fate.STAY:
            return row, 0.0
        if isinstance(event, VisitEnded) and _elsewhere(event):
            return self._asked(partition, host, row, event, now)
        if event.robots and not event.robots.forbidden:
            partition.learn_robots(host, RobotsRow(event.host, event.robots))
            return untroubled(row, ROBOTS, ELSEWHERE), 0.0
        if event.outcome is Outcome.PRIVATE_ADDRESS:
            # Nothing of this host is going to be asked: let each URL of its queue learn that.
            _allow_all(partition, host, now)
            return row, 0.0
        if event.outcome is Outcome.BLACKLISTED:
            return row, now + self._wait(row, event, "")
        return self._unreachable(partition, host, row, event, now)

    def _asked(
        self, partition: Partition, host: Host, row: HostRow, event: VisitEnded, now: float
    ) -> tuple[HostRow, float]:
        """Everything is disallowed until the answer comes from where the file lies."""
        since = _unreachable_since(partition, host, now)
        if now - since >= self._settings.robots_unreachable_limit:
            _allow_all(partition, host, now, since)
            return row, 0.0
        row = troubled(row, ELSEWHERE)
        until = now + elsewhere_wait(self._settings, row.host, row.politeness.troubles[ELSEWHERE])
        known = RobotsRow(event.host, _forbidden(event, now, until), since, event.location)
        partition.learn_robots(host, replace(known, copy=_copy(partition, host)))
        return row, until

    def _unreachable(
        self, partition: Partition, host: Host, row: HostRow, event: Report, now: float
    ) -> tuple[HostRow, float]:
        since = _unreachable_since(partition, host, now)
        if now - since >= self._settings.robots_unreachable_limit and event.robots:
            _allow_all(partition, host, now, since)
            return row, 0.0
        kind: str = OUTCOMES[event.outcome].health
        if isinstance(event, RobotsAnswered) or not OUTCOMES[event.outcome].health.failed:
            # Not the host's own trouble, or none that was counted as such.
            kind = ROBOTS
            row = troubled(row, kind)
        until = now + self._wait(row, event, kind)
        copy = _copy(partition, host)
        if copy and kind == ROBOTS:
            rules = replace(copy, expires_at=until)
            partition.learn_robots(host, RobotsRow(event.host, rules, since))
            return row, 0.0
        rules = _forbidden(event, now, until)
        partition.learn_robots(host, RobotsRow(event.host, rules, since, copy=copy))
        return self._given_up(partition, row, event, kind, now), until

    def _wait(self, row: HostRow, event: Report, kind: str) -> float:
        times = row.politeness.troubles.get(kind, 0)
        return trouble_wait(self._settings, row.host, event.outcome, times, event.retry_after)

    def _given_up(
        self, partition: Partition, row: HostRow, event: Report, kind: str, now: float
    ) -> HostRow:
        """Return the row without the first URL of its queue, if that was tried often enough."""
        times = row.politeness.troubles.get(kind, 0)
        given_up = is_given_up(self._settings, event.outcome, times, event.retry_after)
        if not row.queued or event.robots or not given_up:
            return row
        [first] = partition.queues.first(row, 1)
        if not first.url:
            return partition.queues.advance(row)
        self._urls.put(_url_row(row, first, event, now))
        self._revisits.record_absence(partition, event, first, now)
        return partition.queues.advance(row)


class Errands:
    """Takes in what fetchers ask and answer of robots.txt files that lie elsewhere."""

    def __init__(self, partitions: Partitions, reports: RobotsReports) -> None:
        self._partitions, self._reports = partitions, reports

    def asked(self, partition: Partition, event: RobotsRequested, now: float) -> Iterator[Event]:
        """Queue an errand, or yield what follows from what is known."""
        known = _known(partition, event)
        if event.hops > REDIRECTS:
            rules = RobotsRules(fetched_at=now, expires_at=now + UNASKED_AGE)
            yield _answer(event, rules, now)
        elif known and known.asked and known.rules.expires_at > now:
            site, hops = site_of(known.asked), event.hops + 1
            yield replace(event, at=now, site=site, url=known.asked, hops=hops)
        elif answer := known_answer(event, known, now):
            yield answer
        else:
            self._queue(partition, event, now)

    def _queue(self, partition: Partition, event: RobotsRequested, now: float) -> None:
        host = partition.find(event.site, host_key(event.url))
        errand = QueuedUrl(
            event.crawl,
            "",
            0,
            event.url,
            self._partitions.next_number(partition, now),
            Origin(hops=event.hops, purpose=Purpose.ROBOTS),
            on_behalf_of=event.on_behalf_of,
        )
        partition.queue(host, host.row, [errand], now)

    def answered(self, partition: Partition, event: RobotsAnswered, now: float) -> None:
        """Give a host that waits its rules; what comes when it does not wait any more is late."""
        host = partition.find(event.site, event.host)
        known = partition.robots(host)
        if not known or not known.asked or host.row.condition is not Condition.BACKING_OFF:
            return
        row, until = self._reports.ended(partition, host, host.row, event, now)
        if until:
            why = event.reason or str(event.outcome)
            row = replace(row, backoff_reason=why, backoff_cause=event.outcome)
        ready_at = max(until, now + row.politeness.delay)
        partition.wait_until(host, replace(row, ready_at=ready_at))


def _known(partition: Partition, event: RobotsRequested) -> RobotsRow | None:
    if not _is_its_own(event):
        return None
    return partition.robots(partition.find(event.site, host_key(event.url)))


def known_answer(
    errand: RobotsRequested | QueuedUrl, robots: RobotsRow | None, now: float
) -> RobotsAnswered | None:
    """Return the answer to *errand*, if *robots*, of the host where the file lies, has it."""
    if not robots or robots.rules.expires_at <= now or robots.rules.forbidden:
        return None
    return _answer(errand, robots.rules, now) if _is_its_own(errand) else None


def forbidden_answer(errand: QueuedUrl, why: str, now: float) -> RobotsAnswered:
    """Return the answer to an *errand* that is not visited, because of *why*.

    The asking host is not visited until it has another answer.
    """
    reason = f"robots.txt could not be fetched: {why}"
    rules = RobotsRules(forbidden=reason, fetched_at=now, expires_at=now + UNASKED_AGE)
    return replace(_answer(errand, rules, now), outcome=Outcome.BROKEN, reason=reason)


def _is_its_own(errand: RobotsRequested | QueuedUrl) -> bool:
    """Return whether the file is the robots.txt of the host where it lies."""
    return errand.url == f"{host_key(errand.url)}/robots.txt"


def _answer(errand: RobotsRequested | QueuedUrl, rules: RobotsRules, now: float) -> RobotsAnswered:
    return RobotsAnswered(
        crawl=errand.crawl,
        at=now,
        site=site_of(errand.on_behalf_of),
        host=errand.on_behalf_of,
        url=errand.url,
        outcome=Outcome.PAGE,
        robots=rules,
    )


def _unreachable_since(partition: Partition, host: Host, now: float) -> float:
    known = partition.robots(host)
    if known is None or known.unreachable_since is None:
        return now
    return known.unreachable_since


def _copy(partition: Partition, host: Host) -> RobotsRules | None:
    """Return the rules that were last read from a file; None if none ever were."""
    known = partition.robots(host)
    if known is None:
        return None
    return known.rules if known.rules.status // 100 == 2 else known.copy


def _allow_all(
    partition: Partition, host: Host, now: float, unreachable_since: float | None = None
) -> None:
    rules = RobotsRules(fetched_at=now, expires_at=now + UNASKED_AGE)
    partition.learn_robots(host, RobotsRow(host.row.host, rules, unreachable_since))


def sitemaps_found(
    event: Report, crawl: CrawlDefined | None, now: float
) -> Iterable[UrlsDiscovered]:
    """Return the sitemaps that a robots.txt names as they go to the URL-seen test, which lets each
    pass once; without those that *crawl* leaves out."""
    if not event.sitemaps or crawl is None:
        return ()
    named = [
        Discovery(url, DEPTH, trace=fingerprint(url), purpose=Purpose.SITEMAP)
        for url in event.sitemaps
    ]
    # What is on the blocklist is refused when it is admitted, and parked.
    found = [one for one in named if exclusion_of(crawl, Blocklist(), one) is None]
    # Of whom it is, wherever it lies: it is that site's word.
    via = event.visit.id if isinstance(event, VisitEnded) else f"robots@{event.host}/robots.txt"
    return group_by_site(found, via, event.crawl, now)


def why(event: Report) -> str:
    """Return why the host is left alone."""
    forbidden = event.robots.forbidden if event.robots else ""
    return forbidden or event.reason or str(event.outcome)


def troubled(row: HostRow, kind: str) -> HostRow:
    """Return *row* with one more trouble of this *kind* in a row."""
    before = row.politeness.troubles
    return _with_troubles(row, {**before, kind: before.get(kind, 0) + 1})


def untroubled(row: HostRow, *kinds: str) -> HostRow:
    """Return *row* without trouble of these *kinds*."""
    before = row.politeness.troubles
    return _with_troubles(row, {k: n for k, n in before.items() if k not in kinds})


def _with_troubles(row: HostRow, troubles: dict[str, int]) -> HostRow:
    return replace(row, politeness=replace(row.politeness, troubles=troubles))


def _elsewhere(event: VisitEnded) -> bool:
    return event.outcome is Outcome.REDIRECT and event.robots is None


def _forbidden(event: Report, now: float, until: float) -> RobotsRules:
    return RobotsRules(forbidden=why(event), fetched_at=now, expires_at=until)


def _url_row(row: HostRow, first: QueuedUrl, event: Report, now: float) -> UrlRow:
    return UrlRow(
        crawl=first.crawl,
        host=row.host,
        url=first.url,
        outcome=event.outcome,
        at=now,
        reason=f"robots.txt: {event.reason}",
        origin=first.origin,
        earlier=first.earlier + 1,
    )
