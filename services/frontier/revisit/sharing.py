"""What every policy does with a visit and with an interval: keep count, and keep the sums right."""

from msgspec.structs import replace

from services.frontier.revisit.expected import expected
from services.frontier.revisit.numbers import rounded, settled
from services.frontier.revisit.rates import Belief
from services.frontier.revisit.state import (
    DAY,
    Basis,
    Decision,
    Known,
    Plan,
    SiteState,
    Visit,
)
from services.frontier.revisit.times import jittered, outside_quiet_hours

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
