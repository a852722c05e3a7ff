"""What is taken of a site as a whole, so that no trap makes the store grow without end.

A site whose names never end is refused more hosts than a limit. A URL that is refused for good has
a row in `urls` only while few of its site were refused by the same rule; the others are counted.
"""

from collections.abc import Collection, Iterable
from math import inf

from msgspec.structs import replace

from gossamer.events.hazards import Hazard
from gossamer.runtime.processor import Key
from gossamer.store import Store
from gossamer.web.cookies import Cookie, merge_cookies
from gossamer.web.validators import Trust
from services.frontier.memory import CachePart
from services.frontier.overrides import Overrides
from services.frontier.revisit import SiteState, pack, unpack_site
from services.frontier.revisit.planning import quiet_time
from services.frontier.rows import Applied, Position, SiteRow, UnreadablePages

SAMPLE = 100
"""Of the URLs of a site that a rule refuses for good, so many have a row each."""
FOR_GOOD = frozenset({Hazard.REDIRECT, Hazard.TRAP_HOSTS, Hazard.TRAP_URLS, Hazard.ROBOTS_EXCLUDED})
"""The rules of admission whose refusals nothing takes back."""
DAY, A_TENTH = 86400.0, 0.1


class Sites:
    """All sites of one partition."""

    def __init__(
        self, store: Store, at_once: int, overrides: Overrides, cache: CachePart[str, SiteRow]
    ) -> None:
        """*at_once*: hosts of a site that are visited beside each other."""
        self._rows, self._at_once = store.table(SiteRow), at_once
        self._cache = cache
        self._record: Position | None = None
        """The record of `urls.admitted` that is being applied."""
        self.was_counted = False
        """Whether what its site has of that record was counted before."""
        self.overrides = overrides

    def reads_of(self, sites: Iterable[str]) -> list[Key]:
        """Return the keys of the rows of *sites* that are not in memory."""
        return [(SiteRow, site, "") for site in sites if site not in self._cache]

    def noticed(self, site: str, hazards: Collection[str]) -> None:
        """Remember what the *hazards* of a visit say of the whole *site*."""
        if Hazard.DNS_WILDCARD in hazards and not self._row(site).wildcard:
            self._put(replace(self._row(site), wildcard=True))

    def begin(self, site: str, record: Position | None) -> None:
        """Count the hosts and refusals of *record* for *site* from now on, unless the site has
        counted them before; with None, those of no record."""
        self._record = record
        self.was_counted = record is not None and self._row(site).applied.covers(record)

    def hosts(self, site: str) -> int:
        """Return how many hosts of *site* were admitted."""
        return self._row(site).hosts

    def host_admitted(self, site: str) -> None:
        """Count one host more."""
        row = self._row(site)
        if not self.was_counted:
            self._put(replace(row, hosts=row.hosts + 1, applied=self._applied(row)))

    def host_erased(self, site: str, host: str) -> None:
        """Forget a host; and the site with its last one."""
        row = self._row(site)
        unreadable = {other: pages for other, pages in row.unreadable.items() if other != host}
        trust = {other: known for other, known in row.validators.items() if other != host}
        hosts = max(0, row.hosts - 1)
        if hosts:
            self._put(replace(row, hosts=hosts, unreadable=unreadable, validators=trust))
        else:
            self._cache.remove(site)
            self._rows.erase(site)

    def erase(self, site: str) -> None:
        """Forget all of *site* but how many hosts it has; nothing is left of one without hosts."""
        if hosts := self._row(site).hosts:
            self._put(SiteRow(site, hosts=hosts))
        else:
            self._cache.remove(site)
            self._rows.erase(site)

    def refuse(self, site: str, rule: Hazard) -> bool:
        """Count a URL of *site* that *rule* refuses; return whether it is to have a row."""
        row = self._row(site)
        count = row.refused.get(rule, 0) + 1 if rule in FOR_GOOD else 0
        refused = {**row.refused, rule: count} if count else row.refused
        if (counted := replace(row, refused=refused, applied=self._applied(row))) != row:
            self._put(counted)
        return count <= SAMPLE

    def _applied(self, row: SiteRow) -> Applied:
        return row.applied.through(self._record) if self._record else row.applied

    def revisits(self, site: str) -> SiteState:
        """Return what the revisit policies know of the pages of *site*."""
        return self.overrides.quiet(site, unpack_site(self._row(site).statistics))

    def learn(self, site: str, state: SiteState) -> None:
        """Remember what they know now."""
        row, statistics = self._row(site), pack(state)
        if row.statistics != statistics:
            self._put(replace(row, statistics=statistics))

    def paced(self, site: str, delay: float) -> None:
        """Have the policies know what politeness allows: a visit each *delay* to as many hosts as
        are visited at once, but in quiet hours, and to each as often as was set."""
        state, hosts = self.revisits(site), max(1, self._row(site).hosts)
        rate = (DAY - quiet_time(state)) / delay if delay else inf
        limit = min(rate * min(hosts, self._at_once), self.overrides.budget(site) * hosts)
        limit = 0.0 if limit == inf else limit
        if abs(limit - state.limit) > A_TENTH * state.limit:
            self.learn(site, replace(state, limit=limit))

    def shared(self, site: str, discovery: float) -> None:
        """Have the policies know which share of the visits to a host of *site* is to new URLs."""
        state = self.revisits(site)
        nearer = round(state.discovery + A_TENTH * (discovery - state.discovery), 3)
        if nearer != state.discovery:
            self.learn(site, replace(state, discovery=nearer))

    def validators(self, site: str, host: str) -> Trust:
        """Return what is thought of a host's validators."""
        return self._row(site).validators.get(host, Trust())

    def trust(self, site: str, host: str, trust: Trust) -> None:
        """Think so of a host's validators from now on."""
        row = self._row(site)
        if row.validators.get(host, Trust()) != trust:
            self._put(replace(row, validators={**row.validators, host: trust}))

    def unreadable(self, site: str, host: str) -> UnreadablePages:
        """Return how many of a host's last pages could not be read."""
        return self._row(site).unreadable.get(host, UnreadablePages())

    def judged(self, site: str, host: str, unreadable: UnreadablePages) -> None:
        """Remember how many that are now."""
        row = self._row(site)
        if row.unreadable.get(host, UnreadablePages()) != unreadable:
            others = {other: known for other, known in row.unreadable.items() if other != host}
            self._put(
                replace(
                    row, unreadable={**others, host: unreadable} if unreadable.pages else others
                )
            )

    def cookies(self, site: str) -> tuple[Cookie, ...]:
        """Return the cookies of the site that go to several hosts."""
        return self._row(site).cookies

    def learn_cookies(self, site: str, changes: list[Cookie], now: float) -> None:
        """Remember what a host of the site has set or deleted for several."""
        row = self._row(site)
        cookies = merge_cookies(row.cookies, changes, now)
        if cookies != row.cookies:
            self._put(replace(row, cookies=cookies))

    def _row(self, site: str) -> SiteRow:
        if (row := self._cache.get(site)) is None:
            row = self._rows.get(site) or SiteRow(site)
            self._cache.put(site, row, site)
        return row

    def _put(self, row: SiteRow) -> None:
        self._cache.put(row.site, row, row.site)
        self._rows.put(row)
