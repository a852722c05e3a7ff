"""Check-out: a ready host becomes an order, with all that its visits need."""

from msgspec.structs import replace

from gossamer.config import FrontierSettings
from gossamer.events import HostCheckedOut, Purpose, Visit
from gossamer.robots import RobotsRules
from gossamer.store import Store
from gossamer.telemetry import count
from services.frontier.claim import Claim
from services.frontier.hosts import Hosts
from services.frontier.politeness import courtesy_delay
from services.frontier.rows import Condition, HostRow, QueuedUrl, UrlRow
from services.frontier.workbench import Host, rest

LONGEST_BATCH = 600.0
"""Seconds of pauses in one order: where the delay is long the batch is short."""


class CheckOut:
    """Makes orders."""

    def __init__(
        self, settings: FrontierSettings, visit_limit: float, hosts: Hosts, store: Store
    ) -> None:
        self._settings, self._visit_limit, self._hosts = settings, visit_limit, hosts
        self._urls = store.table(UrlRow)

    def order(self, host: Host, most: int, now: float) -> HostCheckedOut | None:
        """Check *host* out with at most *most* of its URLs; its row says so in the store.

        None if nothing is left of its queue but what has been visited: then the host is idle.
        """
        row, robots = host.row, self._hosts.robots(host)
        claim = self._hosts.claim(row.site)
        crawl_delay = robots.rules.crawl_delay if robots else 0.0
        delay = courtesy_delay(self._settings, row.last_took, crawl_delay)
        rules = robots.rules if robots and robots.rules.expires_at > now else None
        first = self._first(host, self._batch(delay, most))
        if not first:
            self._hosts.put_away(host, rest(host.row, host.row.ready_at))
            self._hosts.fill(now)
            return None
        claim.tally.orders += 1
        order = f"{claim.epoch}.{claim.tally.orders}"
        visits = _visits(order, first) if rules else (_robots_visit(order, row.host),)
        event = self._event(claim, host, order, (first, visits), (delay, rules), now)
        self._hosts.move(host, _checked_out(host.row, event))
        count("gossamer_orders_total")
        return event

    def _first(self, host: Host, count: int) -> list[QueuedUrl]:
        """Return the first URLs that wait to be visited, as far as they stand together.

        What was admitted twice, as after a crash, is passed over here.
        """
        queues = self._hosts.queues
        while queued := queues.first(host.row, count):
            over = self._over(host, queued)
            alike = over.index(not over[0]) if (not over[0]) in over else len(over)
            if not over[0]:
                return queued[:alike]
            self._hosts.move(host, queues.passed(host.row, alike))
        return []

    def _over(self, host: Host, queued: list[QueuedUrl]) -> list[bool]:
        met = [url.url for url in queued]
        tried = {row.url: row.attempt for row in self._urls.some(host.row.host, met)}
        return [
            tried.get(url.url, 0) > url.attempt or url.url in met[:at]
            for at, url in enumerate(queued)
        ]

    def _batch(self, delay: float, most: int) -> int:
        patient = int(LONGEST_BATCH // delay) if delay else self._settings.batch
        return max(1, min(self._settings.batch, most, patient))

    def _event(
        self,
        claim: Claim,
        host: Host,
        order: str,
        batch: tuple[list[QueuedUrl], tuple[Visit, ...]],
        manners: tuple[float, RobotsRules | None],
        now: float,
    ) -> HostCheckedOut:
        (first, visits), (delay, rules) = batch, manners
        return HostCheckedOut(
            crawl=first[0].crawl,
            at=now,
            site=host.row.site,
            host=host.row.host,
            order=order,
            epoch=claim.epoch,
            expires_at=now + self._settings.lease_slack + len(visits) * (delay + self._visit_limit),
            pause=delay,
            pause_factor=self._settings.delay_factor,
            robots=rules,
            visits=visits,
        )


def _checked_out(row: HostRow, order: HostCheckedOut) -> HostRow:
    return replace(
        row,
        condition=Condition.CHECKED_OUT,
        order=order.order,
        expires_at=order.expires_at,
        ordered=len(order.visits),
        done=0,
        delay=order.pause,
    )


def _visits(order: str, queued: list[QueuedUrl]) -> tuple[Visit, ...]:
    return tuple(
        Visit(
            id=f"{order}.{index}@{url.url}",
            url=url.url,
            depth=url.depth,
            hops=url.hops,
            via=url.via,
            attempt=url.attempt,
            trace=url.trace,
        )
        for index, url in enumerate(queued)
    )


def _robots_visit(order: str, host: str) -> Visit:
    url = f"{host}/robots.txt"
    return Visit(id=f"{order}.0@{url}", url=url, purpose=Purpose.ROBOTS)
