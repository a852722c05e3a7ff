"""The parts of sites in the store: their counters, and their parked URLs.

`worth.py` estimates which parts of a site bring new texts, and `budgets.py` limits how much of a
site is crawled. This module stores their counters, and the URLs that they refuse.

**Parking.** Each parked part, and each budget, has its URLs in buckets of its own (`parked.py`).
Their ends are in one row of the site. So the memory of a frontier does not grow with the number of
parked parts: rows of sites are cached, and read with the site.

**Release.** A part is released when a visit to it brings a new text, when its budget grows, or when
an operator asks for it. Its URLs are then admitted again, a bucket in each step: they pass the
rules of admission, which may park them again. A release ends with the first bucket of which no URL
is admitted.

**Probes.** Now and then one URL of a parked part is visited nevertheless. The first probe is due an
hour after the part was parked, or when the site has had `PROBE_VISITS` visits more, and each
further one after twice as long, so a trap costs a few visits in a year. URLs over a budget wait for
the time alone, and ten of them are visited. An entry of the calendar wakes a site that has a part
to probe or to release.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Any

from msgspec.structs import replace

from gossamer.erasures import is_about
from gossamer.events import Discovery, PageDeduplicated, Purpose, Verdict, Visit
from gossamer.events.hazards import Hazard
from gossamer.events.outcomes import GONE_VERDICTS
from gossamer.runtime.processor import Key
from gossamer.services.frontier.partition.awaited_visits import PartKey
from gossamer.services.frontier.partition.parked import ParkedLog, ParkedRow, part_log
from gossamer.services.frontier.partition.workbench import PartitionCaches
from gossamer.services.frontier.tables.sites import ParkedPart, ParkedPartsRow, SiteWorthRow
from gossamer.services.frontier.tables.urls import Origin
from gossamer.services.frontier.worth.budgets import BUDGETS, Usage, limit_of
from gossamer.services.frontier.worth.worth import (
    LOW_WORTH,
    NO_VISITS,
    OTHERS,
    ZONE,
    Estimate,
    SiteWorth,
    expect,
    forget,
    judged_parts,
    must_store,
    pack_worth,
    parts_of,
    rank_worth,
    record_growth,
    record_in_link,
    record_links,
    record_page_in_links,
    record_transfer,
    record_visit,
    unpack_worth,
    value_of_novelty,
    window_of,
)
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.web.links import Sketch
from gossamer.web.url import HostKey, Site, host_key, suffix_of

MAX_PARKED_PARTS = 60
"""Parked parts of a site. URLs of further ones are parked together, under `*`."""
OF_COPIES = "~"
"""Before the name of a part: URLs that were found on pages without a new text."""
PROBE_WAIT, MAX_PROBE_WAIT = 3600.0, 30 * 86400.0
"""Seconds before the first probe of a part, and before any other."""
PROBE_VISITS = 50
"""Visits to the site before the first probe of a part, if its time comes later."""
PROBE_URLS = 10
"""URLs of a probe of a budget: a site that has used it up may have pages that lead back further on.
"""
SITEMAP_BYTES = 1 << 20
"""Bytes for which a sitemap counts once more in its budget."""
MAX_DOUBLINGS = 20
RELEASE_URLS = 50
"""Room in a budget for which its URLs are released, unless fewer are parked, or a quarter of the
budget that a site starts with is less."""
BUCKETS_PER_READ = 64
"""Buckets of parked URLs that are read together."""
OWN_TEXT = 0.25
"""The new texts that a text counts as at least in the budgets of its site, if it equals no other:
with the default growth it earns one URL."""
MAX_COMMON_TEXTS = 1
"""New texts of a site up to which links from other sites show that it grows: it has one answer for
all URLs, if any."""
Schedule = Callable[[Site, float], None]
"""Wakes a site at a time."""
CountParked = Callable[[str, int], None]
"""Counts the URLs that a rule has parked, or fewer of them."""


def part_name(part: str, duplicates: int) -> str:
    """Return the name under which *part* is parked, for URLs with this number of pages without a
    new text before them."""
    return f"{OF_COPIES}{part}" if duplicates else part


class Parts:
    """The parts of all sites of a partition, in one *crawl*; *schedule* wakes a site, and
    *count_parked* counts parked URLs."""

    def __init__(
        self,
        crawl: str,
        store: Store,
        caches: PartitionCaches,
        schedule: Schedule,
        count_parked: CountParked,
    ) -> None:
        self._crawl, self._schedule, self._count_parked = crawl, schedule, count_parked
        self._zones = caches.zones
        self._worth_rows, self._rows = store.table(SiteWorthRow), store.table(ParkedPartsRow)
        self._parked = store.table(ParkedRow)
        self._taken = dict[tuple[str, str], ParkedLog]()
        """Site and part → its parked URLs, of which the last step took a bucket."""
        self._worth, self._parts = caches.worth, caches.parts
        self.is_closed = False
        """Whether nothing is stored any more, because the crawl is removed."""

    def reads_of(self, sites: Iterable[str]) -> list[Key]:
        """Return the keys of the rows of *sites* that are not cached."""
        found: list[Key] = []
        for site in sites:
            if site not in self._worth:
                found.append((SiteWorthRow, site, self._crawl))
            if site not in self._parts:
                found.append((ParkedPartsRow, (self._crawl, site), ""))
        return found

    # Counters.

    def worth(self, site: Site) -> SiteWorth:
        """Return the counters of *site*. Only the methods of this class change them."""
        if (worth := self._worth.get(site)) is None:
            self._row(site)  # Orders, which must not wait for reads, find it in the cache.
            row = self._worth_rows.get(site, self._crawl)
            worth = unpack_worth(row.counters if row else b"")
            self._worth.put(site, worth, site)
        return worth

    def estimate(self, site: Site, url: str, duplicates: int) -> Estimate:
        """Return the estimated worth of a visit to *url*, by which it may be parked."""
        worth = self.worth(site)
        address = worth.totals.address
        prior = self._zones.lasting_prior(self._crawl, suffix_of(site), address, duplicates)
        return expect(worth, url, duplicates, prior)

    def record_address(self, site: Site, address: str) -> None:
        """Record the *address* of the server that answered for *site*."""
        if address and self.worth(site).totals.address != address:
            self.worth(site).totals.address = address

    def record_suffix(self, site: Site) -> None:
        """Record that every name below the public suffix of *site* resolves."""
        self._zones.get(self._crawl, suffix_of(site)).has_wildcard = True

    def rank_worth(self, site: Site, url: str, origin: Origin | Discovery) -> float:
        """Return the worth by which *url* is ordered in its host's queue."""
        worth, copies = self.worth(site), origin.duplicates
        prior = self._zones.prior(self._crawl, suffix_of(site), worth.totals.address, copies)
        found = expect(worth, url, copies, prior)
        return rank_worth(found, worth, origin.position, origin.depth)

    def judged_parts(self, site: Site, url: str, duplicates: int) -> list[PartKey]:
        """Return the parts that the verdict on a visit to *url* tells most about: the smallest
        ones of its site, and the zones of a site without visits."""
        worth = self.worth(site)
        parts = judged_parts(worth.trie(duplicates), parts_of(url))
        zones = () if worth.totals.visits else self._zones_of(site)
        keys = [PartKey(zone, ZONE) for zone in zones]
        return [*(PartKey(site, part_name(part, duplicates)) for part in parts), *keys]

    def _zones_of(self, site: Site) -> list[str]:
        suffix, address = suffix_of(site), self.worth(site).totals.address
        has_wildcard = self._zones.get(self._crawl, suffix).has_wildcard
        return [zone for zone in (suffix if has_wildcard else "", address) if zone]

    def window(self, part: PartKey) -> float:
        """Return how many visits to *part* may await their verdicts at once."""
        if part.name == ZONE:
            return 1.0 + self._zones.get(self._crawl, part.site).counts.new
        name = part.name.removeprefix(OF_COPIES)
        return window_of(self.worth(Site(part.site)).trie(name != part.name), name)

    def count_admitted(
        self, site: Site, urls: int, sitemaps: int = 0, depth: int | None = None
    ) -> None:
        """Count *urls* that were queued, of which some are *sitemaps*; negative numbers if they
        were parked again. *depth*: the smallest of their depths."""
        worth = self.worth(site)
        if worth.totals.entry_depth is None:
            worth.totals.entry_depth = depth
        worth.totals.admitted = max(0, worth.totals.admitted + urls - sitemaps)
        worth.totals.sitemaps = max(0.0, worth.totals.sitemaps + sitemaps)
        self._count(site, worth)

    def record_in_links(self, site: Site, linking_site: Site, urls: Iterable[Discovery]) -> None:
        """Count new links from a page of another site to *urls*."""
        worth, suffix = self.worth(site), suffix_of(site)
        if worth.totals.new <= MAX_COMMON_TEXTS:
            record_growth(worth, [(one.url, one.duplicates) for one in urls])
        if not worth.totals.visits and suffix_of(linking_site) == suffix:
            self._zones.get(self._crawl, suffix).counts.growth += 1
        record_in_link(worth, linking_site, site)
        self._count(site, worth)

    def record_page_in_links(self, site: Site, in_links: Sketch) -> None:
        """Count the other sites that link to a page of *site*, from their sketch *in_links*."""
        worth = self.worth(site)
        record_page_in_links(worth, in_links)
        self._count(site, worth)

    def record_opening(
        self, site: Site, new_links: int, known_links: int, novelty: float | None
    ) -> None:
        """Count a page with a text of this *novelty*. Its content has *new_links* to new URLs of
        its site, and *known_links* to URLs that were discovered before.

        A page opens the site no further than its text counts. Otherwise lists of a few words would
        use up what the pages that they lead to earn.
        """
        text = 1.0 if novelty is None else max(OWN_TEXT, value_of_novelty(novelty))
        self.worth(site).totals.opened += text * new_links / (new_links + known_links)

    def record_links(self, site: Site, via: str, urls: Iterable[Discovery]) -> None:
        """Count new links on the page of the visit *via* to *urls* of its site."""
        page = via.partition("@")[2]
        if "://" not in page:
            return
        found = [(one.url, one.duplicates) for one in urls]
        record_growth(self.worth(site), found)
        if found and parts_of(page)[1] in {parts_of(url)[1] for url, _ in found}:
            record_links(self.worth(site), page, max(0, found[0][1] - 1), found)

    def record_transfer(self, site: Site, visit: Visit, received: int, seconds: float) -> None:
        """Count the bytes and the seconds of *visit*."""
        worth = self.worth(site)
        record_transfer(worth, visit.url, visit.duplicates, received, seconds)
        self._count(site, worth)

    def record_sitemap(self, site: Site, received: int) -> None:
        """Count the bytes of a sitemap."""
        worth = self.worth(site)
        worth.totals.sitemaps += received / SITEMAP_BYTES
        self._count(site, worth)

    def record_visit(
        self,
        site: Site,
        visit: Visit,
        new: float,
        size: int,
        now: float,
        has_own_text: bool = False,
        thin_limit: float = 0.0,
    ) -> None:
        """Count the first *visit* to a URL, which brought *new* texts, from 0 to 1, and *size*
        bytes. A part that brings new texts again is released. *has_own_text*: the text equals no
        other, which earns the URL that it took, however few of its words are new. The first such
        texts of the site count as new in their parts, up to *thin_limit* of them."""
        worth = self.worth(site)
        before = self.estimate(site, visit.url, visit.duplicates)
        if not worth.totals.visits:
            names = {suffix_of(site), worth.totals.address} - {""}
            self._zones.record_first_visit(self._crawl, names, new)
        is_thin = has_own_text and new < 1.0 and worth.totals.thin < thin_limit
        copies = visit.duplicates
        record_visit(worth, visit.url, copies, visit.position, visit.depth, new, is_thin)
        worth.totals.new += has_own_text * max(0.0, OWN_TEXT - new)
        if new >= LOW_WORTH:
            worth.totals.new_received += size
        if (new >= LOW_WORTH or is_thin) and before.low_part is not None:
            self._recover(site, worth, visit, before.low_part, now)
        self._count(site, worth)
        self._start_probes(site, worth, now)

    def _recover(
        self, site: Site, worth: SiteWorth, visit: Visit, low_part: str, now: float
    ) -> None:
        """Release the part of *visit*: its former visits are forgotten."""
        trie, parts = worth.trie(visit.duplicates), parts_of(visit.url)
        for part in (low_part, *parts[2:]):
            forget(trie, part)
        self.release(site, part_name(low_part, visit.duplicates), now)

    def _count(self, site: Site, worth: SiteWorth) -> None:
        """Keep *worth*, in which something was counted, and store it if it is due."""
        worth.unsaved += 1
        self._worth.put(site, worth, site)
        if must_store(worth) and not self.is_closed:
            self._worth_rows.put(SiteWorthRow(site, self._crawl, pack_worth(worth)))

    # Parked URLs.

    def parked(self, site: Site) -> dict[str, ParkedPart]:
        """Return the parked parts of *site*, by name."""
        return self._row(site).parts

    def park(
        self, site: Site, name: str, rule: Hazard, via: str, found: Discovery, now: float
    ) -> None:
        """Park *found*, which the visit *via* discovered, in the part *name*."""
        name, parts = self._parked_name(site, name), self.parked(site)
        if (part := parts.get(name)) is None:
            visits = self.worth(site).totals.visits
            part = _with_next_probe(ParkedPart(rule=rule, since=now), visits, now)
            self._schedule(site, part.probe_at)
        part = self._log(site, name).add(part, via, (found,))
        self._put(site, name, replace(part, urls=part.urls + 1))

    def _parked_name(self, site: Site, name: str) -> str:
        """Return the name of the part under which URLs of the part *name* are parked: `*` if too
        many others are."""
        parts = self.parked(site)
        return name if name in parts or len(parts) < MAX_PARKED_PARTS else OTHERS

    def may_admit(self, site: Site, name: str) -> bool:
        """Return whether a URL of the low part *name* is queued as a probe or by an operator's
        request, which is used up then.

        A request for another part counts, too: each visit may move the border of a low part.
        """
        parts = self.parked(site)
        for other in (self._parked_name(site, name), *parts):
            if (part := parts.get(other)) and part.to_admit > 0:
                self._change(site, other, to_admit=part.to_admit - 1)
                return True
        return False

    def find_order_grant(self, site: Site, name: str, used: Counter[str]) -> str | None:
        """Return the part whose probe or operator's request lets a URL of the low part *name* be
        visited; None without one. *used*: the URLs that are visited before it for each part."""
        parts = self.parked(site)
        for other in (self._parked_name(site, name), *parts):
            if (part := parts.get(other)) and part.to_order > used[other]:
                return other
        return None

    def count_orders(self, site: Site, urls: Iterable[tuple[str, int]]) -> None:
        """Count probes and requested visits among ordered *urls*, each with its number of pages
        without a new text before it."""
        if not any(part.to_order for part in self.parked(site).values()):
            return
        for url, copies in urls:
            if (low_part := self.estimate(site, url, copies).low_part) is None:
                continue
            name = self.find_order_grant(site, part_name(low_part, copies), Counter())
            if name is not None:
                self._change(site, name, to_order=self.parked(site)[name].to_order - 1)

    def release(self, site: Site, name: str, now: float, urls: int = 0) -> bool:
        """Begin to release the part *name*; return whether it has parked URLs.

        *urls*: the number of its URLs that are queued even if the part is still parked.
        """
        part = self.parked(site).get(name)
        if part is None:
            return False
        order = part.to_order + urls
        self._change(site, name, releasing=True, is_limited=urls > 0, to_admit=urls, to_order=order)
        self._schedule(site, now)
        return True

    def _start_probes(self, site: Site, worth: SiteWorth, now: float) -> None:
        visits = worth.totals.visits
        for name, part in [*self.parked(site).items()]:
            has_visits = part.urls > 0 and part.probe_visits <= visits and not _is_budget(name)
            if part.releasing or not (part.probe_at <= now or has_visits):
                continue
            if _is_empty(part):
                self._remove(site, name)
            else:
                part = _with_next_probe(replace(part, probes=part.probes + 1), visits, now)
                self._put(site, name, part)
                self._schedule(site, part.probe_at)
                self.release(site, name, now, urls=PROBE_URLS if _is_budget(name) else 1)

    def release_budgets(
        self, site: Site, hosts: int, has_seed: bool, settings: FrontierSettings, now: float
    ) -> None:
        """Release a bucket of URLs of each budget that has room for many, in their order.

        *hosts*: the admitted hosts of *site*. *has_seed*: whether it has a seed.
        """
        totals = self.worth(site).totals
        usage = Usage(hosts, totals.admitted, totals.new_depth, totals, has_seed, totals.sitemaps)
        for name, part in [*self.parked(site).items()]:
            if part.releasing or not _is_budget(name):
                continue
            hazard = Hazard(name)
            budget, limit = BUDGETS[hazard], limit_of(hazard, usage, settings)
            room = inf if limit is None else limit - budget.used(usage)
            start = getattr(settings, budget.setting)
            urls = min(part.urls, RELEASE_URLS, max(1.0, start / 4))
            per_url = budget.per_url(totals)
            # The depth of parked URLs is not known, so the budget may refuse them again: each
            # bucket is tried once, until the room changes.
            state = room if room == inf else room // 1 if per_url else limit
            if state != part.released_at:
                part = replace(part, released_at=state, released_until=part.tail)
            if room >= per_url * urls and part.head <= part.released_until:
                self._put(site, name, replace(part, is_limited=True, releasing=True))
                self._schedule(site, now)

    def step(self, site: Site, now: float) -> Iterator[tuple[str, list[ParkedRow]]]:
        """Start the probes of *site* that are due. Yield the name of each part that is being
        released, with the rows of one bucket of it, whose URLs are to be admitted."""
        self._start_probes(site, self.worth(site), now)
        for name, part in [*self.parked(site).items()]:
            if log := self._taken.pop((site, name), None):
                part, urls = log.drop_taken(part)
                part = replace(part, urls=max(0, part.urls - urls))
                self._put(site, name, part)
            if not part.releasing:
                continue
            if _is_empty(part):
                if part.to_order:  # Its released URLs are not visited yet.
                    self._change(site, name, releasing=False)
                else:
                    self._remove(site, name)
                continue
            log = self._taken[site, name] = self._log(site, name)
            rows = log.page(part.head)
            self._put(site, name, log.take(part, part.head, rows))
            yield name, rows
            self._schedule(site, now)

    def end_bucket(self, site: Site, name: str, queued: int) -> None:
        """Go on with the release of the part *name*, or end it: none of the URLs of its last bucket
        was *queued*, or all that were to be queued are."""
        part = self.parked(site).get(name)
        if part and (not queued or (part.to_admit == 0 and part.is_limited)):
            self._change(site, name, releasing=False, is_limited=False, to_admit=0)

    def restart_host(self, site: Site, host: HostKey, now: float) -> None:
        """Treat the parts of *host* as new, and release its parked URLs. The links on its pages
        count as known ones."""
        worth = self.worth(site)
        of_host = worth.of_new.get(host, NO_VISITS)
        worth.totals.opened = max(0.0, worth.totals.opened - of_host.new)
        self._erase_counters(site, host)
        for name in [*self.parked(site)]:
            if name.removeprefix(OF_COPIES).startswith(host):
                self.release(site, name, now)

    # Erasure.

    def parked_urls(self, site: Site, target: str) -> Iterator[list[str]]:
        """Yield the parked URLs of *target*, which is *site*, or a host or a URL of it, some
        buckets at a time."""
        keys = [
            self._log(site, name).key(bucket)
            for name, part in self.parked(site).items()
            if _may_contain(name, site, target)
            for bucket in part.buckets
        ]
        for first in range(0, len(keys), BUCKETS_PER_READ):
            rows = self._parked.scan_all(keys[first : first + BUCKETS_PER_READ])
            yield [one.url for row in rows for one in row.urls if is_about(one.url, target)]

    def erase(self, site: Site, target: str) -> int:
        """Erase the counters and the parked URLs of *target*, which is *site*, or a host or a URL
        of it. Return the number of erased URLs.

        Buckets that also have URLs of other hosts are rewritten without those of *target*.
        """
        erased, has_dropped = 0, False
        for name, part in [*self.parked(site).items()]:
            if not _may_contain(name, site, target):
                continue
            log = self._log(site, name)
            if _belongs_to(name.removeprefix(OF_COPIES), site, target):
                urls = part.urls
                log.drop_all(part)
                self._taken.pop((site, name), None)
                # After a crash before the drops, the row must still name the buckets.
                self._remove(site, name, last=True)
                has_dropped = True
            elif urls := log.erase(part, target):
                self._change(site, name, urls=max(0, part.urls - urls))
            erased += urls
        if target == site:
            key = self._crawl, site
            if has_dropped:
                self._rows.erase(key)
            elif self._rows.get(key):
                # Drops are flushed before the erasure of the row of the last host, as in `Sites`.
                self._rows.drop(key)
            self._worth_rows.erase(site, self._crawl)
            self._parts.remove(site)
            self._worth.remove(site)
        else:
            self._erase_counters(site, target)
        return erased

    def _erase_counters(self, site: Site, target: str) -> None:
        worth, erased = self.worth(site), False
        for trie in (worth.of_new, worth.of_copies, worth.positions):
            for part in [one for one in trie if _belongs_to(one, site, target)]:
                del trie[part]
                erased = True
        if erased:
            self._worth_rows.put(SiteWorthRow(site, self._crawl, pack_worth(worth)))

    def _log(self, site: Site, name: str) -> ParkedLog:
        return self._taken.get((site, name)) or part_log(self._parked, self._crawl, site, name)

    def _row(self, site: Site) -> ParkedPartsRow:
        if (row := self._parts.get(site)) is None:
            row = self._rows.get((self._crawl, site)) or ParkedPartsRow(self._crawl, site)
            self._parts.put(site, row, site)
        return row

    def _put(self, site: Site, name: str, part: ParkedPart) -> None:
        row = self._row(site)
        self._put_row(replace(row, parts={**row.parts, name: part}))

    def _change(self, site: Site, name: str, **changes: Any) -> None:
        self._put(site, name, replace(self.parked(site)[name], **changes))

    def _remove(self, site: Site, name: str, last: bool = False) -> None:
        row = self._row(site)
        parts = {other: part for other, part in row.parts.items() if other != name}
        self._put_row(replace(row, parts=parts), last)

    def _put_row(self, row: ParkedPartsRow, last: bool = False) -> None:
        for part in row.parts.values():
            self._count_parked(part.rule, part.urls)
        for part in self._row(row.site).parts.values():
            self._count_parked(part.rule, -part.urls)
        self._parts.put(row.site, row, row.site)
        if not self.is_closed:
            self._rows.put(row, last)


def new_texts_of(event: PageDeduplicated) -> float | None:
    """Return how many new texts the visit of *event* brought, from 0 to 1; None if it does not
    count: it was not the first visit to a page, or it found no document."""
    if event.visit.earlier or event.visit.purpose is not Purpose.PAGE:
        return None
    if event.verdict in GONE_VERDICTS:
        return None
    if event.verdict in (Verdict.DUPLICATE, Verdict.UNREADABLE):
        return 0.0
    return 1.0 if event.novelty is None else value_of_novelty(event.novelty)


def may_be_repeated(event: PageDeduplicated) -> bool:
    """Return whether *event* may be about a first visit that was made once more after a crash: it
    is about a first visit without a text that is all new."""
    new = new_texts_of(event)
    return new is not None and new < 1.0


def _belongs_to(part: str, site: Site, target: str) -> bool:
    """Return whether all URLs of *part* belong to *target*, which is *site*, or a host or a URL of
    it."""
    is_host = "://" in target and target.count("/") == 2
    return target == site or (is_host and f"{part}/".startswith(f"{target}/"))


def _may_contain(name: str, site: Site, target: str) -> bool:
    """Return whether some URLs of the parked part *name* may belong to *target*."""
    part = name.removeprefix(OF_COPIES)
    return "://" not in part or target == site or host_key(part + "/") == host_key(target + "/")


def _is_empty(part: ParkedPart) -> bool:
    return (part.head, part.tail_size) == (part.tail, 0)


def _is_budget(name: str) -> bool:
    return name.startswith("trap_")


def _with_next_probe(part: ParkedPart, visits: int, now: float) -> ParkedPart:
    """Return *part* with the time, and the number of the site's *visits*, of its next probe."""
    factor = 1 << min(part.probes, MAX_DOUBLINGS)
    wait = min(PROBE_WAIT * factor, MAX_PROBE_WAIT)
    return replace(part, probe_at=now + wait, probe_visits=visits + PROBE_VISITS * factor)
