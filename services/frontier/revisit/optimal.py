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

from services.frontier.revisit.beliefs import Belief, is_regular, look_at
from services.frontier.revisit.evidence import TRUSTED, promises, times_likelier, times_rarer
from services.frontier.revisit.learning import belief, prior_of, told, unheard
from services.frontier.revisit.planning import after, outside_quiet_hours, placed, spelled
from services.frontier.revisit.policy import Policy, unmoved
from services.frontier.revisit.price import overasked, priced, repriced
from services.frontier.revisit.state import (
    DAY,
    Basis,
    CrawlState,
    Decision,
    Hint,
    Known,
    SiteState,
    Visit,
)

SHORTEST, LONGEST = 1 / 144, 60.0
"""Days between two visits of a page: ten minutes; what is not worth a visit is probed."""
LATER = 60.0
"""Seconds after what was said in advance: clocks differ."""
NEAR = 0.66
"""Weight of a page one link from a seed of the usual priority, or linked from several sites."""
IDLE = 0.5
"""Share of the budget that pages may ask for while it counts as idle."""
ENOUGH = 4
"""Changes seen after which a page has no early looks any more."""
FOREGONE = 0.05
"""A visit that finds a page unchanged less often than this tells next to nothing."""


class Optimal(Policy):
    """Equal worth everywhere."""

    name = "optimal"

    def judged(self, known: Known, visit: Visit, since: float) -> Known:
        """Tune the price."""
        return repriced(super().judged(known, visit, since), visit.at)

    def plan(self, known: Known, url: str, rate: Belief) -> Decision:
        """Plan the next visit for when it is worth its price."""
        known = priced(known)
        price, heard, rate = price_of(known), told(rate, known.site), unheard(rate, known.site)
        if is_regular(known.page.clock):
            return _by_clock(known, url, price, rate)
        interval = worthwhile(rate, price)
        sounding = sounded(rate, price, interval)
        basis, why = Basis.RATE, "a visit is expected to be worth its price then"
        if known.page.visits == 1:
            why = "its change rate is not yet known"
        if (early := early_look(known)) and early < interval:
            why = "its change rate is not yet known, and the budget is idle: an early look"
            basis, interval = Basis.SAMPLED, early
        elif 2 * sounding < interval and not overasked(known.site):
            why = "it may change much faster than it is believed to: looked at sooner to know"
            basis, interval = Basis.SAMPLED, sounding
        elif interval >= LONGEST:
            basis, why = (
                Basis.EXPLORED,
                "it changes so rarely that no visit is worth its price: probed",
            )
        elif promise := promised(known, rate, interval):
            days, why = promise
            at = outside_quiet_hours(known.site, known.page.at + days * DAY)
            return placed(known, at, days * DAY, (Basis.HINT, why), rate, heard)
        return after(known, url, interval * DAY, (basis, why), rate, heard)

    def told(self, known: Known, hint: Hint) -> Decision:
        """Visit the page the sooner, the likelier it has changed by what was said."""
        page, rate, known = known.page, belief(known), priced(known)
        likelier = times_likelier(known.site, hint.evidence.kind)
        gone = (hint.at - page.at) / DAY
        interval = worthwhile(rate, price_of(known))
        wait = max(0.0, interval - as_if(rate, gone, likelier))
        at = outside_quiet_hours(known.site, hint.at + wait * DAY)
        if interval >= LONGEST or at >= page.due_at:
            return unmoved(known, "what was said makes no difference")
        why = f"{hint.evidence.kind} says it has changed, which is {likelier:.3g} times likelier"
        interval, heard = max(at - page.at, SHORTEST * DAY), told(rate, known.site)
        rate = unheard(rate, known.site)
        return placed(known, at, interval, (Basis.HINT, why), rate, heard)


def price_of(known: Known) -> float:
    """Return what a visit to the page costs, in days of its freshness."""
    return known.crawl.price * known.site.surcharge / max(known.page.weight, 1e-9)


def sounded(belief: Belief, price: float, interval: float) -> float:
    """Return after how many days a visit tells how fast a page changes whose next visit, *interval*
    days after the last, would find it changed whatever its rate: half of the changes at its rate,
    or at the rate that is just worth it, are missed by then.

    Without, a page that is hardly worth visits and one that never is cannot be told apart, and
    either would have visits for good that bring nothing.
    """
    if interval >= LONGEST or belief.unchanged(interval) >= FOREGONE:
        return interval
    return max(SHORTEST, 1.2 * max(1 / belief.mean, price))


def early_look(known: Known) -> float | None:
    """Return after how many days an idle budget buys another look at a page near a seed, such as a
    home page, a feed or a hub; None: it buys none.

    Looks come later and later, and sooner again after a change, until a few changes were seen. Each
    counts in the demand of the crawl, so early looks never use more than half of the budget.
    """
    page, crawl = known.page, known.crawl
    if page.weight < NEAR or page.changes >= ENOUGH or overasked(known.site):
        return None
    unchanged = page.visits - 1 - page.changes
    days = SHORTEST * 2.0 ** min(max(0, unchanged - page.changes), 20)
    is_idle = not crawl.budget or crawl.demand - page.pace + 1 / days <= IDLE * crawl.budget
    return days if is_idle else None


def _by_clock(known: Known, url: str, price: float, rate: Belief) -> Decision:
    page, every = known.page, spelled(known.page.clock.period * DAY)
    at = look_at(page.clock, price)
    if at is None:
        why = f"changes every {every}, which no visit is worth: probed"
        return after(known, url, LONGEST * DAY, (Basis.EXPLORED, why), rate)
    at = outside_quiet_hours(known.site, max(at, page.at + SHORTEST * DAY))
    why = f"changes every {every}: visited when it has"
    return placed(known, at, at - page.at, (Basis.PERIODIC, why), rate)


def promised(known: Known, rate: Belief, interval: float) -> tuple[float, str] | None:
    """Return after how many days, and why, a page is visited that would be after *interval* where
    its site says in advance until when pages stay as they are, and has mostly been right.

    Until then a change is so many times rarer, and the visit later. After that it is likelier.
    """
    for kind, until in promises(known.page).items():
        likelier = times_likelier(known.site, kind)
        gone = (until + LATER - known.page.at) / DAY
        if likelier < TRUSTED or gone < SHORTEST:
            continue
        if interval < gone:
            days = min(gone, interval * times_rarer(known.site, kind))
        else:
            days = gone + max(0.0, interval - as_if(rate, gone, likelier))
        if days != interval:
            why = f"{kind} says that it stays as it is for {spelled(until - known.page.at)}"
            return days, f"{why}, and that is mostly so at its site"
    return None


def as_if(belief: Belief, gone: float, likelier: float) -> float:
    """Return after how many days without a word a page would be as likely to have changed as it is
    after *gone* days when a change has become so many times *likelier*."""
    unchanged = belief.unchanged(gone)
    unchanged /= unchanged + (1 - unchanged) * likelier
    return min(belief.after(max(unchanged, 1e-9)), 1e4)


def worthwhile(belief: Belief, price: float) -> float:
    """Return after how many days a visit is worth *price*, between SHORTEST and LONGEST."""
    if belief.worth(SHORTEST) >= price:
        return SHORTEST
    if belief.worth(LONGEST) <= price:
        return LONGEST
    low, high = SHORTEST, LONGEST
    while high > 1.01 * low:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if belief.worth(middle) >= price else (middle, high)
    return low


HALF, LEAST = 0.5, 0.1
"""Neither is to starve while the other has work."""


NEW = SiteState()


def discovery_share(crawl: CrawlState, site: SiteState = NEW) -> float:
    """Return the share of first visits by what they are worth, 0.1 to 0.9; half without a price.

    A visit to a page of weight 1 of *site*, by default of one that is new. Of two kinds of which
    one has no work, the other may have all: that is up to the frontier.
    """
    if not crawl.price:
        return HALF
    prior, price = prior_of(site, crawl), crawl.price * site.surcharge
    worth = prior.fresh(worthwhile(prior, price))
    return min(max(worth / (worth + price), LEAST), 1 - LEAST)
