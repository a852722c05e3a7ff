"""The change rate of a page and its next visit in words: a part of `gossamer why --verbose`."""

from collections.abc import Iterator

from gossamer.web.validators import UNCONDITIONAL_INTERVAL
from inspection.figures import instant, number, percent, plural, times
from inspection.revisits import RevisitFacts
from inspection.urls import NextVisit, UrlExplanation
from services.frontier.revisit import format_duration

MIN_LIKELIHOOD_RATIO = 1.5
"""Evidence that makes a change less than 1.5 times likelier counts as uninformative."""
MIN_SHOWN_SURCHARGE = 1.01


def revisit_details(found: UrlExplanation) -> Iterator[str]:
    """Yield the observed changes, the estimated rate, and the next visit, a line at a time."""
    facts, planned = found.revisits, found.next_visit
    if facts is None or planned is None:
        return
    if facts.visits:
        yield _changes(facts)
        yield f"estimate: {_estimate(facts)}"
    if facts.freshness is not None and facts.age is not None:
        share, age = percent(facts.freshness), format_duration(facts.age)
        yield f"freshness: the copy is expected to be current {share} of the time, {age} behind"
    if evidence := _evidence(facts):
        yield f"evidence: at {found.site} {evidence}"
    if facts.visits:
        yield f"validators: {_validators(facts)}"
    yield f"weight: {facts.weight:.3g} (a seed has 1){_reasons(facts)}{_price(facts)}"
    yield from _next(planned, found)


def _changes(facts: RevisitFacts) -> str:
    observed = (
        "changes: unknown after one visit"
        if facts.visits < 2
        else f"changes: at {facts.changes} of {plural(facts.visits - 1, 'visit')} after the first"
    )
    if facts.first_seen is None or facts.last_changed is None:
        changed = f", last {instant(facts.changed_at)}" if facts.changed_at is not None else ""
        return observed + changed
    first, last = instant(facts.first_seen), instant(facts.last_changed)
    return f"{observed}; first seen {first}, last changed {last}"


def _estimate(facts: RevisitFacts) -> str:
    if regular := facts.regular:
        next_at, deviation = instant(regular.next_at), format_duration(regular.deviation)
        every = format_duration(regular.period)
        return f"it changes every {every}, next at {next_at} ± {deviation}"
    if (rate := facts.rate) is None:
        return "unknown after one visit"
    every, fast, slow = map(format_duration, (rate.interval, rate.shortest, rate.longest))
    lately = "; its rate has changed lately" if rate.has_changed_lately else ""
    return f"it changes every {every} ({fast} to {slow} with 90 % probability){lately}"


def _evidence(facts: RevisitFacts) -> str:
    parts = []
    for kind, likelier in facts.evidence.items():
        is_informative = likelier >= MIN_LIKELIHOOD_RATIO
        effect = f"makes a change {likelier:.3g} times likelier" if is_informative else "is ignored"
        parts.append(f"{kind} {effect}")
    return ", ".join(parts)


def _validators(facts: RevisitFacts) -> str:
    if facts.distrust:
        return f"distrusted, not sent: {facts.distrust}"
    if not facts.validators:
        return "none in the last response, so each visit fetches the whole page"
    names = " and ".join(facts.validators)
    return f"{names} sent, except at each {UNCONDITIONAL_INTERVAL}th visit, which checks them"


def _reasons(facts: RevisitFacts) -> str:
    sites = facts.linking_sites
    linked = f"; linked from about {plural(sites, 'other site')}" if sites else ""
    return linked + (f"; requested {_times(facts.requests)} lately" if facts.requests else "")


def _times(count: float) -> str:
    return times(round(count)) if count == round(count) else f"{count:.2g} times"


def _price(facts: RevisitFacts) -> str:
    if (price := facts.price) is None:
        return ""
    costs = f"; price of a visit: {format_duration(price.price)} of freshness"
    if price.surcharge < MIN_SHOWN_SURCHARGE:
        return costs
    return (
        f"{costs}, {price.surcharge:.3g} times the usual price: the pages of its site need "
        f"{number(price.demand)} visits a day, and politeness allows {number(price.limit)}"
    )


def _next(planned: NextVisit, found: UrlExplanation) -> Iterator[str]:
    reason = planned.reason
    by = reason if planned.is_retry else f"by policy {planned.policy}: {reason}"
    if planned.at is None:
        yield f"next visit: never, {by}"
    elif planned.at > found.at:
        yield f"next visit: {instant(planned.at)}, {by}"
    elif found.queued is None:
        budget = planned.budget
        waits = f", within the budget of {number(budget)} visits a day" if budget else ""
        yield f"next visit: due since {instant(planned.at)}{waits}; {by}"
    else:
        yield f"next visit: now, due since {instant(planned.at)}, {by}"
    if found.coming_policy:
        yield f"next visit: to be planned again, by policy {found.coming_policy}"
    elif found.is_paused and planned.at:
        yield "the crawl is paused: nothing is visited until it continues"
