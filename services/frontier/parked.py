"""Parked URLs: what the crawl leaves out is kept in the store until a wider crawl takes it up.

Links that lead out of the crawl are parked when their page is judged, and URLs that were admitted
when they are refused. No page is fetched again only because the crawl has become wider.

URLs are parked by the limit that leaves them out: the depth, the scope, or a rule of the blocklist.
When a limit changes, its URLs alone are judged again, a bucket at a time. URLs that fit go to the
URL-seen test like fresh links, with the visit that found them: another page may have led to one
meanwhile, and a URL that was admitted before passes again, since it comes from its first finder.
URLs that another limit leaves out are parked by that one.

A bucket is dropped a step after its URLs were sent, which the log then has; URLs that do not fit
are appended anew before. After a crash a limit is judged from the beginning, and the URL-seen test
drops what was sent before.
"""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from gossamer.blocklist import Blocklist
from gossamer.bounds import exclusion_of, limit_state, limits
from gossamer.events import CrawlDefined, Discovery, UrlsDiscovered
from gossamer.events.hazards import Hazard
from gossamer.events.provenance import group_by_site
from gossamer.log import key_group_of
from gossamer.store import Row, Store
from services.frontier.bucketed_log import BucketedLog, BucketEnds, next_bucket

BUCKET = 50
"""Rows of a bucket, which is judged in one step: each may hold a thousand links."""


class ParkedRow(Row, frozen=True):
    """Links of one page that one limit leaves out."""

    table = "parked"
    partition_key, sort_key = ("crawl", "bucket"), "position"

    crawl: str
    bucket: str
    position: int
    via: str
    urls: tuple[Discovery, ...]


class ParkedLimitRow(Row, frozen=True):
    """The buckets of the URLs in one key group that one limit leaves out."""

    table = "parked_limits"
    partition_key, sort_key = ("crawl", "key_group"), "name"

    crawl: str
    key_group: str
    """Its number. The group is that of the page that the URLs were found on, or of the URL."""
    name: str
    """`trap_depth`, `out_of_scope`, or a rule of the blocklist."""
    ends: BucketEnds = BucketEnds()
    judged_by: str | None = None
    """The state of the limit by which all of its URLs were last judged; None: some were not."""


def limit_name(rule: Hazard, url: str, blocklist: Blocklist) -> str:
    """Return the name of the limit that leaves *url* out, which was refused by *rule*."""
    return blocklist.of_url(url) if rule is Hazard.BLACKLISTED else str(rule)


class _Limit:
    """The URLs that one limit leaves out, and how far they are judged."""

    def __init__(self, row: ParkedLimitRow) -> None:
        self.row, self.name = row, row.name
        self.written: ParkedLimitRow | None = None
        self.judging: str | None = None
        """The state by which all is being judged now, from bucket *next* on, before *end*."""
        self.next = self.end = 0
        self.emptied: int | None = None
        """The bucket whose links were sent in the last step."""


class Parked:
    """The URLs of one *crawl* that one partition has parked, those of key *groups* so far."""

    def __init__(self, crawl: str, groups: Iterable[int], store: Store, most: int = 0) -> None:
        """*most*: rows that a limit keeps in a key group; 0: all."""
        self._crawl, self._most = crawl, most
        self._rows = store.table(ParkedRow)
        self._limit_rows = store.table(ParkedLimitRow)
        self._limits = dict[tuple[str, str], _Limit]()
        """By key group and name."""
        self._groups = {*groups}
        for group in map(str, self._groups):
            after: str | None = None
            while rows := self._limit_rows.scan((crawl, group), after):
                after = rows[-1].name
                self._limits |= {(group, row.name): _Limit(row) for row in rows}
        self._judged_by = ""
        """The limits of crawl and blocklist by which all URLs are known to be judged."""

    @property
    def groups(self) -> tuple[int, ...]:
        """The key groups whose URLs were parked."""
        return tuple(sorted(self._groups))

    def _log(self, limit: _Limit) -> BucketedLog[ParkedRow]:
        return BucketedLog(self._rows, f"{limit.name}/{limit.row.key_group}", self._crawl)

    def add(
        self, site: str, via: str, urls: Iterable[Discovery], limit: str, state: str | None
    ) -> None:
        """Park *urls*, which the visit *via* discovered, and *limit* leaves out in its *state*.

        None: which state that was is not known, so that the URLs are judged again. *site* is of the
        partition.
        """
        self._add(str(key_group_of(site)), via, tuple(urls), limit, state)

    def _add(
        self, group: str, via: str, urls: tuple[Discovery, ...], limit: str, state: str | None
    ) -> None:
        if not urls:
            return
        known = self._limits.get((group, limit))
        if known is None:
            row = ParkedLimitRow(self._crawl, group, limit, judged_by=state)
            known = self._limits[group, limit] = _Limit(row)
            self._groups.add(int(group))
            self._judged_by = ""
        elif state is None:
            known.row, self._judged_by = replace(known.row, judged_by=None), ""
        parked = ParkedRow(self._crawl, "", 0, via, urls)
        _, ends = self._log(known).append(known.row.ends, parked, BUCKET)
        while self._most and ends.head < ends.tail and _rows_in(ends) > self._most:
            self._log(known).drop(ends.head)
            ends = replace(ends, head=ends.head + 1)
        known.row = replace(known.row, ends=ends)

    def is_behind(self, crawl: CrawlDefined, blocklist: Blocklist) -> bool:
        """Return whether *crawl* and *blocklist* have not judged all URLs yet."""
        wanted = limits(crawl, blocklist)
        if self._judged_by != wanted and self._first_behind(crawl, blocklist) is None:
            self._judged_by = wanted
        return self._judged_by != wanted

    def _first_behind(self, crawl: CrawlDefined, blocklist: Blocklist) -> _Limit | None:
        for limit in self._limits.values():
            if limit.row.judged_by != limit_state(limit.name, crawl, blocklist):
                return limit
        return None

    def judge(
        self, crawl: CrawlDefined, blocklist: Blocklist, now: float
    ) -> Iterator[UrlsDiscovered]:
        """Judge one more bucket by *crawl* and *blocklist*; yield the URLs that fit now."""
        limit = self._first_behind(crawl, blocklist)
        if limit is None:
            return
        ends = limit.row.ends
        if limit.judging != (wanted := limit_state(limit.name, crawl, blocklist)):
            limit.judging, limit.next, limit.end = wanted, ends.head, ends.tail + 1
        if limit.emptied is not None:
            self._log(limit).drop(limit.emptied)
            ends = replace(ends, head=ends.head + (limit.emptied == ends.head))
            limit.row = replace(limit.row, ends=ends)
            limit.emptied = None
        if limit.next < limit.end:
            yield from self._judge_bucket(limit, crawl, blocklist, now)
            limit.next += 1
        else:
            limit.row, limit.judging = replace(limit.row, judged_by=wanted), None

    def _judge_bucket(
        self, limit: _Limit, crawl: CrawlDefined, blocklist: Blocklist, now: float
    ) -> Iterator[UrlsDiscovered]:
        rows = self._log(limit).page(limit.next)
        judged = [(row, *split(row.urls, crawl, blocklist)) for row in rows]
        if all([*others] == [limit.name] and not wanted for _, wanted, others in judged):
            return
        limit.emptied = limit.next
        if limit.next == limit.row.ends.tail:
            limit.row = replace(limit.row, ends=next_bucket(limit.row.ends))
        for row, wanted, others in judged:
            for name, urls in others.items():
                state = limit_state(name, crawl, blocklist)
                self._add(limit.row.key_group, row.via, tuple(urls), name, state)
            yield from group_by_site(wanted, row.via, crawl.crawl, now)

    def write(self) -> None:
        """Put the limits that have changed into the store."""
        for limit in self._limits.values():
            if limit.row != limit.written:
                limit.written = limit.row
                self._limit_rows.put(limit.row)


def _rows_in(ends: BucketEnds) -> int:
    """Return the most rows that the buckets from head to tail may have."""
    return (ends.tail - ends.head) * BUCKET + ends.tail_size


def split(
    urls: Iterable[Discovery], crawl: CrawlDefined, blocklist: Blocklist
) -> tuple[list[Discovery], dict[str, list[Discovery]]]:
    """Return the *urls* that *crawl* visits, and the others by the limit that leaves them out."""
    wanted, others = list[Discovery](), dict[str, list[Discovery]]()
    for found in urls:
        if left := exclusion_of(crawl, blocklist, found):
            name = limit_name(left.rule, found.url, blocklist)
            others.setdefault(name, []).append(found)
        else:
            wanted.append(found)
    return wanted, others
