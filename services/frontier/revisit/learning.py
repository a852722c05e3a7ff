"""The prior of a page's change rate, learnt from the pages of its site, and of the crawl.

Each page that was visited twice adds what is expected of its rate and of the rate's logarithm to
the sums of its site and of the crawl; a Gamma is fitted to them (empirical Bayes: the M step of EM,
a page at a time). A page that was visited once knows nothing but the prior: it would only hold fast
what was guessed. A new site begins with what the crawl knows, a new crawl with a guess.

[importance] How much the freshness of a page is worth beside that of others: its weight.

What is known of a URL when it is first planned: how many links it lies from a seed, and the
priority that was asked for. A reader who goes from page to page follows one more link with a
likelihood of some 2/3: on the sites that Baeza-Yates and Castillo looked at (*Crawling the infinite
Web: five levels are enough*, 2004), nine of ten page views lay within three to five links of the
start, which is 0.56 to 0.68 a link. So weights halve every 1.7 links, and stay there from the
eighth on: what lies deep is worth little, and not nothing.

To that come what is learnt later: the weight grows with the square root of the number of other
sites that link to the page (a page that many link to is read by many, and more links are made to
what is read), and with each time that it was asked for, which counts for half a month later. A
weight changes when the page is visited: sums over pages hold it.

[learning] What is learnt from a visit, whatever policy plans the next one.

How often the page changes, what its site's pages have in common, which evidence was true, and what
the page would ask for at any price. So a crawl whose policy is changed knows all it could know, and
how fresh the pages are can be told of every policy.
"""

from math import log, sqrt
from typing import TypeVar

from msgspec.structs import replace

from gossamer.web.in_links import Sketch, sites_in, united
from services.frontier.revisit.beliefs import (
    Belief,
    after_change_at,
    after_changed,
    after_unchanged,
    believed,
    faded,
    fitted,
    is_regular,
    ticked,
)
from services.frontier.revisit.evidence import (
    TRUSTED,
    dated,
    missed,
    promised,
    says_changed,
    times_likelier,
    weighed,
)
from services.frontier.revisit.planning import recorded, uncounted
from services.frontier.revisit.price import cell_of, delayed, moved
from services.frontier.revisit.state import (
    DAY,
    CrawlState,
    Kind,
    Known,
    PageState,
    Rate,
    SiteState,
    Visit,
    rounded,
)

GUESS = Belief(0.5, 5.0)
"""A page changes every ten days, give or take two orders of magnitude."""
CRAWL_WEIGHT, SITE_WEIGHT = 4.0, 8.0
"""How many pages the guess counts for in a crawl, and the crawl in a site."""

S = TypeVar("S", SiteState, CrawlState)


def prior_of(site: SiteState, crawl: CrawlState) -> Belief:
    """Return what is believed of a page of *site* that was never visited."""
    known = crawl.pages - crawl.unseen + CRAWL_WEIGHT
    mean = (crawl.rates + CRAWL_WEIGHT * GUESS.mean) / known
    log_mean = (crawl.log_rates + CRAWL_WEIGHT * GUESS.log_mean) / known
    pages = site.pages - site.unseen + SITE_WEIGHT
    mean = (site.rates + SITE_WEIGHT * mean) / pages
    return fitted(mean, (site.log_rates + SITE_WEIGHT * log_mean) / pages)


def taught(known: Known, belief: Belief) -> Known:
    """Return what is known with the page's *belief* in the sums, in place of its former one."""
    page, site, crawl = known
    if page.visits == 1:
        return Known(page, _counted(site, 1, 1), _counted(crawl, 1, 1))
    seen = 0 if page.expected else -1
    expected, log_expected = rounded(belief.mean), rounded(belief.log_mean)
    more = expected - page.expected, log_expected - page.log_expected
    return Known(
        replace(page, expected=expected, log_expected=log_expected),
        _counted(site, 0, seen, *more),
        _counted(crawl, 0, seen, *more),
    )


def untaught(known: Known) -> Known:
    """Return what is known with the page taken out of the sums."""
    page, site, crawl = known
    if not page.visits:
        return known
    unseen = 0 if page.expected else -1
    less = -page.expected, -page.log_expected
    own = moved(site.curve, (page.site_cell, page.site_asked), (0, 0.0))
    curve = moved(crawl.curve, (page.cell, page.asked), (0, 0.0))
    return Known(
        replace(page, expected=0.0, log_expected=0.0),
        replace(_counted(site, -1, unseen, *less), curve=own),
        replace(_counted(crawl, -1, unseen, *less), curve=curve),
    )


def _counted(of: S, pages: int, unseen: int, rate: float = 0.0, log_rate: float = 0.0) -> S:
    return replace(
        of,
        pages=max(0.0, of.pages + pages),
        unseen=max(0.0, of.unseen + unseen),
        rates=max(0.0, of.rates + rate),
        log_rates=of.log_rates + log_rate,
    )


FOLLOWED = 2 / 3
DEEPEST = 7
"""Links from a seed, beyond which all pages weigh the same."""
STEP = 2
"""Steps of priority that double a weight; the lower the priority's number, the sooner."""
MOST = 8
"""Steps of priority that count."""
TOO_FEW = 0.01
"""Of a request: it is forgotten."""


def weight_of(depth: int, priority: int) -> float:
    """Return the weight of a page *depth* links from a seed; a seed of priority 0 has weight 1."""
    asked = -min(max(priority, -MOST), MOST) / STEP
    return float(FOLLOWED ** min(max(depth, 0), DEEPEST) * 2**asked)


MOST_LINKED, MOST_ASKED = 16.0, 4.0
"""By which links from other sites, and requests, multiply a weight at most."""
MONTH = 30 * DAY


def found(depth: int, priority: int, in_links: Sketch = 0, every: float = 0.0) -> PageState:
    """Return what is known of a page that was found *depth* links from a seed, and is said to
    change *every* so many seconds; 0: that is not said."""
    base = rounded(weight_of(depth, priority))
    return _weighed(promised(PageState(base=base, in_links=in_links), every))


def asked_for(page: PageState) -> PageState:
    """Return the page with one request more; it counts from the next visit on."""
    return replace(page, requests=rounded(page.requests + 1))


def reweighted(known: Known, at: float, in_links: Sketch = 0) -> Known:
    """Return what is known with the page's weight as it is *at* a visit, with more *in_links*."""
    page = known.page
    faded = 0.5 ** (max(0.0, at - page.at) / MONTH) if page.at else 1.0
    page = replace(
        page,
        in_links=united(page.in_links, in_links) if in_links else page.in_links,
        requests=rounded(page.requests * faded) if page.requests > TOO_FEW else 0.0,
    )
    weighed = _weighed(replace(page, base=page.base or page.weight))
    if weighed.weight == page.weight:
        return known._replace(page=page)
    known = uncounted(known._replace(page=page))
    return known._replace(page=replace(known.page, base=weighed.base, weight=weighed.weight))


def _weighed(page: PageState) -> PageState:
    if not (page.in_links or page.requests):
        return replace(page, weight=page.base)  # Nearly all.
    linked = min(sqrt(1 + sites_in(page.in_links)), MOST_LINKED)
    return replace(page, weight=rounded(page.base * linked * min(1 + page.requests, MOST_ASKED)))


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
