"""When a URL is visited again and what decides that, in sentences: a part of `gossamer why`."""

from collections.abc import Iterator
from math import sqrt

from console.facts import UrlFacts
from console.figures import instant, number, percent, plural
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

SURE = 0.9
TELLING = 1.5
"""So many times likelier must something make a change for it to say anything."""
BOUND = 1.01
"""A surcharge above this shows."""


def coming_back(facts: UrlFacts, now: float) -> Iterator[str]:
    """Yield a sentence at a time: what was seen, what is believed, and what follows from it."""
    plan = facts.plan
    if plan is None:
        return
    states = facts.states
    if states.page.visits:
        yield _seen(states.page, facts.document)
        yield f"believed: {_believed(states)}"
    if states.page.fresh and states.page.visits > 1:
        share, age = percent(states.page.fresh), format_duration(states.page.age * DAY)
        yield f"freshness: its copy is expected to be right {share} of the time, and {age} behind"
    if said := _evidence(states.site):
        yield f"evidence: at {site_of(facts.url)} {said}"
    if states.page.visits:
        yield f"validators: {_validators(plan.validators, facts.trust)}"
    yield f"weight: {states.page.weight:.3g}, where a seed has 1{_reasons(states.page)}" + _price(
        states, plan.policy
    )
    yield from _next(plan, facts, now)


def _seen(page: PageState, document: DocumentRow | None) -> str:
    if page.visits < 2:
        times = "changes: none could be seen, it was visited once"
    else:
        times = (
            f"changes: seen at {page.changes} of {plural(page.visits - 1, 'visit')} after the first"
        )
    if document is None or not document.first_seen:
        return times + (f", last {instant(page.changed_at)}" if page.changes else "")
    last = instant(document.last_changed)
    return f"{times}; first seen {instant(document.first_seen)}, last changed {last}"


def _believed(states: States) -> str:
    page, clock = states.page, states.page.clock
    if is_regular(clock):
        next_at, give_or_take = instant(clock.next_at), format_duration(sqrt(clock.spread) * DAY)
        every = format_duration(clock.period * DAY)
        return f"it changes every {every}, next about {next_at}, give or take {give_or_take}"
    if page.visits < 2:
        return "not yet known how often it changes"
    rate = belief(states)
    low, high = credible_interval(rate, SURE)
    every, fast, slow = (format_duration(DAY / max(r, 1e-9)) for r in (rate.mean, high, low))
    lately = ", by its last visits: its pace has changed" if page.lead > MIN_LEAD_NATS else ""
    return f"it changes every {every} ({fast} to {slow}, nine times in ten){lately}"


def _evidence(site: SiteState) -> str:
    said = []
    for kind, counted in sorted(site.trust.items()):
        if sum(counted) < 1:
            continue
        likelier = likelihood_ratio(site, kind)
        tells = f"makes a change {likelier:.3g} times likelier" if likelier >= TELLING else ""
        said.append(f"{kind} {tells or 'says nothing'}")
    return ", ".join(said)


def _validators(validators: Validators, trust: Trust) -> str:
    if trust.lie:
        return f"not sent back to its host: {trust.lie}"
    given = [
        name
        for name, value in (
            ("ETag", validators.etag),
            ("Last-Modified", validators.last_modified),
        )
        if value
    ]
    if not given:
        return "it came with none, so each visit brings the whole page"
    sent, every = " and ".join(given), UNCONDITIONAL_INTERVAL
    return f"{sent} sent back, but for each {every}th visit: it finds out if they lie"


def _reasons(page: PageState) -> str:
    sites = round(estimate_sites(page.in_links))
    linked = f"; links to it are on about {plural(sites, 'other site')}" if sites else ""
    return linked + (f"; asked for {page.requests:.2g} times lately" if page.requests else "")


def _price(states: States, policy: str) -> str:
    if policy != Optimal.name or not states.crawl.price:
        return ""
    costs = f"; a visit must bring {format_duration(price_of(states) * DAY)} of freshness"
    if states.site.surcharge < BOUND:
        return costs
    asked, allowed = states.site.demand, states.site.limit
    return (
        f"{costs}, {states.site.surcharge:.3g} times as much as elsewhere: its site needs "
        f"{number(asked)} visits a day, and politeness allows {number(allowed)}"
    )


def _next(plan: PlanRow, facts: UrlFacts, now: float) -> Iterator[str]:
    by = plan.why if plan.is_retry else f"by the policy {plan.policy}: {plan.why}"
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
        yield f"it is about to be planned anew, by the policy {definition.revisit}"
    elif definition and definition.paused and plan.at:
        yield "the crawl is paused: there are no visits until it goes on"
