"""The frontier's gauges: its queues, its hosts by condition, its oldest unanswered order, its
revisits.

They are computed from the totals (`tally.py`), so no step iterates over all hosts.
"""

from collections import deque
from typing import NamedTuple

from gossamer.events import HostCheckedOut, OrderId
from gossamer.telemetry import set_age_gauge, set_gauge, set_gauges
from services.frontier.conditions import Condition
from services.frontier.partitions import Partitions
from services.frontier.revisit_totals import RevisitTotals


class RecordedOrder(NamedTuple):
    """An order, and when it was made."""

    order: OrderId
    site: str
    host: str
    at: float


class Gauges:
    """The gauges of one frontier."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions
        self._orders: deque[RecordedOrder] = deque()

    def record_order(self, order: HostCheckedOut) -> None:
        """Record an order that was made now."""
        self._orders.append(RecordedOrder(order.order, order.site, order.host, order.at))

    def update(self) -> None:
        """Set all gauges."""
        tallies = [partition.tally for partition in self._partitions]
        set_gauge(
            "gossamer_hosts_loaded", sum(len(partition.bench) for partition in self._partitions)
        )
        set_gauge("gossamer_urls_queued", sum(tally.queued for tally in tallies))
        for condition in Condition:
            hosts = sum(tally.conditions[condition] for tally in tallies)
            set_gauge("gossamer_hosts", hosts, condition=condition)
        set_age_gauge("gossamer_oldest_order_seconds", self._oldest_order_at())
        self._update_revisits()

    def _update_revisits(self) -> None:
        totals = RevisitTotals()
        for partition in self._partitions:
            totals.add(partition.plans.row, partition.plans.crawl)
        set_gauges("gossamer_revisit_policy", "policy", {totals.policy: 1})
        set_gauge("gossamer_revisit_budget", totals.budget)
        set_gauge("gossamer_revisits_planned", totals.planned if totals.active else 0)
        set_gauge("gossamer_new_urls_waiting", totals.waiting)
        set_age_gauge("gossamer_revisits_late_seconds", totals.next_at)
        for name, value in (
            ("gossamer_expected_freshness_ratio", totals.expected_freshness),
            ("gossamer_expected_age_seconds", totals.expected_age),
            ("gossamer_visit_price_seconds", totals.mean_price),
        ):
            if value is not None:
                set_gauge(name, value)

    def _oldest_order_at(self) -> float | None:
        while self._orders and not self._is_open(self._orders[0]):
            self._orders.popleft()
        return self._orders[0].at if self._orders else None

    def _is_open(self, order: RecordedOrder) -> bool:
        partition = self._partitions.of(order.site)
        host = partition.bench.hosts.get(order.host) if partition else None
        if host is None or host.row.lease.order != order.order:
            return False
        return host.row.condition is Condition.CHECKED_OUT
