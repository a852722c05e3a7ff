"""What a crawl leaves out by its scope or depth, kept for a wider definition of it; and what the
blacklist forbids, until a rule is lifted.

Nothing that was read is fetched again only because the crawl has become wider: links that led out
of it are set aside when their page is judged, and URLs that were admitted when they are refused. A
new definition, or a rule less, has all of them judged once, a segment at a time; what fits goes to
the URL-seen test like a fresh link, with the visit that found it. So somebody else may have found
it meanwhile, and a URL that was admitted before passes again: it comes from its first finder.

Segments are appended to, and dropped whole. One is dropped a step after what fits was sent, which
the log then has; what does not fit is appended anew before. After a crash a definition judges from
the beginning, and what was sent before the crash is found to be seen.
"""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from gossamer.blacklist import Blacklist
from gossamer.bounds import left_out, limits
from gossamer.events import CrawlDefined, Discovery, UrlsDiscovered
from gossamer.events.provenance import by_site
from gossamer.store import Row, Table
from services.frontier.partition_rows import PartitionRow

SEGMENT = 50
"""Rows of a segment, which is judged in one step: each may hold a thousand links."""


class AsideRow(Row, frozen=True):
    """Links of one page that the crawl leaves out: a wider definition takes them up."""

    table = "set_aside"
    partition_key, sort_key = "segment", "position"

    segment: str
    position: int
    via: str
    urls: tuple[Discovery, ...]


class Aside:
    """What one partition has set aside: links of its pages, and URLs of its hosts."""

    def __init__(self, partition: PartitionRow, rows: Table[AsideRow]) -> None:
        self._rows, self._partition = rows, partition.partition
        self._segment, self._size = partition.aside_segment, partition.aside_size
        self._judged_by = partition.aside_judged_by
        self._judging, self._next, self._end = "", 0, 0
        """By which limits all is being judged now, from which segment on, and before which."""
        self._emptied: int | None = None
        """The segment whose links were sent in the last step."""

    def written(self, partition: PartitionRow) -> PartitionRow:
        """Return *partition* with what must be known after a crash."""
        return replace(
            partition,
            aside_segment=self._segment,
            aside_size=self._size,
            aside_judged_by=self._judged_by,
        )

    def add(self, via: str, urls: Iterable[Discovery]) -> None:
        """Set *urls* aside, which the visit *via* discovered."""
        if found := tuple(urls):
            if self._size >= SEGMENT:
                self._begin_segment()
            key = self._key(self._segment)
            self._rows.put(AsideRow(key, self._size, via, found))
            self._size += 1

    def is_behind(self, crawl: CrawlDefined, blacklist: Blacklist) -> bool:
        """Whether *crawl* and *blacklist* have not judged all of it yet."""
        return self._judged_by != limits(crawl, blacklist)

    def judge(
        self, crawl: CrawlDefined, blacklist: Blacklist, now: float
    ) -> Iterator[UrlsDiscovered]:
        """Judge one more segment by *crawl* and *blacklist*; yield what they do not leave out."""
        if self._judging != (wanted := limits(crawl, blacklist)):
            self._judging, self._next, self._end = wanted, 0, self._segment + 1
        if self._emptied is not None:
            self._rows.drop(self._key(self._emptied))
            self._emptied = None
        if self._next < self._end and (self._segment or self._size):
            yield from self._judge_segment(crawl, blacklist, now)
            self._next += 1
        else:
            self._judged_by = self._judging

    def _judge_segment(
        self, crawl: CrawlDefined, blacklist: Blacklist, now: float
    ) -> Iterator[UrlsDiscovered]:
        rows = self._rows.scan(self._key(self._next))
        judged = [(row, *split(row.urls, crawl, blacklist)) for row in rows]
        if not any(wanted for _, wanted, _ in judged):
            return
        self._emptied = self._next
        if self._next == self._segment:
            self._begin_segment()
        for row, wanted, others in judged:
            self.add(row.via, others)
            yield from by_site(wanted, row.via, crawl.crawl, now)

    def _begin_segment(self) -> None:
        self._segment, self._size = self._segment + 1, 0

    def _key(self, segment: int) -> str:
        return f"{self._partition}/{segment}"


def split(
    urls: Iterable[Discovery], crawl: CrawlDefined, blacklist: Blacklist
) -> tuple[list[Discovery], list[Discovery]]:
    """Return those of *urls* that *crawl* visits, and those that it or *blacklist* leaves out."""
    wanted: list[Discovery] = []
    others: list[Discovery] = []
    for found in urls:
        left = left_out(crawl, blacklist, found)
        (others if left else wanted).append(found)
    return wanted, others
