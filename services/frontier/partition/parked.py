"""Parked URLs: URLs that something withholds are stored until it admits them.

**Buckets.** A limit of the crawl, and a part or a budget of a site (`parts.py`), has its URLs in
buckets of its own (`ParkedLog`). They are taken a bucket at a time: the URLs that stay parked are
appended again, and the others are sent or admitted. The bucket is dropped in the next step, when
the log or the rows of the hosts have its URLs. After a crash it is taken again, and its URLs count
as repeated: the frontier queues those that are not visited, planned or queued.

**Limits.** Links out of the crawl are parked when their page gets its verdict, admitted URLs when
they are refused. So no page is fetched again to find its links when the crawl becomes wider. They
are parked under the limit that excludes them: the depth, the scope, a rule of the blocklist, or
their host, if it is a replica (`replicas`). When a limit changes, only its URLs are evaluated
again. URLs that fit go to the URL-seen test like new links, because another page may have led to a
URL in the meantime. They have the visit that discovered them as their finder. So a URL that was
admitted before it was parked passes the test again: it comes from its first finder. URLs that
another limit excludes are parked under that limit. After a crash a limit is evaluated from its
beginning.

**Rules.** Links that the crawl's own rule `follow` refuses are parked, too. Only the parser can ask
the rules, and it needs the page. So when the rules change, the pages that the refused links were
found on are visited again. Their links are then followed or parked again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Self

from msgspec.structs import replace

from gossamer.blocklist import Blocklist
from gossamer.bounds import exclusion_of, limit_state, limits, replica_limit
from gossamer.erasures import is_about
from gossamer.events import CrawlDefined, Discovery, RefetchRequested, UrlsDiscovered
from gossamer.events.hazards import Hazard
from gossamer.events.pages import group_by_site
from gossamer.log import KEY_GROUPS, key_group_of
from gossamer.services.frontier.tables.bucketed_log import BucketedLog, BucketEnds, E, next_bucket
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.services.frontier.worth.budgets import BUDGETS
from gossamer.store import Row, Store, Table
from gossamer.web.url import HostKey, Site, host_key, site_of

BUCKET_ROWS = 50
"""Rows of a bucket, which is evaluated in one step: each row may have a thousand links."""


SITE_RULES = (Hazard.LOW_WORTH, *BUDGETS)
"""The rules whose refused URLs are parked at their site, until the site earns more."""
PARKING_RULES = (
    Hazard.TRAP_DEPTH,
    Hazard.OUT_OF_SCOPE,
    Hazard.BLACKLISTED,
    Hazard.DUPHOST,
    Hazard.SESSION_ID,
    *SITE_RULES,
)
"""The rules whose refused URLs are parked: a wider definition, a shorter blocklist, the end of a
verdict on a replica or on session ids, or new texts of the site admit them again."""


class ParkedRow(Row, frozen=True):
    """Links of one page that one limit excludes."""

    table = "parked"
    partition_key, sort_key = ("crawl", "bucket"), "bucket_index"
    about = ("urls",)

    crawl: str
    bucket: str
    bucket_index: int
    via: str
    urls: tuple[Discovery, ...]

    def without(self, is_erased: Callable[[str], bool]) -> Self:
        """See `Row`. A row without URLs stays, because the rows of a bucket are not erased one by
        one."""
        left = super().without(is_erased) or self
        return left if left.urls or left is self else replace(left, via="")


class ParkedLimitRow(Row, frozen=True):
    """The buckets of the URLs in one key group that one limit excludes."""

    table = "parked_limits"
    partition_key, sort_key = ("crawl", "key_group"), "name"
    about = ()

    crawl: str
    key_group: str
    """The number of the key group of the page that the URLs were found on, or of the URL."""
    name: str
    """`trap_depth`, `out_of_scope`, `not_followed`, `duphost HOST` for a replica, or a rule of
    the blocklist."""
    ends: BucketEnds = BucketEnds()
    evaluated_by: str | None = None
    """The state of the limit at the last evaluation of all URLs; null if some were not evaluated
    since they were parked."""


def limit_name(rule: Hazard, url: str, blocklist: Blocklist) -> str:
    """Return the name of the limit under which *url* is parked, which *rule* refused."""
    if rule in (Hazard.DUPHOST, Hazard.SESSION_ID):
        return replica_limit(host_key(url))
    return blocklist.of_url(url) if rule is Hazard.BLACKLISTED else str(rule)


def find_parked(
    store: Store, crawl: str, url: str, limit: Hazard, max_rows: int
) -> ParkedRow | None:
    """Return the row of *url* alone among the URLs that *crawl* has parked under *limit*; None if
    it is not in the first *max_rows* rows. Rows of the URL's own site are read first."""
    keys = [((crawl, str(group)), str(limit)) for group in range(KEY_GROUPS)]
    rows, own = store.table(ParkedLimitRow).get_all(keys), str(key_group_of(site_of(url)))
    for found in sorted(rows, key=lambda one: one.key_group != own):
        for row in limit_log(store.table(ParkedRow), found).all_rows(found.ends):
            for one in row.urls:
                if one.url == url:
                    return replace(row, urls=(one,))
            if (max_rows := max_rows - 1) <= 0:
                return None
    return None


class ParkedLog(BucketedLog[ParkedRow]):
    """The URLs that one limit, part or budget withholds. Callers store the ends."""

    def __init__(self, rows: Table[ParkedRow], name: str, crawl: str) -> None:
        super().__init__(rows, name, crawl)
        self._taken: tuple[int, int] | None = None
        """The bucket that the last step took, and the number of its URLs."""

    def add(self, ends: E, via: str, urls: tuple[Discovery, ...]) -> E:
        """Append *urls*, which the visit *via* discovered; return the new ends."""
        return self.append(ends, ParkedRow(self._crawl, "", 0, via, urls), BUCKET_ROWS)[1]

    def take(self, ends: E, bucket: int, rows: Iterable[ParkedRow]) -> E:
        """Take a bucket, which has *rows*; return the new ends. Those of its URLs that stay parked
        are appended afterwards, and the next step calls `drop_taken`."""
        self._taken = bucket, sum(len(row.urls) for row in rows)
        return next_bucket(ends) if bucket == ends.tail else ends

    def drop_taken(self, ends: E) -> tuple[E, int]:
        """Drop the bucket that the last step took, if any; return the new ends, and the number of
        URLs in the bucket."""
        if self._taken is None:
            return ends, 0
        (bucket, urls), self._taken = self._taken, None
        self.drop(bucket)
        return replace(ends, head=ends.head + (bucket == ends.head)), urls

    def erase(self, ends: BucketEnds, target: str) -> int:
        """Erase the URLs of *target*, a URL, a host or a site; return how many were parked."""
        is_erased, erased = partial(is_about, target=target), 0
        for number in ends.buckets:
            for row in self.page(number):
                left = row.without(is_erased)
                if left is not row:
                    self._table.put(left)
                if self._taken is None or number != self._taken[0]:
                    erased += len(row.urls) - len(left.urls)
        return erased


def limit_log(rows: Table[ParkedRow], limit: ParkedLimitRow) -> ParkedLog:
    """Return the URLs that *limit* excludes."""
    return ParkedLog(rows, f"{limit.name}/{limit.key_group}", limit.crawl)


def part_log(rows: Table[ParkedRow], crawl: str, site: Site, name: str) -> ParkedLog:
    """Return the URLs of *site* that its part or budget *name* withholds."""
    return ParkedLog(rows, f"{site} {name}", crawl)


class _LimitProgress:
    """The URLs that one limit excludes, and the progress of their evaluation."""

    def __init__(self, row: ParkedLimitRow, rows: Table[ParkedRow]) -> None:
        self.row, self.name = row, row.name
        self.log = limit_log(rows, row)
        self.written: ParkedLimitRow | None = None
        self.evaluating_by: str | None = None
        """The state of the limit by which its URLs are being evaluated; None between evaluations.
        The buckets from `next_bucket` to before `end_bucket` are left."""
        self.next_bucket = self.end_bucket = 0

    @property
    def ends(self) -> BucketEnds:
        """The buckets of the URLs."""
        return self.row.ends

    @ends.setter
    def ends(self, ends: BucketEnds) -> None:
        self.row = replace(self.row, ends=ends)

    def evaluate_again(self) -> None:
        """Evaluate all URLs again, from the first one on."""
        self.row = replace(self.row, evaluated_by=None)


class ParkedUrls:
    """The URLs of one *crawl* that a partition has parked; *groups*: the key groups that may have
    some."""

    def __init__(self, crawl: str, groups: Iterable[int], store: Store, max_rows: int = 0) -> None:
        """*max_rows*: rows of one limit in a key group; 0 for all."""
        self._crawl, self._max_rows = crawl, max_rows
        self._rows, self._urls = store.table(ParkedRow), store.table(UrlRow)
        self._limit_rows = store.table(ParkedLimitRow)
        self._limits = dict[tuple[str, str], _LimitProgress]()
        """(key group, name) → limit."""
        self._groups = {*groups}
        for group in map(str, self._groups):
            after: str | None = None
            while rows := self._limit_rows.scan((crawl, group), after):
                after = rows[-1].name
                self._limits |= {(group, row.name): _LimitProgress(row, self._rows) for row in rows}
        self._evaluated_by: str | None = None
        """The limits of the crawl and the blocklist at the last complete evaluation; None if
        it is outdated."""

    @property
    def groups(self) -> tuple[int, ...]:
        """The key groups with parked URLs."""
        return tuple(sorted(self._groups))

    def add(
        self, site: Site, via: str, urls: Iterable[Discovery], limit: str, state: str | None
    ) -> None:
        """Park *urls*, which the visit *via* discovered and *limit* excludes in its *state*.

        Without a *state* all URLs of *limit* are evaluated again. *site* is the site of the page
        that the URLs were found on, or of the URL; it decides the key group.
        """
        self._add(str(key_group_of(site)), via, tuple(urls), limit, state)

    def _add(
        self, group: str, via: str, urls: tuple[Discovery, ...], limit: str, state: str | None
    ) -> None:
        if not urls:
            return
        progress = self._limits.get((group, limit))
        if progress is None:
            row = ParkedLimitRow(self._crawl, group, limit, evaluated_by=state)
            progress = self._limits[group, limit] = _LimitProgress(row, self._rows)
            self._groups.add(int(group))
            self._evaluated_by = None
        elif state is None:
            progress.evaluate_again()
            self._evaluated_by = None
        ends = progress.log.add(progress.ends, via, urls)
        while self._max_rows and ends.head < ends.tail and _count_rows(ends) > self._max_rows:
            progress.log.drop(ends.head)
            ends = replace(ends, head=ends.head + 1)
        progress.ends = ends

    def reevaluate(self, site: Site, limit: str) -> None:
        """Evaluate the parked URLs of *site* that *limit* excluded, which no longer applies."""
        if progress := self._limits.get((str(key_group_of(site)), limit)):
            progress.evaluate_again()
            self._evaluated_by = None

    def must_evaluate(self, crawl: CrawlDefined, blocklist: Blocklist) -> bool:
        """Return whether some URLs were not yet evaluated by *crawl* and *blocklist*."""
        current = limits(crawl, blocklist)
        if self._evaluated_by != current and self._first_outdated(crawl, blocklist) is None:
            self._evaluated_by = current
        return self._evaluated_by != current

    def _first_outdated(self, crawl: CrawlDefined, blocklist: Blocklist) -> _LimitProgress | None:
        for limit in self._limits.values():
            if limit.row.evaluated_by != limit_state(limit.name, crawl, blocklist):
                return limit
        return None

    def evaluate(
        self, crawl: CrawlDefined, blocklist: Blocklist, now: float
    ) -> Iterator[UrlsDiscovered | RefetchRequested]:
        """Evaluate one more bucket by *crawl* and *blocklist*; yield the URLs that fit now, or the
        pages whose links changed rules have to judge."""
        limit = self._first_outdated(crawl, blocklist)
        if limit is None:
            return
        limit.ends, _ = limit.log.drop_taken(limit.ends)
        if limit.evaluating_by != (state := limit_state(limit.name, crawl, blocklist)):
            limit.evaluating_by = state
            limit.next_bucket, limit.end_bucket = limit.ends.head, limit.ends.tail + 1
        if limit.next_bucket >= limit.end_bucket:
            limit.row, limit.evaluating_by = replace(limit.row, evaluated_by=state), None
            return
        rows = limit.log.page(limit.next_bucket)
        if limit.name == Hazard.NOT_FOLLOWED and crawl.rules:
            limit.ends = limit.log.take(limit.ends, limit.next_bucket, rows)
            yield from _pages_to_judge(crawl.crawl, rows, now)
        else:
            yield from self._evaluate_bucket(limit, rows, crawl, blocklist, now)
        limit.next_bucket += 1

    def _evaluate_bucket(
        self,
        limit: _LimitProgress,
        rows: Sequence[ParkedRow],
        crawl: CrawlDefined,
        blocklist: Blocklist,
        now: float,
    ) -> Iterator[UrlsDiscovered]:
        evaluated = [(row, *split_by_limit(row.urls, crawl, blocklist)) for row in rows]
        if all([*excluded] == [limit.name] and not fitting for _, fitting, excluded in evaluated):
            return
        limit.ends = limit.log.take(limit.ends, limit.next_bucket, rows)
        for row, fitting, excluded in evaluated:
            for name, urls in excluded.items():
                state = limit_state(name, crawl, blocklist)
                self._add(limit.row.key_group, row.via, tuple(urls), name, state)
            yield from group_by_site(fitting, row.via, crawl.crawl, now)
        moved = (
            urls
            for _, _, excluded in evaluated
            for name, urls in excluded.items()
            if name != limit.name
        )
        self._update_rows([urls[0] for urls in moved if len(urls) == 1], crawl, blocklist, now)

    def _update_rows(
        self, moved: Iterable[Discovery], crawl: CrawlDefined, blocklist: Blocklist, now: float
    ) -> None:
        """Change the rows of those of *moved* that were admitted before, to name the rule of the
        limit that excludes them now.

        An admitted URL is parked alone. Links that were parked with others of their page have no
        rows.
        """
        by_url = {found.url: found for found in moved}
        keys = [((self._crawl, host_key(url)), url) for url in by_url]
        for row in self._urls.get_all(keys):
            exclusion = exclusion_of(crawl, blocklist, by_url[row.url])
            if exclusion and row.outcome in PARKING_RULES:
                rule, reason = exclusion
                self._urls.put(replace(row, outcome=rule, reason=reason, at=now))

    def iter_urls(self) -> Iterator[list[str]]:
        """Yield all parked URLs, those of a bucket at a time."""
        for limit in self._limits.values():
            for bucket in limit.ends.buckets:
                yield [found.url for row in limit.log.page(bucket) for found in row.urls]

    def drop_buckets(self) -> None:
        """Drop all parked URLs. The rows of the limits stay until `drop_limits`."""
        for limit in self._limits.values():
            limit.log.drop_all(limit.ends)

    def drop_limits(self) -> None:
        """Drop the rows of all limits."""
        for group in self._groups:
            self._limit_rows.drop((self._crawl, str(group)))

    def write(self) -> None:
        """Put the limits that have changed into the store."""
        for limit in self._limits.values():
            if limit.row != limit.written:
                limit.written = limit.row
                self._limit_rows.put(limit.row)


def _pages_to_judge(
    crawl: str, rows: Iterable[ParkedRow], now: float
) -> Iterator[RefetchRequested]:
    """Yield the requests to visit the pages again on which the links in *rows* were found."""
    by_host = dict[HostKey, dict[str, None]]()
    for row in rows:
        page = row.via.partition("@")[2]
        if row.urls and page:
            by_host.setdefault(host_key(page), {})[page] = None
    for host, pages in by_host.items():
        urls = tuple(pages)
        yield RefetchRequested(
            crawl=crawl, at=now, site=site_of(urls[0]), host=host, urls=urls, whole=True
        )


def _count_rows(ends: BucketEnds) -> int:
    """Return the largest number of rows that the buckets of *ends* may have."""
    return (ends.tail - ends.head) * BUCKET_ROWS + ends.tail_size


def split_by_limit(
    urls: Iterable[Discovery], crawl: CrawlDefined, blocklist: Blocklist
) -> tuple[list[Discovery], dict[str, list[Discovery]]]:
    """Return the *urls* that *crawl* visits, and the excluded URLs by the limit that excludes
    them."""
    fitting, excluded = list[Discovery](), dict[str, list[Discovery]]()
    for found in urls:
        if exclusion := exclusion_of(crawl, blocklist, found):
            name = limit_name(exclusion.rule, found.url, blocklist)
            excluded.setdefault(name, []).append(found)
        else:
            fitting.append(found)
    return fitting, excluded
