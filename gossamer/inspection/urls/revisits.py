"""The change rate of a page and its next visit as data."""

from math import sqrt

from msgspec import Struct

from gossamer.inspection.basics.views import view_of
from gossamer.services.dedup.rows import DocumentRow
from gossamer.services.frontier.revisit import States, belief, credible_interval, likelihood_ratio
from gossamer.services.frontier.revisit.beliefs import is_regular
from gossamer.services.frontier.revisit.learning import MIN_LEAD_NATS
from gossamer.services.frontier.revisit.optimal import Optimal, price_of
from gossamer.services.frontier.revisit.state import DAY
from gossamer.services.frontier.tables.plans import PlanRow
from gossamer.web.links import estimate_sites
from gossamer.web.validators import Trust, Validators

CONFIDENCE = 0.9
"""Probability that the change rate is between its two bounds."""
MIN_RATE = 1e-9
"""The smallest change rate that is shown, in changes a day."""


class RegularChanges(Struct, frozen=True):
    """The regular times at which a page changes."""

    period: float
    """Seconds between two changes."""
    next_at: float
    deviation: float
    """The standard deviation of `next_at`, in seconds."""


class ChangeRate(Struct, frozen=True):
    """The estimated mean interval between two changes, in seconds, with 90 % bounds."""

    interval: float
    shortest: float
    longest: float
    has_changed_lately: bool
    """Whether the rate itself has changed lately."""


class Price(Struct, frozen=True):
    """The price of a visit under the optimal policy, in seconds of freshness."""

    price: float
    surcharge: float
    """The price as a multiple of the usual price; above 1 if politeness limits the site."""
    demand: float
    """Visits a day that the pages of the site need."""
    limit: float
    """Visits a day that politeness allows at the site."""


class RevisitFacts(Struct, frozen=True, kw_only=True):
    """The observed changes of a page, and the estimates from which its next visit is planned."""

    visits: int
    changes: int
    """Visits after the first that found a change."""
    changed_at: float | None
    """When the last change was found; null without one."""
    first_seen: float | None
    """When the document was found first; null if it was never published."""
    last_changed: float | None
    regular: RegularChanges | None
    """The regular changes; null if the page changes at random."""
    rate: ChangeRate | None
    """The change rate; null for regular changes, and after less than two visits."""
    freshness: float | None
    """The expected share of time in which the copy is current; null if it is not known yet."""
    age: float | None
    """The expected age of the copy, in seconds."""
    evidence: dict[str, float]
    """Kind of evidence at the site → the factor by which it makes a change likelier."""
    validators: tuple[str, ...]
    """Names of the validators in the last response, which the next request sends back."""
    distrust: str
    """Why the validators are not sent back; "" while they are trusted."""
    weight: float
    """The weight of the page; a seed has 1."""
    linking_sites: int
    """About how many other sites link to the page."""
    requests: float
    """How many times visits were requested lately."""
    price: Price | None
    """The price of a visit; null under policies other than the optimal one."""


def revisit_facts(
    plan: PlanRow, document: DocumentRow | None, trust: Trust, states: States
) -> RevisitFacts:
    """Return the facts about the visits to the URL of *plan*."""
    page = states.page
    published = document if document and document.first_seen else None
    is_known = bool(page.fresh) and page.visits > 1
    return view_of(
        RevisitFacts,
        page,
        changed_at=page.changed_at if page.changes else None,
        first_seen=published.first_seen if published else None,
        last_changed=published.last_changed if published else None,
        regular=_regular_changes(states),
        rate=_change_rate(states),
        freshness=page.fresh if is_known else None,
        age=page.age * DAY if is_known else None,
        evidence={
            kind: likelihood_ratio(states.site, kind)
            for kind, counted in sorted(states.site.trust.items())
            if sum(counted) >= 1
        },
        validators=() if trust.distrust_reason else _validator_names(plan.validators),
        distrust=trust.distrust_reason,
        linking_sites=round(estimate_sites(page.in_links)),
        price=_price(states, plan.policy),
    )


def _regular_changes(states: States) -> RegularChanges | None:
    clock = states.page.clock
    if not is_regular(clock):
        return None
    return RegularChanges(clock.period * DAY, clock.next_at, sqrt(clock.spread) * DAY)


def _change_rate(states: States) -> ChangeRate | None:
    page = states.page
    if is_regular(page.clock) or page.visits < 2:
        return None
    rate = belief(states)
    low, high = credible_interval(rate, CONFIDENCE)
    every, fast, slow = (DAY / max(changes, MIN_RATE) for changes in (rate.mean, high, low))
    return ChangeRate(every, fast, slow, page.lead > MIN_LEAD_NATS)


def _validator_names(validators: Validators) -> tuple[str, ...]:
    named = (("ETag", validators.etag), ("Last-Modified", validators.last_modified))
    return tuple(name for name, value in named if value)


def _price(states: States, policy: str) -> Price | None:
    if policy != Optimal.name or not states.crawl.price:
        return None
    site = states.site
    return Price(price_of(states) * DAY, site.surcharge, site.demand, site.limit)
