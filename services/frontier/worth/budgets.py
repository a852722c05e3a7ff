"""The budgets of a site: how much of it is crawled, by what it has earned.

Each budget starts small and grows with new texts of the site, and with the number of other sites
that link to it. So a site that nobody links to and that brings no new text gets little, and a large
honest site gets as much as it has.

A maze of generated pages has a new text on each page. So a text counts as far as its page leads
back: the share of the links in its content that were new earns nothing (`SiteTotals.opened`). The
pages of a finite site mostly link to known pages, and those of a maze only to new ones.

IRLbot gives domains a budget by the sites that link to them (STAR, BEAST); Heritrix counts novel
bytes; Common Crawl takes from a hundred to 500,000 pages of a site, by its rank.

A budget is a row of `BUDGETS`. URLs beyond a budget are parked, and released when it grows.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from gossamer.events.hazards import Hazard
from gossamer.services.frontier.worth.worth import SiteTotals

if TYPE_CHECKING:
    # `gossamer sites` imports this module; importing settings takes longer than the command.
    from gossamer.settings import FrontierSettings

SECONDS_OF_TEXT = 30.0
"""Seconds that each new text earns, times the growth. A slow but honest server takes less."""
DEPTH_GROWTH = 4
"""Links beyond the deepest page with a new text that are followed."""
URLS_OF_A_LEVEL = 4
"""URLs that a budget has for the pages of one depth, after it is used up by those before them."""


class Usage(NamedTuple):
    """What a site has used and earned, as the budgets see it."""

    hosts: int
    """Admitted hosts."""
    urls: int
    """Admitted URLs, without sitemaps."""
    depth: int
    """The depth of the URL that is to be admitted."""
    totals: SiteTotals
    has_seed: bool = False
    """Whether a seed of the site was admitted."""
    sitemaps: float = 0.0
    """Admitted sitemaps, as `SiteTotals.sitemaps` counts them."""


class Budget(NamedTuple):
    """A budget of a site."""

    unit: str
    """What it counts, in the plural, for people."""
    setting: str
    """The setting of the section `frontier` with the budget of a site that has earned nothing; 0
    turns the budget off."""
    used: Callable[[Usage], float]
    limit: Callable[[float, Usage, "FrontierSettings"], float]
    """Returns the limit from the value of the setting, the usage, and all settings."""
    per_url: Callable[[SiteTotals], float] = lambda totals: 1.0
    """What one more URL uses, about."""


def _growing(
    earned: Callable[[Usage], float],
) -> Callable[[float, Usage, "FrontierSettings"], float]:
    """Return the limit of a budget that grows with what a site has *earned*, and with the number of
    other sites that link to it."""

    def limit(start: float, at: Usage, settings: "FrontierSettings") -> float:
        linking_sites = at.totals.linking_sites + settings.seed_sites * at.has_seed
        growth = settings.budget_growth * at.totals.earned_share
        return start * (1.0 + linking_sites) + growth * earned(at)

    return limit


def _depth_in_site(at: Usage, depth: int) -> int:
    """Return the number of links from the first page of the site to a page at *depth*."""
    entry = at.totals.entry_depth
    return 0 if entry is None else max(0, depth - entry)


def _url_limit(start: float, at: Usage, settings: "FrontierSettings") -> float:
    """Return the limit for a page, which is larger the deeper it is: lists without a text of their
    own would use up the budget before the first page that they lead to."""
    levels = max(0, _depth_in_site(at, at.depth) - 1)
    return _limit_by_texts(start, at, settings) + min(start, URLS_OF_A_LEVEL * levels)


_limit_by_texts = _growing(lambda at: at.totals.new)
BUDGETS: dict[Hazard, Budget] = {
    Hazard.TRAP_HOSTS: Budget(
        "hosts", "host_budget", lambda at: at.hosts, _growing(lambda at: at.totals.new_hosts)
    ),
    Hazard.TRAP_URLS: Budget("URLs", "url_budget", lambda at: at.urls, _url_limit),
    Hazard.TRAP_BYTES: Budget(
        "bytes",
        "byte_budget",
        lambda at: at.totals.received,
        _growing(lambda at: at.totals.new_received),
        lambda totals: totals.received / max(1, totals.visits),
    ),
    Hazard.TRAP_SECONDS: Budget(
        "seconds of fetching",
        "second_budget",
        lambda at: at.totals.seconds,
        _growing(lambda at: at.totals.new * SECONDS_OF_TEXT),
        lambda totals: totals.seconds / max(1, totals.visits),
    ),
    Hazard.TRAP_SITE_DEPTH: Budget(
        "links from its first page",
        "depth_budget",
        lambda at: max(0, _depth_in_site(at, at.depth) - 1),
        lambda start, at, settings: max(
            start, _depth_in_site(at, at.totals.new_depth) + DEPTH_GROWTH
        ),
        lambda totals: 0.0,
    ),
    # Sitemaps have an allowance of their own: they earn nothing, so a site whose sitemaps had used
    # up the budgets of its pages would never get any back.
    Hazard.TRAP_SITEMAPS: Budget(
        "sitemaps", "sitemap_budget", lambda at: at.sitemaps, _growing(lambda at: at.totals.new)
    ),
}
"""Hazard → its budget, in the order of evaluation."""


def limit_of(hazard: Hazard, usage: Usage, settings: "FrontierSettings") -> float | None:
    """Return the present limit of the budget of *hazard*; None if it is off."""
    budget = BUDGETS[hazard]
    start = getattr(settings, budget.setting)
    return budget.limit(start, usage, settings) if start else None


def is_in_reach(hazard: Hazard, usage: Usage, settings: "FrontierSettings") -> bool:
    """Return whether *usage* has reached the budget of *hazard* that a site starts with.

    No limit is below it, and most sites never reach it.
    """
    budget = BUDGETS[hazard]
    start = getattr(settings, budget.setting)
    return bool(start) and budget.used(usage) >= start


def find_exceeded(hazard: Hazard, usage: Usage, settings: "FrontierSettings") -> str | None:
    """Return the reason why the budget of *hazard* refuses one more URL; None if it does not."""
    if not is_in_reach(hazard, usage, settings):
        return None
    budget = BUDGETS[hazard]
    limit = budget.limit(getattr(settings, budget.setting), usage, settings)
    is_used_up = budget.used(usage) >= limit
    return f"the site's budget of {limit:,.0f} {budget.unit} is used up" if is_used_up else None
