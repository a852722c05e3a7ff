"""Requisites: the images, styles, scripts and fonts that pages need, as the frontier queues them.

A requisite is queued at its host like a page: with the robots rules, the delay, the gates and the
lease of the host. It differs in the following:

- **Rank.** All requisites have the worst rank (`ordering.REQUISITE_RANK`), so that pages and
  revisits precede them (`queue.choose_next_queue`), and never the other way round.
- **Budget.** A site has a budget of requisites a day, and no other budget counts them. The worth of
  its parts, slow start, the budget of revisits and the counts of URLs and pages do not either.
- **No plan.** Dedup admits a requisite once in a period, if a page needs it. So nothing is planned:
  a failed visit is repeated once, at the end of the queue, and the row of the last visit has the
  validators for the next one.
- **A row of its own** (`tables.urls.RequisiteRow`), since the same URL may be a page.
"""

from collections import defaultdict

from msgspec.structs import replace

from gossamer.events import CrawlDefined, Discovery, Purpose, UrlsAdmitted, VisitEnded
from gossamer.events.outcomes import OUTCOMES, Absence, Fate, VerdictSubject
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.partitions import Partitions
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.steps.refusals import AdmissionCandidate, Refusals, find_refusal
from gossamer.services.frontier.tables.hosts import HostRow, OffsetAndTime
from gossamer.services.frontier.tables.ordering import REQUISITE_RANK, with_rank
from gossamer.services.frontier.tables.totals import pick
from gossamer.services.frontier.tables.urls import Origin, QueuedUrl, RequisiteRow
from gossamer.store import Store
from gossamer.web.url import HostKey, host_key
from gossamer.web.validators import NO_VALIDATORS, UNCONDITIONAL_INTERVAL, is_conditional

MAX_RETRIES = 1
"""Repetitions of a failed visit. Without a plan it cannot wait for long, so it is not repeated more
often. A page that needs the requisite requests it again in a later period."""


class RequisiteAdmission:
    """Queues requisites, or records the rule that refuses them."""

    def __init__(self, partitions: Partitions, refusals: Refusals, store: Store) -> None:
        self._partitions, self._refusals = partitions, refusals
        self._rows = store.table(RequisiteRow)

    def admit(
        self,
        partition: Partition,
        share: CrawlShare,
        event: UrlsAdmitted,
        crawl: CrawlDefined | None,
        now: float,
        record: OffsetAndTime | None = None,
    ) -> int:
        """Queue the requisites of *event*, all of one site; return the number of queued ones.

        *record* is the offset and the time of *event* on the log. Hosts that have applied it are
        not changed.
        """
        at_site = partition.sites.begin(event.site, record)
        by_host, queued = defaultdict[HostKey, list[Discovery]](list), 0
        for found in event.urls:
            by_host[host_key(found.url)].append(found)
        for key, group in by_host.items():
            host = partition.find(event.site, key)
            if record and host.row.applied.covers(record):
                continue
            rows = self._rows.get_many((event.crawl, key), [found.url for found in group])
            before = {row.url: row for row in rows}
            accepted = list[QueuedUrl]()
            for found in group:
                last = before.get(found.url)
                if event.repeated and last and last.origin.via == event.via:
                    continue
                candidate = AdmissionCandidate(
                    found, host, queued + len(accepted), crawl, self._refusals.blocklist,
                    partition, share, at_site, now,
                )  # fmt: skip
                origin = Origin.of(found, event.via)
                if refused := find_refusal(candidate):
                    earlier = last.earlier if last else 0
                    self._refusals.record(
                        share, event.site, found, origin, earlier, refused, crawl, now,
                        at_site=at_site,
                    )  # fmt: skip
                else:
                    entry = self._make_entry(partition, event, found.url, origin, last, now)
                    accepted.append(entry)
            if accepted:
                row = replace(host.row, applied=at_site.add_to(host.row.applied))
                partition.queue(share, host, row, accepted, now, at_site)
                queued += len(accepted)
        if queued:
            share.sites.count_requisites(event.site, queued, now, at_site)
        return queued

    def _make_entry(
        self,
        partition: Partition,
        event: UrlsAdmitted,
        url: str,
        origin: Origin,
        row: RequisiteRow | None,
        now: float,
    ) -> QueuedUrl:
        """Return the queue entry of *url*: a conditional visit, if *row* has validators that are
        trusted."""
        earlier, validators = (row.earlier, row.validators) if row else (0, NO_VALIDATORS)
        trust = partition.sites.validators(event.site, host_key(url), now)
        return QueuedUrl(
            event.crawl,
            "",
            0,
            url,
            self._partitions.next_number(partition, now, REQUISITE_RANK),
            origin,
            earlier=earlier,
            validators=NO_VALIDATORS if trust.distrust_reason else validators,
            conditional=is_conditional(validators, trust, earlier % UNCONDITIONAL_INTERVAL),
        )


def is_requisite(found: Discovery) -> bool:
    """Return whether *found* is a requisite. Dedup admits requisites apart from pages."""
    return found.purpose is Purpose.REQUISITE


def is_repeated(event: VisitEnded, retries: int) -> bool:
    """Return whether the visit to a requisite that ended with *event* is repeated; *retries*: the
    setting for pages. A wall is not requested again: that would not pass it."""
    meaning = OUTCOMES[event.outcome]
    is_transient = meaning.fate is Fate.RETRY and meaning.absence is not Absence.WALLED
    return is_transient and event.visit.attempt < min(retries, MAX_RETRIES)


def make_retry(row: HostRow, event: VisitEnded) -> QueuedUrl:
    """Return the queue entry of another attempt after *event*, a failed visit to a requisite."""
    visit = event.visit
    return QueuedUrl(
        event.crawl,
        "",
        0,
        visit.url,
        with_rank(row.number, REQUISITE_RANK),
        Origin.of(visit, visit.via),
        attempt=visit.attempt + 1,
        earlier=visit.earlier,
        validators=visit.validators,
        conditional=visit.conditional,
    )


def make_row(event: VisitEnded, earlier: int, now: float) -> RequisiteRow:
    """Return the row of a requisite after its last attempt, *event*; *earlier*: all its visits that
    have ended. Without a response with content, it has no validators."""
    subject = OUTCOMES[event.outcome].verdict_subject
    return pick(
        RequisiteRow,
        event,
        url=event.visit.url,
        at=event.started_at or now,
        redirects_to=event.location,
        origin=Origin.of(event.visit, event.visit.via),
        earlier=earlier,
        validators=event.validators if subject is VerdictSubject.DOCUMENT else NO_VALIDATORS,
    )
