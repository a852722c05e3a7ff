"""Check-out: a ready host becomes an order, with all that its visits need."""

from msgspec.structs import replace

from gossamer.config import FrontierSettings
from gossamer.events import HostCheckedOut, Purpose, Visit
from gossamer.robots import RobotsRules
from gossamer.telemetry import count
from services.frontier.claim import Claim
from services.frontier.hosts import Hosts
from services.frontier.politeness import courtesy_delay
from services.frontier.rows import Condition, QueuedUrl
from services.frontier.workbench import Host

LONGEST_BATCH = 600.0
"""Seconds of pauses in one order: where the delay is long the batch is short."""


class CheckOut:
    """Makes orders."""

    def __init__(self, settings: FrontierSettings, visit_limit: float, hosts: Hosts) -> None:
        self._settings, self._visit_limit, self._hosts = settings, visit_limit, hosts

    def order(self, host: Host, most: int, now: float) -> HostCheckedOut:
        """Check *host* out with at most *most* of its URLs; its row says so in the store."""
        row, robots = host.row, self._hosts.robots(host)
        claim = self._hosts.claim(row.site)
        crawl_delay = robots.rules.crawl_delay if robots else 0.0
        delay = courtesy_delay(self._settings, row.last_took, crawl_delay)
        rules = robots.rules if robots and robots.rules.expires_at > now else None
        claim.tally.orders += 1
        order = f"{claim.epoch}.{claim.tally.orders}"
        first = self._hosts.queues.first(row, self._batch(delay, most))
        visits = _visits(order, first) if rules else (_robots_visit(order, row.host),)
        event = self._event(claim, host, order, (first, visits), (delay, rules), now)
        self._hosts.move(
            host,
            replace(
                row,
                condition=Condition.CHECKED_OUT,
                order=order,
                expires_at=event.expires_at,
                ordered=len(visits),
                done=0,
                delay=delay,
            ),
        )
        count("gossamer_orders_total")
        return event

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


def _visits(order: str, queued: list[QueuedUrl]) -> tuple[Visit, ...]:
    return tuple(
        Visit(
            id=f"{order}.{index}@{url.url}",
            url=url.url,
            depth=url.depth,
            hops=url.hops,
            via=url.via,
            attempt=url.attempt,
        )
        for index, url in enumerate(queued)
    )


def _robots_visit(order: str, host: str) -> Visit:
    url = f"{host}/robots.txt"
    return Visit(id=f"{order}.0@{url}", url=url, purpose=Purpose.ROBOTS)
