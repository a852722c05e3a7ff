"""Slow start: few visits to a part of a site at once, until their verdicts show what it is worth.

An order cannot be called back, and the verdict on a visit comes some time after its outcome. A
wildcard zone, or a part whose pages are fast, could be visited fifty times by then. So the visits
to a part whose verdicts have not come yet are limited to one, and one more for each new text that
the part has brought lately: 1, 2, 4, 8, … as in TCP (RFC 5681). The part is the smallest one that
was visited before, or the part for new children (`*`) of a directory, site or zone. So the first
hosts of a zone are judged before its other hosts are visited.

A host whose next URL must wait is delayed. A verdict wakes the hosts that waited longest.
"""

from collections import Counter
from collections.abc import Sequence

from gossamer.events import HostCheckedOut, Purpose
from gossamer.events.outcomes import OUTCOMES, VerdictSubject
from gossamer.services.frontier.features.ended_visit import EndedVisit
from gossamer.services.frontier.partition.awaited_visits import PartKey, SlowStart
from gossamer.services.frontier.partition.parts import Parts
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.ordering import is_urgent
from gossamer.services.frontier.tables.urls import QueuedUrl
from gossamer.settings import FrontierSettings
from gossamer.web.url import Site


def find_full_part(
    settings: FrontierSettings,
    parts: Parts,
    slow_start: SlowStart,
    site: Site,
    url: QueuedUrl,
    ordered: Counter[PartKey],
) -> PartKey | None:
    """Return the part of *site* that has no room for a visit to *url*; None if there is room.

    *ordered*: the visits to each part in the order so far. A visit that has room is added.
    """
    if not settings.worth_parking or not is_first_visit(url) or is_urgent(url.number):
        return None
    for part in parts.judged_parts(site, url.url, url.origin.duplicates):
        awaited = slow_start.count(part) + ordered[part]
        if url.origin.depth > 0 and awaited >= parts.window(part):
            return part
        ordered[part] += 1
    return None


def await_verdicts(share: CrawlShare, order: HostCheckedOut, queued: Sequence[QueuedUrl]) -> None:
    """Await the verdicts on the visits of *order* to *queued* URLs. A visit to robots.txt stands
    for the first of them, which is visited next."""
    if not share.settings.worth_parking or order.visits[0].purpose is Purpose.USAGE:
        return
    is_first = order.visits[0].purpose is Purpose.ROBOTS and not order.visits[0].on_behalf_of
    urls = [
        visit.url if is_first else url.url for visit, url in zip(order.visits, queued, strict=False)
    ]
    share.slow_start.begin_order(order.host, urls)
    for number, (awaited, url) in enumerate(zip(urls, queued, strict=False)):
        if is_first_visit(url):
            parts = share.parts.judged_parts(order.site, url.url, url.origin.duplicates)
            share.slow_start.begin(awaited, parts, order.at + number * order.pause)


def gets_no_verdict(ended: EndedVisit) -> bool:
    """Return whether no verdict on a document follows the visit."""
    visit, meaning = ended.event.visit, OUTCOMES[ended.event.outcome]
    is_document = meaning.verdict_subject is VerdictSubject.DOCUMENT
    is_page_without = visit.purpose is Purpose.PAGE and not is_document
    return ended.backoff_until is not None or is_page_without


def end_wait(ended: EndedVisit, row: HostRow) -> HostRow:
    """End the wait for the verdict on the visit."""
    ended.partition.end_wait(ended.share, ended.event.visit.url, ended.now)
    return row


def is_first_visit(url: QueuedUrl) -> bool:
    """Return whether *url* is a page that was never visited."""
    return not url.earlier and not url.on_behalf_of and url.origin.purpose is Purpose.PAGE
