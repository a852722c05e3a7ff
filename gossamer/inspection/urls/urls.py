"""The explanation of a URL: its last visit, its next one, and the rules for both, as data."""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from gossamer import clock
from gossamer.bounds import is_joined
from gossamer.events import HostOverridden, SiteOverridden
from gossamer.events.hazards import UNTRUSTED_CERTIFICATE, Hazard
from gossamer.events.outcomes import (
    GONE_VERDICTS,
    OUTCOMES,
    WALLED,
    Outcome,
    Purpose,
    Verdict,
)
from gossamer.events.public import GONE_RULES, Gone
from gossamer.events.records import TAKEN
from gossamer.inspection.archive.captures import unarchived_reason
from gossamer.inspection.basics.figures import about, moment, number, plural
from gossamer.inspection.basics.labels import LABELS, outcome_text, plain_reason
from gossamer.inspection.basics.views import view_of
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.crawls.url_forms import CrawlForm, crawl_form, other_seen_form
from gossamer.inspection.hosts.hosts import Host, host_of
from gossamer.inspection.urls.revisits import RevisitFacts, revisit_facts
from gossamer.inspection.urls.url_rows import BRIEF_GATES, UrlFacts, read_facts
from gossamer.inspection.urls.visits import Visit, visit_of
from gossamer.policies import NEVER
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.dedup.rows import HIDDEN_REASONS, DocumentRow
from gossamer.services.frontier.partition.gates import Closure
from gossamer.services.frontier.partition.parked import PARKING_RULES, ParkedRow
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.ordering import URGENT_RANK
from gossamer.services.frontier.tables.plans import PlanRow
from gossamer.services.frontier.tables.urls import RequisiteRow, UrlRow, VerdictRow
from gossamer.web.scope import parse_scope
from gossamer.web.sniffing import FileKind, file_kind
from gossamer.web.soft_404 import NO_PAGE
from gossamer.web.url import Site, site_of
from gossamer.web.usage import Judgement, judge

EXPLAINED = (Gone.USAGE, Gone.NOINDEX, Gone.IRRELEVANT)
"""Reasons for which a document is not published that its verdict explains."""
READ_AS_LIST = "read as a list of URLs"
"""Why a sitemap or a feed is not published."""
FETCHED = (Outcome.PAGE, Outcome.NOT_MODIFIED)
NOT_REQUESTED = (Outcome.ROBOTS_EXCLUDED, Outcome.USAGE_EXCLUDED)
SEED = "seed@"
"""The beginning of the `via` of a seed, before its position on the topic `seeds`."""


class UrlState(StrEnum):
    """The state of a URL in a crawl."""

    BEING_FETCHED = "being fetched"
    QUEUED = "queued"
    FETCHED = "fetched"
    REDIRECTED = "redirected"
    FAILED = "failed"
    PARKED = "parked"
    """Refused for now: a wider crawl, a shorter blocklist, or new texts of its site admit it."""
    REFUSED = "refused"
    ERASED = "erased"
    ADMITTED = "admitted"
    SEEN = "seen"
    UNKNOWN = "unknown"
    NO_CRAWL = "no crawl"


class Rule(Struct, frozen=True):
    """A rule of the blocklist that forbids the URL."""

    rule: str
    since: float


class ScopeResult(Struct, frozen=True):
    """Whether the scope includes the URL, and the part of the scope that decided it."""

    is_inside: bool
    rule: str


class ErasureFact(Struct, frozen=True):
    """The last erasure that included the URL."""

    at: float
    target: str
    requested_by: str


class LastVisit(Struct, frozen=True, kw_only=True):
    """The last visit to the URL, or its refusal."""

    at: float
    outcome: str
    status: int
    reason: str
    """Why the visit failed, or why the URL was refused, for people."""
    meaning: str
    """The outcome as a sentence; "" for a refusal."""
    effects: dict[str, str]
    """Name of an effect of the outcome on the host or the URL → a sentence. Only effects that are
    visible in rows; none of a page, a redirect and a refusal."""
    redirects_to: str
    was_visited: bool
    """Whether a request was made; false for a refusal."""
    depth: int
    """Links followed from a seed."""
    hops: int
    """Redirects followed in a row."""
    party: str
    trace: str
    """The id of the URL in events and log lines."""


class RequisiteFact(Struct, frozen=True):
    """The last visit to the URL as a requisite of a page, or its refusal as one."""

    at: float
    outcome: str
    status: int
    reason: str
    needed_by: str
    """The page or the style that needs it."""
    visits: int
    """Visits to it so far; 0 if it was refused before the first."""


class DocumentFact(Struct, frozen=True):
    """The state of the document in the topic `pages`."""

    gone: str
    """Why the document is not in `pages`; "" while it is."""
    gone_reason: str
    """The sentence about this reason; "" while the document is in `pages`."""
    gone_at: float | None
    """When the document left `pages`; null while it is in `pages`, and if it never was."""
    missed: int
    """Visits in a row that did not find the document."""
    missed_since: float | None


class ClosedGate(Struct, frozen=True):
    """A reason not to visit the host now."""

    gate: str
    reason: str
    until: float | None
    """When the gate opens, of a lease at the latest; null if that is not known."""


class QueueFateFact(Struct, frozen=True):
    """The fate of the URL at the head of its queue, other than a visit, if it were there now."""

    name: str
    """Its row in the table of fates."""
    text: str
    """What happens to the URL, as the end of a sentence that begins with it."""
    detail: str
    """The rule that excludes the URL, the URL that is visited instead, or the new rank; "" if there
    is none."""


class Queued(Struct, frozen=True):
    """The position of the URL in the queues of its host."""

    ahead: int
    """URLs before it: of its rank, and of better ranks."""
    rank: int | None
    """Its rank, from -100 (first) to 120: its priority, and a penalty for poor prospects; -101 for
    an urgent URL, and null if it is to be fetched again and is not urgent."""
    is_revisit: bool
    """Whether it is to be fetched again."""
    is_ordered: bool
    """Whether a fetcher has an order for it now."""
    seconds: float
    """Estimated seconds for the visits to the URLs before it; 0 without an estimate."""
    closed_gates: tuple[ClosedGate, ...]
    fate: QueueFateFact | None
    """Null if the URL is visited at the head of its queue, and if a fetcher has an order for it."""


class NextVisit(Struct, frozen=True):
    """The plan of the next visit."""

    at: float | None
    """When it is due; null for never."""
    policy: str
    reason: str
    is_retry: bool
    budget: float
    """The budget of visits a day, if a due visit waits for it; 0 otherwise."""


class UrlExplanation(Struct, frozen=True, kw_only=True):
    """The data about a URL. A null or an empty field means that there is none, or none is known."""

    url: str
    """The form of the URL that the crawl uses."""
    at: float
    """When the explanation was made, in epoch seconds."""
    state: UrlState
    answer: str
    """The last visit and the next one in one or two sentences."""
    steps: tuple[str, ...] = ()
    """The steps from the given URL to its form in the crawl, a sentence each."""
    seen_as: str = ""
    """Another form of the URL that the crawl has seen."""
    is_fleet: bool
    is_seen: bool
    """Whether the crawl has seen the URL; in a fleet: visited, refused or queued it."""
    max_depth: int | None
    """The maximum number of links from a seed."""
    blocked_by: Rule | None
    scope: ScopeResult | None
    site: Site
    site_has_wildcard: bool
    """Whether any name below the site resolves."""
    site_override: SiteOverridden | None
    """The settings of `gossamer site` for the site."""
    host_override: HostOverridden | None
    erased: ErasureFact | None
    discovered_by: str
    """`seed`, or the id of the visit and the URL whose page links to it, joined by `@`."""
    visit: LastVisit | None
    history: tuple[Visit, ...]
    """The last visits, newest first."""
    refusals: dict[str, int]
    """Rule → URLs of the site that it refused. Rules that have refused so many URLs that this one
    may have no row."""
    requisite: RequisiteFact | None
    """Null if it was not visited or refused as a requisite."""
    verdict: VerdictRow | None
    document: DocumentFact | None
    """Null if the document was never published."""
    captures: tuple[CaptureRow, ...]
    """The last captures, newest first."""
    not_archived: str
    """Why the last response that has a verdict is not archived, as a sentence; "" if it is."""
    revisits: RevisitFacts | None
    next_visit: NextVisit | None
    """Null without a plan, and for a removed crawl."""
    coming_policy: str
    """The crawl's policy, if the next visit was planned by another one and will be planned again;
    "" otherwise."""
    is_paused: bool
    robots: str
    """The rule of robots.txt that decides, as a sentence; "" before the file was read."""
    usage: dict[str, Judgement]
    """The judgement of each purpose of the crawl by robots.txt, before a request is made."""
    crawl_delay: float
    """Crawl-delay in robots.txt, in seconds; 0 without one."""
    host_key: str
    host: Host | None
    queued: Queued | None

    @property
    def is_refusal_certain(self) -> bool:
        """Whether one of `refusals` has certainly refused the URL."""
        return self.is_seen and len(self.refusals) == 1


def explain_url(crawl: OpenCrawl, text: str) -> UrlExplanation:
    """Return the explanation of the URL *text*, in any form; raise BadSettings if it is invalid."""
    now, form = clock.now(), crawl_form(crawl, text)
    facts = read_facts(crawl, form.url, now)
    seen_as = other_seen_form(crawl, form.url)
    return explain(facts, now, form, seen_as)


def explain(
    facts: UrlFacts, now: float, form: CrawlForm | None = None, seen_as: str = ""
) -> UrlExplanation:
    """Return the explanation of a URL from the rows about it. *form*: how the URL became the one
    of the rows; None if it was given as such."""
    state, answer = _answer(facts, now)
    if form and form.exclusion:
        state, answer = UrlState.REFUSED, f"Not fetched: excluded by the URL step {form.exclusion}."
    definition, site, plan, robots = facts.definition, facts.site, facts.plan, facts.robots
    is_removed = definition is not None and definition.removed
    is_replanned = definition is not None and plan is not None and definition.revisit != plan.policy
    return view_of(
        UrlExplanation,
        facts,
        at=now,
        state=state,
        answer=answer,
        steps=form.steps if form else (),
        seen_as=seen_as,
        max_depth=definition.max_depth if definition else None,
        blocked_by=_find_rule(facts),
        scope=_scope(facts),
        site=site_of(facts.url),
        site_has_wildcard=site is not None and site.wildcard,
        erased=view_of(ErasureFact, facts.erased) if facts.erased else None,
        visit=_last_visit(facts, facts.visit) if facts.visit else None,
        history=tuple(map(visit_of, facts.history)),
        requisite=_requisite(facts.requisite) if facts.requisite else None,
        verdict=_verdict(facts.verdict, facts.document) if facts.verdict else None,
        document=_document(facts.document) if facts.document else None,
        not_archived=_not_archived(facts),
        revisits=(
            revisit_facts(plan, facts.document, facts.trust.at(now), facts.states) if plan else None
        ),
        next_visit=_next_visit(facts, plan, now) if plan and not is_removed else None,
        coming_policy=definition.revisit if definition and is_replanned else "",
        is_paused=facts.are_all_paused or (definition is not None and definition.paused),
        robots=robots.rules.explain(facts.url) if robots else "",
        usage=_usage(facts),
        crawl_delay=robots.rules.crawl_delay if robots else 0.0,
        host=host_of(facts.host, robots, facts.override, facts.is_stopped) if facts.host else None,
        queued=_make_queued(facts),
    )


def _find_rule(facts: UrlFacts) -> Rule | None:
    rule = facts.blocklist.of_url(facts.url)
    return Rule(rule, facts.blocklist.rules[rule].at) if rule else None


def _usage(facts: UrlFacts) -> dict[str, Judgement]:
    if facts.robots is None or facts.definition is None:
        return {}
    judgements = judge(facts.robots.rules.usage_of(facts.url))
    return {purpose: judgements[purpose] for purpose in facts.definition.purposes}


def _scope(facts: UrlFacts) -> ScopeResult | None:
    if facts.definition is None:
        return None
    row = facts.visit or facts.plan
    if row and is_joined(facts.definition, facts.url, row.origin.joined):
        return ScopeResult(True, f"a redirect of a seed to {row.origin.joined}")
    evaluation = parse_scope(facts.definition.scope).evaluate(facts.url, 0)
    return ScopeResult(bool(evaluation.inside), evaluation.rule)


def _last_visit(facts: UrlFacts, row: UrlRow) -> LastVisit:
    was_visited, outcome = _was_visited(facts, row), row.outcome
    is_known = was_visited and outcome in OUTCOMES
    return view_of(
        LastVisit,
        row,
        row.origin,
        reason=plain_reason(row.reason),
        meaning=OUTCOMES[Outcome(outcome)].text if is_known else "",
        effects=_effects(row, facts.host) if is_known and facts.host else {},
        was_visited=was_visited,
    )


def _effects(row: UrlRow, host: HostRow) -> dict[str, str]:
    if OUTCOMES[Outcome(row.outcome)].expected:
        return {}
    # Imported here, because the import takes longer than most commands.
    from gossamer.services.frontier.steps.checkin import StoredVisit, find_shown_effects

    return find_shown_effects(StoredVisit(row, host))


def _requisite(row: RequisiteRow) -> RequisiteFact:
    reason, needed_by = plain_reason(row.reason), page_of(row.origin.via)
    return view_of(RequisiteFact, row, reason=reason, needed_by=needed_by, visits=row.earlier)


def page_of(via: str) -> str:
    """Return the URL of the page whose visit is *via*; "" if that is the position of a seed."""
    return "" if via.startswith(SEED) else via.partition("@")[2]


def _verdict(row: VerdictRow, document: DocumentRow | None) -> VerdictRow:
    if document and document.gone == Gone.SOFT_404 and row.verdict not in GONE_VERDICTS:
        # A probe withdraws a page after its verdict, which tells of its text alone.
        return replace(
            row,
            verdict=Verdict.GONE,
            at=document.at,
            digest="",
            duplicate_of="",
            redirects_to="",
            reason=NO_PAGE,
            change=None,
        )
    return row


def _document(row: DocumentRow) -> DocumentFact:
    is_hidden = row.gone in HIDDEN_REASONS
    was_published = not is_hidden or row.published_at is not None
    left_at = (row.missed_since if is_hidden else None) or row.at
    return view_of(
        DocumentFact,
        row,
        gone_reason=GONE_RULES[Gone(row.gone)].text if row.gone in GONE_RULES else "",
        gone_at=left_at if row.gone and was_published else None,
    )


def _next_visit(facts: UrlFacts, plan: PlanRow, now: float) -> NextVisit:
    is_due = plan.at is not None and plan.at <= now and facts.ahead is None
    budget = _find_awaited_budget(facts) if is_due else 0.0
    return view_of(NextVisit, plan, reason=plain_reason(plan.reason), budget=budget)


def _make_queued(facts: UrlFacts) -> Queued | None:
    if facts.ahead is None or facts.host is None:
        return None
    closed = () if facts.is_ordered else describe_gates(facts.closed_gates)
    fate = None if facts.is_ordered else _fate(facts)
    pace = host_of(facts.host, facts.robots, facts.override).pace
    seconds = facts.ahead * pace if is_estimable(closed) and not fate else 0.0
    return view_of(Queued, facts, seconds=seconds, closed_gates=closed, fate=fate)


def is_estimable(closed: tuple[ClosedGate, ...]) -> bool:
    """Return whether the time of a queue can be estimated: all *closed* gates of its host open
    after a visit or a delay."""
    return all(gate.gate in BRIEF_GATES for gate in closed)


def _fate(facts: UrlFacts) -> QueueFateFact | None:
    if facts.fate is None:
        return None
    row, head = facts.fate
    excluded = head.exclusion.reason if head.exclusion else ""
    rank = f"rank {head.rank}" if head.rank is not None else ""
    return QueueFateFact(row.name, row.text, excluded or head.target or rank)


def describe_gates(closed: Iterable[tuple[str, Closure]]) -> tuple[ClosedGate, ...]:
    """Return the *closed* gates of a host, given by name, with their reasons for people."""
    return tuple(ClosedGate(name, plain_reason(one.reason), one.until) for name, one in closed)


def _answer(facts: UrlFacts, now: float) -> tuple[UrlState, str]:
    """Return the state of the URL, and the answer in one or two sentences."""
    if queued := _make_queued(facts):
        if queued.is_ordered:
            return UrlState.BEING_FETCHED, "Being fetched now."
        return UrlState.QUEUED, _queued_answer(facts, queued, now)
    if facts.visit:
        return _visit_answer(facts, facts.visit, now)
    if facts.requisite:
        return _requisite_answer(facts, facts.requisite, now)
    if facts.erased:
        at, by = moment(facts.erased.at, now), facts.erased.requested_by
        return UrlState.ERASED, f"Erased {at} with {facts.erased.target}, requested by {by}."
    if facts.plan:
        answer = f"Admitted, not fetched yet. {_next_answer(facts, facts.plan, now)}"
        return UrlState.ADMITTED, answer
    if facts.definition is None:
        answer = "No crawl is defined: gossamer seed URL --scope SCOPE defines one."
        return UrlState.NO_CRAWL, answer
    if rule := facts.blocklist.of_url(facts.url):
        return UrlState.REFUSED, f"Not fetched: the blocklist forbids it, by {rule}."
    evaluation, as_requisite = parse_scope(facts.definition.scope).evaluate(facts.url, 0), ""
    if (kind := file_kind(facts.url)) and not facts.is_seen:
        as_requisite = f" {_requisite_rule(facts, kind)}"
    if not evaluation.inside:
        answer = f"Not fetched: out of scope, by {evaluation.rule}.{as_requisite}"
        return UrlState.REFUSED, answer
    if refusals := facts.refusals:
        certainty = "Refused" if facts.is_seen and len(refusals) == 1 else "Perhaps refused"
        rules = ", ".join(LABELS.get(rule, rule) for rule in refusals)
        return UrlState.REFUSED, f"{certainty}: {rules}."
    if facts.is_seen:
        return UrlState.SEEN, "Seen, not admitted yet."
    if row := facts.parked.get(Hazard.TRAP_DEPTH):
        return UrlState.PARKED, _too_deep_answer(row, facts.definition.max_depth)
    if row := facts.parked.get(Hazard.NOT_FOLLOWED):
        [found] = row.urls
        answer = f"Not fetched: refused by follow in {found.refused_by}{_finder(row)}."
        return UrlState.PARKED, answer
    if facts.is_fleet:
        return UrlState.UNKNOWN, f"Not visited or queued.{as_requisite}"
    if as_requisite:
        return UrlState.UNKNOWN, f"Not seen as a page.{as_requisite}"
    return UrlState.UNKNOWN, "Not seen: no page, sitemap or list that was read has led to it."


def _requisite_rule(facts: UrlFacts, kind: FileKind) -> str:
    """Return when files of this *kind* are fetched as requisites of pages, as a sentence."""
    which = facts.archive.requisites if facts.archive else "off"
    takes_media = facts.archive is not None and facts.archive.media
    if which == "off" and not facts.has_requisites:
        return f"{kind.capitalize()}s of pages are not fetched: archive.requisites is off."
    if kind is FileKind.MEDIUM and which != "off" and not takes_media:
        return f"{kind.capitalize()}s of pages are not fetched: archive.media is off."
    article = "An" if kind[0] in "ai" else "A"
    if which == "same-site":
        page = "a page of its own site (archive.requisites is same-site)"
    else:
        page = "an archived page"
    by_setting = " with archive.media" if kind is FileKind.MEDIUM else ""
    of_set = ", and of a srcset those of archive.srcset" if kind is FileKind.IMAGE else ""
    limit = f"up to parser.requisites_limit of a page{of_set}"
    return f"{article} {kind} is fetched{by_setting} if {page} needs it: {limit}."


def _too_deep_answer(row: ParkedRow, max_depth: int) -> str:
    [found] = row.urls
    depth = f"{plural(found.depth, 'link')} from a seed, at most {max_depth} are followed"
    return f"Not fetched: {LABELS[Hazard.TRAP_DEPTH]}: {depth}{_finder(row)}."


def _finder(row: ParkedRow) -> str:
    page = page_of(row.via)
    return f"; found on {page}" if page else ""


def _requisite_answer(facts: UrlFacts, row: RequisiteRow, now: float) -> tuple[UrlState, str]:
    kind = f"a requisite of {page_of(row.origin.via)}"
    if not row.earlier or row.outcome in NOT_REQUESTED:
        text = outcome_text(row.outcome, 0, row.reason)
        return UrlState.REFUSED, f"Not fetched, {kind}: {text}."
    at = moment(row.at, now)
    if row.outcome in FETCHED:
        archived = ", archived" if facts.captures else ""
        return UrlState.FETCHED, f"Fetched {at} ({row.status}), {kind}{archived}."
    if row.outcome == Outcome.REDIRECT:
        answer = f"Redirected {at} ({row.status}) to {row.redirects_to}, {kind}."
        return UrlState.REDIRECTED, answer
    # A requisite may have any type. So an unwanted one is too large.
    setting = ", fetcher.requisite_limit" if row.outcome == Outcome.UNWANTED_TYPE else ""
    text = outcome_text(row.outcome, row.status, f"{row.reason}{setting}")
    return UrlState.FAILED, f"Failed {at}, {kind}: {text}."


def _queued_answer(facts: UrlFacts, queued: Queued, now: float) -> str:
    purpose = "to be fetched again" if queued.is_revisit else "not fetched yet"
    if facts.is_queued_requisite:
        purpose = f"a requisite of {page_of(facts.discovered_by)}"
    ahead = queued.ahead
    place = f"behind {plural(ahead, 'URL')} of its host" if ahead else "the next URL of its host"
    estimate = f", {about(queued.seconds)}" if queued.seconds else ""
    is_urgent = queued.rank == URGENT_RANK
    purpose = f"urgent, {purpose}" if is_urgent else purpose
    rank = f", rank {queued.rank}" if queued.rank and not is_urgent else ""
    text = f"Queued, {purpose}: {place}{rank}{estimate}."
    if queued.fate and queued.fate.name == "excluded":
        return f"{text} Not visited while it is excluded: {queued.fate.detail}."
    if not queued.closed_gates:
        return text
    gate = queued.closed_gates[0]
    if gate.gate == "lease":
        return f"{text} A fetcher is visiting its host."
    until = f" before {moment(gate.until, now)}" if gate.until else " now"
    return f"{text} Its host is not visited{until}: {gate.reason}."


def _visit_answer(facts: UrlFacts, visit: UrlRow, now: float) -> tuple[UrlState, str]:
    at, next_visit = moment(visit.at, now), _next_answer(facts, facts.plan, now)
    if not _was_visited(facts, visit):
        reason, allowed = visit.reason, ""
        if visit.outcome == Outcome.ROBOTS_EXCLUDED and facts.robots:
            if facts.robots.rules.allows(facts.url):
                allowed = f" {at}; robots.txt allows it now"
            else:
                reason = facts.robots.rules.explain(facts.url)
        shown = outcome_text(visit.outcome, 0, reason)
        state = UrlState.PARKED if visit.outcome in PARKING_RULES else UrlState.REFUSED
        return state, f"Not fetched: {shown}{allowed}."
    if visit.outcome in FETCHED:
        shared = visit.reason if visit.reason.startswith(TAKEN) else ""
        parts = [f"Fetched {at} ({visit.status}){_fault(visit)}", shared, _publication(facts)]
        if facts.captures:
            parts.append("archived")
        is_shell = facts.verdict and facts.verdict.needs_rendering
        browser = f" It {LABELS[Hazard.NEEDS_RENDERING]}." if is_shell else ""
        answer = f"{', '.join(filter(None, parts))}.{browser} {next_visit}".rstrip()
        return UrlState.FETCHED, answer
    if visit.outcome == Outcome.REDIRECT:
        text = f"Redirected {at} ({visit.status}){_fault(visit)} to {visit.redirects_to}."
        return UrlState.REDIRECTED, f"{text} {next_visit}".rstrip()
    failed = f"Failed {at}: {outcome_text(visit.outcome, visit.status, visit.reason)}."
    if visit.outcome in WALLED and visit.reason:
        failed = f"Refused {at} ({visit.status}): {visit.reason}."
    if facts.plan is None or facts.plan.at is None:
        next_visit = "Not tried again by itself: gossamer retry URL tries it."
    if visit.origin.purpose is Purpose.USUAL_SITEMAP:
        next_visit = "It was tried because robots.txt names no sitemap. Not tried again by itself."
    return UrlState.FAILED, f"{failed} {next_visit}".rstrip()


def _fault(visit: UrlRow) -> str:
    """Return the fault of the certificate in spite of which the visit was made, or ""."""
    _, found, fault = visit.reason.partition(UNTRUSTED_CERTIFICATE)
    return f" although {found}{fault}" if found else ""


def _not_archived(facts: UrlFacts) -> str:
    """Return why the last document has no capture. Sitemaps are in the WARC files without one."""
    if facts.visit and facts.visit.origin.purpose.is_sitemap:
        return ""
    return unarchived_reason(facts.history, facts.captures)


def _was_visited(facts: UrlFacts, visit: UrlRow) -> bool:
    return bool(visit.earlier or visit.attempt or facts.history)


def _publication(facts: UrlFacts) -> str:
    document, verdict = facts.document, facts.verdict
    if verdict is None and document is None:
        is_usual = facts.visit and facts.visit.origin.purpose is Purpose.USUAL_SITEMAP
        return "tried as a sitemap because robots.txt names none" if is_usual else ""
    if document and document.gone in EXPLAINED and verdict and verdict.reason:
        is_archived = not unarchived_reason(facts.history, facts.captures)
        kept_out = "not in pages" if is_archived else "not in pages and not archived"
        return f"{kept_out} ({verdict.reason.removesuffix(': it is not published')})"
    if document and document.gone:
        return f"not in pages ({GONE_RULES[Gone(document.gone)].text.rstrip('.')})"
    if document is None:
        if verdict and verdict.verdict in (Verdict.FIRST, Verdict.CHANGED, Verdict.UNCHANGED):
            return verdict.reason or f"{READ_AS_LIST}, which is not published"
        reason = f" ({verdict.reason})" if verdict and verdict.reason else ""
        return f"not published: {verdict.verdict}{reason}" if verdict else "not published"
    if verdict and verdict.duplicate_of:
        word = verdict.verdict.replace("_", "-")
        return f"published as a {word} of {verdict.duplicate_of}"
    return "published"


def _next_answer(facts: UrlFacts, plan: PlanRow | None, now: float) -> str:
    if plan is None:
        return ""
    definition = facts.definition
    if definition and definition.removed:
        return "Will not be fetched again: the crawl is removed."
    if plan.at is not None and (rule := facts.blocklist.of_url(facts.url)):
        return f"Not fetched again while the blocklist forbids it, by {rule}."
    policy = definition.revisit if definition and not plan.is_retry else plan.policy
    if policy == NEVER and (plan.at is None or plan.policy != NEVER):
        return "Will not be fetched again: --revisit none."
    if policy != plan.policy:
        return f"Its next visit will be planned again: --revisit {policy}."
    if plan.at is None:
        return f"Will not be fetched again: {plan.reason}."
    reason, at = plain_reason(plan.reason), moment(plan.at, now)
    if facts.why_idle:
        return f"Next visit planned for {at}: {reason}. Nothing is visited now: {facts.why_idle}."
    if plan.at > now:
        return f"Next visit {at}: {reason}."
    budget = _find_awaited_budget(facts)
    waits = f", waiting for the budget of {number(budget)} visits a day" if budget else ""
    return f"Next visit due since {at}{waits}: {reason}."


def _find_awaited_budget(facts: UrlFacts) -> float:
    """Return the budget of visits a day that a due visit waits for; 0 without one."""
    is_limited = facts.definition is not None and not facts.why_idle
    return facts.definition.budget if facts.definition and is_limited else 0.0
