"""Records of erasures, and the rule that keeps erased data from coming back.

While data is erased, results of orders in flight may be anywhere between a fetcher and the services
that store data about the pages. The orders of a partition are numbered, and the id of each visit
contains the number of its order. Each service that has erased its part stores the number of the
last order before the erasure, and drops results of that order and of earlier ones. No clock is
involved.

Each class of rows says which of its fields name what the row is about (`Row.about`). From these
fields and the keys of the class follows whether the name of a URL or a host leads to its rows
(`NamedRows`). A service finds its other rows by what it knows, and `erase_rows` writes all of them
without what is erased.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from gossamer.events import FLEET, Erasure, ErasureBegun, Tombstone, Visit, VisitsErased
from gossamer.events.public import Gone
from gossamer.log import KEY_GROUPS
from gossamer.store import (
    Partition,
    Row,
    Sort,
    Store,
    iterate_partition,
    keys_of,
    partition_fields,
)
from gossamer.web.url import fingerprint, host_key, site_of

KEY_COLUMNS: dict[str, Callable[[str, str], str]] = {
    "crawl": lambda crawl, url: crawl,
    "url": lambda crawl, url: url,
    "host": lambda crawl, url: host_key(url),
    "site": lambda crawl, url: site_of(url),
}
"""Column of a key → its value in the rows about a URL of a crawl."""


class ErasureRow(Row, frozen=True):
    """The record of what one service has erased about a URL, a host or a site."""

    table = "erasures"
    partition_key, sort_key = "crawl", "key"
    kept_for, aged_by = "frontier.erasures_age", "at"
    about = ()
    # One store partition has all rows: there are few, and a new owner reads all of them.

    crawl: str
    """Always `-`: an erasure concerns all crawls."""
    key: str
    """The time, the service, the part of the erasure, and the target."""
    service: str
    target: str
    """A URL, a host key, or a site."""
    key_group: int
    """The key group of the site."""
    at: float
    """Epoch seconds of the request."""
    requested_by: str
    """The person who requested the erasure."""
    orders: int
    """The number of the last order before the erasure."""
    ended: bool
    """Whether the service has completed this part."""
    rows: dict[str, int]
    """Table → number of erased rows."""

    @property
    def erasure(self) -> Erasure:
        """The erasure of which this is a record."""
        return Erasure(self.target, self.at, self.requested_by, self.key_group, self.orders)


class Erasures:
    """The erasures of a *service* in some key groups."""

    def __init__(self, store: Store, service: str) -> None:
        self._rows, self._service = store.table(ErasureRow), service
        self._begun: dict[str, Erasure] = {}
        """Target → the erasure with the largest order number. Results of this order and of earlier
        ones are ignored."""
        self._pending: dict[str, float] = {}
        """Target → epoch seconds of the request for the unfinished erasure."""

    def load(self, groups: Container[int] = range(KEY_GROUPS)) -> None:
        """Read the erasures of key *groups*, and forget all others."""
        self._begun, self._pending = {}, {}
        for row in iterate_partition(self._rows, FLEET):
            # Erasures of other services do not bind this one.
            if row.service == self._service and row.key_group in groups:
                self._learn(row)

    def begin(self, erasure: Erasure) -> None:
        """Ignore visits from before *erasure*, even before the erasure is recorded."""
        before = self._begun.get(erasure.target)
        if before is None or before.orders <= erasure.orders:
            self._begun[erasure.target] = erasure

    def _learn(self, row: ErasureRow) -> None:
        self.begin(row.erasure)
        if not row.ended:
            self._pending[row.target] = row.at
        elif self._pending.get(row.target, row.at) <= row.at:
            self._pending.pop(row.target, None)

    def add(
        self, erasure: Erasure, rows: Mapping[str, int], part: int = 0, ended: bool = True
    ) -> None:
        """Record the number of erased *rows*, by table, of a *part* of an erasure."""
        key = f"{erasure.requested_at:017.6f} {self._service} {part:04d} {erasure.target}"
        counted = {name: count for name, count in rows.items() if count}
        # After a crash this is repeated with fewer rows left to erase.
        if recorded := self._rows.get(FLEET, key):
            names = recorded.rows | counted
            counted = {n: max(recorded.rows.get(n, 0), counted.get(n, 0)) for n in names}
        row = ErasureRow(
            crawl=FLEET,
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
        # Another archive that finds this row must not find the erased rows any more.
        self._rows.put(row, last=ended)
        self._learn(row)

    def covers(self, visit: Visit) -> bool:
        """Return whether *visit* belongs to an order from before its URL was erased."""
        return self._of(visit.id, visit.url) is not None

    @property
    def are_any(self) -> bool:
        """Whether anything was erased at any time."""
        return bool(self._begun)

    def concerns(self, url: str) -> bool:
        """Return whether *url* was erased at any time."""
        return bool(self._begun) and not self._begun.keys().isdisjoint(targets_of(url))

    def of_link(self, via: str, url: str) -> Erasure | None:
        """Return the erasure that invalidates a link to *url*, found by the visit *via*, or None.

        A link is invalid only if the same erasure covers *url* and the page that contains the link.
        """
        visit, _, page = via.partition("@")
        # Other ids, such as those of seeds, do not contain a page.
        if not self._begun or not visit[:1].isdecimal() or "://" not in page:
            return None
        erasure = self._of(via, page)
        return erasure if erasure and is_about(url, erasure.target) else None

    def _of(self, visit_id: str, url: str) -> Erasure | None:
        if not self._begun:
            return None
        found = (self._begun.get(name) for name in targets_of(url))
        number = order_number(visit_id)
        return next((one for one in found if one and number <= one.orders), None)

    def is_pending(self, url: str) -> bool:
        """Return whether *url* is being erased."""
        return bool(self._pending) and not self._pending.keys().isdisjoint(targets_of(url))


def order_number(visit_id: str) -> int:
    """Return the order number of a visit id, `EPOCH.ORDER.INDEX@URL`."""
    number = visit_id.split(".", 2)[1:2]
    return int(number[0]) if number and number[0].isdecimal() else 0


def is_about(name: str, target: str) -> bool:
    """Return whether *name* is *target* or belongs to it. Both are a URL, a host key or a site."""
    if "://" not in name or name == target:
        return name == target
    is_url = "/" in name[8:]
    return target in targets_of(name if is_url else f"{name}/")[1:]


def targets_of(url: str) -> tuple[str, str, str]:
    """Return all targets that include *url*."""
    return url, host_key(url), site_of(url)


def subject_of(row: type[Row]) -> Literal["url", "host"] | None:
    """Return what leads to the rows of a class: the name of a URL of a crawl, or that of a host.

    None if neither does: the rows are found through other rows, or are about whole sites.
    """
    columns = {*partition_fields(row)}
    if "url" in row.about and {"crawl"} < columns <= {"crawl", "url", "host"}:
        return "url"
    return "host" if "host" in row.about and columns <= {"host", "site"} else None


class NamedRows:
    """The rows of a *package* to which the name of a *subject* leads, a URL of a crawl or a host.

    Their tables follow from the row classes, so the rows of a new class are erased, too.
    """

    def __init__(self, store: Store, package: str, subject: Literal["url", "host"]) -> None:
        self._store = store
        self.tables = [row for row in tables_of(package) if subject_of(row) == subject]

    def find(self, named: Sequence[tuple[str, str]]) -> list[Row]:
        """Return the rows about the *named* URLs, each with its crawl, or about their hosts. Other
        rows of the same partitions may be among them."""
        found = list[Row]()
        for row in self.tables:
            table, keys = self._store.table(row), _keys_about(row, named)
            found += table.get_all(keys) if _is_one(row) else table.scan_all([at for at, _ in keys])
        return found

    def read_ahead(
        self, named: Sequence[tuple[str, str]]
    ) -> Iterator[tuple[type[Row], Partition, Sort]]:
        """Read the partitions that `find` scans; yield the keys of the rows that it gets."""
        for row in self.tables:
            keys = _keys_about(row, named)
            if _is_one(row):
                yield from ((row, *key) for key in keys)
            else:
                self._store.table(row).scan_ahead([at for at, _ in keys])


def tables_of(package: str, above: type[Row] = Row) -> Iterator[type[Row]]:
    """Yield the row classes of *package* below the class *above*."""
    for row in above.__subclasses__():
        if hasattr(row, "table") and row.__module__.startswith(f"{package}."):
            yield row
        yield from tables_of(package, row)


def _is_one(row: type[Row]) -> bool:
    """Return whether a name leads to one row, and not to a partition with several rows."""
    return not row.sort_key or row.about == (row.sort_key,)


def _keys_about(row: type[Row], named: Iterable[tuple[str, str]]) -> list[tuple[Partition, Sort]]:
    """Return the keys of the rows about the *named* URLs, of several rows without a sort key."""
    found = dict[tuple[Partition, Sort], None]()
    for one in named:
        partition = tuple(KEY_COLUMNS[name](*one) for name in partition_fields(row))
        sort = KEY_COLUMNS[row.sort_key](*one) if row.sort_key and _is_one(row) else ""
        found[partition if len(partition) > 1 else partition[0], sort] = None
    return [*found]


def erase_rows(
    store: Store, rows: Iterable[Row], is_erased: Callable[[str], bool], led: Iterable[Row] = ()
) -> Counter[str]:
    """Write each of *rows* without its erased entries, or erase it; return the number of changed
    rows by table.

    *led*: rows whose partitions go as a whole, and that are found through other *rows*. They are
    dropped, and drops are flushed before erasures. So after a crash the other rows still lead to
    them.
    """
    counts = Counter[str]()
    for row, is_led in [*((row, True) for row in led), *((row, False) for row in rows)]:
        table, left = store.table(type(row)), row.without(is_erased)
        if left is row:
            continue
        counts[row.table] += 1
        if left is not None:
            table.put(left)
        elif is_led:
            table.drop(keys_of(row)[0])
        else:
            table.erase(*keys_of(row))
    return counts


def tombstones_of(event: ErasureBegun | VisitsErased, topic: str) -> Iterator[Tombstone]:
    """Yield a tombstone on *topic* for each erased URL of *event*."""
    at = event.erasure.requested_at
    for url in event.urls:
        yield Tombstone(
            event.crawl,
            url,
            event.site,
            reason=Gone.ERASED,
            at=at,
            trace=fingerprint(url),
            topic=topic,
        )
