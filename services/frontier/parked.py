"""Parked URLs: what the crawl leaves out is kept in the store until a wider crawl takes it up.

Links that lead out of the crawl are parked when their page is judged, and URLs that were admitted
when they are refused. No page is fetched again only because the crawl has become wider.

URLs are parked by the limit that leaves them out: the depth, the scope, or a rule of the blacklist.
When a limit changes, its URLs alone are judged again, a segment at a time. URLs that fit go to the
URL-seen test like fresh links, with the visit that found them: another page may have led to one
meanwhile, and a URL that was admitted before passes again, since it comes from its first finder.
URLs that another limit leaves out are parked by that one.

Segments are appended to, and dropped whole. One is dropped a step after its URLs were sent, which
the log then has; URLs that do not fit are appended anew before. After a crash a limit is judged
from the beginning, and the URL-seen test drops what was sent before.
"""

from collections.abc import Iterable, Iterator

from gossamer.blacklist import Blacklist
from gossamer.bounds import left_out, limit_state, limits
from gossamer.events import CrawlDefined, Discovery, UrlsDiscovered
from gossamer.events.hazards import Hazard
from gossamer.events.provenance import by_site
from gossamer.store import Row, Store

SEGMENT = 50
"""Rows of a segment, which is judged in one step: each may hold a thousand links."""


class ParkedRow(Row, frozen=True):
    """Links of one page that one limit leaves out."""

    table = "parked"
    partition_key, sort_key = ("crawl", "segment"), "position"

    crawl: str
    segment: str
    position: int
    via: str
    urls: tuple[Discovery, ...]


class ParkedLimitRow(Row, frozen=True):
    """Where the URLs of one partition end that one limit leaves out."""

    table = "parked_limits"
    partition_key, sort_key = ("crawl", "partition"), "name"

    crawl: str
    partition: str
    name: str
    """`trap_depth`, `out_of_scope`, or a rule of the blacklist."""
    head: int = 0
    """The first segment that may have URLs …"""
    segment: int = 0
    """… the one to which URLs are appended …"""
    size: int = 0
    """… and how many rows that has."""
    judged_by: str | None = None
    """The state of the limit by which all of its URLs were last judged; None: some were not."""


def limit_name(rule: Hazard, url: str, blacklist: Blacklist) -> str:
    """Return the name of the limit that leaves *url* out, which was refused by *rule*."""
    return blacklist.of_url(url) if rule is Hazard.BLACKLISTED else str(rule)


class _Limit:
    """The URLs that one limit leaves out."""

    def __init__(self, row: ParkedLimitRow) -> None:
        self.crawl, self.partition, self.name = row.crawl, row.partition, row.name
        self.judged_by = row.judged_by
        self.head, self.segment, self.size = row.head, row.segment, row.size
        self.judging: str | None = None
        """The state by which all is being judged now, from segment *next* on, before *end*."""
        self.next = self.end = 0
        self.emptied: int | None = None
        """The segment whose links were sent in the last step."""

    @property
    def row(self) -> ParkedLimitRow:
        ends = self.head, self.segment, self.size
        return ParkedLimitRow(self.crawl, self.partition, self.name, *ends, self.judged_by)

    def key(self, segment: int) -> tuple[str, str]:
        return self.crawl, f"{self.partition}/{self.name}/{segment}"


class Parked:
    """The URLs of one *crawl* that one partition has parked."""

    def __init__(self, crawl: str, partition: str, store: Store) -> None:
        self._crawl, self._partition = crawl, partition
        self._rows = store.table(ParkedRow)
        self._limit_rows = store.table(ParkedLimitRow)
        self._limits = dict[str, _Limit]()
        self._written = dict[str, ParkedLimitRow]()
        after: str | None = None
        while rows := self._limit_rows.scan((crawl, partition), after):
            after = rows[-1].name
            self._limits |= {row.name: _Limit(row) for row in rows}
        self._judged_by = ""
        """The limits of crawl and blacklist by which all URLs are known to be judged."""

    def add(self, via: str, urls: Iterable[Discovery], limit: str, state: str | None) -> None:
        """Park *urls*, which the visit *via* discovered, and *limit* leaves out in its *state*.

        None: which state that was is not known, so that the URLs are judged again.
        """
        if not (found := tuple(urls)):
            return
        known = self._limits.get(limit)
        if known is None:
            row = ParkedLimitRow(self._crawl, self._partition, limit, judged_by=state)
            known = self._limits[limit] = _Limit(row)
            self._judged_by = ""
        elif state is None:
            known.judged_by, self._judged_by = None, ""
        if known.size >= SEGMENT:
            _begin_segment(known)
        self._rows.put(ParkedRow(*known.key(known.segment), known.size, via, found))
        known.size += 1

    def is_behind(self, crawl: CrawlDefined, blacklist: Blacklist) -> bool:
        """Return whether *crawl* and *blacklist* have not judged all URLs yet."""
        wanted = limits(crawl, blacklist)
        if self._judged_by != wanted and self._first_behind(crawl, blacklist) is None:
            self._judged_by = wanted
        return self._judged_by != wanted

    def _first_behind(self, crawl: CrawlDefined, blacklist: Blacklist) -> _Limit | None:
        for limit in self._limits.values():
            if limit.judged_by != limit_state(limit.name, crawl, blacklist):
                return limit
        return None

    def judge(
        self, crawl: CrawlDefined, blacklist: Blacklist, now: float
    ) -> Iterator[UrlsDiscovered]:
        """Judge one more segment by *crawl* and *blacklist*; yield the URLs that fit now."""
        limit = self._first_behind(crawl, blacklist)
        if limit is None:
            return
        if limit.judging != (wanted := limit_state(limit.name, crawl, blacklist)):
            limit.judging, limit.next, limit.end = wanted, limit.head, limit.segment + 1
        if limit.emptied is not None:
            self._rows.drop(limit.key(limit.emptied))
            limit.head += limit.emptied == limit.head
            limit.emptied = None
        if limit.next < limit.end:
            yield from self._judge_segment(limit, crawl, blacklist, now)
            limit.next += 1
        else:
            limit.judged_by, limit.judging = wanted, None

    def _judge_segment(
        self, limit: _Limit, crawl: CrawlDefined, blacklist: Blacklist, now: float
    ) -> Iterator[UrlsDiscovered]:
        rows = self._rows.scan(limit.key(limit.next))
        judged = [(row, *split(row.urls, crawl, blacklist)) for row in rows]
        if all([*others] == [limit.name] and not wanted for _, wanted, others in judged):
            return
        limit.emptied = limit.next
        if limit.next == limit.segment:
            _begin_segment(limit)
        for row, wanted, others in judged:
            for name, urls in others.items():
                self.add(row.via, urls, name, limit_state(name, crawl, blacklist))
            yield from by_site(wanted, row.via, crawl.crawl, now)

    def write(self) -> None:
        """Put the limits that have changed into the store."""
        for name, limit in self._limits.items():
            if (row := limit.row) != self._written.get(name):
                self._written[name] = row
                self._limit_rows.put(row)


def _begin_segment(limit: _Limit) -> None:
    limit.segment, limit.size = limit.segment + 1, 0


def split(
    urls: Iterable[Discovery], crawl: CrawlDefined, blacklist: Blacklist
) -> tuple[list[Discovery], dict[str, list[Discovery]]]:
    """Return the *urls* that *crawl* visits, and the others by the limit that leaves them out."""
    wanted, others = list[Discovery](), dict[str, list[Discovery]]()
    for found in urls:
        if left := left_out(crawl, blacklist, found):
            name = limit_name(left.rule, found.url, blacklist)
            others.setdefault(name, []).append(found)
        else:
            wanted.append(found)
    return wanted, others
