"""Admission: puts URLs into the queues of their hosts, or writes down which rule refuses them.

URLs come again in four ways: their time has come, a person wants a page fetched again, a person
says that a host is well (`gossamer retry`), or another host's robots.txt lies here. A person knows
what no wait can know: that the server is up again, that the name exists now. So the trouble counts
as over, as after an answer. Politeness stays: the courtesy delay is kept, and a Retry-After and
robots.txt are obeyed.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

from msgspec.structs import replace

from gossamer.events import (
    CrawlDefined,
    Discovery,
    Outcome,
    Purpose,
    RefetchAsked,
    RetryAsked,
    RobotsAsked,
    UrlsAdmitted,
)
from gossamer.events.outcomes import FAILURES, OUTCOMES, Fate
from gossamer.events.provenance import admitted, provenance
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.web.in_links import Sketch, linked, linking_site
from gossamer.web.url import host_key
from gossamer.web.validators import EVERY, NO_VALIDATORS, Validators, is_conditional
from services.frontier import revisit
from services.frontier.conditions import Condition
from services.frontier.directory import request_number
from services.frontier.memory import Host
from services.frontier.partition import Partition
from services.frontier.partitions import Partitions
from services.frontier.refusals import Candidate, Refusals, refusal
from services.frontier.revisit import Basis, asked_for, packed, unpacked
from services.frontier.revisits import Revisits
from services.frontier.rows import DueRow, DueVisit, HostRow, Position, QueuedUrl, Unread, UrlRow


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
            for found in group:
                candidate = Candidate(
                    found, host, len(accepted), crawl, self._refusals.blacklist, self._settings,
                    partition, now,
                )  # fmt: skip
                if refused := refusal(candidate):
                    how = admitted(found, event)
                    self._refusals.write(partition, event.site, found, how, refused, crawl, now)
                else:
                    accepted.append(found)
            if accepted:
                self._accept(partition, host, accepted, event, now, record)
        partition.sites.begin(event.site, None)

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
        row = replace(host.row, admitted=host.row.admitted + len(accepted), applied=applied)
        first = self._partitions.next_moment(partition, now, len(accepted))
        linking = linking_site(event.via, event.site)
        urls = [_queued(found, event, linking, first + n) for n, found in enumerate(accepted)]
        if self._revisits.shares.limited:
            partition.update(host, row)
            for url in urls:
                self._revisits.hold(partition, row, url, now)
        else:
            _queue(partition, host, row, urls, now)

    def again(self, partition: Partition, due: DueRow, now: float) -> None:
        """Queue a URL whose time has come, unless that has been done."""
        visit = self._urls.get(due.host, due.url)
        if visit is None or visit.next_visit_at != due.at:
            return
        self._requeue(partition, due.site, visit, now)

    def revisit(self, partition: Partition, due: DueVisit, now: float) -> None:
        """Queue a URL whose visit is due; on condition, as long as that can be trusted."""
        validators, conditional = _condition(partition, due.site, due, due.validators)
        number = due.number or self._next_number(partition, now)
        url = QueuedUrl(
            "",
            0,
            due.url,
            number,
            validators=validators,
            conditional=conditional,
            statistics=due.statistics,
            basis=due.basis,
            **provenance(due, due.crawl),
        )
        host = partition.find(due.site, due.host)
        _queue(partition, host, host.row, [url], now)

    def refetch(self, partition: Partition, site: str, key: str, url: str, now: float) -> None:
        """Queue a URL that was visited, however it fared and whenever it is due."""
        visit = self._urls.get(key, url)
        if visit is not None and (visit.earlier or visit.attempt):
            self._requeue(partition, site, visit, now, Basis.ASKED)

    def once_more(self, partition: Partition, site: str, key: str, url: str, now: float) -> None:
        """Queue a URL that failed, although no attempt is left to it or its time has not come."""
        visit = self._urls.get(key, url)
        if visit is None or visit.outcome not in FAILURES:
            return
        # While a host is left alone, the URL that found it in trouble stays first in its queue.
        if OUTCOMES[Outcome(visit.outcome)].fate is not Fate.WAIT or not visit.next_visit_at:
            self._requeue(partition, site, visit, now)

    def _requeue(
        self, partition: Partition, site: str, visit: UrlRow, now: float, basis: str = ""
    ) -> None:
        if visit.next_visit_at:
            # Last: as long as the queue does not have it, it must be found due again.
            self._urls.put(replace(visit, next_visit_at=0.0), last=True)
            partition.stop_waiting()
        host = partition.find(site, visit.host)
        number = self._next_number(partition, now)
        known = self._revisits.known(visit.host, visit.url)
        statistics = known.statistics if known else b""
        if basis == Basis.ASKED:
            statistics = packed(asked_for(unpacked(statistics)))
        found = known.validators if known else NO_VALIDATORS
        validators, conditional = _condition(partition, site, visit, found)
        url = QueuedUrl(
            "",
            0,
            visit.url,
            number,
            validators=validators,
            conditional=conditional,
            statistics=statistics,
            basis=basis,
            **provenance(visit, visit.crawl),
        )
        _queue(partition, host, host.row, [url], now)

    def errand(self, partition: Partition, event: RobotsAsked, now: float) -> None:
        """Queue a URL at which another host's robots.txt lies."""
        host = partition.find(event.site, host_key(event.url))
        number = self._next_number(partition, now)
        url = QueuedUrl("", 0, event.url, number, hops=event.hops, asker=event.asker)
        url = replace(url, purpose=Purpose.ROBOTS)
        _queue(partition, host, host.row, [replace(url, crawl=event.crawl)], now)

    def _next_number(self, partition: Partition, now: float) -> int:
        return request_number(0, self._partitions.next_moment(partition, now))


def _queue(
    partition: Partition, host: Host, row: HostRow, urls: Sequence[QueuedUrl], now: float
) -> None:
    row = partition.queues.append(row, urls)
    if row.condition is Condition.IDLE:
        partition.enter(host, row, now)
    else:
        partition.update(host, row)


def _condition(
    partition: Partition, site: str, of: DueVisit | UrlRow, found: Validators
) -> tuple[Validators, bool]:
    """Return the validators that a visit sends, and whether it asks for changes alone.

    *found* are those of the last visit. Now and then a visit asks for the whole page.
    """
    trust = partition.sites.validators(site, of.host)
    conditional = is_conditional(found, trust, of.earlier % EVERY)
    return NO_VALIDATORS if trust.lie else found, conditional


def _host_of(found: Discovery) -> str:
    return host_key(found.url)


def _queued(found: Discovery, event: UrlsAdmitted, linking: str, moment: int) -> QueuedUrl:
    """Return *found*, which a page of the site *linking* links to, as it is queued."""
    in_links = linked(0, linking, found.url) if linking else 0
    statistics = _found(found.depth, found.priority, in_links, found.every)
    number, how = request_number(found.priority, moment), admitted(found, event)
    return QueuedUrl("", 0, found.url, number, statistics=statistics, **how)


@lru_cache(maxsize=10_000)
def _found(depth: int, priority: int, in_links: Sketch, every: float) -> bytes:
    """Return what is known of a page that is new; of most new pages it is the same."""
    return packed(revisit.found(depth, priority, in_links, every))


class Retries:
    """Carries out what `gossamer retry` asks for."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission

    def asked(self, partition: Partition, event: RetryAsked, now: float) -> None:
        """Take the host's trouble for over, and queue its URLs that failed."""
        host = partition.find(event.site, event.host)
        if not host.stored:
            return
        _lift(partition, host, now)
        for url in event.urls:
            self._admission.once_more(partition, event.site, event.host, url, now)

    def refetch(self, partition: Partition, event: RefetchAsked, now: float) -> None:
        """Queue URLs that were visited before."""
        for url in event.urls:
            self._admission.refetch(partition, event.site, event.host, url, now)


def _lift(partition: Partition, host: Host, now: float) -> None:
    row = host.row
    if not row.blocked_why or row.blocked_by in (Outcome.BUSY, Outcome.UNVISITED):
        return
    robots = partition.robots(host)
    if robots and robots.rules.forbidden:
        rules = replace(robots.rules, expires_at=min(robots.rules.expires_at, now))
        partition.learn_robots(host, replace(robots, rules=rules))
    partition.sites.judged(row.site, row.host, Unread())
    row = replace(row, ready_at=min(row.ready_at, now + row.delay), troubles={})
    if row.condition is Condition.BLOCKED:
        partition.wait_until(host, row)
    elif row.condition is Condition.IDLE:
        partition.update(host, replace(row, blocked_why=""))
