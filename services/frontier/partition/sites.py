"""The state of whole sites, with limits so that no trap makes the store grow without end.

The number of hosts of a site is limited, because a trap may have endless host names. A URL that a
rule refuses permanently gets a row in `urls` only if few URLs of its site were refused by that rule
before. The others are only counted.
"""

from collections.abc import Collection, Iterable, Sequence
from math import inf
from typing import Any, NamedTuple

from msgspec.structs import replace

from gossamer.events import PageDeduplicated
from gossamer.events.hazards import Hazard
from gossamer.runtime.processor import Key
from gossamer.services.frontier.partition.politeness import Overrides
from gossamer.services.frontier.partition.workbench import CachePart
from gossamer.services.frontier.revisit import SiteState, pack, unpack_site
from gossamer.services.frontier.revisit.planning import quiet_time
from gossamer.services.frontier.tables.hosts import AppliedRecords, OffsetAndTime
from gossamer.services.frontier.tables.sites import SiteCrawl, SiteRow, UnreadablePages
from gossamer.services.frontier.totals.daily import is_productive, note_page
from gossamer.store import Store
from gossamer.web.cookies import Cookie, merge_cookies
from gossamer.web.url import HostKey, Site, host_name
from gossamer.web.validators import Trust

MAX_REFUSED_ROWS = 100
"""The number of URLs of a site that get a row, for each rule that refuses URLs permanently."""
PERMANENT_RULES = frozenset({Hazard.REDIRECT, Hazard.ROBOTS_EXCLUDED})
"""The admission rules whose refusals are permanent: no later change admits the URLs."""
DAY = 86400.0
MIN_LIMIT_CHANGE = 0.1
"""A visit limit is stored only if it differs from the stored one by more than this fraction."""
DISCOVERY_WEIGHT = 0.1
"""The weight of one order in a site's average share of visits to new URLs."""


class RecordAtSite(NamedTuple):
    """A record of `urls.admitted` that is being applied to a site.

    The site counts the hosts, refusals and requisites of a record once, although the record may
    come again after a crash.
    """

    record: OffsetAndTime | None = None
    """None for changes that come from no record."""
    is_counted: bool = False
    """Whether the site has counted the record before."""

    def add_to(self, applied: AppliedRecords) -> AppliedRecords:
        """Return the *applied* records with this one."""
        return applied.through(self.record) if self.record else applied


NO_RECORD = RecordAtSite()
"""For changes that come from no record."""


class Sites:
    """All sites of one partition: their rows, and what all crawls share of them."""

    def __init__(self, store: Store, overrides: Overrides, cache: CachePart[str, SiteRow]) -> None:
        self._rows, self._cache = store.table(SiteRow), cache
        self.overrides = overrides

    def reads_of(self, sites: Iterable[str]) -> list[Key]:
        """Return the keys of the rows of *sites* that are not cached."""
        return [(SiteRow, site, "") for site in sites if site not in self._cache]

    def begin(self, site: Site, record: OffsetAndTime | None) -> RecordAtSite:
        """Return *record*, which is to be applied to *site*. It is to be counted in all that
        follows, or in nothing."""
        return RecordAtSite(record, bool(record and self.row(site).applied.covers(record)))

    def record(self, site: Site, at_site: RecordAtSite) -> None:
        """Record that *site* has counted a record."""
        row = self.row(site)
        if (applied := at_site.add_to(row.applied)) != row.applied:
            self.put(replace(row, applied=applied))

    def record_hazards(self, site: Site, hazards: Collection[str]) -> None:
        """Record the *hazards* of a visit that are about the whole *site*."""
        if Hazard.DNS_WILDCARD in hazards and not self.row(site).wildcard:
            self.put(replace(self.row(site), wildcard=True))

    def hosts(self, site: Site) -> int:
        """Return the number of hosts of *site* with a row, of all crawls."""
        return self.row(site).hosts

    def count_row(self, site: Site, at_site: RecordAtSite) -> None:
        """Count one more host of *site* with a row."""
        if not at_site.is_counted:
            row = self.row(site)
            applied = at_site.add_to(row.applied)
            self.put(replace(row, hosts=row.hosts + 1, applied=applied))

    def erase_host(
        self,
        site: Site,
        host: HostKey,
        hosts: int,
        crawls: Collection[str],
        leaving: Collection[str],
    ) -> None:
        """Erase a host of *crawls* from the site's row.

        *hosts*: the number of the other hosts. Without them, the row names only the crawls that are
        not *leaving*: they have parked URLs at the site. Without such crawls the row is dropped.
        """
        row, name = self.row(site), host_name(host)
        row = row.without(host.__eq__) or row
        cookies = tuple(one for one in row.cookies if one.whole_domain or one.domain != name)
        if hosts:
            left = {
                crawl: replace(own, hosts=max(0, own.hosts - (crawl in crawls)))
                for crawl, own in row.crawls.items()
            }
            self.put(replace(row, hosts=hosts, crawls=left, cookies=cookies))
            return
        left = {
            crawl: SiteCrawl() if crawl in crawls else own
            for crawl, own in row.crawls.items()
            if crawl not in leaving
        }
        if left:
            self.put(SiteRow(site, crawls=left))
        else:
            self._drop(site)

    def erase(self, site: Site) -> None:
        """Erase the row of *site*, except for the numbers of its hosts if it has any."""
        row = self.row(site)
        if row.hosts:
            crawls = {
                crawl: SiteCrawl(hosts=own.hosts) for crawl, own in row.crawls.items() if own.hosts
            }
            self.put(SiteRow(site, row.hosts, crawls))
        else:
            self._drop(site)

    def _drop(self, site: Site) -> None:
        # Drops are flushed before the erasure of the host's row. After a crash in between, the host
        # is erased again, and its site with it.
        self._cache.remove(site)
        self._rows.drop(site)

    def validators(self, site: Site, host: HostKey, now: float) -> Trust:
        """Return the trust in a host's validators at the time *now*."""
        return self.row(site).validators.get(host, Trust()).at(now)

    def store_trust(self, site: Site, host: HostKey, trust: Trust) -> Trust:
        """Store the trust in a host's validators; return the trust that was stored before."""
        row = self.row(site)
        before = row.validators.get(host, Trust())
        if before != trust:
            self.put(replace(row, validators={**row.validators, host: trust}))
        return before

    def unreadable(self, site: Site, host: HostKey) -> UnreadablePages:
        """Return the number of a host's last pages that were unreadable."""
        return self.row(site).unreadable.get(host, UnreadablePages())

    def store_unreadable(self, site: Site, host: HostKey, unreadable: UnreadablePages) -> None:
        """Store the number of a host's last pages that were unreadable."""
        row = self.row(site)
        if row.unreadable.get(host, UnreadablePages()) != unreadable:
            counts = {other: pages for other, pages in row.unreadable.items() if other != host}
            if unreadable.pages:
                counts[host] = unreadable
            self.put(replace(row, unreadable=counts))

    def cookies(self, site: Site) -> tuple[Cookie, ...]:
        """Return the cookies of the site."""
        return self.row(site).cookies

    def store_cookies(self, site: Site, changes: Iterable[Cookie], now: float) -> None:
        """Store the cookies that a host of the site has set or deleted."""
        row = self.row(site)
        cookies = merge_cookies(row.cookies, changes, now)
        if cookies != row.cookies:
            self.put(replace(row, cookies=cookies))

    def row(self, site: Site) -> SiteRow:
        """Return the row of *site*, which need not be stored."""
        if (row := self._cache.get(site)) is None:
            row = self._rows.get(site) or SiteRow(site)
            self._cache.put(site, row, site)
        return row

    def put(self, row: SiteRow, last: bool = False) -> None:
        """Store *row*; *last*: after all rows of hosts."""
        self._cache.put(row.site, row, row.site)
        self._rows.put(row, last=last)


class CrawlSites:
    """What one *crawl* has met at all sites of a partition."""

    def __init__(self, sites: Sites, crawl: str, at_once: int) -> None:
        """*at_once*: hosts of a site that are visited at once."""
        self._sites, self._crawl, self._at_once = sites, crawl, at_once
        self.is_closed = False
        """Whether nothing is stored any more about what the crawl meets, because it is removed."""

    def enter(self, site: Site) -> None:
        """Record that the crawl has rows about *site*. Its removal finds the site by that."""
        if not self.has_entered(site):
            self._change(site)

    def has_entered(self, site: Site) -> bool:
        """Return whether the crawl may have rows about *site*."""
        return self._crawl in self._sites.row(site).crawls

    def leave(self, site: Site) -> None:
        """Erase what the crawl has met at *site*.

        The row is written after those of the hosts: the removal goes on with the sites whose rows
        name the crawl.
        """
        row = self._sites.row(site)
        self._sites.put(row.without_crawl(self._crawl), last=True)

    def hosts(self, site: Site) -> int:
        """Return the number of hosts of *site* at which URLs of the crawl were admitted."""
        return self._own(site).hosts

    def has_seed(self, site: Site) -> bool:
        """Return whether a seed of *site* was admitted."""
        return self._own(site).has_seed

    def record_seed(self, site: Site) -> None:
        """Record that a seed of *site* was admitted."""
        if not self._own(site).has_seed:
            self._change(site, has_seed=True)

    def is_new(self, site: Site) -> bool:
        """Return whether the crawl has no host and has met no hazard on *site* so far."""
        own = self._own(site)
        return not own.hosts and not own.hazards

    def count_host(self, site: Site, at_site: RecordAtSite) -> bool:
        """Count one more host of the crawl on *site*; return whether the site was new."""
        if at_site.is_counted:
            return False
        is_new = self.is_new(site)
        self._change(site, hosts=self._own(site).hosts + 1)
        self._sites.record(site, at_site)
        return is_new

    def add_hazards(self, site: Site, hazards: Sequence[str]) -> list[str]:
        """Add *hazards* that a URL of *site* met; return those that the site met for the first
        time."""
        before = self._own(site).hazards
        first = [name for name in hazards if name not in before]
        if first:
            self._change(site, hazards=(*before, *first))
        return first

    def note_page(self, event: PageDeduplicated) -> None:
        """Note whether a page had a new text."""
        before = self._own(event.site).latest_new
        latest = note_page(before, event)
        if latest != before:
            self._change(event.site, latest_new=latest)

    def is_productive(self, site: Site) -> bool:
        """Return whether most of the last pages of *site* had new texts."""
        return is_productive(self._own(site).latest_new)

    def requisites(self, site: Site, now: float) -> int:
        """Return the number of requisites of *site* that were admitted on the day of *now*."""
        own = self._own(site)
        return own.requisites if own.requisites_day == int(now // DAY) else 0

    def count_requisites(self, site: Site, urls: int, now: float, at_site: RecordAtSite) -> None:
        """Count *urls*, requisites of *site* that were admitted."""
        if not at_site.is_counted:
            admitted = self.requisites(site, now) + urls
            self._change(site, requisites=admitted, requisites_day=int(now // DAY))
            self._sites.record(site, at_site)

    def count_refusal(self, site: Site, rule: Hazard, at_site: RecordAtSite) -> None:
        """Count a URL of *site* that *rule* refuses, if it refuses it permanently."""
        if rule in PERMANENT_RULES:
            refused = self._own(site).refused
            self._change(site, refused={**refused, rule: refused.get(rule, 0) + 1})
        self._sites.record(site, at_site)

    def has_room_for_row(self, site: Site, rule: Hazard) -> bool:
        """Return whether the last URL of *site* that *rule* refused gets a row."""
        return self._own(site).refused.get(rule, 0) <= MAX_REFUSED_ROWS

    def revisit_state(self, site: Site) -> SiteState:
        """Return the state of *site* for the revisit policies."""
        return self._sites.overrides.apply_quiet_hours(
            site, unpack_site(self._own(site).statistics)
        )

    def store_revisit_state(self, site: Site, state: SiteState) -> None:
        """Store the state of *site* for the revisit policies."""
        statistics = pack(state)
        if self._own(site).statistics != statistics:
            self._change(site, statistics=statistics)

    def update_visit_limit(self, site: Site, delay: float) -> None:
        """Update the visits per day to *site* that politeness allows, for the revisit policies.

        The limit is one visit per *delay*, outside quiet hours, to each of the crawl's hosts that
        may be visited at once, but at most the sum of the daily budgets of these hosts.
        """
        state, hosts = self.revisit_state(site), max(1, self.hosts(site))
        rate = (DAY - quiet_time(state)) / delay if delay else inf
        limit = min(rate * min(hosts, self._at_once), self._sites.overrides.budget(site) * hosts)
        limit = 0.0 if limit == inf else limit
        if abs(limit - state.limit) > MIN_LIMIT_CHANGE * state.limit:
            self.store_revisit_state(site, replace(state, limit=limit))

    def update_discovery_share(self, site: Site, discovery: float) -> None:
        """Update the share of the visits to *site* that goes to new URLs, for the revisit
        policies."""
        state = self.revisit_state(site)
        average = round(state.discovery + DISCOVERY_WEIGHT * (discovery - state.discovery), 3)
        if average != state.discovery:
            self.store_revisit_state(site, replace(state, discovery=average))

    def _own(self, site: Site) -> SiteCrawl:
        """Return what the crawl has met at *site*."""
        return self._sites.row(site).of(self._crawl)

    def _change(self, site: Site, **changes: Any) -> None:
        """Change what the crawl has met at *site*."""
        if self.is_closed:
            return
        self._sites.put(
            self._sites.row(site).with_crawl(self._crawl, replace(self._own(site), **changes))
        )
