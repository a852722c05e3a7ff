"""The parts of a site as data: what their visits brought, and which URLs are parked."""

from collections.abc import Iterator

from msgspec import Struct

from gossamer.crawl import canonical_of_typed
from gossamer.inspection.basics.figures import plural
from gossamer.inspection.basics.views import view_of
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.services.frontier.partition.parts import OF_COPIES
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.partitions import partition_keys
from gossamer.services.frontier.tables.plans import PartitionPlansRow
from gossamer.services.frontier.tables.sites import (
    ParkedPart,
    ParkedPartsRow,
    SiteRow,
    SiteWorthRow,
)
from gossamer.services.frontier.worth.budgets import BUDGETS, Usage, limit_of
from gossamer.services.frontier.worth.worth import (
    OTHERS,
    SITE,
    Counts,
    SiteWorth,
    Trie,
    describe_part,
    estimate_part,
    unpack_worth,
)
from gossamer.web.url import Site, site_of


class Part(Struct, frozen=True, kw_only=True):
    """A part of a site: a host, a directory, or a path with parameters."""

    name: str
    """The name of the part, for `gossamer release`."""
    text: str
    """The name of the part, for people."""
    level: int
    """0 for the whole site, 1 for a host, and so on."""
    worth: float
    """The new texts that a visit is expected to bring, from 0 to 1."""
    visits: float
    """First visits to URLs of the part; older ones count less."""
    new: float
    """New texts that `visits` brought."""
    links: float
    """New links that `visits` found."""
    received: float
    """Bytes that `visits` received."""
    seconds: float
    """Seconds that `visits` took."""
    parked: int = 0
    """Parked URLs of the part, about."""
    next_probe_at: float | None = None
    """The time of the next visit that shows whether the part has recovered; null if it is not
    parked."""


class SiteBudget(Struct, frozen=True, kw_only=True):
    """A budget of a site."""

    name: str
    """The hazard that URLs over the budget are refused by, for `gossamer release`."""
    unit: str
    setting: str
    """The setting with the budget of a site that has earned nothing."""
    used: float
    limit: float | None
    """The present limit; null if the budget is off."""
    parked: int = 0
    """Parked URLs that wait for the budget, about."""


class SiteParts(Struct, frozen=True, kw_only=True):
    """What the visits to a site brought, its budgets, and its parts."""

    site: Site
    answer: str
    """What the visits brought, and how many URLs are parked, in one sentence."""
    visits: int
    """First visits to URLs."""
    new: float
    """New texts that `visits` brought."""
    linking_sites: float
    """Other sites that link to the site, about."""
    parked: int
    """Parked URLs of the site, about."""
    admitted: int
    """URLs that were found and are not parked."""
    unvisited: int
    """Admitted URLs that wait for their first visit, about."""
    new_urls_lately: float | None
    """New URLs of the site that its pages linked to, per 100 of the last first visits; null before
    the first visit. Near 0 means that the site has hardly any more URLs."""
    budgets: tuple[SiteBudget, ...]
    parts: tuple[Part, ...]
    """The parts in the order of a tree. Those with `~` before their names have the URLs that pages
    without a new text link to."""

    @property
    def parked_urls(self) -> dict[str, int]:
        """Name of a part or budget → its parked URLs, about."""
        found = {budget.name: budget.parked for budget in self.budgets if budget.parked}
        return found | {part.name: part.parked for part in self.parts if part.parked}


def site_of_typed(text: str) -> Site:
    """Return the site of a typed host or URL. Raise BadSettings if it is neither."""
    return site_of(canonical_of_typed(text))


def read_parts(crawl: OpenCrawl, site: Site) -> SiteParts:
    """Return the parts and budgets of *site*."""
    rows = (SiteWorthRow, ParkedPartsRow, SiteRow, HostRow, PartitionPlansRow)
    with crawl.view(*rows) as store:
        row = store.table(SiteWorthRow).get(site, crawl.id)
        parked = store.table(ParkedPartsRow).get((crawl.id, site))
        site_row = store.table(SiteRow).get(site) or SiteRow(site)
        hosts = [*store.table(HostRow).scan(site)]
        keys = [(key, crawl.id) for key in partition_keys(crawl.log.partitions)]
        postponed = sum(one.waiting for one in store.table(PartitionPlansRow).get_all(keys))
    queued = sum(host.of(crawl.id).new.queued for host in hosts)
    worth = unpack_worth(row.counters if row else b"")
    parts = dict(parked.parts) if parked else {}
    count = sum(part.urls for part in parts.values())
    return view_of(
        SiteParts,
        worth.totals,
        site=site,
        answer=_answer(worth.totals.visits, worth.totals.new, count),
        parked=count,
        # Postponed first visits wait for the budget of visits, in no queue, and may be of any site.
        unvisited=min(max(0, worth.totals.admitted - worth.totals.visits), queued + postponed),
        new_urls_lately=_new_urls_lately(worth),
        budgets=tuple(_budgets(crawl, worth, site_row, parts)),
        parts=(
            *_parts(site, worth.of_new, "", parts),
            *_parts(site, worth.of_copies, OF_COPIES, parts),
        ),
    )


def _answer(visits: int, new: float, parked: int) -> str:
    texts = plural(round(new), "text")
    found = f"{plural(visits, 'first visit')} brought {texts} with new words" if visits else ""
    waiting = f"{plural(parked, 'URL')} parked"
    return f"{found or 'No first visit is counted'}; {waiting}."


def _new_urls_lately(worth: SiteWorth) -> float | None:
    of_site = [trie.get(SITE, Counts()) for trie in (worth.of_new, worth.of_copies)]
    visits = sum(counts.visits for counts in of_site)
    return round(100 * sum(counts.links for counts in of_site) / visits, 1) if visits else None


def _budgets(
    crawl: OpenCrawl, worth: SiteWorth, row: SiteRow, parts: dict[str, ParkedPart]
) -> Iterator[SiteBudget]:
    totals, own = worth.totals, row.of(crawl.id)
    usage = Usage(
        own.hosts, totals.admitted, totals.new_depth + 1, totals, own.has_seed, totals.sitemaps
    )
    for hazard, budget in BUDGETS.items():
        waiting = parts.get(hazard)
        yield SiteBudget(
            name=str(hazard),
            unit=budget.unit,
            setting=f"frontier.{budget.setting}",
            used=budget.used(usage),
            limit=limit_of(hazard, usage, crawl.frontier),
            parked=waiting.urls if waiting else 0,
        )


def _parts(site: Site, trie: Trie, before: str, parked: dict[str, ParkedPart]) -> Iterator[Part]:
    names = {name[len(before) :] for name in parked if _is_in(name, before)}
    for name in sorted({*trie, *names}):
        waiting = parked.get(f"{before}{name}")
        counts = trie.get(name, Counts())
        yield Part(
            name=f"{before}{name}",
            text=describe_part(name, site),
            level=_level(name),
            worth=round(estimate_part(trie, name), 3),
            visits=round(counts.visits, 1),
            new=round(counts.new, 1),
            links=round(counts.links, 1),
            received=round(counts.received),
            seconds=round(counts.seconds, 3),
            parked=waiting.urls if waiting else 0,
            next_probe_at=waiting.probe_at if waiting else None,
        )


def _is_in(name: str, before: str) -> bool:
    """Return whether the parked part *name* is of the trie with this prefix."""
    if name in BUDGETS:
        return False
    return name.startswith(OF_COPIES) == bool(before)


def _level(name: str) -> int:
    if name in (SITE, OTHERS):
        return 0 if name == SITE else 1
    path = name.partition("://")[2]
    return 1 + path.rstrip("/").count("/") + path.count("?") + path.endswith("?")
