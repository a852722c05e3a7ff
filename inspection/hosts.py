"""Hosts and sites as data: conditions, queues, delays, settings and refused URLs."""

from collections import Counter
from collections.abc import Sequence
from heapq import nlargest

from msgspec import Struct

from gossamer.crawl import host_overrides_of, overrides_of
from gossamer.events import HostOverridden, SiteOverridden
from gossamer.overrides import merge_overrides, site_of_host
from gossamer.web.url import host_name, site_of
from inspection.crawl import OpenCrawl
from inspection.figures import times
from inspection.labels import outcome_label, plain_reason
from services.frontier.conditions import Condition
from services.frontier.politeness import overridden_delay
from services.frontier.rows import HostRow, RobotsRow, SigningState, SiteRow

EQUAL = 1e-6
"""Delays are equal if they differ by at most this many seconds."""

SIGNING_TEXTS = {
    SigningState.TRIED: "asks for signatures; signed requests are tried",
    SigningState.ADMITTED: "asks for signatures; signed requests are admitted",
    SigningState.REFUSED: "asks for signatures; signed requests are refused",
}


class Host(Struct, frozen=True, kw_only=True):
    """A host of a crawl."""

    host: str
    """The host key: scheme, name and port."""
    site: str
    condition: Condition
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
    signing: str = ""
    """What became of the host's request for signatures, for people; "" if it made none."""
    strain: int = 0
    """How many times the delay is doubled because the server seemed overloaded."""
    pace: float = 0.0
    """Seconds between the starts of two visits."""
    seconds_left: float = 0.0
    """Seconds until no URL of the host is queued, if none is added."""
    order: str | None = None
    """The order that a fetcher has; null if the host is not checked out."""
    lease_until: float | None = None
    """When the lease of that order expires, in epoch seconds."""

    @property
    def delay_text(self) -> str:
        """`one request each 5 s (Crawl-delay in robots.txt)`; "" before the first visit."""
        if self.delay < EQUAL:
            return ""
        reason = f" ({self.delay_reason})" if self.delay_reason else ""
        return f"one request each {self.delay:.3g} s{reason}"


class Site(Struct, frozen=True, kw_only=True):
    """A site of a crawl, with the settings that an operator gave it."""

    site: str
    hosts: int = 0
    """Admitted hosts of the site."""
    refused: dict[str, int]
    """Rule → URLs that it refused."""
    has_wildcard: bool = False
    """Whether any name below the site resolves."""
    distrusted: dict[str, str]
    """Host → why its ETags and Last-Modified are distrusted."""
    override: SiteOverridden | None = None
    """The settings of `gossamer site`; null without any."""
    host_overrides: dict[str, HostOverridden]
    """Host name → the settings of `gossamer site --host`."""


def host_of(
    row: HostRow, robots: RobotsRow | None = None, override: SiteOverridden | None = None
) -> Host:
    """Return the data of a host from its *row*.

    *robots* and *override*, the settings that hold for the host, explain its delay.
    """
    delay = _delay(row, override)
    pace = delay + (row.politeness.last_took or 0.0)
    is_checked_out = row.condition is Condition.CHECKED_OUT
    return Host(
        host=row.host,
        site=row.site,
        condition=row.condition,
        ready_at=row.ready_at,
        backoff_reason=_backoff_reason(row),
        backoff_cause=row.backoff_cause,
        queued=row.queued_urls,
        admitted=row.totals.admitted,
        visits=row.totals.visits,
        pages=row.totals.pages,
        received=row.totals.received,
        delay=delay,
        delay_reason=_delay_reason(row, delay, robots, override),
        walls=row.walls,
        signing=SIGNING_TEXTS[row.signing.state] if row.signing.state else "",
        strain=row.politeness.strain,
        pace=pace,
        seconds_left=row.queued_urls * pace,
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
    if robots and abs(delay - robots.rules.crawl_delay) < EQUAL:
        return "Crawl-delay in robots.txt"
    return ""


def effective_override(
    site: str, of_site: SiteOverridden | None, of_host: HostOverridden | None
) -> SiteOverridden | None:
    """Return the settings of `gossamer site` that hold for a host; None without any."""
    if of_host is None:
        return of_site
    return merge_overrides(of_site or SiteOverridden(at=0.0, site=site), of_host)


def read_host(crawl: OpenCrawl, key: str) -> Host | None:
    """Return the host with this *key*; None if no URL of it was admitted."""
    row = crawl.store().table(HostRow).get(site_of(f"{key}/"), key)
    return host_of(row) if row else None


def read_hosts(
    crawl: OpenCrawl, condition: Condition | None = None, site: str = "", limit: int = 100
) -> list[Host]:
    """Return the hosts with the longest queues first, at most *limit*.

    *condition* and *site* choose hosts. Without *site* the whole table of hosts is read.
    """
    store = crawl.store()
    hosts, robots = store.table(HostRow), store.table(RobotsRow)
    with crawl.reading():
        rows = hosts.scan(site) if site else hosts.everything()
        chosen = (row for row in rows if condition in (None, row.condition))
        longest = nlargest(limit, chosen, key=lambda row: (row.queued_urls, row.totals.admitted))
        return _hosts_of(crawl, longest, robots.get_all([(row.host, "") for row in longest]))


def read_some_hosts(crawl: OpenCrawl, keys: Sequence[tuple[str, str]]) -> list[Host]:
    """Return the hosts with these sites and host keys, in their order, without missing ones."""
    store = crawl.store()
    hosts, robots = store.table(HostRow), store.table(RobotsRow)
    with crawl.reading():
        rows = {row.host: row for row in hosts.get_all(keys)}
        found = [rows[key] for _, key in keys if key in rows]
        return _hosts_of(crawl, found, robots.get_all([(row.host, "") for row in found]))


def _hosts_of(crawl: OpenCrawl, rows: list[HostRow], robots: list[RobotsRow]) -> list[Host]:
    """Return the data of the hosts in *rows*, with the rules that explain their delays."""
    sites, of_hosts = overrides_of(crawl.log), host_overrides_of(crawl.log)
    rules = {row.host: row for row in robots}
    return [
        host_of(
            row,
            rules.get(row.host),
            effective_override(row.site, sites.get(row.site), of_hosts.get(host_name(row.host))),
        )
        for row in rows
    ]


def read_sites(crawl: OpenCrawl, site: str = "", limit: int = 100) -> list[Site]:
    """Return the sites with the most hosts first, at most *limit*; with *site*, only that one.

    A site that has settings and no host yet is included.
    """
    table = crawl.store().table(SiteRow)
    with crawl.reading():
        of_sites, of_hosts = overrides_of(crawl.log), host_overrides_of(crawl.log)
        if site:
            return [_site(table.get(site) or SiteRow(site), of_sites, of_hosts)]
        names = {*of_sites, *map(site_of_host, of_hosts)}
        rows = nlargest(limit, table.everything(), key=lambda row: row.hosts)
        rows += [table.get(name) or SiteRow(name) for name in names - {row.site for row in rows}]
        sites = [_site(row, of_sites, of_hosts) for row in rows]
    return nlargest(limit, sites, key=lambda found: found.hosts)


def _site(
    row: SiteRow, of_sites: dict[str, SiteOverridden], of_hosts: dict[str, HostOverridden]
) -> Site:
    return Site(
        site=row.site,
        hosts=row.hosts,
        refused=dict(sum((Counter(own.refused) for own in row.crawls.values()), Counter[str]())),
        has_wildcard=row.wildcard,
        distrusted={
            host: trust.distrust_reason
            for host, trust in row.validators.items()
            if trust.distrust_reason
        },
        override=of_sites.get(row.site),
        host_overrides={
            name: override for name, override in of_hosts.items() if site_of_host(name) == row.site
        },
    )
