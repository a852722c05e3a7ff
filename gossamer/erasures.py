"""What was erased on demand: a record of it, and the rule by which it does not come back.

Pages of an order that was out at the erasure may lie anywhere between a fetcher and who writes
about them. Orders of a partition are numbered, and the number is in the id of each visit. So each
service that has erased its part keeps the number of the last order before the erasure, and drops
what comes of that order and of those before. No clock is asked.
"""

from collections.abc import Container, Mapping

from gossamer.events import DEFAULT_CRAWL, Erasure, Visit
from gossamer.log import KEY_GROUPS
from gossamer.store import Row, Store
from gossamer.web.url import host_key, site_of


class ErasureRow(Row, frozen=True):
    """What one service has erased of a URL, a host or a site, when, and who asked for it."""

    table = "erasures"
    partition_key, sort_key = "crawl", "key"
    kept_for, aged_by = "frontier.erasures_age", "at"
    # Of one partition: there are few, and who takes over a partition reads all of them.

    crawl: str
    key: str
    """The time, the service, the part of the erasure, and the target."""
    service: str
    target: str
    """A URL, the key of a host, or a site."""
    key_group: int
    """The key group of the site."""
    at: float
    """When the erasure was asked for."""
    requested_by: str
    """Who asked for the erasure."""
    orders: int
    """The number of the last order before the erasure."""
    ended: bool
    """Whether this part of the service is erased."""
    rows: dict[str, int]
    """Table → how many rows of it were erased."""


class Erasures:
    """The erasures of a *service* in some key groups."""

    def __init__(self, store: Store, service: str, crawl: str = DEFAULT_CRAWL) -> None:
        self._rows, self._service, self._crawl = store.table(ErasureRow), service, crawl
        self._begun: dict[str, Erasure] = {}
        """By target, the erasure with the latest order that does not count."""
        self._pending: dict[str, float] = {}
        """Target → when the erasure was asked for that has begun and not ended."""

    def load(self, groups: Container[int] = range(KEY_GROUPS)) -> None:
        """Read the erasures in key *groups*, and forget all others."""
        self._begun, self._pending = {}, {}
        after = ""
        while rows := self._rows.scan(self._crawl, after):
            after = rows[-1].key
            for row in rows:
                # Other services may have got further: that is no rule for this one.
                if row.service == self._service and row.key_group in groups:
                    self._learn(row)

    def begin(self, erasure: Erasure) -> None:
        """Let visits from before *erasure* count no more, also before it is written down."""
        known = self._begun.get(erasure.target)
        if known is None or known.orders <= erasure.orders:
            self._begun[erasure.target] = erasure

    def _learn(self, row: ErasureRow) -> None:
        self.begin(Erasure(row.target, row.at, row.requested_by, row.key_group, row.orders))
        if not row.ended:
            self._pending[row.target] = row.at
        elif self._pending.get(row.target, row.at) <= row.at:
            self._pending.pop(row.target, None)

    def add(
        self, erasure: Erasure, rows: Mapping[str, int], part: int = 0, ended: bool = True
    ) -> None:
        """Write down how many *rows* of a *part* of an erasure were erased, by table."""
        key = f"{erasure.requested_at:017.6f} {self._service} {part:04d} {erasure.target}"
        counted = {name: count for name, count in rows.items() if count}
        # Once more after a crash: then less was left to erase.
        if known := self._rows.get(self._crawl, key):
            names = known.rows | counted
            counted = {n: max(known.rows.get(n, 0), counted.get(n, 0)) for n in names}
        row = ErasureRow(
            crawl=self._crawl,
            key_group=erasure.key_group,
            key=key,
            service=self._service,
            target=erasure.target,
            at=erasure.requested_at,
            requested_by=erasure.requested_by,
            orders=erasure.orders,
            ended=ended,
            rows=counted,
        )
        self._rows.put(row)
        self._learn(row)

    def covers(self, visit: Visit) -> bool:
        """Return whether *visit* is of an order from before its URL was erased."""
        return self._of(visit.id, visit.url) is not None

    def of_link(self, via: str, url: str) -> Erasure | None:
        """Return the erasure by which a link to *url*, that the visit *via* found, does not count.

        None: it counts, since the page with the link is not erased itself.
        """
        visit, _, page = via.partition("@")
        # Others, such as those of seeds, name no page.
        if not self._begun or not visit[:1].isdecimal() or "://" not in page:
            return None
        erasure = self._of(via, page)
        return erasure if erasure and is_about(url, erasure.target) else None

    def _of(self, visit_id: str, url: str) -> Erasure | None:
        if not self._begun:
            return None
        found = (self._begun.get(name) for name in _names(url))
        number = order_number(visit_id)
        return next((one for one in found if one and number <= one.orders), None)

    def is_pending(self, url: str) -> bool:
        """Return whether *url* is being erased."""
        return bool(self._pending) and not self._pending.keys().isdisjoint(_names(url))


def order_number(visit_id: str) -> int:
    """Return the number of the order of a visit; ids are `EPOCH.ORDER.INDEX@URL`."""
    number = visit_id.split(".", 2)[1:2]
    return int(number[0]) if number and number[0].isdecimal() else 0


def is_about(url: str, target: str) -> bool:
    """Return whether *url* is *target*, or of that host or site."""
    return target in _names(url)


def _names(url: str) -> tuple[str, str, str]:
    """Return all targets that *url* belongs to."""
    return url, host_key(url), site_of(url)
