"""Probes: one visit per host to a path that cannot exist, which finds the host's signature.

A probe has an order of its own, and does not change the queue. It is made after some visits, so
that a host with few pages is not asked for one more. Every response counts, also an error: it shows
how the host answers for a missing page. Only a probe that sent no request is repeated. The text of
the response comes later, from dedup.
"""

from msgspec.structs import replace

from gossamer.events import MissingPageRead, OrderId, Purpose, Visit, VisitEnded
from gossamer.events.outcomes import OUTCOMES, Fate
from gossamer.web.soft_404 import NO_SIGNATURE, Signature, missing_page
from services.frontier.partition import Partition
from services.frontier.rows import HostRow


def needs_probe(row: HostRow, after: int) -> bool:
    """Return whether the host's next visit is a probe: after *after* visits; never if that is 0."""
    return 0 < after <= row.totals.visits and row.signature is None


def make_probe_visit(order: OrderId, host: str) -> Visit:
    """Return the visit of *order* to a page that *host* does not have."""
    url = missing_page(host, order)
    return Visit(id=f"{order}.0@{url}", url=url, purpose=Purpose.PROBE)


def record_probe(row: HostRow, event: VisitEnded, now: float) -> HostRow:
    """Return the row of a host with the signature of its probe, which *event* ended."""
    if OUTCOMES[event.outcome].fate is Fate.STAY:
        return row
    at = event.started_at or now
    # The text may have come before the outcome.
    signature = row.signature or NO_SIGNATURE
    signature = replace(signature, status=event.status, location=event.location, at=at)
    return replace(row, signature=signature)


def add_signature_text(partition: Partition, event: MissingPageRead) -> None:
    """Add the text of a probe's response to the signature of its host."""
    host = partition.find(event.site, event.host)
    if host.stored:
        signature = host.row.signature or Signature(at=event.at)
        signature = replace(signature, digest=event.digest, simhash=event.simhash)
        partition.update(host, replace(host.row, signature=signature))
