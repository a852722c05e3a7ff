"""The rules that refuse admitted URLs, as a table, and the records of refusals."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from gossamer.blocklist import Blocklist, forbidden_by
from gossamer.bounds import Exclusion, exclusion_of, limit_state, limits
from gossamer.events import (
    CrawlDefined,
    Discovery,
    LinksParked,
    Purpose,
    RefetchRequested,
    UrlsDiscovered,
)
from gossamer.events.hazards import Hazard, count_hazards
from gossamer.events.pages import group_by_site
from gossamer.services.frontier.partition.parked import (
    PARKING_RULES,
    SITE_RULES,
    limit_name,
    split_by_limit,
)
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.partitions import Partitions
from gossamer.services.frontier.partition.parts import Parts, part_name
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.partition.sites import NO_RECORD, PERMANENT_RULES, RecordAtSite
from gossamer.services.frontier.partition.workbench import Host
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.ordering import is_urgent
from gossamer.services.frontier.tables.urls import Origin, QueuedUrl, RequisiteRow, UrlRow
from gossamer.services.frontier.worth.budgets import BUDGETS, Usage, find_exceeded, is_in_reach
from gossamer.services.frontier.worth.worth import low_worth_reason
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.telemetry import count
from gossamer.web.url import Site, host_key


class AdmissionCandidate(NamedTuple):
    """An admitted URL, and all data that the rules use."""

    found: Discovery
    host: Host
    ahead: int
    """URLs of the host that the same event queues before this one."""
    crawl: CrawlDefined | None
    blocklist: Blocklist
    partition: Partition
    share: CrawlShare
    at_site: RecordAtSite
    """The record of `urls.admitted` with the URL."""
    now: float
    budgets: Collection[Hazard] = BUDGETS
    """The budgets of the site that may be used up."""


def find_refusal(candidate: AdmissionCandidate) -> Exclusion | None:
    """Return the refusal of *candidate* by the first of the `RULES` that refuses it; None to queue
    the URL."""
    for rule in RULES.values():
        if refusal := rule(candidate):
            return refusal
    return None


def _check_bounds(one: AdmissionCandidate) -> Exclusion | None:
    if one.crawl is None:
        rule = one.blocklist.of_url(one.found.url)
        return Exclusion(Hazard.BLACKLISTED, forbidden_by(rule)) if rule else None
    exclusion = exclusion_of(one.crawl, one.blocklist, one.found)
    # Links that rules refuse are admitted when the rules are lifted, and may be refused again at
    # check-out.
    return exclusion if exclusion and exclusion.rule is not Hazard.NOT_FOLLOWED else None


def _check_redirects(one: AdmissionCandidate) -> Exclusion | None:
    limit = one.share.settings.hops_limit
    if one.found.hops <= limit:
        return None
    return Exclusion(Hazard.REDIRECT, f"more than {limit} redirects in a row")


def _check_worth(one: AdmissionCandidate) -> Exclusion | None:
    found = one.found
    is_seed = found.depth == 0 and found.hops == 0
    if not one.share.settings.worth_parking or is_seed or found.purpose is not Purpose.PAGE:
        return None
    parts, site = one.share.parts, one.host.row.site
    low_part = parts.estimate(site, found.url, found.duplicates).low_part
    if low_part is None or parts.may_admit(site, part_name(low_part, found.duplicates)):
        return None
    return Exclusion(Hazard.LOW_WORTH, low_worth_reason(low_part, site))


def _is_counted(hazard: Hazard, one: AdmissionCandidate) -> bool:
    """Return whether the budget of *hazard* counts a URL: a new host whatever it has, a sitemap in
    a budget of its own, and a page in all others. Seeds are in none."""
    found = one.found
    if found.depth == 0 and found.hops == 0:
        return False
    if hazard is Hazard.TRAP_HOSTS:
        return one.share.crawl not in one.host.row.crawls and not one.ahead
    if hazard is Hazard.TRAP_SITEMAPS:
        return found.purpose.is_sitemap
    return found.purpose is Purpose.PAGE


def find_budgets_in_reach(share: CrawlShare, site: Site, urls: Sequence[Discovery]) -> list[Hazard]:
    """Return the budgets of *site* that may be used up before all of *urls* are admitted.

    Most sites never reach any, so the budgets need not be compared with each URL.
    """
    usage = _usage_of(share, site, len(urls), max(found.depth for found in urls))
    return [hazard for hazard in BUDGETS if is_in_reach(hazard, usage, share.settings)]


def _usage_of(share: CrawlShare, site: Site, ahead: int, depth: int) -> Usage:
    sites, totals = share.sites, share.parts.worth(site).totals
    return Usage(
        sites.hosts(site),
        totals.admitted + ahead,
        depth,
        totals,
        sites.has_seed(site),
        totals.sitemaps + ahead,
    )


def _check_budgets(one: AdmissionCandidate) -> Exclusion | None:
    if not (hazards := [hazard for hazard in one.budgets if _is_counted(hazard, one)]):
        return None
    share, site = one.share, one.host.row.site
    usage = _usage_of(share, site, one.ahead, one.found.depth)
    for hazard in hazards:
        reason = find_exceeded(hazard, usage, share.settings)
        if reason and not share.parts.may_admit(site, hazard):
            return Exclusion(hazard, reason)
    return None


def _check_requisites(one: AdmissionCandidate) -> Exclusion | None:
    limit, sites = one.share.settings.requisite_budget, one.share.sites
    if one.found.purpose is not Purpose.REQUISITE or not limit or one.at_site.is_counted:
        return None
    used = sites.requisites(one.host.row.site, one.now) + one.ahead
    if used < limit:
        return None
    reason = f"the site's budget of {limit:,} requisites a day is used up"
    return Exclusion(Hazard.TRAP_REQUISITES, reason)


def _check_robots(one: AdmissionCandidate) -> Exclusion | None:
    robots = one.partition.robots(one.host) if one.host.row.totals.visits else None
    if robots is None or robots.rules.expires_at <= one.now or robots.rules.forbidden:
        return None  # No lasting rules are known: check-out visits robots.txt before the URL.
    url = one.found.url
    if robots.rules.allows(url):
        return None
    return Exclusion(Hazard.ROBOTS_EXCLUDED, robots.rules.explain(url))


RULES: dict[tuple[Hazard, ...], Callable[[AdmissionCandidate], Exclusion | None]] = {
    (Hazard.BLACKLISTED, Hazard.TRAP_DEPTH, Hazard.OUT_OF_SCOPE): _check_bounds,
    (Hazard.REDIRECT,): _check_redirects,
    (Hazard.LOW_WORTH,): _check_worth,
    (*BUDGETS,): _check_budgets,
    (Hazard.TRAP_REQUISITES,): _check_requisites,
    (Hazard.ROBOTS_EXCLUDED,): _check_robots,
}
"""The hazards that refusals are counted as → a function that returns the refusal, or None. They are
in the order of evaluation."""


def find_exclusion(
    settings: FrontierSettings,
    parts: Parts,
    blocklist: Blocklist,
    site: Site,
    url: QueuedUrl,
    crawl: CrawlDefined,
    probed: Counter[str],
) -> Exclusion | None:
    """Return the reason why the admitted *url* of *site* must not be visited now; None if nothing
    excludes it.

    *probed*: the parked parts of which URLs before it are visited nevertheless. It is updated.
    """
    if url.on_behalf_of:
        rule = blocklist.of_url(url.url)
        return Exclusion(Hazard.BLACKLISTED, forbidden_by(rule)) if rule else None
    if found := exclusion_of(crawl, blocklist, url.origin.discovery(url.url)):
        return found
    return _find_low_worth(settings, parts, site, url, probed)


def _find_low_worth(
    settings: FrontierSettings, parts: Parts, site: Site, url: QueuedUrl, probed: Counter[str]
) -> Exclusion | None:
    """Return the reason why *url*, which was never visited, is parked; None if it is not."""
    origin = url.origin
    is_seed = (origin.depth == 0 and origin.hops == 0) or is_urgent(url.number)
    is_new = not url.earlier and not url.attempt and origin.purpose is Purpose.PAGE
    if is_seed or not is_new or not settings.worth_parking:
        return None
    low_part = parts.estimate(site, url.url, origin.duplicates).low_part
    if low_part is None:
        return None
    name = part_name(low_part, origin.duplicates)
    granted = parts.find_order_grant(site, name, probed)
    if granted is not None:
        probed[granted] += 1
        return None
    return Exclusion(Hazard.LOW_WORTH, low_worth_reason(low_part, site))


class Refusals:
    """Records refusals, has the *blocklist*, and evaluates parked URLs."""

    def __init__(self, partitions: Partitions, store: Store) -> None:
        self._partitions, self._urls = partitions, store.table(UrlRow)
        self._requisites = store.table(RequisiteRow)
        self.blocklist = Blocklist()
        self._evaluated = dict[str, str]()
        """Crawl → the limits by which all of its parked URLs have been evaluated."""

    def refuse_queued(
        self,
        share: CrawlShare,
        host: HostRow,
        url: QueuedUrl,
        exclusion: Exclusion,
        crawl: CrawlDefined,
        now: float,
    ) -> None:
        """Refuse a queued URL. A URL that was never visited is parked."""
        found = url.origin.discovery(url.url)
        self.record(share, host.site, found, url.origin, url.earlier, exclusion, crawl, now)

    def park(
        self,
        share: CrawlShare,
        event: LinksParked,
        crawl: CrawlDefined | None,
        now: float,
        counts: bool,
    ) -> Iterator[UrlsDiscovered]:
        """Park the links of *event*, and count them if *counts*; yield the links that *crawl*
        visits.

        Dedup may have evaluated them by an older definition, or by a rule that was lifted.
        """
        fitting = list[Discovery]()
        excluded = {str(Hazard.OUT_OF_SCOPE): [*event.urls]}
        if crawl:
            fitting, excluded = split_by_limit(event.urls, crawl, self.blocklist)
        for limit, urls in excluded.items():
            state = limit_state(limit, crawl, self.blocklist)
            if limit == Hazard.NOT_FOLLOWED and state != event.rules_digest:
                # The rules have changed since the parser asked them.
                state = None
            share.parked.add(event.site, event.via, urls, limit, state)
            if counts:
                share.count_parked(event.site, event.via, limit, [found.url for found in urls])
        yield from group_by_site(fitting, event.via, event.crawl, now)

    def reset(self) -> None:
        """Search all claimed partitions for parked URLs again, since they have changed."""
        self._evaluated.clear()

    def crawls_to_evaluate(self, crawls: Iterable[CrawlDefined]) -> Iterator[CrawlDefined]:
        """Yield the *crawls* with parked URLs that they and the blocklist are yet to evaluate."""
        changed = {share.crawl for _, share in self._partitions.changed_shares()}
        for crawl in crawls:
            current = limits(crawl, self.blocklist)
            if crawl.crawl not in changed and self._evaluated.get(crawl.crawl) == current:
                continue
            shares = [share for _, share in self._partitions.read_crawl(crawl.crawl)]
            if any(one.parked.must_evaluate(crawl, self.blocklist) for one in shares):
                yield crawl
            else:
                self._evaluated[crawl.crawl] = current

    def evaluate_parked(
        self, crawl: CrawlDefined, now: float
    ) -> Iterator[UrlsDiscovered | RefetchRequested]:
        """Evaluate some more of the parked URLs; yield the URLs that nothing excludes any more, and
        the pages whose links changed rules have to judge."""
        for partition, found in self._partitions.read_crawl(crawl.crawl):
            if found.parked.must_evaluate(crawl, self.blocklist):
                share = partition.share(crawl.crawl)
                released = [*share.parked.evaluate(crawl, self.blocklist, now)]
                yield from released
                if released:
                    return

    def record(
        self,
        share: CrawlShare,
        site: Site,
        found: Discovery,
        origin: Origin,
        earlier: int,
        refused: Exclusion,
        crawl: CrawlDefined | None,
        now: float,
        is_again: bool = False,
        at_site: RecordAtSite = NO_RECORD,
    ) -> None:
        """Record that *crawl* refuses *found*, a URL of *site*: park it if it was never visited and
        may be admitted later, and store the rule in its row.

        Each admitted URL that is not visited leaves its queue, or the parked URLs of its site, by
        this method. *earlier*: visits to the URL that have ended. *is_again*: the URL was parked at
        its site, and its refusal was counted before. *at_site*: the record of `urls.admitted` with
        the URL.
        """
        rule, reason = refused
        is_counted = is_again or at_site.is_counted
        if found.purpose is Purpose.REQUISITE:
            if not is_counted:
                self._record_requisite(share, site, found, origin, earlier, refused, now, at_site)
            return
        if at_site.is_counted and self._is_recorded(share, found, at_site):
            return
        if rule in PARKING_RULES and not earlier:
            self._park(share, site, found, origin.via, rule, crawl, now)
        if not is_counted:
            count("gossamer_urls_refused_total", rule=rule, crawl=share.crawl)
            count_hazards("frontier", [rule])
            share.count_refused(rule, site, found.url)
            share.sites.count_refusal(site, rule, at_site)
        # A URL that was parked before has a row, which named another rule.
        if not (is_again or share.sites.has_room_for_row(site, rule)):
            return
        # The row has no attempts: a parked URL that is admitted later starts as a new one.
        row = UrlRow(
            crawl=share.crawl,
            host=host_key(found.url),
            url=found.url,
            outcome=rule,
            at=now,
            reason=reason,
            origin=origin,
            earlier=earlier,
        )
        self._urls.put(row)

    def _is_recorded(self, share: CrawlShare, found: Discovery, at_site: RecordAtSite) -> bool:
        """Return whether *found* has a row from the first time that its record was applied, or from
        a later visit.

        Without one, the URL was queued then, and a crash came before the host's row was written.
        """
        row = self._urls.get((share.crawl, host_key(found.url)), found.url)
        if row is None or at_site.record is None:
            return False
        return row.outcome not in PARKING_RULES or row.at >= at_site.record.at

    def _park(
        self,
        share: CrawlShare,
        site: Site,
        found: Discovery,
        via: str,
        rule: Hazard,
        crawl: CrawlDefined | None,
        now: float,
    ) -> None:
        """Park *found*, which the visit *via* discovered: at its *site*, or under the limit that
        excludes it."""
        if rule in SITE_RULES:
            name = str(rule)
            if rule is Hazard.LOW_WORTH:
                low = share.parts.estimate(site, found.url, found.duplicates).low_part or ""
                name = part_name(low, found.duplicates)
            share.parts.park(site, name, rule, via, found, now)
        else:
            limit = limit_name(rule, found.url, self.blocklist)
            state = limit_state(limit, crawl, self.blocklist)
            share.parked.add(site, via, [found], limit, state)

    def _record_requisite(
        self,
        share: CrawlShare,
        site: Site,
        found: Discovery,
        origin: Origin,
        earlier: int,
        refused: Exclusion,
        now: float,
        at_site: RecordAtSite,
    ) -> None:
        """Record that a requisite is refused. It is not parked: its page finds it again."""
        rule, reason = refused
        count("gossamer_urls_refused_total", rule=rule, crawl=share.crawl)
        count_hazards("frontier", [rule])
        share.count_hazard(rule, site, found.url)
        if rule not in PERMANENT_RULES:
            return
        share.sites.count_refusal(site, rule, at_site)
        if share.sites.has_room_for_row(site, rule):
            row = RequisiteRow(
                crawl=share.crawl,
                host=host_key(found.url),
                url=found.url,
                outcome=rule,
                at=now,
                reason=reason,
                origin=origin,
                earlier=earlier,
            )
            self._requisites.put(row)
