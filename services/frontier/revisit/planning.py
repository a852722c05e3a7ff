"""Instants of planned visits: jitter that differs each time, and a site's quiet hours.

[sharing] What every policy does with a visit and with an interval: keep count, and keep the sums right.
"""

from msgspec.structs import replace

from gossamer.log import murmur2
from services.frontier.revisit.beliefs import Belief, expected_freshness
from services.frontier.revisit.state import (
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
"""Longer, nobody wants to know."""
JITTER_SHARE = 0.05
"""Of an interval: so far a visit may lie before or after its time."""


def add_jitter(interval: float, url: str, visits: int) -> float:
    """Return *interval* seconds, up to a twentieth more or less, by *url* and its visit's number.

    So the times of visits to a page drift over the day (selective-incremental, 3.1), and pages that
    were found together part.
    """
    drawn = murmur2(f"{visits} {url}".encode()) / 2**32
    return interval * (1 + JITTER_SHARE * (2 * drawn - 1))


def outside_quiet_hours(site: SiteState, at: float) -> float:
    """Return *at*, or the end of the quiet hours that it lies in."""
    long = quiet_time(site)
    into = (at - site.quiet_from) % DAY
    return at - into + long if into < long else at


def quiet_time(site: SiteState) -> float:
    """Return how many seconds of a day are quiet."""
    return (site.quiet_until - site.quiet_from) % DAY


def format_duration(seconds: float) -> str:
    """Return a duration as a person would say it: 20 s, 40 min, 3.5 h, 12 d, 4 y."""
    if seconds > MAX_SHOWN_SECONDS:
        return f"over {MAX_SHOWN_SECONDS / YEAR:g} y"
    for unit, length in (("y", YEAR), ("d", DAY), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.95 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds >= 1 or not seconds else "under 1 s"


MIN_FRESHNESS = 1e-6
"""Of an expected freshness: it is counted."""


def count_visit(states: States, visit: Visit) -> States:
    """Return what is known with *visit* counted."""
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
    why: tuple[Basis, str],
    belief: Belief,
    told: float = 0.0,
) -> Decision:
    """Plan the next visit *interval* seconds after the last, with jitter; not in quiet hours."""
    page = states.page
    at = page.at + add_jitter(interval, url, page.visits)
    return plan_at(states, outside_quiet_hours(states.site, at), interval, why, belief, told)


def plan_at(
    states: States,
    at: float,
    interval: float,
    why: tuple[Basis, str],
    belief: Belief | None = None,
    told: float = 0.0,
) -> Decision:
    """Plan the next visit for *at*; the demand counts one in *interval* seconds. *why*: what
    decides that, in a word and in a sentence.

    By *belief*, and by how many changes a day are *told*, the crawl knows how fresh the page is
    kept (`expected_freshness`). None: there is nothing to keep fresh.
    """
    fresh = age = 0.0
    if belief:
        fresh, age = expected_freshness(states.page, belief, at + states.crawl.lateness, told)
        fresh, age = max(to_single(fresh), MIN_FRESHNESS), to_single(age)
    states = _set_demand(states, to_single(DAY / interval), fresh, age)
    at = float(round(at))
    return Decision(states._replace(page=replace(states.page, due_at=at)), Plan(at, why[1], why[0]))


def remove_demand(states: States) -> States:
    """Return what is known with the page's visits taken out of the demand."""
    return _set_demand(states, 0.0, 0.0, 0.0)


def _set_demand(states: States, pace: float, fresh: float, age: float) -> States:
    """Return what is known with *pace* visits a day to the page, which keep it so *fresh*.

    The crawl counts of a site what politeness allows: what is above that, it cannot be asked for.
    """
    page, site, crawl = states
    demand = clear_residue(site.demand - page.pace + pace)
    more = _allowed(site, demand) - _allowed(site, site.demand)
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


def _allowed(site: SiteState, demand: float) -> float:
    return min(demand, site.limit) if site.limit else demand
