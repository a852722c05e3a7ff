"""Admission: which admitted URLs are queued, and which rule refuses the others."""

from msgspec.structs import replace

from gossamer.config import FrontierSettings
from gossamer.events import CrawlDefined, Discovery, Outcome, UrlsAdmitted
from gossamer.store import Store
from gossamer.telemetry import count
from gossamer.url import host_key
from services.frontier.hosts import Hosts
from services.frontier.rows import Condition, DueRow, QueuedUrl, UrlRow
from services.frontier.workbench import Host

PRIORITY = 1_000_000 * 86400 * 365
"""A step of priority is worth a year of waiting, in request numbers."""

Refusal = tuple[str, str]
"""The rule, by the name it is counted under, and a sentence."""


class Admission:
    """Puts URLs into the queues of their hosts."""

    def __init__(self, settings: FrontierSettings, hosts: Hosts, store: Store) -> None:
        self._settings, self._hosts = settings, hosts
        self._urls = store.table(UrlRow)

    def admit(self, event: UrlsAdmitted, crawl: CrawlDefined | None, now: float) -> None:
        """Queue the URLs of *event*, in their order, or write down why not."""
        for found in event.urls:
            host = self._hosts.find(event.site, host_key(found.url))
            if refusal := self._refusal(found, host, crawl, now):
                self._refuse(found, event, refusal, now)
            else:
                tally = self._hosts.claim(event.site).tally
                tally.admitted += 1
                row = replace(host.row, admitted=host.row.admitted + 1)
                self._hosts.move(host, row)
                self._enqueue(host, found, event, now)

    def _refusal(
        self, found: Discovery, host: Host, crawl: CrawlDefined | None, now: float
    ) -> Refusal | None:
        if crawl and found.depth > crawl.max_depth:
            return "trap_depth", f"depth {found.depth} is beyond the limit of {crawl.max_depth}"
        if found.hops > self._settings.hops_limit:
            return "redirect", f"more than {self._settings.hops_limit} redirects in a row"
        if host.row.admitted >= self._settings.url_budget:
            return "trap_urls", f"the host's budget of {self._settings.url_budget} URLs is used up"
        robots = self._hosts.robots(host) if host.row.visits else None
        if robots is None or robots.rules.expires_at <= now or robots.rules.forbidden:
            return None  # Nothing lasting is known: it is looked at again at the check-out.
        if robots.rules.allows(found.url):
            return None
        return Outcome.ROBOTS_EXCLUDED, robots.rules.explain(found.url)

    def _refuse(self, found: Discovery, event: UrlsAdmitted, refusal: Refusal, now: float) -> None:
        rule, reason = refusal
        count("gossamer_urls_refused_total", rule=rule)
        count("gossamer_hazards_total", hazard=rule)
        tally = self._hosts.claim(event.site).tally
        tally.refused[rule] += 1
        tally.hazards[rule] += 1
        self._urls.put(
            UrlRow(
                host=host_key(found.url),
                url=found.url,
                outcome=rule,
                at=now,
                reason=reason,
                depth=found.depth,
                hops=found.hops,
                via=event.via,
                crawl=event.crawl,
                trace=found.trace,
            )
        )

    def _enqueue(self, host: Host, found: Discovery, event: UrlsAdmitted, now: float) -> None:
        url = QueuedUrl(
            segment="",
            position=0,
            url=found.url,
            number=self._number(event.site, now) + found.priority * PRIORITY,
            depth=found.depth,
            hops=found.hops,
            via=event.via,
            crawl=event.crawl,
            trace=found.trace,
        )
        self._append(host, url, now)

    def again(self, due: DueRow, now: float) -> None:
        """Queue a URL whose time has come, unless that has been done."""
        visit = self._urls.get(due.host, due.url)
        if visit is None or visit.next_visit_at != due.at:
            return
        # Last: as long as the queue does not have it, it must be found due again.
        self._urls.put(replace(visit, next_visit_at=0.0), last=True)
        self._hosts.claim(due.site).tally.due_count -= 1
        url = QueuedUrl(
            segment="",
            position=0,
            url=visit.url,
            number=self._number(due.site, now),
            depth=visit.depth,
            hops=visit.hops,
            via=visit.via,
            attempt=visit.attempt,
            crawl=visit.crawl,
            trace=visit.trace,
        )
        self._append(self._hosts.find(due.site, due.host), url, now)

    def _append(self, host: Host, url: QueuedUrl, now: float) -> None:
        self._hosts.move(host, self._hosts.queues.append(host.row, url))
        if host.row.condition is Condition.IDLE:
            self._hosts.wake(host, now)

    def _number(self, site: str, now: float) -> int:
        number = max(self._hosts.last_number() + 1, int(now * 1e6))
        self._hosts.claim(site).tally.last_number = number
        return number
