"""`gossamer why URL`: what happened or will happen to a URL, and by which rule."""

import argparse
from collections.abc import Iterator

from console.cli.options import add_crawl, open_from
from console.cli.site import spelled
from console.coming_back import coming_back
from console.facts import UrlFacts, read_facts
from console.figures import instant, plural
from console.spelling import known
from gossamer import clock
from gossamer.events.gone import GONE_RULES, Gone
from gossamer.events.hazards import HAZARDS, Hazard
from gossamer.events.outcomes import OUTCOMES, Outcome
from gossamer.terminal import printable
from gossamer.web.scope import parse_scope
from gossamer.web.url import site_of
from services.archive.rows import CaptureRow
from services.dedup.rows import HIDDEN_REASONS, DocumentRow
from services.frontier.gates import closed_gates
from services.frontier.rows import HistoryRow, HostRow, UrlRow, VerdictRow

LONGEST = 5000
"""Characters of a line: longer than two URLs can be."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*."""
    add_crawl(command)
    command.add_argument("url", metavar="URL")


def run(options: argparse.Namespace) -> int:
    """Explain."""
    with open_from(options) as crawl:
        url, steps = known(crawl, options.url)
        facts = read_facts(crawl, url)
    lines = [url, *(f"  {line}" for line in (*steps, *sentences(facts, clock.now())))]
    print("\n".join(printable(line, LONGEST) for line in lines))
    return 0


def sentences(facts: UrlFacts, now: float) -> Iterator[str]:
    """Yield *facts* a sentence at a time, in the order in which a person asks."""
    yield from _scope(facts)
    if facts.erased:
        at, target = instant(facts.erased.at), facts.erased.target
        yield f"erased: {at}: all that was known of {target}, for {facts.erased.requested_by}"
    if facts.via:
        yield f"discovered: {_via(facts.via)}"
    if facts.visit:
        yield from _visited(facts.visit, facts.history)
    yield from _unlisted(facts)
    if facts.verdict:
        yield _judged(facts.verdict)
    if facts.document:
        yield from _document(facts.document)
    yield from map(_captured, facts.captures)
    yield from coming_back(facts, now)
    if facts.robots:
        yield f"robots.txt of {facts.host_key}: {facts.robots.rules.explain(facts.url)}"
    if facts.host and facts.ahead is not None:
        yield from _queued(facts, facts.host, facts.ahead, now)


def _scope(facts: UrlFacts) -> Iterator[str]:
    defined = facts.definition
    if defined is None:
        return
    if rule := facts.blocklist.of_url(facts.url):
        since = instant(facts.blocklist.rules[rule].at)
        yield f"blocklist: by {rule}, since {since}, it is not to be requested"
    if facts.site and facts.site.wildcard:
        yield f"site: any name below {facts.site.site} resolves (dns_wildcard)"
    if facts.override:
        yield f"site: {facts.override.site} is {spelled(facts.override)}"
    if facts.own:
        yield f"host: {facts.own.host} by itself is {spelled(facts.own)}"
    evaluation = parse_scope(defined.scope).evaluate(facts.url, 0)
    yield f"scope: {'inside' if evaluation.inside else 'outside'}, by {evaluation.rule}"
    if not evaluation.inside or facts.met:
        return
    unlinked = (
        f"no page that was read links to it within the depth limit of {defined.max_depth} "
        "(nofollow links are not followed, nor those of mirrors and of endless duplicates)"
    )
    if facts.fleet:
        yield f"the frontier has not met it: {unlinked}, or it is still on its way there"
    else:
        yield f"never met: {unlinked}, or it is still on its way"


def _unlisted(facts: UrlFacts) -> Iterator[str]:
    """Of very many refusals by one rule only the first have a row of their own."""
    for rule, count in facts.unlisted.items():
        word = "refused" if facts.met and len(facts.unlisted) == 1 else "perhaps refused"
        of = f"{count} URLs of {site_of(facts.url)}"
        text = HAZARDS[Hazard(rule)].text if rule in HAZARDS else ""
        yield f"{word}: by {rule}, which refused {of}, most of them without a row: {text}"


def _visited(visit: UrlRow, history: tuple[HistoryRow, ...]) -> Iterator[str]:
    status = f" {visit.status}" if visit.status else ""
    reason = f" ({visit.reason})" if visit.reason else ""
    target = f" to {visit.location}" if visit.location else ""
    verb = "visited" if visit.earlier or visit.attempt or history else "refused"
    yield f"{verb}: {instant(visit.at)}: {visit.outcome}{status}{target}{reason}"
    if verb == "visited" and visit.outcome in OUTCOMES:
        yield f"meaning: {OUTCOMES[Outcome(visit.outcome)].text}"
    for earlier in history:
        if earlier.at < visit.at:
            yield f"before: {instant(earlier.at)}: {_in_short(earlier)}"
    party = f", of party {visit.origin.party}" if visit.origin.party else ""
    hops = f", after {plural(visit.origin.hops, 'redirect')}" if visit.origin.hops else ""
    yield f"depth: {visit.origin.depth}{hops}{party}"
    if visit.origin.trace:
        yield f"trace: {visit.origin.trace}, in what the services log"


def _in_short(visit: HistoryRow) -> str:
    changed = _changed(visit.change).strip()
    other = visit.duplicate_of or visit.redirects_to
    parts = [visit.outcome, str(visit.status or ""), visit.verdict, other, changed]
    return " ".join(part for part in parts if part)


def _changed(change: float | None) -> str:
    return f" ({max(1, round(100 * change))} % of it changed)" if change else ""


def _judged(verdict: VerdictRow) -> str:
    of = f" of {verdict.duplicate_of}" if verdict.duplicate_of else ""
    of += f" to {verdict.redirects_to}" if verdict.redirects_to else ""
    why = f" ({verdict.reason})" if verdict.reason else ""
    of += _changed(verdict.change)
    return f"verdict: {verdict.verdict}{of}; links released: {verdict.links}{why}"


def _document(row: DocumentRow) -> Iterator[str]:
    if row.gone in HIDDEN_REASONS and row.published_at is None:
        yield f"not in pages: {GONE_RULES[Gone(row.gone)].text}"
    elif row.gone in GONE_RULES:
        at = (row.missed_since if row.gone in HIDDEN_REASONS else None) or row.at
        yield f"gone from pages: {instant(at)}: {GONE_RULES[Gone(row.gone)].text}"
    elif row.missed_since is not None:
        visits = plural(row.missed, "visit")
        yield f"in pages, though not found at {visits} since {instant(row.missed_since)}"


def _captured(capture: CaptureRow) -> str:
    where = f"{capture.file} at {capture.offset}, {capture.length} bytes"
    return f"captured: {instant(capture.fetched_at)}: {where}"


def _queued(facts: UrlFacts, host: HostRow, ahead: int, now: float) -> Iterator[str]:
    if facts.ordered:
        until = instant(host.lease.expires_at or now)
        yield f"under way: order {host.lease.order} holds it, until {until} at the latest"
        return
    if facts.again and ahead == 0:
        yield "queued: next of the pages of its host that are to be visited again"
    else:
        kind = "to be visited again" if facts.again else "never visited"
        yield f"queued: behind {plural(ahead, 'URL')} of its host, {kind}"
    yield f"host: {host.condition}"
    for gate, closed in closed_gates(facts.gate_inputs(host, now)):
        until = f" until {instant(closed.until)}" if closed.until else ""
        yield f"not visited now{until}: {closed.reason} ({gate.name})"
    if host.politeness.strain:
        delay = f"{host.politeness.delay:g} s"
        yield f"its server seems strained: asked every {delay} for the time being"


def _via(via: str) -> str:
    visit, _, url = via.partition("@")
    return "it is a seed" if visit == "seed" else f"linked from {url} (visit {visit})"
