"""The rules by which an admitted URL is refused, as a table."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from gossamer.blocklist import Blocklist, forbidden_by
from gossamer.bounds import Exclusion, exclusion_of, limit_state
from gossamer.events import CrawlDefined, Discovery, LinksParked, UrlsDiscovered
from gossamer.events.hazards import Hazard, count_hazards
from gossamer.events.provenance import group_by_site
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.telemetry import count
from gossamer.web.url import host_key
from services.frontier.memory import Host
from services.frontier.parked import limit_name, split
from services.frontier.partition import Partition
from services.frontier.partitions import Partitions
from services.frontier.rows import HostRow, Origin, QueuedUrl, UrlRow


class Candidate(NamedTuple):
    """A URL that was admitted, and what its refusal may depend on."""

    found: Discovery
    host: Host
    ahead: int
    """How many URLs of the host are queued together with it, before it."""
    crawl: CrawlDefined | None
    blocklist: Blocklist
    settings: FrontierSettings
    partition: Partition
    now: float


class Refusal(NamedTuple):
    """Why a URL is not queued: the hazard it is counted as, and a sentence for a person."""

    rule: Hazard
    reason: str


def refusal(candidate: Candidate) -> Refusal | None:
    """Return the first of the `RULES` that refuses *candidate*; None to queue it."""
    for name, rule in RULES.items():
        if reason := rule(candidate):
            return Refusal(name, reason)
    return None


def _blocklisted(one: Candidate) -> str:
    rule = one.blocklist.of_url(one.found.url)
    return forbidden_by(rule) if rule else ""


def _too_deep(one: Candidate) -> str:
    return _left_out(one, Hazard.TRAP_DEPTH)


def _out_of_scope(one: Candidate) -> str:
    return _left_out(one, Hazard.OUT_OF_SCOPE)


def _left_out(one: Candidate, rule: Hazard) -> str:
    if one.crawl is None:
        return ""
    left = exclusion_of(one.crawl, one.blocklist, one.found)
    return left.reason if left and left.rule is rule else ""


def _too_many_redirects(one: Candidate) -> str:
    limit = one.settings.hops_limit
    return f"more than {limit} redirects in a row" if one.found.hops > limit else ""


def _too_many_hosts(one: Candidate) -> str:
    budget, asked_for = one.settings.host_budget, one.found.depth == 0 and one.found.hops == 0
    if (
        one.host.stored
        or one.ahead
        or asked_for
        or one.partition.sites.hosts(one.host.row.site) < budget
    ):
        return ""
    return f"the site's budget of {budget} hosts is used up"


def _over_budget(one: Candidate) -> str:
    budget = one.settings.url_budget
    used_up = one.host.row.totals.admitted + one.ahead >= budget
    return f"the host's budget of {budget} URLs is used up" if used_up else ""


def _excluded(one: Candidate) -> str:
    robots = one.partition.robots(one.host) if one.host.row.totals.visits else None
    if robots is None or robots.rules.expires_at <= one.now or robots.rules.forbidden:
        return ""  # Nothing lasting is known: it is looked at again when the URL is visited.
    url = one.found.url
    return "" if robots.rules.allows(url) else robots.rules.explain(url)


RULES: dict[Hazard, Callable[[Candidate], str]] = {
    Hazard.BLACKLISTED: _blocklisted,
    Hazard.TRAP_DEPTH: _too_deep,
    Hazard.OUT_OF_SCOPE: _out_of_scope,
    Hazard.REDIRECT: _too_many_redirects,
    Hazard.TRAP_HOSTS: _too_many_hosts,
    Hazard.TRAP_URLS: _over_budget,
    Hazard.ROBOTS_EXCLUDED: _excluded,
}
"""The hazard that a refusal is counted as → why it refuses a URL; empty if it does not."""

LEFT_OUT = (Hazard.TRAP_DEPTH, Hazard.OUT_OF_SCOPE, Hazard.BLACKLISTED)
"""The rules of the crawl's definition and of the blocklist: a wider one, or a rule less, takes up
what they refuse."""


class Refusals:
    """Writes refusals down, knows the *blocklist*, and takes up what is left out no more."""

    def __init__(self, partitions: Partitions, store: Store) -> None:
        self._partitions, self._urls = partitions, store.table(UrlRow)
        self.blocklist = Blocklist()

    def left_out(self, url: QueuedUrl, crawl: CrawlDefined) -> Exclusion | None:
        """Return why *url*, which was admitted, is not visited now; None if it is."""
        if not url.on_behalf_of:
            return exclusion_of(crawl, self.blocklist, url.origin.discovery(url.url))
        rule = self.blocklist.of_url(url.url)
        return Exclusion(Hazard.BLACKLISTED, forbidden_by(rule)) if rule else None

    def leave_out(
        self,
        partition: Partition,
        host: HostRow,
        url: QueuedUrl,
        why: Exclusion,
        crawl: CrawlDefined,
        now: float,
    ) -> None:
        """Refuse an admitted URL; one that was never visited is parked."""
        found, refused = url.origin.discovery(url.url), Refusal(*why)
        self.write(partition, host.site, found, url.origin, url.earlier, refused, crawl, now)

    def park(
        self, partition: Partition, event: LinksParked, crawl: CrawlDefined | None, now: float
    ) -> Iterator[UrlsDiscovered]:
        """Park the links of *event*; yield those that *crawl* visits.

        Dedup may have judged them by an older definition, or by a rule that was lifted.
        """
        wanted = list[Discovery]()
        others = {str(Hazard.OUT_OF_SCOPE): [*event.urls]}
        if crawl:
            wanted, others = split(event.urls, crawl, self.blocklist)
        for limit, urls in others.items():
            state = limit_state(limit, crawl, self.blocklist)
            partition.parked.add(event.site, event.via, urls, limit, state)
        yield from group_by_site(wanted, event.via, event.crawl, now)

    def are_behind(self, crawl: CrawlDefined | None) -> bool:
        """Return whether parked URLs are yet to be judged by *crawl* and the blocklist."""
        if crawl is None:
            return False
        return any(one.parked.is_behind(crawl, self.blocklist) for one in self._partitions)

    def take_up(self, crawl: CrawlDefined, now: float) -> Iterator[UrlsDiscovered]:
        """Judge some more of the parked URLs; yield those that nothing leaves out any more."""
        for partition in self._partitions:
            if partition.parked.is_behind(crawl, self.blocklist):
                released = [*partition.parked.judge(crawl, self.blocklist, now)]
                yield from released
                if released:
                    return

    def write(
        self,
        partition: Partition,
        site: str,
        found: Discovery,
        origin: Origin,
        earlier: int,
        refused: Refusal,
        crawl: CrawlDefined | None,
        now: float,
    ) -> None:
        """Refuse a URL *found* on *site* by *crawl*, after *earlier* visits that ended."""
        if partition.sites.was_counted:
            return
        rule, reason = refused
        count("gossamer_urls_refused_total", rule=rule)
        count_hazards("frontier", [rule])
        partition.count_refused(rule)
        if rule in LEFT_OUT and not earlier:
            limit = limit_name(rule, found.url, self.blocklist)
            state = limit_state(limit, crawl, self.blocklist)
            partition.parked.add(site, origin.via, [found], limit, state)
        if not partition.sites.refuse(site, rule):
            return
        # Without the attempts: when it comes again, it does as a URL that was never queued.
        row = UrlRow(
            crawl=self._partitions.crawl,
            host=host_key(found.url),
            url=found.url,
            outcome=rule,
            at=now,
            reason=reason,
            origin=origin,
            earlier=earlier,
        )
        self._urls.put(row)
