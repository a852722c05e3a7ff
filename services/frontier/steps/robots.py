"""The two visits to a host that are not to its pages: robots.txt, and the probe.

**Robots.txt.** The outcome of its visit has the host's rules.

While the file cannot be fetched, the last rules that were read stay in force (RFC 9309, 2.4).
Without such rules, everything is disallowed (2.3.1.4). The file is requested again after ten
minutes, then at growing intervals. After 30 days it counts as missing: everything is allowed. A
wall in place of the file, such as a challenge, means that the file could not be fetched.

**Robots.txt on behalf of other hosts.** A robots.txt may redirect to another host (RFC 9309,
2.3.1.2). That host has a delay, a lease and perhaps a frontier of its own, so the fetcher does not
follow the redirect within the visit. It sends `RobotsRequested` to the frontier of the host where
the file lies. That frontier queues the URL as a visit on behalf of the first host, and answers with
`RobotsAnswered`. Until then, the first host backs off as if its robots.txt were unreachable.

Cached rules need no visit. If the requested URL is the robots.txt of the second host itself, the
unexpired rules of the second host are the answer. They also answer visits that were queued before
the rules were fetched, so one visit serves all hosts that redirect to this file.

If the second host waits for its own rules from a third host, the request is passed on to the third
host. Passing on counts as a redirect, so a circle of hosts ends at the limit of redirects. Two
hosts may also redirect to files at each other that are not the robots.txt of a host. Then each host
waits for a visit to the other, and backs off as if its robots.txt were unreachable.

**Sitemaps.** All crawls with URLs at a host visit the sitemaps that its robots.txt names, as far as
their scopes allow. A crawl that comes while the rules are valid gets the names from the row of the
rules, at its first URL there. If the file names none, `/sitemap.xml` is visited as a usual sitemap,
by default at the hosts of seeds. Its absence is expected: it is not repeated, planned again, or
counted as a failure.

**Probes.** Each host has one visit to a path that cannot exist, which finds its signature. A probe
has an order of its own, and does not change the queue. It is made after some visits, so that a host
with few pages is not asked for one more. If two URLs of the host have the same text, or similar
ones, that may be an error page, and the probe is made at once. Every response counts, also an
error: it shows how the host answers for a missing page. A wall shows nothing, and leaves the host
without a signature. Only a probe that sent no request is repeated. The text of the response comes
later, from dedup.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from gossamer.blocklist import Blocklist
from gossamer.bounds import exclusion_of, seed_part
from gossamer.events import (
    CrawlDefined,
    Discovery,
    Event,
    MissingPageRead,
    OrderId,
    Outcome,
    PageDeduplicated,
    Purpose,
    RobotsAnswered,
    RobotsRequested,
    UrlsDiscovered,
    Visit,
    VisitEnded,
)
from gossamer.events.outcomes import OUTCOMES, SITEMAP_DEPTH, WALLED, Fate
from gossamer.events.pages import group_by_site
from gossamer.services.frontier.features.failures import (
    REDIRECTED_ROBOTS_FAILURE,
    ROBOTS_FAILURE,
    add_failure,
    counts_as_failure,
    reset_failures,
)
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.partitions import Partitions
from gossamer.services.frontier.partition.politeness import (
    failure_wait,
    is_given_up,
    robots_redirect_wait,
)
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.partition.workbench import Host
from gossamer.services.frontier.steps.revisits import Revisits
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow, RobotsRow
from gossamer.services.frontier.tables.urls import Origin, QueuedUrl, UrlRow
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.web.robots import REDIRECTS, RobotsRules
from gossamer.web.soft_404 import NO_SIGNATURE, Signature, missing_page
from gossamer.web.url import HostKey, fingerprint, host_key, site_of
from gossamer.web.url_steps import without_default_document

DEFAULT_RULES_AGE = 86400.0
"""Seconds for which rules are valid that do not come from a file: allow all, or forbid all."""
USUAL_PATH = "/sitemap.xml"
AT_SEEDS, EVERYWHERE, NEVER = "seeds", "all", "never"
"""Values of `fetcher.usual_sitemaps`."""
GIVEN_UP_PREFIX = "robots.txt: "
"""Before the reason of a URL that is given up because the robots.txt of its host failed."""
RobotsEvent = VisitEnded | RobotsAnswered


class RobotsOutcomes:
    """Applies the outcomes of robots.txt visits, at the host itself or at the host where its file
    lies."""

    def __init__(self, settings: FrontierSettings, revisits: Revisits, store: Store) -> None:
        self._settings, self._revisits = settings, revisits
        self._urls = store.table(UrlRow)

    def apply(
        self,
        partition: Partition,
        share: CrawlShare,
        host: Host,
        row: HostRow,
        event: RobotsEvent,
        now: float,
    ) -> tuple[HostRow, float | None]:
        """Return the row, and until when the host backs off; None if it does not back off."""
        if OUTCOMES[event.outcome].fate is Fate.STAY:
            return row, None
        if isinstance(event, VisitEnded) and _redirects_elsewhere(event):
            return self._disallow_until_answered(partition, host, row, event, now)
        if event.robots and not event.robots.forbidden:
            row_of_file = RobotsRow(event.host, event.robots, sitemaps=event.sitemaps)
            partition.learn_robots(host, row_of_file)
            return reset_failures(row, ROBOTS_FAILURE, REDIRECTED_ROBOTS_FAILURE), None
        if event.outcome is Outcome.PRIVATE_ADDRESS:
            # The rules do not matter: each queued URL gets this outcome, and none is requested.
            _allow_all(partition, host, now)
            return row, None
        if event.outcome is Outcome.BLACKLISTED:
            return row, now + self._failure_wait(row, event, "")
        return self._record_unreachable(partition, share, host, row, event, now)

    def _disallow_until_answered(
        self, partition: Partition, host: Host, row: HostRow, event: VisitEnded, now: float
    ) -> tuple[HostRow, float | None]:
        """Disallow everything until the answer from the other host comes."""
        since = _unreachable_since(partition, host, now)
        if now - since >= self._settings.robots_unreachable_limit:
            _allow_all(partition, host, now, since)
            return row, None
        row = add_failure(row, REDIRECTED_ROBOTS_FAILURE)
        until = now + robots_redirect_wait(
            self._settings, row.host, row.politeness.failures[REDIRECTED_ROBOTS_FAILURE]
        )
        pending = RobotsRow(
            event.host, _make_forbidding_rules(event, now, until), since, event.location
        )
        partition.learn_robots(host, replace(pending, copy=_last_read_rules(partition, host)))
        return row, until

    def _record_unreachable(
        self,
        partition: Partition,
        share: CrawlShare,
        host: Host,
        row: HostRow,
        event: RobotsEvent,
        now: float,
    ) -> tuple[HostRow, float | None]:
        since = _unreachable_since(partition, host, now)
        if now - since >= self._settings.robots_unreachable_limit and event.robots:
            _allow_all(partition, host, now, since)
            return row, None
        kind: str = OUTCOMES[event.outcome].health
        if isinstance(event, RobotsAnswered) or not counts_as_failure(event):
            # Another host failed, or the outcome does not count as a failure of this host.
            kind = ROBOTS_FAILURE
            row = add_failure(row, kind)
        until = now + self._failure_wait(row, event, kind)
        copy = _last_read_rules(partition, host)
        if copy and kind == ROBOTS_FAILURE:
            rules = replace(copy, expires_at=until)
            before = partition.robots(host)
            sitemaps = before.sitemaps if before else ()
            partition.learn_robots(host, RobotsRow(event.host, rules, since, sitemaps=sitemaps))
            return row, None
        rules = _make_forbidding_rules(event, now, until)
        partition.learn_robots(host, RobotsRow(event.host, rules, since, copy=copy))
        return self._give_up_first_url(share, row, event, kind, now), until

    def _failure_wait(self, row: HostRow, event: RobotsEvent, kind: str) -> float:
        times = row.politeness.failures.get(kind, 0)
        outcome = Outcome.BROKEN if event.outcome in WALLED else event.outcome
        return failure_wait(self._settings, row.host, outcome, times, event.retry_after)

    def _give_up_first_url(
        self, share: CrawlShare, row: HostRow, event: RobotsEvent, kind: str, now: float
    ) -> HostRow:
        """Return the row without the first URL of its queue, if that URL has no attempts left."""
        times = row.politeness.failures.get(kind, 0)
        given_up = is_given_up(self._settings, event.outcome, times, event.retry_after)
        if not share.queues.of(row).queued or event.robots or not given_up:
            return row
        [first] = share.queues.first(row, 1)
        if not first.url:
            return share.queues.advance(row)
        self._urls.put(_url_row(row, first, event, now))
        self._revisits.record_absence(share, event, first, now)
        return share.queues.advance(row)


class RobotsOnBehalf:
    """Handles requests and answers for robots.txt files that lie at another host."""

    def __init__(self, partitions: Partitions, reports: RobotsOutcomes) -> None:
        self._partitions, self._reports = partitions, reports

    def handle_request(
        self, partition: Partition, share: CrawlShare, event: RobotsRequested, now: float
    ) -> Iterator[Event]:
        """Yield a cached answer, or the request for a third host; otherwise queue a visit.

        The visit is on behalf of the host that needs the rules.
        """
        stored = _rules_of_file(partition, event)
        if event.hops > REDIRECTS:
            rules = RobotsRules(fetched_at=now, expires_at=now + DEFAULT_RULES_AGE)
            yield _make_answer(event, rules, now)
        elif stored and stored.awaited_url and stored.rules.expires_at > now:
            site, hops = site_of(stored.awaited_url), event.hops + 1
            yield replace(event, at=now, site=site, url=stored.awaited_url, hops=hops)
        elif answer := find_cached_answer(event, stored, now):
            yield answer
        else:
            self._queue(partition, share, event, now)

    def _queue(
        self, partition: Partition, share: CrawlShare, event: RobotsRequested, now: float
    ) -> None:
        host = partition.find(event.site, host_key(event.url))
        request = QueuedUrl(
            event.crawl,
            "",
            0,
            event.url,
            self._partitions.next_number(partition, now),
            Origin(hops=event.hops, purpose=Purpose.ROBOTS),
            on_behalf_of=event.on_behalf_of,
        )
        partition.queue(share, host, host.row, [request], now)

    def handle_answer(
        self, partition: Partition, share: CrawlShare, event: RobotsAnswered, now: float
    ) -> None:
        """Give a waiting host its rules. A late answer, for a host that no longer waits, is
        dropped."""
        host = partition.find(event.site, event.host)
        stored = partition.robots(host)
        if not stored or not stored.awaited_url or host.row.condition is not Condition.BACKING_OFF:
            return
        row, until = self._reports.apply(partition, share, host, host.row, event, now)
        if until is not None:
            reason = event.reason or str(event.outcome)
            row = replace(row, backoff_reason=reason, backoff_cause=event.outcome)
        ready_at = max(until or now, now + row.politeness.delay)
        partition.reschedule_backoff(host, replace(row, ready_at=ready_at))


def _rules_of_file(partition: Partition, event: RobotsRequested) -> RobotsRow | None:
    if not _is_robots_of_its_host(event):
        return None
    return partition.robots(partition.find(event.site, host_key(event.url)))


def find_cached_answer(
    request: RobotsRequested | QueuedUrl, robots: RobotsRow | None, now: float
) -> RobotsAnswered | None:
    """Return the answer to *request* from *robots*, the rules of the host where the file lies.

    None if these rules are expired or forbid everything, or if the file is not their robots.txt.
    """
    if not robots or robots.rules.expires_at <= now or robots.rules.forbidden:
        return None
    return _make_answer(request, robots.rules, now) if _is_robots_of_its_host(request) else None


def make_forbidden_answer(request: QueuedUrl, cause: str, now: float) -> RobotsAnswered:
    """Return the answer for a skipped visit on behalf of another host; *cause*: why it was skipped.

    The host that needs the rules is not visited until it gets another answer.
    """
    reason = f"robots.txt could not be fetched: {cause}"
    rules = RobotsRules(forbidden=reason, fetched_at=now, expires_at=now + DEFAULT_RULES_AGE)
    return replace(_make_answer(request, rules, now), outcome=Outcome.BROKEN, reason=reason)


def _is_robots_of_its_host(request: RobotsRequested | QueuedUrl) -> bool:
    """Return whether the file is the robots.txt of the host where it lies."""
    return request.url == _robots_url(host_key(request.url))


def _robots_url(host: HostKey) -> str:
    return f"{host}/robots.txt"


def _make_answer(
    request: RobotsRequested | QueuedUrl, rules: RobotsRules, now: float
) -> RobotsAnswered:
    return RobotsAnswered(
        crawl=request.crawl,
        at=now,
        site=site_of(request.on_behalf_of),
        host=request.on_behalf_of,
        url=request.url,
        outcome=Outcome.PAGE,
        robots=rules,
    )


def _unreachable_since(partition: Partition, host: Host, now: float) -> float:
    stored = partition.robots(host)
    if stored is None or stored.unreachable_since is None:
        return now
    return stored.unreachable_since


def _last_read_rules(partition: Partition, host: Host) -> RobotsRules | None:
    """Return the rules that were last read from a file; None if none were."""
    stored = partition.robots(host)
    if stored is None:
        return None
    return stored.rules if stored.rules.status // 100 == 2 else stored.copy


def _allow_all(
    partition: Partition, host: Host, now: float, unreachable_since: float | None = None
) -> None:
    rules = RobotsRules(fetched_at=now, expires_at=now + DEFAULT_RULES_AGE)
    partition.learn_robots(host, RobotsRow(host.row.host, rules, unreachable_since))


def discover_sitemaps(
    host: HostKey,
    sitemaps: Sequence[str],
    crawl: CrawlDefined,
    now: float,
    visit: str = "",
    purpose: Purpose = Purpose.SITEMAP,
) -> Iterable[UrlsDiscovered]:
    """Return the discoveries of the *sitemaps* in the robots.txt of *host*, or of its usual
    sitemap, by their *purpose*, without those that *crawl* excludes. *visit*: the id of the visit
    that has just read the file."""
    # The crawl has URLs at the host: either the scope includes it, or a seed redirected there.
    joined = seed_part(crawl, f"{host}/")
    named = [
        Discovery(url, SITEMAP_DEPTH, trace=fingerprint(url), purpose=purpose, joined=joined)
        for url in sitemaps
    ]
    # Blocklisted sitemaps are refused at admission, and parked.
    found = [one for one in named if exclusion_of(crawl, Blocklist(), one) is None]
    # The via is the host whose rules these are, even if the file lies at another host: the sitemaps
    # count as links of the first host's site.
    return group_by_site(found, visit or f"robots@{_robots_url(host)}", crawl.crawl, now)


def discover_usual_sitemap(
    usual: str,
    row: HostRow,
    rules: RobotsRules | None,
    crawl: CrawlDefined,
    now: float,
    visit: str = "",
) -> Iterable[UrlsDiscovered]:
    """Return the discovery of the usual sitemap of the host of *row*, whose robots.txt has the
    *rules* and names no sitemap, if the setting *usual* allows it for *crawl*."""
    is_wanted = usual == EVERYWHERE or (usual == AT_SEEDS and row.of(crawl.crawl).is_seeded)
    url = f"{row.host}{USUAL_PATH}"
    # Without rules, a file that could not be read may name sitemaps.
    if not is_wanted or rules is None or rules.forbidden or not rules.allows(url):
        return []
    return discover_sitemaps(row.host, [url], crawl, now, visit, Purpose.USUAL_SITEMAP)


def reason_for_backoff(event: RobotsEvent) -> str:
    """Return the reason of a host's backoff."""
    forbidden = event.robots.forbidden if event.robots else ""
    return forbidden or event.reason or str(event.outcome)


def _redirects_elsewhere(event: VisitEnded) -> bool:
    return event.outcome is Outcome.REDIRECT and event.robots is None


def _make_forbidding_rules(event: RobotsEvent, now: float, until: float) -> RobotsRules:
    return RobotsRules(forbidden=reason_for_backoff(event), fetched_at=now, expires_at=until)


def _url_row(row: HostRow, first: QueuedUrl, event: RobotsEvent, now: float) -> UrlRow:
    return UrlRow(
        crawl=first.crawl,
        host=row.host,
        url=first.url,
        outcome=event.outcome,
        at=now,
        reason=f"{GIVEN_UP_PREFIX}{event.reason}",
        origin=first.origin,
        earlier=first.earlier + 1,
    )


def needs_probe(row: HostRow, after: int) -> bool:
    """Return whether the host's next visit is a probe: after *after* visits, or once two URLs of
    the host had the same text; 0 means never. A host that has only requisites is not probed."""
    is_known = after <= row.totals.visits and row.totals.admitted > 0
    return after > 0 and row.signature is None and (row.has_copies or is_known)


def are_copies(event: PageDeduplicated) -> bool:
    """Return whether *event* shows that two URLs of a host have the same text, or similar ones,
    although no rule says that they are one page."""
    url, original = event.visit.url, event.duplicate_of or event.near_duplicate_of
    if not original or host_key(original) != event.host or event.visit.purpose is not Purpose.PAGE:
        return False
    return without_default_document(url) != without_default_document(original)


def make_probe_visit(order: OrderId, host: HostKey) -> Visit:
    """Return the visit of *order* to a page that *host* does not have."""
    url = missing_page(host, order)
    return Visit(id=f"{order}.0@{url}", url=url, purpose=Purpose.PROBE)


def make_entry_for_probe(row: HostRow, crawl: str) -> QueuedUrl:
    """Return an entry of the queue that makes a host ready for its probe. It has no URL, so it is
    skipped afterwards."""
    return QueuedUrl(crawl, "", 0, "", row.number)


def record_probe(row: HostRow, event: VisitEnded, now: float) -> HostRow:
    """Return the row of a host with the signature of its probe, which *event* ended."""
    if OUTCOMES[event.outcome].fate is Fate.STAY:
        return row
    at = event.started_at or now
    # The text may have come before the outcome.
    signature = row.signature or NO_SIGNATURE
    if event.wall:
        # A wall does not show how the host answers for a missing page.
        return replace(row, signature=replace(signature, at=at))
    signature = replace(signature, status=event.status, location=event.location, at=at)
    return replace(row, signature=signature)


def add_signature_text(partition: Partition, event: MissingPageRead) -> None:
    """Add the text of a probe's response to the signature of its host."""
    host = partition.find(event.site, event.host)
    if host.stored:
        signature = host.row.signature or Signature(at=event.at)
        signature = replace(signature, digest=event.digest, simhash=event.simhash)
        partition.update(host, replace(host.row, signature=signature))
