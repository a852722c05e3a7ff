"""What was heard of pages' changes, as it goes to the frontier: an event a host."""

from collections.abc import Iterable, Iterator
from itertools import groupby, islice

from gossamer.events import ChangeHint, ChangesHinted, Discovery, EvidenceKind
from gossamer.events.provenance import MOST
from gossamer.web.url import host_key, site_of


def by_host(
    hints: Iterable[ChangeHint], crawl: str, now: float, limit: int | None = None
) -> Iterator[ChangesHinted]:
    """Yield *hints* by host: one event a host, or several if they do not fit into one.

    Each host gets at most *limit* hints, those of the latest changes.
    """
    ordered = sorted(hints, key=lambda hint: (host_key(hint.url), -hint.changed_at))
    for host, group in groupby(ordered, key=lambda hint: host_key(hint.url)):
        of_host = tuple(islice(group, limit))
        for at in range(0, len(of_host), MOST):
            yield ChangesHinted(
                crawl=crawl,
                at=now,
                site=site_of(host),
                host=host,
                hints=of_host[at : at + MOST],
            )


def of_links(known: Iterable[Discovery], crawl: str, now: float) -> Iterator[ChangesHinted]:
    """Yield what links to *known* URLs say: those that are new on their page."""
    told = (ChangeHint(one.url, EvidenceKind.LINK, one.linked_at) for one in known if one.linked_at)
    yield from by_host(told, crawl, now)
