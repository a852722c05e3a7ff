"""The change rate of a page and its next visit in words: a part of `gossamer why --verbose`."""

from collections.abc import Iterator
from math import sqrt

from console.facts import UrlFacts
from console.figures import instant, number, percent, plural, times
from gossamer.web.in_links import estimate_sites
from gossamer.web.url import site_of
from gossamer.web.validators import UNCONDITIONAL_INTERVAL, Trust, Validators
from services.dedup.rows import DocumentRow
from services.frontier.revisit import (
    PageState,
    SiteState,
    States,
    belief,
    credible_interval,
    format_duration,
    likelihood_ratio,
)
from services.frontier.revisit.beliefs import is_regular
from services.frontier.revisit.learning import MIN_LEAD_NATS
from services.frontier.revisit.optimal import Optimal, price_of
from services.frontier.revisit.state import DAY
from services.frontier.rows import PlanRow

CONFIDENCE = 0.9
"""Probability that the change rate is between the two bounds that are shown."""
MIN_LIKELIHOOD_RATIO = 1.5
"""Evidence that makes a change less than 1.5 times likelier counts as uninformative."""
MIN_SHOWN_PENALTY = 1.01


def revisit_details(facts: UrlFacts, now: float) -> Iterator[str]:
    """Yield the observed changes, the estimated rate, and the next visit, a line at a time."""
    plan = facts.plan
    if plan is None:
        return
    states = facts.states
    if states.page.visits:
        yield _changes(states.page, facts.document)
        yield f"estimate: {_estimate(states)}"
    if states.page.fresh and states.page.visits > 1:
        share, age = percent(states.page.fresh), format_duration(states.page.age * DAY)
        yield f"freshness: the copy is expected to be current {share} of the time, {age} behind"
    if evidence := _evidence(states.site):
        yield f"evidence: at {site_of(facts.url)} {evidence}"
    if states.page.visits:
        yield f"validators: {_validators(plan.validators, facts.trust)}"
    weight = f"{states.page.weight:.3g} (a seed has 1){_reasons(states.page)}"
    yield f"weight: {weight}{_price(states, plan.policy)}"
    yield from _next(plan, facts, now)


def _changes(page: PageState, document: DocumentRow | None) -> str:
    if page.visits < 2:
        observed = "changes: unknown after one visit"
    else:
        observed = (
            f"changes: at {page.changes} of {plural(page.visits - 1, 'visit')} after the first"
        )
    if document is None or not document.first_seen:
        return observed + (f", last {instant(page.changed_at)}" if page.changes else "")
    last = instant(document.last_changed)
    return f"{observed}; first seen {instant(document.first_seen)}, last changed {last}"


def _estimate(states: States) -> str:
    page, clock = states.page, states.page.clock
    if is_regular(clock):
        next_at, deviation = instant(clock.next_at), format_duration(sqrt(clock.spread) * DAY)
        every = format_duration(clock.period * DAY)
        return f"it changes every {every}, next at {next_at} ± {deviation}"
    if page.visits < 2:
        return "unknown after one visit"
    rate = belief(states)
    low, high = credible_interval(rate, CONFIDENCE)
    every, fast, slow = (format_duration(DAY / max(r, 1e-9)) for r in (rate.mean, high, low))
    lately = "; its rate has changed lately" if page.lead > MIN_LEAD_NATS else ""
    return f"it changes every {every} ({fast} to {slow} with 90 % probability){lately}"


def _evidence(site: SiteState) -> str:
    parts = []
    for kind, counted in sorted(site.trust.items()):
        if sum(counted) < 1:
            continue
        likelier = likelihood_ratio(site, kind)
        is_informative = likelier >= MIN_LIKELIHOOD_RATIO
        effect = f"makes a change {likelier:.3g} times likelier" if is_informative else "is ignored"
        parts.append(f"{kind} {effect}")
    return ", ".join(parts)


def _validators(validators: Validators, trust: Trust) -> str:
    if trust.lie:
        return f"distrusted, not sent: {trust.lie}"
    sent = [
        name
        for name, value in (
            ("ETag", validators.etag),
            ("Last-Modified", validators.last_modified),
        )
        if value
    ]
    if not sent:
        return "none in the last response, so each visit fetches the whole page"
    names = " and ".join(sent)
    return f"{names} sent, except at each {UNCONDITIONAL_INTERVAL}th visit, which checks them"


def _reasons(page: PageState) -> str:
    sites = round(estimate_sites(page.in_links))
    linked = f"; linked from about {plural(sites, 'other site')}" if sites else ""
    return linked + (f"; requested {_times(page.requests)} lately" if page.requests else "")


def _times(count: float) -> str:
    return times(round(count)) if count == round(count) else f"{count:.2g} times"


def _price(states: States, policy: str) -> str:
    if policy != Optimal.name or not states.crawl.price:
        return ""
    costs = f"; price of a visit: {format_duration(price_of(states) * DAY)} of freshness"
    if states.site.surcharge < MIN_SHOWN_PENALTY:
        return costs
    demand, limit = states.site.demand, states.site.limit
    return (
        f"{costs}, {states.site.surcharge:.3g} times the usual price: the pages of its site need "
        f"{number(demand)} visits a day, and politeness allows {number(limit)}"
    )


def _next(plan: PlanRow, facts: UrlFacts, now: float) -> Iterator[str]:
    by = plan.why if plan.is_retry else f"by policy {plan.policy}: {plan.why}"
    if plan.at is None:
        yield f"next visit: never, {by}"
    elif plan.at > now:
        yield f"next visit: {instant(plan.at)}, {by}"
    elif facts.ahead is None:
        budget = facts.states.crawl.budget
        waits = f", within the budget of {number(budget)} visits a day" if budget else ""
        yield f"next visit: due since {instant(plan.at)}{waits}; {by}"
    else:
        yield f"next visit: now, due since {instant(plan.at)}, {by}"
    definition = facts.definition
    if definition and definition.revisit != plan.policy:
        yield f"next visit: to be planned again, by policy {definition.revisit}"
    elif definition and definition.paused and plan.at:
        yield "the crawl is paused: nothing is visited until it continues"
