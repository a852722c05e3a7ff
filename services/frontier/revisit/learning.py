"""What is learnt from a visit, whatever policy plans the next one.

How often the page changes, what its site's pages have in common, which evidence was true, and what
the page would ask for at any price. So a crawl whose policy is changed knows all it could know, and
how fresh the pages are can be told of every policy.
"""

from math import log

from msgspec.structs import replace

from services.frontier.revisit.clock import is_regular, ticked
from services.frontier.revisit.curve import cell_of, moved
from services.frontier.revisit.evidence import (
    TRUSTED,
    dated,
    missed,
    says_changed,
    times_likelier,
    weighed,
)
from services.frontier.revisit.importance import reweighted
from services.frontier.revisit.numbers import rounded
from services.frontier.revisit.price import delayed
from services.frontier.revisit.prior import prior_of, taught, untaught
from services.frontier.revisit.rates import (
    Belief,
    after_change_at,
    after_changed,
    after_unchanged,
    believed,
    faded,
)
from services.frontier.revisit.sharing import recorded, uncounted
from services.frontier.revisit.state import DAY, Kind, Known, PageState, Rate, SiteState, Visit

SLOWLY, QUICKLY = 0.98, 0.8
"""What remains of an observation at the next one."""
LEAD, LEAD_FADE = 1.0, 0.9


def learned(known: Known, visit: Visit) -> tuple[Known, Belief]:
    """Return what is known after *visit*, and what is believed of the page's change rate."""
    if visit.first and known.page.visits:
        known = forgotten(known)
    known = reweighted(known, visit.at, visit.in_links)
    prior = prior_of(known.site, known.crawl)
    page = learnt(known.page, visit, prior, change_told(known, visit))
    site = weighed(known.site, known.page, visit)
    crawl = delayed(known.crawl, site, known.page.due_at, visit.at)
    known = recorded(Known(page, site, crawl), visit)
    belief = belief_of(page, prior)
    return asking(taught(known, belief), belief), belief


def forgotten(known: Known) -> Known:
    """Return what is known when the page is gone: nobody counts on visits to it any more."""
    known = untaught(uncounted(known))
    page = known.page
    again = PageState(
        weight=page.weight, base=page.base, in_links=page.in_links, requests=page.requests
    )
    return known._replace(page=again)


def belief(known: Known) -> Belief:
    """Return what is believed of the page's change rate."""
    return belief_of(known.page, prior_of(known.site, known.crawl))


def belief_of(page: PageState, prior: Belief) -> Belief:
    """Return what is believed of the page's rate by what has predicted it better of late."""
    return believed(prior, page.recent if page.lead > LEAD else page.rate)


def unheard(belief: Belief, site: SiteState) -> Belief:
    """Return the belief in changes of which nothing would be said."""
    return Belief(belief.shape, belief.days / missed(site))


def told(belief: Belief, site: SiteState) -> float:
    """Return how many changes a day will be heard of."""
    return belief.mean * (1 - missed(site))


def asking(known: Known, belief: Belief) -> Known:
    """Return what is known with the page where it belongs in the demand curves."""
    page, site, crawl = known
    weight, shape = max(page.weight, 1e-9), None if is_regular(page.clock) else belief.shape
    rate = rounded(unheard(belief, site).mean if shape else 1 / page.clock.period)
    cell, site_cell = cell_of(rate, shape, weight / site.surcharge), cell_of(rate, shape, weight)
    site_rate = rate if site.limit else 0.0
    own = moved(site.curve, (page.site_cell, page.site_asked), (site_cell, site_rate))
    curve = moved(crawl.curve, (page.cell, page.asked), (cell, rate))
    page = replace(page, cell=cell, asked=rate, site_cell=site_cell, site_asked=site_rate)
    return Known(page, replace(site, curve=own), replace(crawl, curve=curve))


def change_told(known: Known, visit: Visit) -> float:
    """Return when the change that *visit* saw happened if Last-Modified is believed, else 0."""
    for one in visit.evidence:
        if one.kind is Kind.LAST_MODIFIED and visit.changed:
            believable = times_likelier(known.site, one.kind) > TRUSTED
            if believable and says_changed(one, known.page, visit.at):
                return dated(one, visit.at)
    return 0.0


def learnt(page: PageState, visit: Visit, prior: Belief, told: float = 0.0) -> PageState:
    """Return the page with what the visit says of its changes; *told*: when the last one was."""
    if not page.visits:
        return page
    t = max(visit.at - page.at, 1.0) / DAY
    slow, quick = believed(prior, page.rate), believed(prior, page.recent)
    by_slow, by_quick = (_score(belief, t, visit.changed) for belief in (slow, quick))
    lead = page.lead * LEAD_FADE + by_quick - by_slow
    since = told - 60 if told else page.at
    # Not before the last visit, though the clock was set back or the verdict is late.
    at = max(told or visit.at, since)
    clock = ticked(page.clock, since, at, visit.changed, max(by_slow, by_quick))
    ago = (visit.at - told) / DAY if told else 0.0
    return replace(
        page,
        rate=_observed(faded(page.rate, SLOWLY), prior, t, visit.changed, ago),
        recent=_observed(faded(page.recent, QUICKLY), prior, t, visit.changed, ago),
        lead=rounded(lead),
        clock=clock,
        heard=0,
    )


def _observed(rate: Rate, prior: Belief, t: float, changed: bool, ago: float) -> Rate:
    if ago:
        rate = after_change_at(rate, ago)
    else:
        rate = after_changed(rate, prior, t) if changed else after_unchanged(rate, t)
    return Rate(rounded(rate.changes), rounded(rate.exposure))


def _score(belief: Belief, t: float, changed: bool) -> float:
    unchanged = belief.unchanged(t)
    return log(max(1e-6, 1 - unchanged if changed else unchanged))
