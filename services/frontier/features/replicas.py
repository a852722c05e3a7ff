"""Replicas: hosts whose pages are visited at another host, their original.

Dedup announces that a host is a replica, and rewrites links to it. The URLs that the host's queue
has by then are forwarded: sent to the URL-seen test under their path at the original, when their
host would be checked out. Seeds and pages that were visited before stay in the queues, since their
visits renew the verdict or revoke it.

URLs with session ids are forwarded in the same way, once dedup has announced that the ids of their
host make no difference. Their target is the URL with the one id that replaces all others.

A host whose next pages decide whether it is a replica gets small orders, because an order cannot
be called back.

Forwarded URLs are parked. If the verdict is revoked or expires, they are released, and visited at
their own host. URLs are sent in one step and parked in a later one, when the log has them, because
a crash between the flush of a step and its append would lose them. A URL that is sent twice passes
the URL-seen test of the original once: it has the same finder.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.blocklist import Blocklist
from gossamer.bounds import Exclusion, exclusion_of, replica_limit
from gossamer.events import (
    CrawlDefined,
    OriginalAnnounced,
    Purpose,
    UrlRulesAnnounced,
    UrlsDiscovered,
)
from gossamer.events.hazards import Hazard
from gossamer.events.pages import group_by_site
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.partition.workbench import Host
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.ordering import is_urgent
from gossamer.services.frontier.tables.urls import QueuedUrl
from gossamer.web.url import HostKey, fingerprint
from gossamer.web.url_steps import TOKEN, rewrite_by_rule

COMPARED_BATCH = 2
"""URLs in an order of a host that may turn out to be a replica."""
FORWARDING_PAUSE = 1.0
"""Seconds between sending URLs of a replica and parking them."""


class SentUrl(NamedTuple):
    """A URL of a replica that was sent to its original."""

    url: str
    target: str
    """The URL under the same path at the original."""


class Replicas:
    """Knows which hosts are replicas, and forwards their queued URLs."""

    def __init__(self) -> None:
        self._sent = dict[tuple[str, str], Sequence[SentUrl]]()
        """Crawl and host → the URLs at the head of the queue that an earlier step sent, with their
        targets. A crash loses them: they are sent again."""

    def announce(self, partition: Partition, share: CrawlShare, event: OriginalAnnounced) -> None:
        """Apply the verdict on a host. A host without a URL needs none: its links are rewritten."""
        host = partition.find(event.site, event.host)
        if not host.stored:
            return
        if not event.original:
            self._end(partition, host)
        row = replace(host.row, is_compared=event.compared)
        if event.original:
            row = replace(row, original=event.original, original_until=event.until)
        if row != host.row:
            partition.update(host, row)

    def apply_rules(
        self, partition: Partition, share: CrawlShare, event: UrlRulesAnnounced, now: float
    ) -> None:
        """Apply the rules about session ids of a host. Its copies under several ids say nothing
        about the URLs that are left, so its parts count as new."""
        host = partition.find(event.site, event.host)
        if not host.stored or host.row.url_rules == event.rules:
            return
        if host.row.url_rules.keys() - event.rules.keys():
            _reevaluate(partition, host)
        partition.update(host, replace(host.row, url_rules=event.rules))
        for each in partition.all_shares:
            each.parts.restart_host(event.site, event.host, now)

    def end_if_expired(self, partition: Partition, host: Host, now: float) -> None:
        """End the verdict on *host* if its time is over."""
        if is_expired(host.row, now):
            self._end(partition, host)

    def _end(self, partition: Partition, host: Host) -> None:
        if host.row.original is not None:
            partition.update(host, replace(host.row, original=None, original_until=None))
            _reevaluate(partition, host)
        for each in partition.all_shares:
            self._sent.pop((each.crawl, host.row.host), None)

    def send(
        self, host: HostKey, urls: Sequence[tuple[QueuedUrl, str]], now: float
    ) -> Iterator[UrlsDiscovered]:
        """Yield *urls*, the first of the queue of *host* with their targets, as links."""
        self._sent[urls[0][0].crawl, host] = [SentUrl(url.url, target) for url, target in urls]
        for via, of_via in groupby(urls, key=lambda one: one[0].origin.via):
            found = [
                replace(url.origin.discovery(target), trace=fingerprint(target))
                for url, target in of_via
            ]
            yield from group_by_site(found, via, urls[0][0].crawl, now)

    def pop_sent(self, crawl: str, host: HostKey) -> Sequence[SentUrl]:
        """Return the URLs at the head of the queue of *host* in *crawl* that were sent, and forget
        them."""
        return self._sent.pop((crawl, host), ())

    def clear(self) -> None:
        """Forget the URLs that were sent, since the log may not have them."""
        self._sent.clear()


def _reevaluate(partition: Partition, host: Host) -> None:
    """Let each crawl evaluate the URLs that were parked because *host* was a replica."""
    for each in partition.all_shares:
        each.parked.reevaluate(host.row.site, replica_limit(host.row.host))


def is_expired(row: HostRow, now: float) -> bool:
    """Return whether the time of the verdict that the host is a replica is over."""
    return row.original_until is not None and row.original_until <= now


def find_target(
    row: HostRow, url: QueuedUrl, crawl: CrawlDefined, blocklist: Blocklist
) -> str | None:
    """Return the URL that is visited instead of *url* of the host *row*; None if *url* itself is.

    It is the URL under the same path at the original, if the host is a replica, and the URL without
    its own session id, if the host has rules about one. Seeds and pages
    that were visited before are visited, and so are URLs that *crawl* excludes at the original.
    """
    if not may_forward(row) or not url.url or url.earlier or url.on_behalf_of:
        return None
    is_requested = url.origin.via.startswith("seed@") or is_urgent(url.number)
    if url.origin.purpose is not Purpose.PAGE or is_requested:
        return None
    target = without_own_session(row, url.url)
    target = (row.original or row.host) + target.removeprefix(row.host)
    excluded = exclusion_of(crawl, blocklist, url.origin.discovery(target))
    return None if excluded or target == url.url else target


def without_own_session(row: HostRow, url: str) -> str:
    """Return *url* of the host *row* with the session id that replaces all others, or without one,
    if its rules say so."""
    for rule, token in row.url_rules.items():
        url = rewrite_by_rule(url, rule, token or TOKEN)
    return url


def may_forward(row: HostRow) -> bool:
    """Return whether queued URLs of the host may be visited under another URL."""
    return row.original is not None or bool(row.url_rules)


def forwarding_exclusion(row: HostRow, target: str) -> Exclusion:
    """Return why a URL of the host *row* is not visited: *target* is visited instead."""
    if row.original is None:
        return Exclusion(
            Hazard.SESSION_ID, f"its session id makes no difference: {target} is visited instead"
        )
    return Exclusion(
        Hazard.DUPHOST, f"its host has the pages of another host: {target} is visited instead"
    )
