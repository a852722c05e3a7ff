"""Verdicts of dedup on the texts of pages, and what they say about hosts and parts of sites.

The last verdict of each URL is stored, and each visit is in the history of its page. A verdict may
come before the outcome of its visit, because it comes on another topic.
"""

from math import inf

from msgspec.structs import replace

from gossamer.events import Imported, Outcome, PageDeduplicated, Verdict
from gossamer.events.hazards import Hazard
from gossamer.events.outcomes import GONE_VERDICTS
from gossamer.services.frontier.features.replicas import without_own_session
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.parts import may_be_repeated, new_texts_of
from gossamer.services.frontier.partition.politeness import count_unreadable
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.steps.revisits import Revisits
from gossamer.services.frontier.steps.robots import are_copies, make_entry_for_probe
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.totals import pick
from gossamer.services.frontier.tables.urls import HistoryRow, Origin, UrlRow, VerdictRow
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.web.http import GONE, NOT_MODIFIED

IMPORTED = "imported from a WARC file"
"""The reason in the rows of a capture that another crawl made."""
MAX_PLANNED_AGE = 30 * 86400.0
"""Maximum seconds by which the next visit of an imported page may be overdue: the calendar reads
each overdue hour."""


class Verdicts:
    """Applies the verdicts of dedup."""

    def __init__(self, settings: FrontierSettings, revisits: Revisits, store: Store) -> None:
        self._settings, self._revisits = settings, revisits
        self._urls, self._history = store.table(UrlRow), store.table(HistoryRow)
        self._verdicts = store.table(VerdictRow)

    def record(
        self, partition: Partition, share: CrawlShare, event: PageDeduplicated, now: float
    ) -> None:
        """Store a verdict, and count consecutive unreadable pages and the worth of the visit."""
        site, row = event.site, partition.find(event.site, event.host).row
        if event.in_links:
            share.parts.record_page_in_links(site, event.in_links)
        is_repeated = self._is_repeated(event)
        counts = not is_repeated and not _is_other_session(row, event)
        if counts and (new := new_texts_of(event)) is not None:
            is_named = row.of(share.crawl).is_seeded
            share.parts.record_visit(
                site,
                event.visit,
                new,
                event.size,
                now,
                has_own_text=_has_own_text(event, is_named),
                thin_limit=_thin_limit(event, is_named, self._settings),
            )
            share.release_budgets(site, now)
        partition.end_wait(share, event.visit.url, now)
        if event.verdict not in GONE_VERDICTS and not is_repeated:
            sites = partition.sites
            before = sites.unreadable(event.site, event.host)
            sites.store_unreadable(
                event.site, event.host, count_unreadable(before, event, self._settings)
            )
        if are_copies(event):
            self._note_copies(partition, share, event, now)
        self._verdicts.put(_verdict_row(event))
        self._history.put(_history_row_of_verdict(event))

    def _is_repeated(self, event: PageDeduplicated) -> bool:
        """Return whether the first visit of *event*, which brought no new text or part of one, was
        made before: after a crash. Its words are known from then, so it says nothing about the
        site."""
        if not may_be_repeated(event):
            return False
        return self._verdicts.get((event.crawl, event.host), event.visit.url) is not None

    def record_imported(
        self, partition: Partition, share: CrawlShare, event: PageDeduplicated
    ) -> None:
        """Add the capture of another crawl to the history of its page.

        If it counts as a visit, and the URL has no plan, it is planned again.
        """
        history = _history_row_of_verdict(event)
        reason = "; ".join(filter(None, (IMPORTED, history.reason)))
        self._history.put(replace(history, reason=reason))
        is_visit = event.visit.imported is Imported.VISITED
        plan = self._revisits.find_plan(event.crawl, event.host, event.visit.url)
        if is_visit and plan is None and event.verdict not in GONE_VERDICTS:
            self._urls.put(_url_row_of_imported(event))
            self._verdicts.put(_verdict_row(event))
            at = max(event.fetched_at, event.at - MAX_PLANNED_AGE)
            self._revisits.record_verdict(partition, share, replace(event, fetched_at=at))

    def _note_copies(
        self, partition: Partition, share: CrawlShare, event: PageDeduplicated, now: float
    ) -> None:
        """Note that two URLs of the host have the same text, so that the host is probed."""
        host = partition.find(event.site, event.host)
        row = host.row
        if not host.stored or row.is_erased or row.has_copies or row.signature:
            return
        row = replace(row, has_copies=True)
        if row.condition is Condition.IDLE and self._settings.probe_after:
            partition.queue(share, host, row, [make_entry_for_probe(row, event.crawl)], now)
        else:
            partition.update(host, row)


def _has_own_text(event: PageDeduplicated, is_named: bool) -> bool:
    """Return whether no other page has the text of *event*; at a host that a seed names, whether no
    other page of the host has it."""
    if event.verdict is Verdict.DUPLICATE:
        return is_named and not event.duplicate_of.startswith(f"{event.host}/")
    return event.verdict in (Verdict.FIRST, Verdict.NEAR_DUPLICATE)


def _thin_limit(event: PageDeduplicated, is_named: bool, settings: FrontierSettings) -> float:
    """Return how many texts of a site count as new in their parts although hardly a word of them
    is, if that of *event* is one of them.

    They are as many as the budget of URLs begins with: of a site with a seed if *is_named*, because
    seeds name the host, and otherwise of a site to which no other one links. Trees of lists and
    albums look like a trap until they end. A nearly equal text counts at a named host only.
    """
    if not is_named and event.verdict is Verdict.NEAR_DUPLICATE:
        return 0.0
    return settings.url_budget * (1.0 + settings.seed_sites * is_named) or inf


def _verdict_row(event: PageDeduplicated) -> VerdictRow:
    return pick(
        VerdictRow,
        event,
        url=event.visit.url,
        duplicate_of=event.duplicate_of or event.near_duplicate_of,
        needs_rendering=Hazard.NEEDS_RENDERING in event.hazards,
    )


def _url_row_of_imported(event: PageDeduplicated) -> UrlRow:
    """Return the row of a URL that another crawl has visited."""
    return UrlRow(
        crawl=event.crawl,
        host=event.host,
        url=event.visit.url,
        outcome=_outcome_of(event),
        at=event.fetched_at or event.at,
        status=event.status,
        reason=IMPORTED,
        origin=Origin.of(event.visit, event.visit.via),
        earlier=1,
    )


def _history_row_of_verdict(event: PageDeduplicated) -> HistoryRow:
    shared = event.visit.shared
    return pick(
        HistoryRow,
        event,
        url=event.visit.url,
        at=event.fetched_at or event.at,
        outcome=_outcome_of(event),
        reason="; ".join(filter(None, (shared.reason if shared else "", event.reason))),
        duplicate_of=event.duplicate_of or event.near_duplicate_of,
    )


def _outcome_of(event: PageDeduplicated) -> Outcome:
    """Return the outcome of the visit that *event* is about, by its verdict and status."""
    if event.verdict is Verdict.REDIRECT:
        return Outcome.REDIRECT
    if event.verdict is Verdict.GONE:
        return Outcome.GONE if event.status in GONE else Outcome.CLIENT_ERROR
    return Outcome.NOT_MODIFIED if event.status == NOT_MODIFIED else Outcome.PAGE


def _is_other_session(row: HostRow, event: PageDeduplicated) -> bool:
    """Return whether the visit of *event* had another session id than the URLs that are left, or
    found a page again that was visited under another one. It says nothing about those URLs."""
    url = without_own_session(row, event.visit.url)
    copied = event.duplicate_of or event.near_duplicate_of
    return url != event.visit.url or (
        bool(row.url_rules) and without_own_session(row, copied) == url
    )
