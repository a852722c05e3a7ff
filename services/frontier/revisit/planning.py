"""Instants of planned visits: jitter that differs each time, and a site's quiet hours.

[sharing] What every policy does with a visit and with an interval: keep count, and keep the sums right.
"""

from msgspec.structs import replace

from gossamer.log import murmur2
from services.frontier.revisit.beliefs import Belief, expected
from services.frontier.revisit.state import (
    DAY,
    Basis,
    Decision,
    Known,
    Plan,
    SiteState,
    Visit,
    rounded,
    settled,
)

YEAR = 365 * DAY
LONG = 100 * YEAR
"""Longer, nobody wants to know."""
JITTER = 0.05
"""Of an interval: so far a visit may lie before or after its time."""


def jittered(interval: float, url: str, visits: int) -> float:
    """Return *interval* seconds, up to a twentieth more or less, by *url* and its visit's number.

    So the times of visits to a page drift over the day (selective-incremental, 3.1), and pages that
    were found together part.
    """
    drawn = murmur2(f"{visits} {url}".encode()) / 2**32
    return interval * (1 + JITTER * (2 * drawn - 1))


def outside_quiet_hours(site: SiteState, at: float) -> float:
    """Return *at*, or the end of the quiet hours that it lies in."""
    long = quiet_time(site)
    into = (at - site.quiet_from) % DAY
    return at - into + long if into < long else at


def quiet_time(site: SiteState) -> float:
    """Return how many seconds of a day are quiet."""
    return (site.quiet_until - site.quiet_from) % DAY


def spelled(seconds: float) -> str:
    """Return a duration as a person would say it: 20 s, 40 min, 3.5 h, 12 d, 4 y."""
    if seconds > LONG:
        return f"over {LONG / YEAR:g} y"
    for unit, length in (("y", YEAR), ("d", DAY), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.95 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds >= 1 or not seconds else "under 1 s"


LEAST = 1e-6
"""Of an expected freshness: it is counted."""


def recorded(known: Known, visit: Visit) -> Known:
    """Return what is known with *visit* counted."""
    page = known.page
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
    return known._replace(page=page)


def after(
    known: Known,
    url: str,
    interval: float,
    why: tuple[Basis, str],
    belief: Belief,
    told: float = 0.0,
) -> Decision:
    """Plan the next visit *interval* seconds after the last, with jitter; not in quiet hours."""
    page = known.page
    at = page.at + jittered(interval, url, page.visits)
    return placed(known, outside_quiet_hours(known.site, at), interval, why, belief, told)


def placed(
    known: Known,
    at: float,
    interval: float,
    why: tuple[Basis, str],
    belief: Belief | None = None,
    told: float = 0.0,
) -> Decision:
    """Plan the next visit for *at*; the demand counts one in *interval* seconds. *why*: what
    decides that, in a word and in a sentence.

    By *belief*, and by how many changes a day are *told*, the crawl knows how fresh the page is
    kept (`expected`). None: there is nothing to keep fresh.
    """
    fresh = age = 0.0
    if belief:
        fresh, age = expected(known.page, belief, at + known.crawl.lateness, told)
        fresh, age = max(rounded(fresh), LEAST), rounded(age)
    known = _counted(known, rounded(DAY / interval), fresh, age)
    at = float(round(at))
    return Decision(known._replace(page=replace(known.page, due_at=at)), Plan(at, why[1], why[0]))


def uncounted(known: Known) -> Known:
    """Return what is known with the page's visits taken out of the demand."""
    return _counted(known, 0.0, 0.0, 0.0)


def _counted(known: Known, pace: float, fresh: float, age: float) -> Known:
    """Return what is known with *pace* visits a day to the page, which keep it so *fresh*.

    The crawl counts of a site what politeness allows: what is above that, it cannot be asked for.
    """
    page, site, crawl = known
    demand = settled(site.demand - page.pace + pace)
    more = _allowed(site, demand) - _allowed(site, site.demand)
    weight = page.weight
    return Known(
        replace(page, pace=pace, fresh=fresh, age=age),
        replace(site, demand=demand),
        replace(
            crawl,
            demand=settled(crawl.demand + more),
            weights=settled(crawl.weights + weight * (bool(fresh) - bool(page.fresh))),
            fresh=settled(crawl.fresh + weight * (fresh - page.fresh)),
            age=settled(crawl.age + weight * (age - page.age)),
        ),
    )


def _allowed(site: SiteState, demand: float) -> float:
    return min(demand, site.limit) if site.limit else demand
