"""Plans: times of visits with jitter and outside quiet hours, and the sums of site and crawl."""

from msgspec.structs import replace

from gossamer.log import murmur2
from gossamer.services.frontier.revisit.beliefs import Belief, expected_freshness
from gossamer.services.frontier.revisit.state import (
    DAY,
    Basis,
    Decision,
    Plan,
    SiteState,
    States,
    Visit,
    clear_residue,
    to_single,
)

YEAR = 365 * DAY
MAX_SHOWN_SECONDS = 100 * YEAR
"""A longer duration is shown as "over 100 y"."""
JITTER_SHARE = 0.05
"""The maximum jitter of a visit, as a fraction of the interval."""


def add_jitter(interval: float, url: str, visits: int) -> float:
    """Return *interval* seconds with a jitter of up to 5 %, derived from *url* and *visits*.

    The jitter lets the visits to a page drift over the day (*Selective incremental*, 3.1), and
    separates pages that were found together.
    """
    drawn = murmur2(f"{visits} {url}".encode()) / 2**32
    return interval * (1 + JITTER_SHARE * (2 * drawn - 1))


def outside_quiet_hours(site: SiteState, at: float) -> float:
    """Return *at*, or the end of the site's quiet hours if *at* is in them."""
    quiet = quiet_time(site)
    into = (at - site.quiet_from) % DAY
    return at - into + quiet if into < quiet else at


def quiet_time(site: SiteState) -> float:
    """Return the seconds of a day that are quiet hours."""
    return (site.quiet_until - site.quiet_from) % DAY


def format_duration(seconds: float) -> str:
    """Format a duration with one unit: 20 s, 40 min, 3.5 h, 12 d, 4 y."""
    if seconds > MAX_SHOWN_SECONDS:
        return f"over {MAX_SHOWN_SECONDS / YEAR:g} y"
    for unit, length in (("y", YEAR), ("d", DAY), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.95 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds >= 1 or not seconds else "under 1 s"


MIN_FRESHNESS = 1e-6
"""The minimum expected freshness: a page with planned visits is never counted as 0."""


def count_visit(states: States, visit: Visit) -> States:
    """Count *visit* in the state of the page."""
    page = states.page
    changed = bool(page.visits) and visit.changed
    page = replace(
        page,
        at=visit.at,
        visits=page.visits + 1,
        changes=page.changes + changed,
        changed_at=visit.at if changed or not page.visits else page.changed_at,
        missed=0,
        missed_at=0.0,
        absent=None,
        expires_at=float(round(visit.expires_at)),
    )
    return states._replace(page=page)


def plan_after(
    states: States,
    url: str,
    interval: float,
    reason: tuple[Basis, str],
    belief: Belief,
    announced: float = 0.0,
) -> Decision:
    """Plan the next visit *interval* seconds after the last one, with jitter."""
    page = states.page
    at = page.at + add_jitter(interval, url, page.visits)
    return plan_at(
        states, outside_quiet_hours(states.site, at), interval, reason, belief, announced
    )


def plan_at(
    states: States,
    at: float,
    interval: float,
    reason: tuple[Basis, str],
    belief: Belief | None = None,
    announced: float = 0.0,
) -> Decision:
    """Plan the next visit for *at*; the demand counts one visit in *interval* seconds.

    *reason* is the basis and a sentence. *belief* and *announced* (changes a day that the site
    announces) give the expected freshness. *belief* is None if there is no document.
    """
    fresh = age = 0.0
    if belief:
        fresh, age = expected_freshness(states.page, belief, at + states.crawl.lateness, announced)
        fresh, age = max(to_single(fresh), MIN_FRESHNESS), to_single(age)
    states = _set_demand(states, to_single(DAY / interval), fresh, age)
    at = float(round(at))
    return Decision(
        states._replace(page=replace(states.page, due_at=at)), Plan(at, reason[1], reason[0])
    )


def remove_demand(states: States) -> States:
    """Remove the page's visits from the demand."""
    return _set_demand(states, 0.0, 0.0, 0.0)


def _set_demand(states: States, pace: float, fresh: float, age: float) -> States:
    """Set the page's demand to *pace* visits a day, with the freshness and age that result.

    The crawl counts the demand of a site only up to what politeness allows.
    """
    page, site, crawl = states
    demand = clear_residue(site.demand - page.pace + pace)
    more = _within_limit(site, demand) - _within_limit(site, site.demand)
    weight = page.weight
    return States(
        replace(page, pace=pace, fresh=fresh, age=age),
        replace(site, demand=demand),
        replace(
            crawl,
            demand=clear_residue(crawl.demand + more),
            weights=clear_residue(crawl.weights + weight * (bool(fresh) - bool(page.fresh))),
            fresh=clear_residue(crawl.fresh + weight * (fresh - page.fresh)),
            age=clear_residue(crawl.age + weight * (age - page.age)),
        ),
    )


def _within_limit(site: SiteState, demand: float) -> float:
    return min(demand, site.limit) if site.limit else demand
