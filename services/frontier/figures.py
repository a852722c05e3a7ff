"""What the frontier shows of itself: queue, hosts by condition, and the oldest unanswered order.

The totals are kept anyway (`tally.py`): so no step looks at every host.
"""

from collections import deque
from typing import NamedTuple

from gossamer.events import HostCheckedOut, OrderId
from gossamer.telemetry import set_age_gauge, set_gauge, set_gauges
from services.frontier.conditions import Condition
from services.frontier.partitions import Partitions
from services.frontier.revisit_totals import RevisitTotals


class Ordered(NamedTuple):
    """An order that was made."""

    order: OrderId
    site: str
    host: str
    at: float


class Figures:
    """The gauges of one frontier."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions
        self._ordered: deque[Ordered] = deque()

    def ordered(self, order: HostCheckedOut) -> None:
        """Take note of an order that was made just now."""
        self._ordered.append(Ordered(order.order, order.site, order.host, order.at))

    def show(self) -> None:
        """Show how everything stands."""
        tallies = [partition.tally for partition in self._partitions]
        set_gauge("gossamer_hosts_loaded", sum(len(one.bench) for one in self._partitions))
        set_gauge("gossamer_urls_queued", sum(tally.queued for tally in tallies))
        for condition in Condition:
            hosts = sum(tally.conditions[condition] for tally in tallies)
            set_gauge("gossamer_hosts", hosts, condition=condition)
        set_age_gauge("gossamer_oldest_order_seconds", self._oldest())
        self._show_revisits()

    def _show_revisits(self) -> None:
        standing = RevisitTotals()
        for partition in self._partitions:
            standing.add(partition.plans.row, partition.plans.crawl)
        set_gauges("gossamer_revisit_policy", "policy", {standing.policy: 1})
        set_gauge("gossamer_revisit_budget", standing.budget)
        set_gauge("gossamer_revisits_planned", standing.planned if standing.active else 0)
        set_gauge("gossamer_new_urls_waiting", standing.waiting)
        set_age_gauge("gossamer_revisits_late_seconds", standing.next_at)
        for name, value in (
            ("gossamer_expected_freshness_ratio", standing.expected_freshness),
            ("gossamer_expected_age_seconds", standing.expected_age),
            ("gossamer_visit_price_seconds", standing.mean_price),
        ):
            if value is not None:
                set_gauge(name, value)

    def _oldest(self) -> float | None:
        while self._ordered and not self._is_open(self._ordered[0]):
            self._ordered.popleft()
        return self._ordered[0].at if self._ordered else None

    def _is_open(self, order: Ordered) -> bool:
        partition = self._partitions.of(order.site)
        host = partition.bench.hosts.get(order.host) if partition else None
        if host is None or host.row.lease.order != order.order:
            return False
        return host.row.condition is Condition.CHECKED_OUT
