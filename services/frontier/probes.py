"""Visits that are made to know a host: to a path that cannot exist, once, for its signature.

Such a visit has an order of its own, and leaves the queue as it is. It is made when the host has
been visited some times, so that one with few pages is not asked for one more. Whatever comes of it
is its answer, unless nobody was asked: a host that fails where a page is missing is known by that.
The text of a document comes later, from dedup.
"""

from msgspec.structs import replace

from gossamer.events import MissingPageRead, OrderId, Purpose, Visit, VisitEnded
from gossamer.events.outcomes import OUTCOMES, Fate
from gossamer.web.soft_404 import NO_SIGNATURE, Signature, missing_page
from services.frontier.partition import Partition
from services.frontier.rows import HostRow


def is_due(row: HostRow, after: int) -> bool:
    """Return whether a host is probed next, which is *after* so many visits; 0: never."""
    return 0 < after <= row.totals.visits and row.signature is None


def probe(order: OrderId, host: str) -> Visit:
    """Return the visit of *order* to a page that *host* does not have."""
    url = missing_page(host, order)
    return Visit(id=f"{order}.0@{url}", url=url, purpose=Purpose.PROBE)


def probed(row: HostRow, event: VisitEnded, now: float) -> HostRow:
    """Return the host as it is once its probe has ended, by *event*."""
    if OUTCOMES[event.outcome].fate is Fate.STAY:
        return row
    at = event.started_at or now
    # Its text may have come before.
    known = row.signature or NO_SIGNATURE
    known = replace(known, status=event.status, location=event.location, at=at)
    return replace(row, signature=known)


def learn(partition: Partition, event: MissingPageRead) -> None:
    """Add the text of a page that cannot exist to its host's signature."""
    host = partition.find(event.site, event.host)
    if host.stored:
        signature = host.row.signature or Signature(at=event.at)
        signature = replace(signature, digest=event.digest, simhash=event.simhash)
        partition.update(host, replace(host.row, signature=signature))
