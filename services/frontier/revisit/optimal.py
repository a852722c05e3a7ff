"""The policy `optimal`: a page is visited when a visit is worth what it costs everywhere else.

A visit is worth the freshness that it brings (`rates.Belief.worth`), times the page's weight. It
costs the crawl's price, times its site's surcharge (`price`). The rate is believed with the site's
prior (`prior`) and fading observations. Cho and Garcia-Molina, *Effective page refresh policies for
Web crawlers* (2003); Kolobov et al., *Staying up to date with online content changes* (2019).

Which of three models a page is visited by, is decided by what has predicted its last visits best: a
rate that fades slowly, one that fades quickly (bursts, and pages whose life has changed), or a
clock (`clock`). Evidence counts as far as the site has earned it (`evidence`).

[discovery] How URLs that were never visited and pages to be visited again share the budget.

By what a visit is worth, unless a person has set it. A first visit makes a copy where there was
none, and brings the days for which that copy is expected to stay fresh until its next visit. The
last revisit that the budget pays for brings the crawl's price, and at a host where both wait, that
of its site. Each gets its part of the two. A rule that knows no price makes them equals.
"""

from services.frontier.revisit.beliefs import Belief, best_visit_time, is_regular
from services.frontier.revisit.evidence import (
    MIN_TRUSTED_RATIO,
    likelihood_ratio,
    promise_ends,
    silence_ratio,
)
from services.frontier.revisit.learning import announced_rate, belief, prior_of, unannounced_belief
from services.frontier.revisit.planning import (
    format_duration,
    outside_quiet_hours,
    plan_after,
    plan_at,
)
from services.frontier.revisit.policy import Policy, keep_plan
from services.frontier.revisit.price import ensure_price, is_overbooked, reprice
from services.frontier.revisit.state import (
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
"""Days between two visits of a page: ten minutes; what is not worth a visit is probed."""
PROMISE_MARGIN_SECONDS = 60.0
"""Seconds after what was said in advance: clocks differ."""
MIN_EARLY_WEIGHT = 0.66
"""Weight of a page one link from a seed of the usual priority, or linked from several sites."""
IDLE_SHARE = 0.5
"""Share of the budget that pages may ask for while it counts as idle."""
MAX_EARLY_CHANGES = 4
"""Changes seen after which a page has no early looks any more."""
MIN_UNCHANGED_PROBABILITY = 0.05
"""A visit that finds a page unchanged less often than this tells next to nothing."""


class Optimal(Policy):
    """Equal worth everywhere."""

    name = "optimal"

    def remember(self, states: States, visit: Visit, since: float) -> States:
        """Tune the price."""
        return reprice(super().remember(states, visit, since), visit.at)

    def plan(self, states: States, url: str, rate: Belief) -> Decision:
        """Plan the next visit for when it is worth its price."""
        states = ensure_price(states)
        price, heard, rate = (
            price_of(states),
            announced_rate(rate, states.site),
            unannounced_belief(rate, states.site),
        )
        if is_regular(states.page.clock):
            return _plan_by_clock(states, url, price, rate)
        interval = worthwhile_interval(rate, price)
        sounding = sampling_interval(rate, price, interval)
        basis, why = Basis.RATE, "a visit is expected to be worth its price then"
        if states.page.visits == 1:
            why = "its change rate is not yet known"
        if (early := early_interval(states)) and early < interval:
            why = "its change rate is not yet known, and the budget is idle: an early look"
            basis, interval = Basis.SAMPLED, early
        elif 2 * sounding < interval and not is_overbooked(states.site):
            why = "it may change much faster than it is believed to: looked at sooner to know"
            basis, interval = Basis.SAMPLED, sounding
        elif interval >= MAX_INTERVAL_DAYS:
            basis, why = (
                Basis.EXPLORED,
                "it changes so rarely that no visit is worth its price: probed",
            )
        elif promise := plan_by_promise(states, rate, interval):
            days, why = promise
            at = outside_quiet_hours(states.site, states.page.at + days * DAY)
            return plan_at(states, at, days * DAY, (Basis.HINT, why), rate, heard)
        return plan_after(states, url, interval * DAY, (basis, why), rate, heard)

    def plan_hint(self, states: States, hint: Hint) -> Decision:
        """Visit the page the sooner, the likelier it has changed by what was said."""
        page, rate, states = states.page, belief(states), ensure_price(states)
        likelier = likelihood_ratio(states.site, hint.evidence.kind)
        gone = (hint.at - page.at) / DAY
        interval = worthwhile_interval(rate, price_of(states))
        wait = max(0.0, interval - equivalent_days(rate, gone, likelier))
        at = outside_quiet_hours(states.site, hint.at + wait * DAY)
        if interval >= MAX_INTERVAL_DAYS or at >= page.due_at:
            return keep_plan(states, "what was said makes no difference")
        why = f"{hint.evidence.kind} says it has changed, which is {likelier:.3g} times likelier"
        interval, heard = (
            max(at - page.at, MIN_INTERVAL_DAYS * DAY),
            announced_rate(rate, states.site),
        )
        rate = unannounced_belief(rate, states.site)
        return plan_at(states, at, interval, (Basis.HINT, why), rate, heard)


def price_of(states: States) -> float:
    """Return what a visit to the page costs, in days of its freshness."""
    return states.crawl.price * states.site.surcharge / max(states.page.weight, 1e-9)


def sampling_interval(belief: Belief, price: float, interval: float) -> float:
    """Return after how many days a visit tells how fast a page changes whose next visit, *interval*
    days after the last, would find it changed whatever its rate: half of the changes at its rate,
    or at the rate that is just worth it, are missed by then.

    Without, a page that is hardly worth visits and one that never is cannot be told apart, and
    either would have visits for good that bring nothing.
    """
    if interval >= MAX_INTERVAL_DAYS or belief.unchanged(interval) >= MIN_UNCHANGED_PROBABILITY:
        return interval
    return max(MIN_INTERVAL_DAYS, 1.2 * max(1 / belief.mean, price))


def early_interval(states: States) -> float | None:
    """Return after how many days an idle budget buys another look at a page near a seed, such as a
    home page, a feed or a hub; None: it buys none.

    Looks come later and later, and sooner again after a change, until a few changes were seen. Each
    counts in the demand of the crawl, so early looks never use more than half of the budget.
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
        why = f"changes every {every}, which no visit is worth: probed"
        return plan_after(states, url, MAX_INTERVAL_DAYS * DAY, (Basis.EXPLORED, why), rate)
    at = outside_quiet_hours(states.site, max(at, page.at + MIN_INTERVAL_DAYS * DAY))
    why = f"changes every {every}: visited when it has"
    return plan_at(states, at, at - page.at, (Basis.PERIODIC, why), rate)


def plan_by_promise(states: States, rate: Belief, interval: float) -> tuple[float, str] | None:
    """Return after how many days, and why, a page is visited that would be after *interval* where
    its site says in advance until when pages stay as they are, and has mostly been right.

    Until then a change is so many times rarer, and the visit later. After that it is likelier.
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
            why = f"{kind} says that it stays as it is for {format_duration(until - states.page.at)}"
            return days, f"{why}, and that is mostly so at its site"
    return None


def equivalent_days(belief: Belief, gone: float, likelier: float) -> float:
    """Return after how many days without a word a page would be as likely to have changed as it is
    after *gone* days when a change has become so many times *likelier*."""
    unchanged = belief.unchanged(gone)
    unchanged /= unchanged + (1 - unchanged) * likelier
    return min(belief.after(max(unchanged, 1e-9)), 1e4)


def worthwhile_interval(belief: Belief, price: float) -> float:
    """Return after how many days a visit is worth *price*, between SHORTEST and LONGEST."""
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
"""Neither is to starve while the other has work."""


NEW_SITE = SiteState()


def discovery_share(crawl: CrawlState, site: SiteState = NEW_SITE) -> float:
    """Return the share of first visits by what they are worth, 0.1 to 0.9; half without a price.

    A visit to a page of weight 1 of *site*, by default of one that is new. Of two kinds of which
    one has no work, the other may have all: that is up to the frontier.
    """
    if not crawl.price:
        return DEFAULT_DISCOVERY_SHARE
    prior, price = prior_of(site, crawl), crawl.price * site.surcharge
    worth = prior.fresh(worthwhile_interval(prior, price))
    return min(max(worth / (worth + price), MIN_DISCOVERY_SHARE), 1 - MIN_DISCOVERY_SHARE)
