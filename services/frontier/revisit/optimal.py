"""The policy `optimal`: a page is visited when a visit is worth its price.

A visit is worth the freshness that it yields (`Belief.worth`), times the page's weight. It costs
the crawl's price times the surcharge of its site (`price`). The change rate is estimated from
fading observations and the site's prior (`learning`). Cho and Garcia-Molina, *Effective page
refresh policies for Web crawlers* (2003); Kolobov et al., *Staying up to date with online content
changes* (2019).

Three models predict a page's changes: a rate that fades slowly, a rate that fades quickly (bursts,
and pages that have begun to change differently), and a clock. The model with the best recent
predictions plans the visits. Evidence counts according to the trust in it (`evidence`).

**Discovery.** First visits and revisits share the budget by what a visit is worth, unless an
operator has set the share. A first visit yields the days for which the new copy is expected to stay
fresh until the next visit. The marginal revisit yields the price. Each kind receives its part of
the sum of the two. A policy without a price splits the budget evenly.
"""

from gossamer.services.frontier.revisit.beliefs import Belief, best_visit_time, is_regular
from gossamer.services.frontier.revisit.evidence import (
    MIN_TRUSTED_RATIO,
    likelihood_ratio,
    promise_ends,
    silence_ratio,
)
from gossamer.services.frontier.revisit.learning import (
    announced_rate,
    belief,
    prior_of,
    unannounced_belief,
)
from gossamer.services.frontier.revisit.planning import (
    format_duration,
    outside_quiet_hours,
    plan_after,
    plan_at,
)
from gossamer.services.frontier.revisit.policy import Policy, keep_plan
from gossamer.services.frontier.revisit.price import ensure_price, is_overbooked, reprice
from gossamer.services.frontier.revisit.state import (
    DAY,
    Basis,
    CrawlState,
    Decision,
    Hint,
    SiteState,
    States,
    Visit,
)

MIN_INTERVAL_DAYS, MAX_INTERVAL_DAYS = 1 / 144, 60.0
"""Bounds of the interval between two visits to a page, in days: ten minutes and sixty days."""
PROMISE_MARGIN_SECONDS = 60.0
"""Seconds after the end of a promise until a visit, because clocks differ."""
MIN_EARLY_WEIGHT = 0.66
"""The minimum weight for early visits: that of a page one link from a seed."""
IDLE_SHARE = 0.5
"""The fraction of the budget up to which it counts as idle."""
MAX_EARLY_CHANGES = 4
"""The number of seen changes after which early visits end."""
MIN_UNCHANGED_PROBABILITY = 0.05
"""A visit teaches almost nothing if the page is unchanged with a lower probability."""


class Optimal(Policy):
    """Visit each page when a visit is worth its price."""

    name = "optimal"

    def remember(self, states: States, visit: Visit, since: float) -> States:
        """Update the price."""
        return reprice(super().remember(states, visit, since), visit.at)

    def plan(self, states: States, url: str, rate: Belief) -> Decision:
        """Plan the next visit for the time at which it is worth its price."""
        states = ensure_price(states)
        price, announced = price_of(states), announced_rate(rate, states.site)
        rate = unannounced_belief(rate, states.site)
        if is_regular(states.page.clock):
            return _plan_by_clock(states, url, price, rate)
        interval = worthwhile_interval(rate, price)
        sample = sampling_interval(rate, price, interval)
        basis, reason = Basis.RATE, "a visit is expected to be worth its price at that time"
        if states.page.visits == 1:
            reason = "its change rate is not yet known"
        if (early := early_interval(states)) and early < interval:
            reason = "its change rate is not yet known, and the budget is idle: an early visit"
            basis, interval = Basis.SAMPLED, early
        elif 2 * sample < interval and not is_overbooked(states.site):
            reason = "it may change much faster than estimated: an early visit will tell"
            basis, interval = Basis.SAMPLED, sample
        elif interval >= MAX_INTERVAL_DAYS:
            basis, reason = (
                Basis.EXPLORED,
                "it changes so rarely that no visit is worth its price: a rare check",
            )
        elif promise := plan_by_promise(states, rate, interval):
            days, reason = promise
            at = outside_quiet_hours(states.site, states.page.at + days * DAY)
            return plan_at(states, at, days * DAY, (Basis.HINT, reason), rate, announced)
        return plan_after(states, url, interval * DAY, (basis, reason), rate, announced)

    def plan_hint(self, states: States, hint: Hint) -> Decision:
        """Plan the next visit the earlier, the likelier the hint makes a change."""
        page, rate, states = states.page, belief(states), ensure_price(states)
        likelier = likelihood_ratio(states.site, hint.evidence.kind)
        gone = (hint.at - page.at) / DAY
        interval = worthwhile_interval(rate, price_of(states))
        wait = max(0.0, interval - equivalent_days(rate, gone, likelier))
        at = outside_quiet_hours(states.site, hint.at + wait * DAY)
        if interval >= MAX_INTERVAL_DAYS or at >= page.due_at:
            return keep_plan(states, "the hint makes no difference")
        kind = hint.evidence.kind
        reason = f"{kind} announced a change, which makes one {likelier:.3g} times likelier"
        interval, announced = (
            max(at - page.at, MIN_INTERVAL_DAYS * DAY),
            announced_rate(rate, states.site),
        )
        rate = unannounced_belief(rate, states.site)
        return plan_at(states, at, interval, (Basis.HINT, reason), rate, announced)


def price_of(states: States) -> float:
    """Return the price of a visit to the page, in days of its freshness."""
    return states.crawl.price * states.site.surcharge / max(states.page.weight, 1e-9)


def sampling_interval(belief: Belief, price: float, interval: float) -> float:
    """Return the days after which a visit teaches the change rate, at most *interval*.

    If a visit after *interval* days would almost certainly find a change, it teaches nothing. Half
    of the changes, at the estimated rate or at the rate that is just worth the price, are missed
    after the returned time. Without such visits a page that is just worth its price and a page that
    never is would be indistinguishable, and both would be visited for ever without a gain.
    """
    if interval >= MAX_INTERVAL_DAYS or belief.unchanged(interval) >= MIN_UNCHANGED_PROBABILITY:
        return interval
    return max(MIN_INTERVAL_DAYS, 1.2 * max(1 / belief.mean, price))


def early_interval(states: States) -> float | None:
    """Return the days until an early visit to a page near a seed, paid by an idle budget.

    None if there is no early visit. Pages near a seed are home pages, feeds and hubs. The interval
    doubles after each visit without a change, and shrinks after a change, until a few changes were
    seen. Early visits count in the demand, so they use at most half of the budget.
    """
    page, crawl = states.page, states.crawl
    if (
        page.weight < MIN_EARLY_WEIGHT
        or page.changes >= MAX_EARLY_CHANGES
        or is_overbooked(states.site)
    ):
        return None
    unchanged = page.visits - 1 - page.changes
    days = MIN_INTERVAL_DAYS * 2.0 ** min(max(0, unchanged - page.changes), 20)
    is_idle = not crawl.budget or crawl.demand - page.pace + 1 / days <= IDLE_SHARE * crawl.budget
    return days if is_idle else None


def _plan_by_clock(states: States, url: str, price: float, rate: Belief) -> Decision:
    page, every = states.page, format_duration(states.page.clock.period * DAY)
    at = best_visit_time(page.clock, price)
    if at is None:
        reason = f"changes every {every}, so no visit is worth its price: a rare check"
        return plan_after(states, url, MAX_INTERVAL_DAYS * DAY, (Basis.EXPLORED, reason), rate)
    at = outside_quiet_hours(states.site, max(at, page.at + MIN_INTERVAL_DAYS * DAY))
    reason = f"changes every {every}: visited after the next change"
    return plan_at(states, at, at - page.at, (Basis.PERIODIC, reason), rate)


def plan_by_promise(states: States, rate: Belief, interval: float) -> tuple[float, str] | None:
    """Return days and a reason for the next visit if the page has a promise from a trusted kind.

    None without such a promise. *interval* is the planned interval in days without it. Before the
    end of the promise a change is rarer, so the visit is later; after it a change is likelier.
    """
    for kind, until in promise_ends(states.page).items():
        likelier = likelihood_ratio(states.site, kind)
        gone = (until + PROMISE_MARGIN_SECONDS - states.page.at) / DAY
        if likelier < MIN_TRUSTED_RATIO or gone < MIN_INTERVAL_DAYS:
            continue
        if interval < gone:
            days = min(gone, interval * silence_ratio(states.site, kind))
        else:
            days = gone + max(0.0, interval - equivalent_days(rate, gone, likelier))
        if days != interval:
            reason = f"{kind} promises no change for {format_duration(until - states.page.at)}"
            return days, f"{reason}, and its site mostly keeps such promises"
    return None


def equivalent_days(belief: Belief, gone: float, likelier: float) -> float:
    """Return the days without evidence that make a change as probable as *gone* days with evidence
    that makes it *likelier* times as likely."""
    unchanged = belief.unchanged(gone)
    unchanged /= unchanged + (1 - unchanged) * likelier
    return min(belief.after(max(unchanged, 1e-9)), 1e4)


def worthwhile_interval(belief: Belief, price: float) -> float:
    """Return the days after which a visit is worth *price*, within the bounds of an interval."""
    if belief.worth(MIN_INTERVAL_DAYS) >= price:
        return MIN_INTERVAL_DAYS
    if belief.worth(MAX_INTERVAL_DAYS) <= price:
        return MAX_INTERVAL_DAYS
    low, high = MIN_INTERVAL_DAYS, MAX_INTERVAL_DAYS
    while high > 1.01 * low:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if belief.worth(middle) >= price else (middle, high)
    return low


DEFAULT_DISCOVERY_SHARE, MIN_DISCOVERY_SHARE = 0.5, 0.1
"""Neither first visits nor revisits starve."""


NEW_SITE = SiteState()


def discovery_share(crawl: CrawlState, site: SiteState = NEW_SITE) -> float:
    """Return the fraction of the budget for first visits: 0.1 to 0.9, or 0.5 without a price.

    It compares first visits to pages of weight 1 of *site*, by default a new site, with revisits.
    If one kind has no work, the frontier gives its part to the other.
    """
    if not crawl.price:
        return DEFAULT_DISCOVERY_SHARE
    prior, price = prior_of(site, crawl), crawl.price * site.surcharge
    worth = prior.fresh(worthwhile_interval(prior, price))
    return min(max(worth / (worth + price), MIN_DISCOVERY_SHARE), 1 - MIN_DISCOVERY_SHARE)
