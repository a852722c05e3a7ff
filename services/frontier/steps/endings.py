"""What becomes of the URL of a visit that has ended.

It leaves the head of its queue, is tried again later, or stays there while its host backs off. Its
last outcome is stored, and the visit is added to the history of its page unless a verdict follows.
"""

from msgspec.structs import replace

from gossamer.events import Outcome, Purpose, VisitEnded
from gossamer.events.outcomes import GONE_VERDICTS, OUTCOMES, Fate, VerdictSubject
from gossamer.services.frontier.features.ended_visit import EndedVisit
from gossamer.services.frontier.features.usage_files import give_up_usage_files, record_usage_file
from gossamer.services.frontier.partition.politeness import (
    allowed_failures,
    failure_wait,
    is_given_up,
    retry_wait,
)
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.steps.requisites import is_repeated, make_retry, make_row
from gossamer.services.frontier.steps.revisits import Revisits
from gossamer.services.frontier.steps.robots import RobotsOutcomes, record_probe
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.totals import pick
from gossamer.services.frontier.tables.urls import (
    HistoryRow,
    Origin,
    RequisiteRow,
    UrlRow,
    VerdictRow,
)
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.web.http import redirect_target
from gossamer.web.url import host_key

IS_BOUNCED = "it redirected to a URL that set a cookie and leads back"
"""The reason of an attempt for a URL that was redirected."""


class Endings:
    """Decides what becomes of the URL of an ended visit."""

    def __init__(self, settings: FrontierSettings, revisits: Revisits, store: Store) -> None:
        self._settings, self._revisits = settings, revisits
        self.robots = RobotsOutcomes(settings, revisits, store)
        self._urls, self._requisites = store.table(UrlRow), store.table(RequisiteRow)
        self._history, self._verdicts = store.table(HistoryRow), store.table(VerdictRow)

    def end_robots_visit(self, ended: EndedVisit, row: HostRow) -> HostRow:
        """Return *row* after a visit to robots.txt."""
        partition, share, host = ended.partition, ended.share, ended.host
        row, ended.backoff_until = self.robots.apply(
            partition, share, host, row, ended.event, ended.now
        )
        return row

    def end_visit_on_behalf(self, ended: EndedVisit, row: HostRow) -> HostRow:
        """Return *row* after a visit on behalf of another host, or to an erased URL.

        The queues of a removed crawl are empty.
        """
        meaning = OUTCOMES[ended.event.outcome]
        if meaning.fate is not Fate.STAY and not ended.share.is_removed:
            row = ended.share.queues.advance(row)
        if meaning.fate is Fate.WAIT:
            ended.backoff_until = ended.now + self._wait_after(row, ended.event)
        return row

    def end_usage_visit(self, ended: EndedVisit, row: HostRow) -> HostRow:
        """Return *row* after a visit to a usage file."""
        partition, host, event, now = ended.partition, ended.host, ended.event, ended.now
        wait = self._wait_after(row, event)
        until = now + wait if OUTCOMES[event.outcome].fate is Fate.WAIT else None
        record_usage_file(partition, host, event, until or now, now)
        if until:
            give_up_usage_files(partition, host, until, now)
        ended.backoff_until = until
        return row

    def end_probe(self, ended: EndedVisit, row: HostRow) -> HostRow:
        """Return *row* after a probe."""
        row = record_probe(row, ended.event, ended.now)
        if OUTCOMES[ended.event.outcome].fate is Fate.WAIT:
            ended.backoff_until = ended.now + self._wait_after(row, ended.event)
        return row

    def end_unsigned_visit(self, ended: EndedVisit, row: HostRow) -> HostRow:
        """Return *row* after a visit that is repeated with a signature. A file of the host is
        requested again because it is not known; any other URL stays first in its queue."""
        visit = ended.event.visit
        if visit.purpose.is_queued:
            self._store_outcome(ended.event, visit.earlier, visit.attempt, ended.now, queued=True)
        return row

    def end_page_visit(self, ended: EndedVisit, row: HostRow) -> HostRow:
        """Return *row* after a visit to a page or a requisite."""
        share, event, now = ended.share, ended.event, ended.now
        fate, kind = OUTCOMES[event.outcome].fate, OUTCOMES[event.outcome].health
        times = row.politeness.failures.get(kind, 0)
        allowed = allowed_failures(self._settings, row, kind)
        given_up = times > allowed and is_given_up(
            self._settings, event.outcome, times, event.retry_after
        )
        counted_times = times - allowed if fate is Fate.RETRY else times
        wait = failure_wait(
            self._settings, row.host, event.outcome, counted_times, event.retry_after
        )
        earlier, attempt = event.visit.earlier, event.visit.attempt
        is_requisite = event.visit.purpose is Purpose.REQUISITE
        is_retried = event.visit.purpose not in (Purpose.REQUISITE, Purpose.USUAL_SITEMAP)
        if fate is Fate.RETRY and attempt < self._settings.retries and is_retried:
            at = now + retry_wait(attempt + 1, event.outcome)
            self._revisits.retry(ended.partition, event, at)
            self._store_outcome(event, earlier, attempt + 1, now)
        elif fate is Fate.WAIT and not given_up:
            self._store_outcome(event, earlier, attempt, now, queued=True)
        elif fate is not Fate.STAY:
            if not is_requisite:
                share.tally.record_finished(event)
            _count_worthless(share, event, now)
            if self._store_outcome(event, earlier + 1, 0, now):
                at = event.started_at or now
                self._revisits.record_absence(share, event, event.visit, at)
            self._repeat_origin(ended)
        leaves_queue = fate in (Fate.DONE, Fate.RETRY) or (fate is Fate.WAIT and given_up)
        if leaves_queue and not ended.is_lost:
            row = share.queues.advance(row)
        if is_requisite and is_repeated(event, self._settings.retries):
            row = share.queues.append(row, [make_retry(row, event)])
        backs_off = fate is Fate.WAIT or (fate is Fate.RETRY and given_up)
        ended.backoff_until = now + wait if backs_off else None
        return row

    def _repeat_origin(self, ended: EndedVisit) -> None:
        """Plan another attempt for the URL that redirected to the visited one, if this one leads
        back to it and has set a cookie: the response may be another one now.

        The URL-seen test drops the redirect back. It also ends the loop if the attempt is
        redirected again.
        """
        event = ended.event
        url = event.visit.redirected_from
        if not url or event.outcome is not Outcome.REDIRECT or not event.cookies:
            return
        target = redirect_target(event.status, (("Location", event.location),), event.visit.url)
        if target != url or host_key(url) != event.host:
            return
        last = self._urls.get((event.crawl, event.host), url)
        if last and last.outcome == Outcome.REDIRECT:
            self._revisits.repeat(ended.partition, event.site, last, IS_BOUNCED, ended.now)

    def _wait_after(self, row: HostRow, event: VisitEnded) -> float:
        """Return the seconds for which the host backs off after *event*."""
        times = row.politeness.failures.get(OUTCOMES[event.outcome].health, 0)
        return failure_wait(self._settings, row.host, event.outcome, times, event.retry_after)

    def _store_outcome(
        self, event: VisitEnded, earlier: int, attempt: int, now: float, queued: bool = False
    ) -> bool:
        """Store an outcome. Return whether the visit was to a page and returned no document, so
        that no verdict about a document follows."""
        if event.visit.purpose is Purpose.REQUISITE:
            if not queued:
                self._requisites.put(make_row(event, earlier, now))
            return False
        self._urls.put(
            pick(
                UrlRow,
                event,
                url=event.visit.url,
                at=event.captured_at or now,
                redirects_to=event.location,
                origin=Origin.of(event.visit, event.visit.via),
                attempt=attempt,
                earlier=earlier,
                queued=queued,
            )
        )
        page = event.visit.purpose is Purpose.PAGE
        if page and OUTCOMES[event.outcome].verdict_subject is VerdictSubject.DOCUMENT:
            return False
        self._history.put(self._history_row(event, now))
        return page

    def _history_row(self, event: VisitEnded, now: float) -> HistoryRow:
        row = pick(
            HistoryRow,
            event,
            url=event.visit.url,
            at=event.started_at or now,
            size=event.received,
            redirects_to=event.location,
        )
        if (
            event.visit.earlier
            and OUTCOMES[event.outcome].verdict_subject is VerdictSubject.ABSENCE
        ):
            # The verdict may have come already.
            last = self._verdicts.get((event.crawl, event.host), event.visit.url)
            if last and last.verdict in GONE_VERDICTS and last.at >= row.at:
                to = last.redirects_to or row.redirects_to
                row = replace(row, verdict=last.verdict, redirects_to=to)
        return row


def _count_worthless(share: CrawlShare, event: VisitEnded, now: float) -> None:
    """Count the first visit to a URL without a document as one without a new text. A redirect
    does not count: it may lead to one."""
    meaning, visit = OUTCOMES[event.outcome], event.visit
    is_first = not visit.earlier and visit.purpose is Purpose.PAGE and event.started_at > 0
    has_document = meaning.verdict_subject is VerdictSubject.DOCUMENT
    if is_first and not has_document and event.outcome is not Outcome.REDIRECT:
        share.parts.record_visit(event.site, visit, 0.0, 0, now)
