"""Handles parsed pages by kind; yields events for `pages.deduplicated`, `pages` and
`urls.discovered`.

The parser states the kind of a page. One table here has a handler for each kind.

A page that is not relevant to its crawl gets a verdict, and is then treated like a page with
`noindex`. So is a soft 404, and its links are not followed. When the response to a host's probe
arrives, documents with its text are withdrawn.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from msgspec.structs import replace

from gossamer.clock import is_future
from gossamer.events import (
    CrawlDefined,
    Event,
    MissingPageRead,
    PageDeduplicated,
    PageKind,
    PageParsed,
    Tombstone,
    UrlRulesAnnounced,
    Verdict,
)
from gossamer.events.hazards import Hazard, count_hazards
from gossamer.events.outcomes import check_complete
from gossamer.events.pages import RULE_FAILED
from gossamer.events.public import Gone
from gossamer.policies import uses_hints, uses_internal_links
from gossamer.relevance import facts_of, parse_relevance
from gossamer.runtime.processor import Key
from gossamer.services.dedup.content import Content, LinkedPage
from gossamer.services.dedup.documents import Documents
from gossamer.services.dedup.host_names import NOTHING, HostNames, Lesson
from gossamer.services.dedup.host_steps import HostSteps
from gossamer.services.dedup.links import (
    apply_url_steps,
    find_links,
    group_by_host,
    internal_links,
    mark_new,
    release_rewritten,
)
from gossamer.services.dedup.listings import NESTED_INDEX, Listings, is_nested_index
from gossamer.services.dedup.novelty import Novelty
from gossamer.services.dedup.requisites import Requisites
from gossamer.services.dedup.rows import DocumentRow
from gossamer.services.dedup.scores import PageScore, ScoredPage, score
from gossamer.settings import DedupSettings
from gossamer.store import Store
from gossamer.web.links import sample_links
from gossamer.web.soft_404 import NO_PAGE, is_home_page
from gossamer.web.url import host_key
from gossamer.web.usage import Action, Category, policy_of
from gossamer.web.validators import NO_VALIDATORS

NAME = "dedup"
NO_DOCUMENT = ("", Gone.NOINDEX, Gone.LISTING, Gone.IRRELEVANT, Gone.USAGE, Gone.SOFT_404)
"""Values of `DocumentRow.gone` that a 304 does not contradict."""
NOTHING_TO_CONFIRM = "a 304, but there is no document: it is visited again soon without conditions"
UNPUBLISHED = "the page asks not to be indexed{}: it is not published"
LISTING_VERDICTS: dict[float | None, Verdict] = {
    None: Verdict.FIRST,
    0.0: Verdict.UNCHANGED,
    1.0: Verdict.CHANGED,
}
"""Change of a listing → the verdict on it."""
UNARCHIVED = (Gone.IRRELEVANT, Gone.USAGE, Gone.SOFT_404)
"""Why pages are hidden whose requisites are not fetched."""
COMPARED_KINDS = frozenset({PageKind.DOCUMENT, PageKind.SOFT_404})
"""The kinds of pages that the content test compares with other pages."""


class EvaluatedPage(NamedTuple):
    """A page with rewritten links, and whether the crawl publishes it."""

    page: PageParsed
    crawl: CrawlDefined | None
    """The definition of the page's crawl; None if there is none."""
    hidden: Gone | None = None
    """Why the page is not published; None if it is."""
    reason: str = ""
    """Why the page is not published, and which rules of its crawl failed, in words."""


Output = Iterator[Event | Tombstone]
Handler = Callable[[EvaluatedPage, float], Iterable[Event | Tombstone]]


class Pages:
    """Handles parsed pages; *hints_limit*: the maximum number of hints per host and listing."""

    def __init__(
        self,
        settings: DedupSettings,
        store: Store,
        crawls: Mapping[str, CrawlDefined],
        listings: Listings,
        host_steps: HostSteps,
        host_names: HostNames,
        requisites: Requisites,
        hints_limit: int,
    ) -> None:
        """*crawls*: the current definitions of all crawls by their ids."""
        self._crawls = crawls
        self._content, self._requisites = Content(settings, store, host_names), requisites
        self._documents = Documents(settings, store)
        self._novelty = Novelty()
        self._listings, self._host_steps, self._host_names = listings, host_steps, host_names
        self._url_limit, self._hints_limit = settings.url_limit, hints_limit
        self.blocklist = self._content.blocklist
        self._evaluated: dict[str, tuple[PageParsed, EvaluatedPage]] = {}
        """Visit id → a page whose rows were read ahead, as parsed and as evaluated."""
        self._handlers = self._bind_handlers(requisites)

    def _bind_handlers(self, requisites: Requisites) -> Mapping[PageKind, Handler]:
        handlers: dict[PageKind, Handler] = {
            PageKind.DOCUMENT: self._compare,
            PageKind.SOFT_404: self._compare,
            PageKind.LISTING: self._read_listing,
            PageKind.UNREADABLE: self._report_unreadable,
            PageKind.NOT_MODIFIED: self._confirm,
            PageKind.MOVED: partial(self._redirect, Gone.MOVED),
            PageKind.REDIRECTED: partial(self._redirect, Gone.REDIRECTED),
            PageKind.SOFT_404_REDIRECT: partial(self._record_miss, Gone.SOFT_404),
            PageKind.REMOVED: partial(self._record_miss, Gone.REMOVED),
            PageKind.MISSING: partial(self._record_miss, Gone.MISSING),
            PageKind.REFUSED: partial(self._record_miss, Gone.REFUSED),
            PageKind.INCONCLUSIVE: lambda evaluated, now: (),
            PageKind.PROBE: self._report_probe,
            PageKind.REQUISITE: lambda evaluated, now: requisites.release_of_requisite(
                evaluated.page, now
            ),
        }
        check_complete(PageKind, handlers, "the table of page handlers")
        return handlers

    def clear(self) -> None:
        """Drop pages that were read ahead, which may differ from the store."""
        self._evaluated = {}
        self._content.clear()

    def rows_of(self, pages: Sequence[PageParsed]) -> list[Key]:
        """Return the keys of the documents, listings and hosts of *pages*."""
        compared = [page for page in pages if page.kind in (PageKind.DOCUMENT, PageKind.PROBE)]
        return [
            *self._documents.reads_of(pages),
            *self._listings.reads_of(pages),
            *self._host_steps.rows_of(compared),
            *self._content.reads_of_similar(self._probes_of(pages)),
        ]

    def reads_of(self, pages: Sequence[PageParsed]) -> Iterator[list[Key]]:
        """Yield the keys of the other rows that `handle` reads for *pages*, a group at a time."""
        self._evaluated, documents, new = {}, list[LinkedPage](), set[str]()
        for page in pages:
            # An error is raised again, and reported, when the page is handled.
            with suppress(Exception):
                evaluated = self._evaluate(page)
                self._evaluated[page.visit.id] = page, evaluated
                if page.kind in COMPARED_KINDS:
                    documents.append(self._content.attach_links(evaluated.page, evaluated.crawl))
                    if not evaluated.hidden and self._documents.is_new(page):
                        new.add(page.visit.id)
        yield self._host_names.counterpart_reads_of(pages)
        for group in self._content.reads_of(pages, documents, new):
            leaders = [key[-1] for row, key, _ in group if row is DocumentRow]
            yield [*group, *self._host_names.leader_reads_of(pages, leaders)]
        yield [
            (DocumentRow, (probe.crawl, url), "")
            for probe in self._probes_of(pages)
            for url in self._find_missing_pages(probe)
        ]

    def drop(self, page: PageParsed) -> None:
        """Do not handle *page*, which was erased, or whose crawl is removed."""
        if page.kind in COMPARED_KINDS:
            self._content.erase_texts(page, self._crawls.get(page.crawl))

    def handle(self, parsed: PageParsed, now: float) -> Output:
        """Yield the events and tombstones that follow from *parsed*, by its kind."""
        read_ahead = self._evaluated.pop(parsed.visit.id, None)
        # One step may have two pages of one visit: after a crash a visit may be reported again.
        # The crawl may have been defined again since.
        if (
            read_ahead
            and read_ahead[0] is parsed
            and read_ahead[1].crawl is self._crawls.get(parsed.crawl)
        ):
            evaluated = read_ahead[1]
        else:
            evaluated = self._evaluate(parsed)
        if is_future(parsed.fetched_at, now):
            page = replace(
                evaluated.page,
                fetched_at=now,
                hazards=(*evaluated.page.hazards, Hazard.WRONG_DATE),
            )
            evaluated = evaluated._replace(page=page)
        self._documents.correct_time(evaluated.page, now)
        if parsed.kind is PageKind.LISTING:
            self._listings.correct_time(evaluated.page, now)
        yield from self._handlers[parsed.kind](evaluated, now)
        count_hazards(NAME, set(evaluated.page.hazards).difference(parsed.hazards))

    def _evaluate(self, page: PageParsed) -> EvaluatedPage:
        """Rewrite the links of *page*, and evaluate whether its crawl publishes it."""
        crawl = self._crawls.get(page.crawl)
        if page.kind in (PageKind.PROBE, PageKind.REQUISITE):
            return EvaluatedPage(page, crawl)
        page = apply_url_steps(page, crawl, self._url_limit)
        if page.kind is PageKind.SOFT_404:
            page = replace(page, noindex=True, links=())
            return EvaluatedPage(page, crawl, Gone.SOFT_404, NO_PAGE)
        if page.kind is not PageKind.DOCUMENT:
            return EvaluatedPage(page, crawl)
        requested = _evaluate_requests(page, crawl)
        page = requested.page
        if page.rule_failures:
            failed = RULE_FAILED + "; ".join(page.rule_failures.values())
            reason = "; ".join(filter(None, (requested.reason, failed)))
            requested = requested._replace(reason=reason)
        if crawl and page.dropped_by:
            return _hide_irrelevant(requested, f"keep in {page.dropped_by}")
        if crawl is None or not crawl.relevant:
            return requested
        relevance = parse_relevance(crawl.relevant).evaluate(facts_of(page))
        return requested if relevance.inside else _hide_irrelevant(requested, relevance.rule)

    def _compare(self, evaluated: EvaluatedPage, now: float) -> Output:
        page, crawl = evaluated.page, evaluated.crawl
        if page.kind is PageKind.DOCUMENT and self._host_steps.is_missing_page(page):
            hazards = (*page.hazards, Hazard.SOFT_404)
            page = replace(page, noindex=True, links=(), hazards=hazards)
            evaluated = EvaluatedPage(page, crawl, Gone.SOFT_404, NO_PAGE)
            count_hazards(NAME, [Hazard.SOFT_404])
        version = self._documents.compare(page, _uses_hints(crawl))
        novelty = self._measure_novelty(page)

        def score_by(verdict: Verdict) -> PageScore:
            relevant, strategy = "", ""
            if crawl:
                relevant, strategy = crawl.relevant, crawl.strategy
            scored = ScoredPage(page, verdict, version.change, novelty, evaluated.hidden, relevant)
            return score(scored, strategy)

        content = self._content.decide(page, version, novelty, crawl, score_by, now)
        verdict, original = content.verdict, content.original
        yield from mark_new(content.released, version.new_links, page.fetched_at)
        yield from content.parked
        if evaluated.hidden not in UNARCHIVED:
            yield from self._requisites.release_of_page(page, now)
        leader = original if verdict is Verdict.DUPLICATE else ""
        steps = self._host_steps.learn(page, leader, crawl)
        yield from release_rewritten(page, steps.to_visit, crawl, self.blocklist, now)
        if steps.session_rules is not None:
            yield UrlRulesAnnounced(
                crawl=page.crawl, at=now, site=page.site, host=page.host, rules=steps.session_rules
            )
        lesson = self._learn_names(page, original or content.predecessor, version.change, now)
        yield from lesson.events
        hazards = (*content.hazards, *lesson.hazards)
        count_hazards(NAME, hazards)
        yield _verdict_on(
            page,
            verdict,
            now,
            duplicate_of=leader,
            change=version.change,
            novelty=content.novelty,
            near_duplicate_of=original if verdict is Verdict.NEAR_DUPLICATE else "",
            links=sum(len(event.urls) for event in content.released),
            score=content.score.value,
            reason="; ".join(filter(None, (content.reason, evaluated.reason))),
            hazards=page.hazards + hazards,
            internal_links=_sample_links(page, crawl),
        )
        if evaluated.hidden:
            yield from self._documents.hide(page, version, evaluated.hidden)
        else:
            yield from self._documents.publish(page, version, verdict, original, now)
            if original:
                self._host_steps.note_copy(page)

    def _measure_novelty(self, page: PageParsed) -> float | None:
        novelty = self._novelty.measure(page)
        if page.kind is PageKind.SOFT_404:
            return 0.0
        return None if page.visit.earlier else novelty

    def _learn_names(self, page: PageParsed, twin: str, change: float | None, now: float) -> Lesson:
        """Learn the names of the host of *page*, whose text *twin* has, too ("" without one)."""
        if page.kind is not PageKind.DOCUMENT:
            return NOTHING
        return self._host_names.learn(page, twin, change is None, now)

    def _read_listing(self, evaluated: EvaluatedPage, now: float) -> Output:
        page, crawl = evaluated.page, evaluated.crawl
        version = self._listings.read(page, crawl, self.blocklist)
        yield from self._content.follow(page, version.links, now)
        if _uses_hints(crawl):
            yield from group_by_host(version.hints, page.crawl, now, self._hints_limit)
        is_nested = is_nested_index(page)
        found = {
            Hazard.BLACKLISTED: Hazard.BLACKLISTED in version.links.hazards,
            Hazard.NESTED_INDEX: is_nested,
        }
        hazards = tuple(hazard for hazard, applies in found.items() if applies)
        count_hazards(NAME, hazards)
        yield _verdict_on(
            page,
            LISTING_VERDICTS[version.change],
            now,
            reason=NESTED_INDEX if is_nested else page.reason,
            change=version.change,
            links=len(version.links.followed),
            hazards=page.hazards + hazards,
        )
        yield from self._documents.record_miss(page, Gone.LISTING)

    def _report_unreadable(self, evaluated: EvaluatedPage, now: float) -> Output:
        yield _verdict_on(evaluated.page, Verdict.UNREADABLE, now)

    def _confirm(self, evaluated: EvaluatedPage, now: float) -> Output:
        page = evaluated.page
        row = self._documents.confirm(page)
        fields: dict[str, Any] = {"digest": row.digest if row else ""}
        is_confirmed = row.gone in NO_DOCUMENT if row else self._listings.is_known(page)
        if not is_confirmed:
            # The document was deleted or has expired. The frontier plans the other visit.
            fields = {"reason": NOTHING_TO_CONFIRM, "validators": NO_VALIDATORS}
        yield _verdict_on(page, Verdict.UNCHANGED, now, change=0.0, **fields)

    def _redirect(self, gone: Gone, evaluated: EvaluatedPage, now: float) -> Output:
        page = evaluated.page
        lesson = self._host_names.learn_redirect(page, gone is Gone.MOVED, now)
        count_hazards(NAME, lesson.hazards)
        yield from lesson.events
        links = find_links(page, evaluated.crawl, self.blocklist)
        yield from self._content.follow(page, links, now)
        # The URL steps or the URL limit may have dropped the target.
        if page.links:
            yield from self._record_miss(gone, evaluated, now)

    def _record_miss(self, gone: Gone, evaluated: EvaluatedPage, now: float) -> Output:
        page = evaluated.page
        for tombstone in self._documents.record_miss(page, gone):
            redirects_to, reason = tombstone.redirects_to, tombstone.reason
            verdict = tombstone.verdict
            yield _verdict_on(page, verdict, now, redirects_to=redirects_to, reason=reason)
            yield tombstone

    def _report_probe(self, evaluated: EvaluatedPage, now: float) -> Output:
        page = evaluated.page
        yield MissingPageRead(
            crawl=page.crawl,
            at=now,
            site=page.site,
            host=page.host,
            digest=page.digest,
            simhash=page.simhash,
        )
        self._host_steps.record_missing_page(page)
        for probe in self._probes_of([page]):
            for url in self._find_missing_pages(probe):
                yield from self._documents.withdraw(url, probe)

    def _probes_of(self, pages: Iterable[PageParsed]) -> list[PageParsed]:
        """Return each probe among *pages*, once for each crawl.

        A probe is made once for a host, for all crawls.
        """
        crawls = [crawl for crawl, definition in self._crawls.items() if not definition.removed]
        return [
            replace(page, crawl=crawl)
            for page in pages
            if page.kind is PageKind.PROBE
            for crawl in crawls or [page.crawl]
        ]

    def _find_missing_pages(self, probe: PageParsed) -> list[str]:
        """Return the URLs of the host whose documents in the crawl of *probe* may have its text."""
        if probe.needs_rendering:
            return []
        urls = {*self._host_steps.copies(probe), *self._content.pages_like(probe)}
        return sorted(url for url in urls if host_key(url) == probe.host and not is_home_page(url))


def _uses_hints(crawl: CrawlDefined | None) -> bool:
    """Return whether the policy of *crawl* uses hints of changes."""
    return crawl is not None and uses_hints(crawl.revisit)


def _sample_links(page: PageParsed, crawl: CrawlDefined | None) -> tuple[int, ...] | None:
    """Return a sample of the internal links of *page*, if the policy of *crawl* uses them."""
    if crawl is None or not uses_internal_links(crawl.revisit):
        return None
    return sample_links(link.url for link in internal_links(page))


def _hide_irrelevant(evaluated: EvaluatedPage, rule: str) -> EvaluatedPage:
    """Return a page that *rule* finds irrelevant: it is not published, and its links are followed
    if the crawl says so."""
    page, crawl = evaluated.page, evaluated.crawl
    links = page.links if crawl is None or crawl.follow_irrelevant else ()
    hazards = (*page.hazards, Hazard.IRRELEVANT)
    page = replace(page, noindex=True, links=links, hazards=hazards)
    reason = f"not relevant, by {rule}: it is not published"
    reason = "; ".join(filter(None, (evaluated.reason, reason)))
    return EvaluatedPage(page, crawl, evaluated.hidden or Gone.IRRELEVANT, reason)


def _evaluate_requests(page: PageParsed, crawl: CrawlDefined | None) -> EvaluatedPage:
    """Evaluate whether *page*, or a statement about its use, excludes its publication."""
    if page.noindex:
        search = page.usage.get(Category.SEARCH)
        by = f", by {search.by[0]}" if search and search.allowed is False else ""
        return EvaluatedPage(page, crawl, Gone.NOINDEX, UNPUBLISHED.format(by))
    if crawl is None:
        return EvaluatedPage(page, crawl)
    decision = policy_of(crawl).decide(page.usage)
    if decision.action is Action.FETCH:
        return EvaluatedPage(page, crawl)
    page = replace(page, noindex=True, hazards=(*page.hazards, Hazard.USAGE_EXCLUDED))
    return EvaluatedPage(page, crawl, Gone.USAGE, f"{decision.reason}: it is not published")


def _verdict_on(page: PageParsed, verdict: Verdict, now: float, **more: Any) -> PageDeduplicated:
    """Return the event of *verdict* on *page*; *more* overrides fields of the page."""
    fields: dict[str, Any] = {
        "digest": page.digest,
        "reason": page.reason,
        "hazards": page.hazards,
        "validators": page.validators,
    }
    return PageDeduplicated(
        crawl=page.crawl,
        at=now,
        site=page.site,
        host=page.host,
        visit=page.visit,
        verdict=verdict,
        fetched_at=page.fetched_at,
        status=page.status,
        size=page.size,
        parse_seconds=page.parse_seconds,
        # The clocks of the two services may differ.
        dedup_seconds=max(0.0, now - page.at - page.parse_seconds),
        expires_at=page.expires_at,
        **{**fields, **more},
    )
