"""Hosts and sites as data: conditions, queues, delays, settings and refused URLs."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from heapq import nlargest, nsmallest
from itertools import chain
from typing import Annotated, Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from gossamer import clock
from gossamer.crawl import blocklist_of, host_overrides_of, overrides_of, speed_of
from gossamer.events import HostOverridden, SiteOverridden
from gossamer.inspection.basics.figures import times
from gossamer.inspection.basics.labels import STOPPED_WORDS, outcome_label, plain_reason
from gossamer.inspection.basics.views import view_of
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.overrides import merge_overrides
from gossamer.services.frontier.partition.gates import closed_crawl_gates, stored_crawl_inputs
from gossamer.services.frontier.partition.politeness import format_delay, overridden_delay
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow, RobotsRow, SigningState
from gossamer.services.frontier.tables.sites import ParkedPartsRow, SiteRow
from gossamer.services.frontier.tables.totals import OWN, merge
from gossamer.services.frontier.totals.tally import PartitionTallyRow, TallyRow
from gossamer.speed import Speeds
from gossamer.store import Store
from gossamer.web.url import HostKey, Site, host_name, site_of, site_of_host

NO_RUN = "no crawl runs in this folder"
EQUAL = 1e-6
"""Delays are equal if they differ by at most this many seconds."""

SIGNING_TEXTS = {
    SigningState.TRIED: "asks for signatures; signed requests are tried",
    SigningState.ADMITTED: "asks for signatures; signed requests are admitted",
    SigningState.REFUSED: "asks for signatures; signed requests are refused",
}


class Host(Struct, frozen=True, kw_only=True):
    """A host of a crawl."""

    host: HostKey
    """The host key: scheme, name and port."""
    site: Site
    condition: Condition
    shown_condition: str
    """The condition for people: of a folder where no crawl runs, `interrupted` for `checked out`
    and `waiting` for `delayed`."""
    ready_at: float
    """The time before which the host is not visited, in epoch seconds."""
    backoff_reason: str = ""
    """Why the host backs off, for people; "" if it does not."""
    backoff_cause: str | None = None
    """The outcome that caused the backoff; null without one."""
    queued: int = 0
    """URLs that wait in its queues."""
    admitted: int = 0
    """URLs of the host that were admitted."""
    visits: int = 0
    """Visits that sent a request."""
    pages: int = 0
    """Visits that ended with a page."""
    received: int = 0
    """Bytes received from the host."""
    delay: float = 0.0
    """The courtesy delay, in seconds; 0 before the first visit."""
    delay_reason: str = ""
    """The rule that decided the delay, for people; "" for the default delay."""
    walls: dict[str, int] = {}
    """Kind and name of a wall, as `challenge: Anubis` → visits that it answered."""
    certificate_fault: str = ""
    """Why the host's certificate is invalid, although it is visited; "" if it is valid."""
    signing: str = ""
    """What became of the host's request for signatures, for people; "" if it made none."""
    strain: int = 0
    """How many times the delay is doubled because the server seemed overloaded."""
    pace: float = 0.0
    """Seconds between the starts of two visits; 0 before the first response."""
    seconds_left: float = 0.0
    """Seconds until no URL of the host is queued, if none is added; 0 if none is, and without an
    estimate: before the first response, while the host backs off, or while a rule or the state of
    the crawl forbids visits."""
    order: str | None = None
    """The order that a fetcher has; null if the host is not checked out."""
    lease_until: float | None = None
    """When the lease of that order expires, in epoch seconds."""

    @property
    def delay_text(self) -> str:
        """`5 s between requests (Crawl-delay in robots.txt)`; "" before the first visit."""
        if self.delay < EQUAL:
            return ""
        reason = f" ({self.delay_reason})" if self.delay_reason else ""
        return f"{format_delay(self.delay)} between requests{reason}"


class HostSort(StrEnum):
    """The columns that hosts can be sorted by."""

    HOST = "host"
    QUEUED = "queued"
    VISITS = "visits"
    PAGES = "pages"
    RECEIVED = "received"
    DELAY = "delay"
    READY_AT = "ready_at"
    SECONDS_LEFT = "seconds_left"


class SiteSort(StrEnum):
    """The columns that sites can be sorted by."""

    SITE = "site"
    HOSTS = "hosts"
    QUEUED = "queued"
    VISITS = "visits"
    PAGES = "pages"
    RECEIVED = "received"
    BACKING_OFF = "backing_off"
    REFUSED = "refused_urls"


class HostQuery(Struct, frozen=True, kw_only=True):
    """Which hosts are listed, and in which order."""

    search: str = ""
    """A part of the host key, such as `example` or `https://`; "" for all hosts."""
    condition: Condition | None = None
    cause: str | None = None
    """Only hosts that back off because of this outcome."""
    site: Site | None = None
    crawl: str | None = None
    """Only hosts where this crawl has had URLs."""
    sort: HostSort = HostSort.QUEUED
    is_ascending: bool = False


class SiteQuery(Struct, frozen=True, kw_only=True):
    """Which sites are listed, and in which order."""

    search: str = ""
    """A part of the name; "" for all sites."""
    crawl: str | None = None
    """Only sites where this crawl has had URLs."""
    sort: SiteSort = SiteSort.HOSTS
    is_ascending: bool = False


ALL_HOSTS, ALL_SITES = HostQuery(), SiteQuery()


class SiteSums(Struct, frozen=True):
    """A site with the sums of its hosts."""

    site: Annotated[Site, OWN]
    hosts: int = 0
    """Admitted hosts of the site."""
    queued: int = 0
    """URLs that wait at its hosts."""
    visits: int = 0
    """Visits that sent a request."""
    pages: int = 0
    """Visits that ended with a page."""
    received: int = 0
    """Bytes received from its hosts."""
    backing_off: int = 0
    """Its hosts that back off."""
    refused_urls: int = 0
    """URLs of the site that a rule refused."""


class SiteSummary(SiteSums, frozen=True, kw_only=True):
    """A site, with the settings that an operator gave it."""

    refused: dict[str, int]
    """Rule → URLs that it refused."""
    parked: int = 0
    """Parked URLs of the site, about: `gossamer release` visits them."""
    has_wildcard: bool = False
    """Whether any name below the site resolves."""
    distrusted: dict[str, str]
    """Host → why its ETags and Last-Modified are distrusted."""
    override: SiteOverridden | None = None
    """The settings of `gossamer site`; null without any."""
    host_overrides: dict[str, HostOverridden]
    """Host name → the settings of `gossamer site --host`."""


def host_of(
    row: HostRow,
    robots: RobotsRow | None = None,
    override: SiteOverridden | None = None,
    is_stopped: bool = False,
) -> Host:
    """Return the data of a host from its *row*.

    *robots* and *override*, the settings that hold for the host, explain its delay. *is_stopped*:
    whether no crawl runs in the folder.
    """
    delay = _delay(row, override)
    took, words = row.politeness.last_took, STOPPED_WORDS if is_stopped else {}
    pace = 0.0 if took is None else delay + took
    is_checked_out = row.condition is Condition.CHECKED_OUT
    is_visited = row.condition is not Condition.BACKING_OFF and not (override and override.off)
    return view_of(
        Host,
        row,
        row.totals,
        shown_condition=words.get(row.condition, row.condition.value),
        backoff_reason=_backoff_reason(row),
        queued=row.queued_urls,
        delay=delay,
        delay_reason=_delay_reason(row, delay, robots, override),
        signing=SIGNING_TEXTS[row.signing.state] if row.signing.state else "",
        strain=row.politeness.strain,
        pace=pace,
        seconds_left=row.queued_urls * pace if is_visited else 0.0,
        order=row.lease.order if is_checked_out else None,
        lease_until=row.lease.expires_at if is_checked_out else None,
    )


def _backoff_reason(row: HostRow) -> str:
    if row.backoff_reason:
        return plain_reason(row.backoff_reason)
    if row.backoff_cause:
        return outcome_label(row.backoff_cause)
    return "no reason recorded" if row.condition is Condition.BACKING_OFF else ""


def _delay(row: HostRow, override: SiteOverridden | None) -> float:
    """Return the delay that will follow the next visit. A setting of `gossamer site` may be newer
    than the delay in *row*."""
    delay = row.politeness.delay
    return overridden_delay(override, delay) if override and delay >= EQUAL else delay


def _delay_reason(
    row: HostRow, delay: float, robots: RobotsRow | None, override: SiteOverridden | None
) -> str:
    if override and override.delay is not None and abs(delay - override.delay) < EQUAL:
        return "set with gossamer site"
    if strain := row.politeness.strain:
        return f"doubled {times(strain)}: the server seems overloaded"
    stated = robots.rules.crawl_delay if robots else 0.0
    if abs(delay - stated) < EQUAL and stated:
        return "Crawl-delay in robots.txt"
    is_ours = override is not None and override.ours and override.delay is not None
    if EQUAL < delay < stated and not is_ours:
        limit = f"limited to {format_delay(delay)} by frontier.crawl_delay_limit"
        return f"robots.txt asks for {format_delay(stated)}, {limit}"
    return ""


def effective_override(
    site: Site, of_site: SiteOverridden | None, of_host: HostOverridden | None
) -> SiteOverridden | None:
    """Return the settings of `gossamer site` that hold for a host; None without any."""
    if of_host is None:
        return of_site
    return merge_overrides(of_site or SiteOverridden(at=0.0, site=site), of_host)


def read_host(crawl: OpenCrawl, key: str) -> Host | None:
    """Return the host with this *key*; None if no URL of it was admitted."""
    row = crawl.store().table(HostRow).get(site_of(f"{key}/"), key)
    return host_of(row) if row else None


def read_hosts(crawl: OpenCrawl, query: HostQuery = ALL_HOSTS, limit: int = 100) -> list[Host]:
    """Return the hosts that *query* chooses, in its order, at most *limit*.

    Without a site the whole table of hosts is read.
    """
    with crawl.view(HostRow, RobotsRow, TallyRow, PartitionTallyRow) as store:
        everything = store.table(HostRow).everything
        rows = iterate_hosts(crawl, query.site) if query.site else everything()
        chosen = (row for row in rows if is_chosen(row, query))
        show = host_reader(crawl, store)

        def value(row: HostRow) -> tuple[Any, str]:
            return getattr(show(row), query.sort), row.host

        first = (nsmallest if query.is_ascending else nlargest)(limit, chosen, key=value)
        return _hosts_of(crawl, store, first)


def is_chosen(row: HostRow, query: HostQuery) -> bool:
    """Return whether *query* chooses the host of *row*."""
    is_backing_off = row.condition is Condition.BACKING_OFF
    return (
        query.search.strip().lower() in row.host
        and query.condition in (None, row.condition)
        and (query.cause is None or (is_backing_off and query.cause == row.backoff_cause))
        and query.site in (None, row.site)
        and (query.crawl is None or query.crawl in row.crawls)
    )


def read_some_hosts(crawl: OpenCrawl, keys: Sequence[tuple[Site, HostKey]]) -> list[Host]:
    """Return the hosts with these sites and host keys, in their order, without missing ones."""
    with crawl.view(HostRow, RobotsRow, TallyRow, PartitionTallyRow) as store:
        rows = {row.host: row for row in store.table(HostRow).get_all(keys)}
        return _hosts_of(crawl, store, [rows[key] for _, key in keys if key in rows])


def _hosts_of(crawl: OpenCrawl, store: Store, rows: list[HostRow]) -> list[Host]:
    """Return the data of the hosts in *rows*, with the rules that explain their delays."""
    robots = store.table(RobotsRow).get_all([(row.host, "") for row in rows])
    rules, show = {row.host: row for row in robots}, host_reader(crawl, store)
    return [show(row, rules.get(row.host)) for row in rows]


def host_reader(crawl: OpenCrawl, store: Store) -> Callable[..., Host]:
    """Return a function that makes the data of a host from its `HostRow`, and from its `RobotsRow`
    if that explains the delay, under the settings and the state of *crawl* now."""
    sites, of_hosts = overrides_of(crawl.log), host_overrides_of(crawl.log)
    blocklist, is_stopped = blocklist_of(crawl.log), crawl.is_stopped
    is_idle = _is_idle(crawl, store)

    def show(row: HostRow, robots: RobotsRow | None = None) -> Host:
        override = effective_override(
            row.site, sites.get(row.site), of_hosts.get(host_name(row.host))
        )
        host = host_of(row, robots, override, is_stopped)
        if host.seconds_left and (is_idle or blocklist.of_url(f"{host.host}/")):
            return replace(host, seconds_left=0.0)
        return host

    return show


def _is_idle(crawl: OpenCrawl, store: Store) -> bool:
    """Return whether no crawl visits any host now."""
    now = clock.now()
    return all(find_idle_reason(crawl, store, name, now) for name in crawl.crawls())


def find_idle_reason(crawl: OpenCrawl, store: Store, name: str, now: float) -> str:
    """Return why the crawl *name* visits no host *now*; "" if it may visit some."""
    inputs = stored_crawl_inputs(
        store,
        name,
        crawl.log.partitions,
        crawl.crawls().get(name),
        Speeds(speed_of(crawl.log)),
        now,
        crawl.are_all_paused,
    )
    reason = next((closed.reason for _, closed in closed_crawl_gates(inputs)), "")
    return reason or (NO_RUN if crawl.is_stopped else "")


def read_sites(
    crawl: OpenCrawl, query: SiteQuery = ALL_SITES, limit: int = 100
) -> list[SiteSummary]:
    """Return the sites that *query* chooses, in its order, at most *limit*.

    A site that has settings and no host yet is included. The tables of hosts and sites are read.
    """
    sums, visited = dict[str, SiteSums](), set[str]()
    with crawl.view(HostRow, SiteRow, ParkedPartsRow) as store:
        found: Iterator[tuple[SiteSums, Iterable[str]]] = chain(
            ((sums_of_host(row), row.crawls) for row in store.table(HostRow).everything()),
            ((sums_of_site(row), row.crawls) for row in iterate_sites(crawl)),
        )
        for one, its_crawls in found:
            if query.search.strip().lower() not in one.site:
                continue
            sums[one.site] = merge(sums[one.site], one) if one.site in sums else one
            if query.crawl is None or query.crawl in its_crawls:
                visited.add(one.site)
        chosen = (one for one in sums.values() if one.site in visited)

        def value(one: SiteSums) -> tuple[Any, str]:
            return getattr(one, query.sort), one.site

        first = (nsmallest if query.is_ascending else nlargest)(limit, chosen, key=value)
        return read_some_sites(crawl, first)


def read_site(crawl: OpenCrawl, site: Site) -> SiteSummary:
    """Return one site, which may have no host."""
    sums = merge(SiteSums(site=site), *map(sums_of_host, iterate_hosts(crawl, site)))
    return read_some_sites(crawl, [sums])[0]


def iterate_hosts(crawl: OpenCrawl, site: Site) -> Iterator[HostRow]:
    """Yield the rows of the hosts of *site*, by name."""
    table, after = crawl.store().table(HostRow), None
    while rows := table.scan(site, after):
        yield from rows
        after = rows[-1].host


def iterate_sites(crawl: OpenCrawl) -> Iterator[SiteRow]:
    """Yield the rows of all sites, and of sites that have settings alone."""
    without_row = {
        *overrides_of(crawl.log),
        *map(site_of_host, host_overrides_of(crawl.log)),
    }
    for row in crawl.store().table(SiteRow).everything():
        without_row.discard(row.site)
        yield row
    yield from (SiteRow(site) for site in sorted(without_row))


def sums_of_host(row: HostRow) -> SiteSums:
    """Return what the host of *row* adds to the sums of its site."""
    return view_of(
        SiteSums,
        row.totals,
        site=row.site,
        hosts=1,
        queued=row.queued_urls,
        backing_off=int(row.condition is Condition.BACKING_OFF),
        refused_urls=0,
    )


def sums_of_site(row: SiteRow) -> SiteSums:
    """Return what the *row* of a site itself adds to its sums: the refused URLs."""
    return SiteSums(site=row.site, refused_urls=_sum_refused(row).total())


def _sum_refused(row: SiteRow) -> Counter[str]:
    """Return rule → URLs of the site that it refused, of all crawls."""
    return sum((Counter(own.refused) for own in row.crawls.values()), Counter[str]())


def read_some_sites(crawl: OpenCrawl, sums: Sequence[SiteSums]) -> list[SiteSummary]:
    """Return the sites with these *sums*, in their order."""
    with crawl.view(SiteRow, ParkedPartsRow) as store:
        of_sites, of_hosts = overrides_of(crawl.log), host_overrides_of(crawl.log)
        found = store.table(SiteRow).get_all([(one.site, "") for one in sums])
        keys = [((name, one.site), "") for name in crawl.crawls() for one in sums]
        parked = Counter[Site]()
        for row in store.table(ParkedPartsRow).get_all(keys):
            parked[row.site] += sum(part.urls for part in row.parts.values())
    rows = {row.site: row for row in found}
    return [
        _site(rows.get(one.site) or SiteRow(one.site), one, of_sites, of_hosts, parked[one.site])
        for one in sums
    ]


def _site(
    row: SiteRow,
    sums: SiteSums,
    of_sites: dict[Site, SiteOverridden],
    of_hosts: dict[str, HostOverridden],
    parked: int,
) -> SiteSummary:
    refused, now = _sum_refused(row), clock.now()
    return SiteSummary(
        **asdict(replace(sums, refused_urls=refused.total())),
        refused=refused,
        parked=parked,
        has_wildcard=row.wildcard,
        distrusted={
            host: reason
            for host, trust in row.validators.items()
            if (reason := trust.at(now).distrust_reason)
        },
        override=of_sites.get(row.site),
        host_overrides={
            name: override for name, override in of_hosts.items() if site_of_host(name) == row.site
        },
    )
