"""`gossamer why URL`: the last visit to a URL, the next one, and the rules for both."""

import argparse
from collections.abc import Iterator

from gossamer.changes.sites import override_text
from gossamer.console.cli.options import add_crawl, open_from
from gossamer.console.output import BOLD, GREEN, RED, YELLOW, print_items, print_json, say
from gossamer.inspection.basics.figures import instant, moment, number, percent, plural, times
from gossamer.inspection.basics.labels import LABELS, finding_text, hazard_text, outcome_label
from gossamer.inspection.hosts.hosts import Host
from gossamer.inspection.urls.revisits import RevisitFacts
from gossamer.inspection.urls.urls import (
    DocumentFact,
    LastVisit,
    NextVisit,
    Queued,
    RequisiteFact,
    UrlExplanation,
    UrlState,
    explain_url,
)
from gossamer.services.frontier.partition.politeness import format_delay
from gossamer.services.frontier.revisit.planning import format_duration
from gossamer.web.validators import UNCONDITIONAL_INTERVAL

STYLES = {
    UrlState.FETCHED: GREEN,
    UrlState.REDIRECTED: GREEN,
    UrlState.FAILED: RED,
    UrlState.REFUSED: RED,
    UrlState.ERASED: RED,
    UrlState.NO_CRAWL: RED,
}
"""State of a URL → style of the answer; yellow for all others."""
MIN_LIKELIHOOD_RATIO = 1.5
"""Evidence that makes a change less than 1.5 times likelier is shown as ignored."""
MIN_SHOWN_SURCHARGE = 1.01


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_crawl(command)
    command.add_argument("url", metavar="URL")
    command.add_argument("--verbose", action="store_true", help="print all details")
    command.add_argument("--json", action="store_true", help="print everything as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the URL, the answer, and its details."""
    with open_from(options) as crawl:
        found = explain_url(crawl, options.url)
    if options.json:
        print_json(found, is_indented=True)
        return 0
    say(found.url, BOLD)
    say(found.answer, STYLES.get(found.state, YELLOW), "  ", "  ")
    print_items(forms(found))
    print_items(details(found) if options.verbose else brief_details(found))
    return 0


def forms(found: UrlExplanation) -> Iterator[str]:
    """Yield the other forms of the URL."""
    if found.seen_as:
        yield f"seen in another form: {found.seen_as}"
    yield from found.steps


def brief_details(found: UrlExplanation) -> Iterator[str]:
    """Yield the few details that a person needs without `--verbose`."""
    if found.visit:
        yield from _blocklist(found)
        yield from _effects(found.visit)
    if found.requisite and (found.visit or found.queued):
        yield _requisite(found.requisite)
    host, queued = found.host, found.queued
    if host and host.signing:
        yield f"signatures: {host.host} {host.signing}"
    if host and (found.crawl_delay or host.strain or (queued and queued.ahead)):
        yield from _pace(found, host)
    if queued:
        # Two gates may be closed for one reason: a host backs off during quiet hours.
        closed = dict.fromkeys((gate.until, gate.reason) for gate in queued.closed_gates)
        for at, reason in [*closed][1:]:
            until = f" before {moment(at, found.at)}" if at else " now"
            yield f"also not visited{until}: {reason}"
        yield from _fate(queued)


def details(found: UrlExplanation) -> Iterator[str]:
    """Yield all details, a line at a time."""
    yield from _blocklist(found)
    yield from _scope(found)
    if found.erased:
        at, target = instant(found.erased.at), found.erased.target
        yield f"erased: {at}, everything about {target}, for {found.erased.requested_by}"
    if found.discovered_by:
        yield f"discovered: {_discovery(found.discovered_by)}"
    if found.visit:
        yield from _visit(found, found.visit)
    yield from _refusals(found)
    if found.requisite:
        yield _requisite(found.requisite)
    yield from _verdict(found)
    if found.document:
        yield from _document(found.document)
    if found.not_archived:
        yield f"not archived: {found.not_archived}"
    yield from _captures(found)
    yield from revisit_details(found)
    if found.robots:
        yield f"robots.txt of {found.host_key}: {found.robots}"
    for purpose, judgement in found.usage.items():
        by = f", by {'; '.join(map(str, judgement.by))}" if judgement.by else ""
        yield f"usage for {purpose}, before a request: {judgement.word}{by}"
    if found.host:
        if found.host.signing:
            yield f"signatures: {found.host.host} {found.host.signing}"
        yield from _pace(found, found.host)
        if found.queued:
            yield from _queue(found, found.host, found.queued)


def _pace(found: UrlExplanation, host: Host) -> Iterator[str]:
    delay = f"one request each {format_delay(found.crawl_delay)} (Crawl-delay in robots.txt)"
    if text := host.delay_text or (delay if found.crawl_delay else ""):
        yield f"pace of {host.host}: {text}"


def _blocklist(found: UrlExplanation) -> Iterator[str]:
    if rule := found.blocked_by:
        yield f"blocklist: not requested, by {rule.rule}, since {instant(rule.since)}"


def _scope(found: UrlExplanation) -> Iterator[str]:
    if found.scope is None or found.max_depth is None:
        return
    if found.site_has_wildcard:
        yield f"site: any name below {found.site} resolves (dns_wildcard)"
    if found.site_override:
        yield f"site: {found.site_override.site}: {override_text(found.site_override)}"
    if found.host_override:
        yield f"host: {found.host_override.host} alone: {override_text(found.host_override)}"
    scope = found.scope
    yield f"scope: {'inside' if scope.is_inside else 'outside'}, by {scope.rule}"
    if not scope.is_inside or found.is_seen or found.state is UrlState.PARKED:
        return
    depth = plural(found.max_depth, "link")
    unknown = "not known to the frontier" if found.is_fleet else "not seen"
    yield (
        f"{unknown}: no link or entry of a sitemap or list led to it within {depth} of a seed. Not "
        "followed are links to media, nofollow links, and links of mirrors and of endless "
        "duplicates. A new link may still be processed"
    )


def _refusals(found: UrlExplanation) -> Iterator[str]:
    """Yield the rules that refused more URLs of the site than have rows."""
    word = "refused" if found.is_refusal_certain else "perhaps refused"
    for rule, count in found.refusals.items():
        urls = f"{plural(count, 'URL')} of {found.site}"
        text = hazard_text(rule)
        yield f"{word}: by {rule}, which refused {urls}, most of them without a row: {text}"


def _visit(found: UrlExplanation, visit: LastVisit) -> Iterator[str]:
    label = outcome_label(visit.outcome, visit.status)
    reason = f" ({visit.reason})" if visit.reason else ""
    target = f" to {visit.redirects_to}" if visit.redirects_to else ""
    verb = "visited" if visit.was_visited else "refused"
    yield f"{verb}: {instant(visit.at)}: {label}{target}{reason}"
    if visit.meaning:
        yield f"meaning of {visit.outcome}: {visit.meaning}"
    yield from _effects(visit)
    for earlier in found.history:
        if earlier.at < visit.at:
            finding = f": {earlier.finding}" if earlier.finding else ""
            label = outcome_label(earlier.outcome, earlier.status)
            yield f"before: {instant(earlier.at)}: {label}{finding}"
    party = f", party {visit.party}" if visit.party else ""
    hops = f", after {plural(visit.hops, 'redirect')}" if visit.hops else ""
    yield f"depth: {visit.depth}{hops}{party}"
    if visit.trace:
        yield f"trace: {visit.trace} (in events and log lines)"


def _effects(visit: LastVisit) -> Iterator[str]:
    if visit.effects:
        yield f"effects of {visit.outcome}: {'; '.join(visit.effects.values())}"


def _requisite(requisite: RequisiteFact) -> str:
    reason = f" ({requisite.reason})" if requisite.reason else ""
    label = LABELS.get(requisite.outcome, requisite.outcome)
    return (
        f"a requisite of {requisite.needed_by}: {label}{reason}, {instant(requisite.at)}, "
        f"{plural(requisite.visits, 'visit')}"
    )


def _verdict(found: UrlExplanation) -> Iterator[str]:
    if (verdict := found.verdict) is None:
        return
    reason = f" ({verdict.reason})" if verdict.reason else ""
    finding = finding_text(
        verdict.verdict, verdict.change, verdict.duplicate_of, verdict.redirects_to
    )
    yield f"verdict: {finding}; links released: {verdict.links}{reason}"


def _document(document: DocumentFact) -> Iterator[str]:
    if document.gone and document.gone_at is None:
        yield f"not in pages: {document.gone_reason}"
    elif document.gone and document.gone_at is not None:
        yield f"gone from pages: {instant(document.gone_at)}: {document.gone_reason}"
    elif document.missed_since is not None:
        visits = plural(document.missed, "visit")
        yield f"in pages, although {visits} since {instant(document.missed_since)} did not find it"


def _captures(found: UrlExplanation) -> Iterator[str]:
    for capture in found.captures:
        where = f"{capture.file}, offset {capture.offset}, {plural(capture.length, 'byte')}"
        yield f"captured: {instant(capture.fetched_at)}: {where}"


def _queue(found: UrlExplanation, host: Host, queued: Queued) -> Iterator[str]:
    if queued.is_ordered:
        until = instant(host.lease_until or found.at)
        yield f"in flight: order {host.order}, lease until {until}"
        return
    kind = "to be visited again" if queued.is_revisit else "never visited"
    rank = "" if queued.rank is None else f", rank {queued.rank}"
    yield f"queued: behind {plural(queued.ahead, 'URL')} of its host, {kind}{rank}"
    yield f"host: {host.condition}"
    for gate in queued.closed_gates:
        until = f" until {instant(gate.until)}" if gate.until else ""
        yield f"not visited now{until}: {gate.reason} ({gate.gate})"
    yield from _fate(queued)


def _fate(queued: Queued) -> Iterator[str]:
    if fate := queued.fate:
        detail = f": {fate.detail}" if fate.detail else ""
        yield f"at the head of its queue, the URL {fate.text}{detail}"


def _discovery(discovered_by: str) -> str:
    visit, _, url = discovered_by.partition("@")
    if visit == "import":
        return f"in {url}, which was imported"
    return "as a seed" if visit == "seed" else f"by a link on {url} (visit {visit})"


def revisit_details(found: UrlExplanation) -> Iterator[str]:
    """Yield the observed changes, the estimated rate, and the next visit, a line at a time."""
    facts, planned = found.revisits, found.next_visit
    if facts is None:
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
    if planned:
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
