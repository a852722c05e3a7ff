"""What a visit teaches, whatever the policy: priors, weights, rates and demand.

**The prior** of a page's change rate is fitted to the pages of its site and of the crawl (empirical
Bayes: the M step of EM, one page at a time). Each page with two visits or more adds its expected
rate and log rate to the sums of its site and of the crawl. A page with one visit has no information
beyond the prior. A new site begins with the crawl's prior, a new crawl with a default.

**The weight** of a page is the importance of its freshness. It begins with the depth and the
priority of the URL. A reader follows one more link with probability 2/3: in Baeza-Yates and
Castillo (*Crawling the infinite Web: five levels are enough*, 2004) 90 % of page views are within
three to five links of the start, which is 0.56 to 0.68 for each link. So weights halve every 1.7
links, down to the seventh. Later the weight grows with the square root of the number of sites that
link to the page, and with requests by operators, which fade by half each month. A weight changes
only at a visit, because sums over pages contain it.

**Learning** from a visit updates the rate, the prior, the trust in evidence and the demand curves.
Every policy does it, so a crawl can change its policy without loss, and freshness is computed for
every policy.
"""

from math import log, sqrt
from typing import TypeVar

from msgspec.structs import replace

from gossamer.services.frontier.revisit.beliefs import (
    Belief,
    fade,
    fit_prior,
    is_regular,
    observe_change_at,
    observe_changed,
    observe_clock,
    observe_unchanged,
    posterior,
)
from gossamer.services.frontier.revisit.evidence import (
    MIN_TRUSTED_RATIO,
    change_date,
    likelihood_ratio,
    note_interval,
    says_changed,
    unannounced_share,
    update_trust,
)
from gossamer.services.frontier.revisit.planning import count_visit, remove_demand
from gossamer.services.frontier.revisit.price import cell_of, move_page, record_lateness
from gossamer.services.frontier.revisit.state import (
    DAY,
    CrawlState,
    Kind,
    PageState,
    Rate,
    SiteState,
    States,
    Visit,
    to_single,
)
from gossamer.web.links import Sketch, estimate_sites, merge_sketches

DEFAULT_PRIOR = Belief(0.5, 5.0)
"""One change in ten days, within two orders of magnitude."""
CRAWL_WEIGHT, SITE_WEIGHT = 4.0, 8.0
"""The weight of the default in the crawl's prior, and of the crawl in a site's prior, in pages."""

S = TypeVar("S", SiteState, CrawlState)


def prior_of(site: SiteState, crawl: CrawlState) -> Belief:
    """Return the prior for pages of *site*."""
    count = crawl.pages - crawl.unseen + CRAWL_WEIGHT
    mean = (crawl.rates + CRAWL_WEIGHT * DEFAULT_PRIOR.mean) / count
    log_mean = (crawl.log_rates + CRAWL_WEIGHT * DEFAULT_PRIOR.log_mean) / count
    pages = site.pages - site.unseen + SITE_WEIGHT
    mean = (site.rates + SITE_WEIGHT * mean) / pages
    return fit_prior(mean, (site.log_rates + SITE_WEIGHT * log_mean) / pages)


def add_to_prior(states: States, belief: Belief) -> States:
    """Replace the page's contribution to the sums of its site and of the crawl by *belief*."""
    page, site, crawl = states
    if page.visits == 1:
        return States(page, _add_to_sums(site, 1, 1), _add_to_sums(crawl, 1, 1))
    seen = 0 if page.expected else -1
    expected, log_expected = to_single(belief.mean), to_single(belief.log_mean)
    more = expected - page.expected, log_expected - page.log_expected
    return States(
        replace(page, expected=expected, log_expected=log_expected),
        _add_to_sums(site, 0, seen, *more),
        _add_to_sums(crawl, 0, seen, *more),
    )


def remove_from_prior(states: States) -> States:
    """Remove the page from the sums and the demand curves."""
    page, site, crawl = states
    if not page.visits:
        return states
    unseen = 0 if page.expected else -1
    less = -page.expected, -page.log_expected
    own = move_page(site.curve, (page.site_cell, page.site_curve_rate), (0, 0.0))
    curve = move_page(crawl.curve, (page.cell, page.curve_rate), (0, 0.0))
    return States(
        replace(page, expected=0.0, log_expected=0.0),
        replace(_add_to_sums(site, -1, unseen, *less), curve=own),
        replace(_add_to_sums(crawl, -1, unseen, *less), curve=curve),
    )


def _add_to_sums(of: S, pages: int, unseen: int, rate: float = 0.0, log_rate: float = 0.0) -> S:
    return replace(
        of,
        pages=max(0.0, of.pages + pages),
        unseen=max(0.0, of.unseen + unseen),
        rates=max(0.0, of.rates + rate),
        log_rates=of.log_rates + log_rate,
    )


FOLLOW_PROBABILITY = 2 / 3
MAX_WEIGHT_DEPTH = 7
"""The depth beyond which weights stay constant."""
PRIORITY_STEPS_PER_DOUBLING = 2
"""The steps of priority that double a weight. A lower number is a higher priority."""
MAX_PRIORITY_STEPS = 8
"""The steps of priority that change a weight."""
MIN_REQUESTS = 0.01
"""A faded number of requests below this is treated as 0."""


def weight_of(depth: int, priority: int) -> float:
    """Return the weight of a page *depth* links from a seed; a seed of priority 0 has weight 1."""
    doublings = (
        -min(max(priority, -MAX_PRIORITY_STEPS), MAX_PRIORITY_STEPS) / PRIORITY_STEPS_PER_DOUBLING
    )
    return float(FOLLOW_PROBABILITY ** min(max(depth, 0), MAX_WEIGHT_DEPTH) * 2**doublings)


MAX_LINK_FACTOR, MAX_REQUEST_FACTOR = 16.0, 4.0
"""The maximum factors of a weight by links from other sites, and by requests."""
REQUEST_HALF_LIFE = 30 * DAY
"""Seconds in which a request loses half of its weight."""


def new_page(depth: int, priority: int, in_links: Sketch = 0, every: float = 0.0) -> PageState:
    """Return the state of a new page.

    *depth* is in links from a seed, *every* the stated change interval in seconds or 0.
    """
    base = to_single(weight_of(depth, priority))
    return _apply_weight(note_interval(PageState(base=base, in_links=in_links), every))


def add_request(page: PageState) -> PageState:
    """Add a request by an operator; it changes the weight at the next visit."""
    return replace(page, requests=to_single(page.requests + 1))


def update_weight(states: States, at: float, in_links: Sketch = 0) -> States:
    """Update the page's weight at a visit at *at*, with new *in_links*."""
    page = states.page
    faded = 0.5 ** (max(0.0, at - page.at) / REQUEST_HALF_LIFE) if page.at else 1.0
    page = replace(
        page,
        in_links=merge_sketches(page.in_links, in_links) if in_links else page.in_links,
        requests=to_single(page.requests * faded) if page.requests > MIN_REQUESTS else 0.0,
    )
    weighed = _apply_weight(replace(page, base=page.base or page.weight))
    if weighed.weight == page.weight:
        return states._replace(page=page)
    states = remove_demand(states._replace(page=page))
    return states._replace(page=replace(states.page, base=weighed.base, weight=weighed.weight))


def _apply_weight(page: PageState) -> PageState:
    if not (page.in_links or page.requests):
        return replace(page, weight=page.base)  # Most pages.
    linked = min(sqrt(1 + estimate_sites(page.in_links)), MAX_LINK_FACTOR)
    return replace(
        page, weight=to_single(page.base * linked * min(1 + page.requests, MAX_REQUEST_FACTOR))
    )


SLOW_FADE, QUICK_FADE = 0.98, 0.8
"""The factors of old observations at each visit."""
MIN_LEAD_NATS, LEAD_FADE = 1.0, 0.9
"""The lead at which the quickly fading rate is used, and the factor of a lead at each visit."""


def learn(states: States, visit: Visit) -> tuple[States, Belief]:
    """Return the states after *visit*, and the belief about the page's change rate."""
    if visit.first and states.page.visits:
        states = forget(states)
    states = update_weight(states, visit.at, visit.in_links)
    prior = prior_of(states.site, states.crawl)
    page = observe(states.page, visit, prior, announced_change(states, visit))
    site = update_trust(states.site, states.page, visit)
    crawl = record_lateness(states.crawl, site, states.page.due_at, visit.at)
    states = count_visit(States(page, site, crawl), visit)
    belief = belief_of(page, prior)
    return update_demand_curves(add_to_prior(states, belief), belief), belief


def forget(states: States) -> States:
    """Remove a page that is gone from all sums; only its weight stays."""
    states = remove_from_prior(remove_demand(states))
    page = states.page
    again = PageState(
        weight=page.weight, base=page.base, in_links=page.in_links, requests=page.requests
    )
    return states._replace(page=again)


def belief(states: States) -> Belief:
    """Return the belief about the page's change rate."""
    return belief_of(states.page, prior_of(states.site, states.crawl))


def belief_of(page: PageState, prior: Belief) -> Belief:
    """Return the belief by the rate that predicted recent visits better."""
    return posterior(prior, page.recent if page.lead > MIN_LEAD_NATS else page.rate)


def unannounced_belief(belief: Belief, site: SiteState) -> Belief:
    """Return the belief about changes that the site does not announce."""
    return Belief(belief.shape, belief.days / unannounced_share(site))


def announced_rate(belief: Belief, site: SiteState) -> float:
    """Return the expected changes a day that the site announces."""
    return belief.mean * (1 - unannounced_share(site))


def update_demand_curves(states: States, belief: Belief) -> States:
    """Move the page to its cells in the demand curves of its site and of the crawl."""
    page, site, crawl = states
    weight, shape = max(page.weight, 1e-9), None if is_regular(page.clock) else belief.shape
    rate = to_single(unannounced_belief(belief, site).mean if shape else 1 / page.clock.period)
    cell, site_cell = cell_of(rate, shape, weight / site.surcharge), cell_of(rate, shape, weight)
    site_rate = rate if site.limit else 0.0
    own = move_page(site.curve, (page.site_cell, page.site_curve_rate), (site_cell, site_rate))
    curve = move_page(crawl.curve, (page.cell, page.curve_rate), (cell, rate))
    page = replace(page, cell=cell, curve_rate=rate, site_cell=site_cell, site_curve_rate=site_rate)
    return States(page, replace(site, curve=own), replace(crawl, curve=curve))


def announced_change(states: States, visit: Visit) -> float:
    """Return the time of the change by Last-Modified if that is trusted, else 0."""
    for one in visit.evidence:
        if one.kind is Kind.LAST_MODIFIED and visit.changed:
            believable = likelihood_ratio(states.site, one.kind) > MIN_TRUSTED_RATIO
            if believable and says_changed(one, states.page, visit.at):
                return change_date(one, visit.at)
    return 0.0


def observe(page: PageState, visit: Visit, prior: Belief, changed_at: float = 0.0) -> PageState:
    """Update the page's rates and clock by *visit*.

    *changed_at* is the announced time of the last change, or 0.
    """
    if not page.visits:
        return page
    t = max(visit.at - page.at, 1.0) / DAY
    slow, quick = posterior(prior, page.rate), posterior(prior, page.recent)
    by_slow, by_quick = (_score(belief, t, visit.changed) for belief in (slow, quick))
    lead = page.lead * LEAD_FADE + by_quick - by_slow
    since = changed_at - 60 if changed_at else page.at
    # The clock may have been set back, or the verdict may be late.
    at = max(changed_at or visit.at, since)
    clock = observe_clock(page.clock, since, at, visit.changed, max(by_slow, by_quick))
    ago = (visit.at - changed_at) / DAY if changed_at else 0.0
    return replace(
        page,
        rate=_observe_rate(fade(page.rate, SLOW_FADE), prior, t, visit.changed, ago),
        recent=_observe_rate(fade(page.recent, QUICK_FADE), prior, t, visit.changed, ago),
        lead=to_single(lead),
        clock=clock,
        heard=0,
    )


def _observe_rate(rate: Rate, prior: Belief, t: float, changed: bool, ago: float) -> Rate:
    if ago:
        rate = observe_change_at(rate, ago)
    else:
        rate = observe_changed(rate, prior, t) if changed else observe_unchanged(rate, t)
    return Rate(to_single(rate.changes), to_single(rate.exposure))


def _score(belief: Belief, t: float, changed: bool) -> float:
    unchanged = belief.unchanged(t)
    return log(max(1e-6, 1 - unchanged if changed else unchanged))
