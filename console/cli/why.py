"""`gossamer why URL`: the last visit to a URL, the next one, and the rules for both."""

import argparse
import sys
from collections.abc import Iterator

from console.cli.options import add_crawl, open_from
from console.cli.site import override_text
from console.facts import UrlFacts, read_facts
from console.figures import about, instant, moment, number, plural
from console.labels import LABELS, outcome_label, plain_reason
from console.output import BOLD, GREEN, RED, YELLOW, output_for
from console.pace import delay_text
from console.revisits import revisit_details
from console.url_forms import crawl_form, other_seen_form
from gossamer import clock
from gossamer.events.gone import GONE_RULES, Gone
from gossamer.events.hazards import HAZARDS, Hazard
from gossamer.events.outcomes import OUTCOMES, Outcome
from gossamer.policies import NEVER
from gossamer.web.scope import parse_scope
from gossamer.web.url import site_of
from services.archive.rows import CaptureRow
from services.dedup.rows import HIDDEN_REASONS, DocumentRow
from services.frontier.gates import closed_gates
from services.frontier.rows import HistoryRow, HostRow, PlanRow, UrlRow, VerdictRow
from standalone.workload import pace

FETCHED = (Outcome.PAGE, Outcome.NOT_MODIFIED)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_crawl(command)
    command.add_argument("url", metavar="URL")
    command.add_argument("--verbose", action="store_true", help="print all that is recorded")


def run(options: argparse.Namespace) -> int:
    """Print the URL, its summary, and its details."""
    with open_from(options) as crawl:
        url, steps, exclusion = crawl_form(crawl, options.url)
        facts = read_facts(crawl, url)
        other = other_seen_form(crawl, url)
    now = clock.now()
    text, style = summary(facts, now)
    if exclusion:
        text, style = f"Not fetched: excluded by the URL step {exclusion}.", RED
    hints = [f"seen in another form: {other}"] if other else []
    found = details(facts, now) if options.verbose else brief_details(facts, now)
    output = output_for(sys.stdout)
    print(output.sentence(url, BOLD))
    print(output.sentence(text, style, "  ", "  "))
    for line in (*hints, *steps, *found):
        print(output.sentence(line, "", "  ", "    "))
    return 0


def summary(facts: UrlFacts, now: float) -> tuple[str, str]:
    """Return the state of the URL in one or two sentences, and the style to print it in."""
    if facts.ahead is not None and facts.host:
        return _queued_summary(facts, facts.host, facts.ahead, now), YELLOW
    if facts.visit:
        return _visit_summary(facts, facts.visit, now)
    if facts.erased:
        at, by = moment(facts.erased.at, now), facts.erased.requested_by
        return f"Erased {at} with {facts.erased.target}, requested by {by}.", RED
    if facts.plan:
        return f"Admitted, not fetched yet. {_next_visit(facts, facts.plan, now)}", YELLOW
    if facts.definition is None:
        return "No crawl is defined: gossamer seed URL --scope SCOPE defines one.", RED
    if rule := facts.blocklist.of_url(facts.url):
        return f"Not fetched: the blocklist forbids it, by {rule}.", RED
    evaluation = parse_scope(facts.definition.scope).evaluate(facts.url, 0)
    if not evaluation.inside:
        return f"Not fetched: out of scope, by {evaluation.rule}.", RED
    if refusals := facts.unlisted_refusals:
        certainty = "Refused" if facts.is_seen and len(refusals) == 1 else "Perhaps refused"
        rules = ", ".join(LABELS.get(rule, rule) for rule in refusals)
        return f"{certainty}: {rules}.", RED
    if facts.is_seen:
        return "Seen, not admitted yet.", YELLOW
    depth = plural(facts.definition.max_depth, "link")
    unknown = "Not visited or queued" if facts.fleet else "Not seen"
    return f"{unknown}: no page read so far links to it within {depth} of a seed.", YELLOW


def _queued_summary(facts: UrlFacts, host: HostRow, ahead: int, now: float) -> str:
    if facts.ordered:
        return "Being fetched now."
    purpose = "to be fetched again" if facts.again else "not fetched yet"
    place = (
        "the next URL of its host" if ahead == 0 else f"behind {plural(ahead, 'URL')} of its host"
    )
    estimate = f", {about(ahead * pace(host))}" if ahead and pace(host) else ""
    text = f"Queued, {purpose}: {place}{estimate}."
    for _, closed in closed_gates(facts.gate_inputs(host, now)):
        until = f" before {moment(closed.until, now)}" if closed.until else " now"
        return f"{text} Its host is not visited{until}: {plain_reason(closed.reason)}."
    return text


def _visit_summary(facts: UrlFacts, visit: UrlRow, now: float) -> tuple[str, str]:
    at, next_visit = moment(visit.at, now), _next_visit(facts, facts.plan, now)
    if not _was_visited(facts, visit):
        label = LABELS.get(visit.outcome, visit.outcome)
        reason = plain_reason(visit.reason)
        if visit.outcome == Outcome.ROBOTS_EXCLUDED and facts.robots:
            reason = facts.robots.rules.explain(facts.url)
        shown = f"{label} ({reason})" if reason and reason != label else label
        return f"Not fetched: {shown}.", RED
    if visit.outcome in FETCHED:
        parts = [f"Fetched {at} ({visit.status})", _publication(facts)]
        if facts.captures:
            parts.append("archived")
        return f"{', '.join(filter(None, parts))}. {next_visit}".rstrip(), GREEN
    if visit.outcome == Outcome.REDIRECT:
        text = f"Redirected {at} ({visit.status}) to {visit.location}."
        return f"{text} {next_visit}".rstrip(), GREEN
    reason = f" ({plain_reason(visit.reason)})" if visit.reason else ""
    failed = f"Failed {at}: {outcome_label(visit.outcome, visit.status)}{reason}."
    if facts.plan is None or facts.plan.at is None:
        next_visit = "Not tried again by itself: gossamer retry URL tries it."
    return f"{failed} {next_visit}".rstrip(), RED


def _was_visited(facts: UrlFacts, visit: UrlRow) -> bool:
    return bool(visit.earlier or visit.attempt or facts.history)


def _publication(facts: UrlFacts) -> str:
    document, verdict = facts.document, facts.verdict
    if verdict is None and document is None:
        return ""
    if document and document.gone:
        return f"not in pages ({GONE_RULES[Gone(document.gone)].text.rstrip('.')})"
    if document is None:
        reason = f" ({verdict.reason})" if verdict and verdict.reason else ""
        return f"not published: {verdict.verdict}{reason}" if verdict else "not published"
    if verdict and verdict.duplicate_of:
        word = verdict.verdict.replace("_", "-")
        return f"published as a {word} of {verdict.duplicate_of}"
    return "published"


def _next_visit(facts: UrlFacts, plan: PlanRow | None, now: float) -> str:
    if plan is None:
        return ""
    if plan.at is None:
        if plan.policy == NEVER:
            return "Will not be fetched again: --revisit none."
        return f"Will not be fetched again: {plan.why}."
    if plan.at > now:
        return f"Next visit {moment(plan.at, now)}: {plain_reason(plan.why)}."
    budget = facts.states.crawl.budget
    waits = f", waiting for the budget of {number(budget)} visits a day" if budget else ""
    return f"Next visit due since {moment(plan.at, now)}{waits}: {plain_reason(plan.why)}."


def brief_details(facts: UrlFacts, now: float) -> Iterator[str]:
    """Yield the few details that a person needs without `--verbose`."""
    if facts.visit and facts.blocklist.of_url(facts.url):
        yield from _blocklist(facts)
    host, robots = facts.host, facts.robots
    has_crawl_delay = robots is not None and robots.rules.crawl_delay > 0
    if host and (has_crawl_delay or host.politeness.strain or facts.ahead):
        yield from _pace(facts, host)
    if facts.ahead is not None and host and not facts.ordered:
        for _, closed in [*closed_gates(facts.gate_inputs(host, now))][1:]:
            until = f" before {moment(closed.until, now)}" if closed.until else " now"
            yield f"also not visited{until}: {plain_reason(closed.reason)}"


def details(facts: UrlFacts, now: float) -> Iterator[str]:
    """Yield all details of *facts*, a line at a time."""
    yield from _scope(facts)
    if facts.erased:
        at, target = instant(facts.erased.at), facts.erased.target
        yield f"erased: {at}, everything about {target}, for {facts.erased.requested_by}"
    if facts.via:
        yield f"discovered: {_via(facts.via)}"
    if facts.visit:
        yield from _visit_details(facts, facts.visit)
    yield from _unlisted_refusals(facts)
    if facts.verdict:
        yield _verdict(facts.verdict)
    if facts.document:
        yield from _document(facts.document)
    yield from map(_capture, facts.captures)
    yield from revisit_details(facts, now)
    if facts.robots:
        yield f"robots.txt of {facts.host_key}: {facts.robots.rules.explain(facts.url)}"
    if facts.host:
        yield from _pace(facts, facts.host)
    if facts.host and facts.ahead is not None:
        yield from _queue_details(facts, facts.host, facts.ahead, now)


def _pace(facts: UrlFacts, host: HostRow) -> Iterator[str]:
    if text := delay_text(host, facts.robots, facts.override):
        yield f"pace of {facts.host_key}: {text}"
    elif facts.robots and facts.robots.rules.crawl_delay:
        delay = facts.robots.rules.crawl_delay
        yield f"pace of {facts.host_key}: one request each {delay:g} s (Crawl-delay in robots.txt)"


def _blocklist(facts: UrlFacts) -> Iterator[str]:
    if rule := facts.blocklist.of_url(facts.url):
        since = instant(facts.blocklist.rules[rule].at)
        yield f"blocklist: not requested, by {rule}, since {since}"


def _scope(facts: UrlFacts) -> Iterator[str]:
    definition = facts.definition
    if definition is None:
        return
    yield from _blocklist(facts)
    if facts.site and facts.site.wildcard:
        yield f"site: any name below {facts.site.site} resolves (dns_wildcard)"
    if facts.site_override:
        yield f"site: {facts.site_override.site}: {override_text(facts.site_override)}"
    if facts.host_override:
        yield f"host: {facts.host_override.host} alone: {override_text(facts.host_override)}"
    evaluation = parse_scope(definition.scope).evaluate(facts.url, 0)
    yield f"scope: {'inside' if evaluation.inside else 'outside'}, by {evaluation.rule}"
    if not evaluation.inside or facts.is_seen:
        return
    depth = plural(definition.max_depth, "link")
    unlinked = (
        f"no page that was read links to it within {depth} of a seed (nofollow links, and links of "
        "mirrors and of endless duplicates, are not followed)"
    )
    unknown = "not known to the frontier" if facts.fleet else "not seen"
    yield f"{unknown}: {unlinked}, or its link is still being processed"


def _unlisted_refusals(facts: UrlFacts) -> Iterator[str]:
    """Yield the rules that refused more URLs of the site than have rows."""
    for rule, count in facts.unlisted_refusals.items():
        word = (
            "refused" if facts.is_seen and len(facts.unlisted_refusals) == 1 else "perhaps refused"
        )
        urls = f"{plural(count, 'URL')} of {site_of(facts.url)}"
        text = HAZARDS[Hazard(rule)].text if rule in HAZARDS else ""
        yield f"{word}: by {rule}, which refused {urls}, most of them without a row: {text}"


def _visit_details(facts: UrlFacts, visit: UrlRow) -> Iterator[str]:
    label = outcome_label(visit.outcome, visit.status)
    reason = f" ({plain_reason(visit.reason)})" if visit.reason else ""
    target = f" to {visit.location}" if visit.location else ""
    verb = "visited" if _was_visited(facts, visit) else "refused"
    yield f"{verb}: {instant(visit.at)}: {label}{target}{reason}"
    if verb == "visited" and visit.outcome in OUTCOMES:
        yield f"meaning of {visit.outcome}: {OUTCOMES[Outcome(visit.outcome)].text}"
    for earlier in facts.history:
        if earlier.at < visit.at:
            yield f"before: {instant(earlier.at)}: {_earlier_visit(earlier)}"
    party = f", party {visit.origin.party}" if visit.origin.party else ""
    hops = f", after {plural(visit.origin.hops, 'redirect')}" if visit.origin.hops else ""
    yield f"depth: {visit.origin.depth}{hops}{party}"
    if visit.origin.trace:
        yield f"trace: {visit.origin.trace} (in events and log lines)"


def _earlier_visit(visit: HistoryRow) -> str:
    other = visit.duplicate_of or visit.redirects_to
    parts = [outcome_label(visit.outcome, visit.status), visit.verdict, other]
    return " ".join(part for part in (*parts, _change(visit.change).strip()) if part)


def _change(change: float | None) -> str:
    return f" ({max(1, round(100 * change))} % of the text changed)" if change else ""


def _verdict(verdict: VerdictRow) -> str:
    target = f" of {verdict.duplicate_of}" if verdict.duplicate_of else ""
    target += f" to {verdict.redirects_to}" if verdict.redirects_to else ""
    reason = f" ({verdict.reason})" if verdict.reason else ""
    change = _change(verdict.change)
    word = verdict.verdict.replace("_", "-")
    return f"verdict: {word}{target}{change}; links released: {verdict.links}{reason}"


def _document(row: DocumentRow) -> Iterator[str]:
    if row.gone in HIDDEN_REASONS and row.published_at is None:
        yield f"not in pages: {GONE_RULES[Gone(row.gone)].text}"
    elif row.gone in GONE_RULES:
        at = (row.missed_since if row.gone in HIDDEN_REASONS else None) or row.at
        yield f"gone from pages: {instant(at)}: {GONE_RULES[Gone(row.gone)].text}"
    elif row.missed_since is not None:
        visits = plural(row.missed, "visit")
        yield f"in pages, although {visits} since {instant(row.missed_since)} did not find it"


def _capture(capture: CaptureRow) -> str:
    where = f"{capture.file}, offset {capture.offset}, {plural(capture.length, 'byte')}"
    return f"captured: {instant(capture.fetched_at)}: {where}"


def _queue_details(facts: UrlFacts, host: HostRow, ahead: int, now: float) -> Iterator[str]:
    if facts.ordered:
        until = instant(host.lease.expires_at or now)
        yield f"in flight: order {host.lease.order}, lease until {until}"
        return
    kind = "to be visited again" if facts.again else "never visited"
    yield f"queued: behind {plural(ahead, 'URL')} of its host, {kind}"
    yield f"host: {host.condition}"
    for gate, closed in closed_gates(facts.gate_inputs(host, now)):
        until = f" until {instant(closed.until)}" if closed.until else ""
        yield f"not visited now{until}: {plain_reason(closed.reason)} ({gate.name})"


def _via(via: str) -> str:
    visit, _, url = via.partition("@")
    return "as a seed" if visit == "seed" else f"by a link on {url} (visit {visit})"
