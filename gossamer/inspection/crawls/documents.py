"""The documents of a crawl, from the topic with its pages: all of them, or those since a cursor.

A cursor is a name under which the log stores how far the documents were read, as for a consumer
group: a folder keeps it in its data file, a fleet in Kafka.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from hashlib import blake2b

from gossamer.errors import BadSettings
from gossamer.events.topics import PAGES, topic_of_pages
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.log import Record, read_topic
from gossamer.log.codec import crawl_of

DIGEST_BYTES = 12
_cursor_name = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def iterate_records(crawl: OpenCrawl, follow: bool) -> Iterator[Record]:
    """Yield the newest record of each document of *crawl* on the topic with its pages; with
    *follow*, all changes."""
    if crawl.fleet and not follow:
        return _newest(lambda: _poll(crawl, follow=False), with_gone=False)
    return (record for record in _poll(crawl, follow) if record.value or follow)


def _topic_of(crawl: OpenCrawl) -> str:
    definition = crawl.definition()
    return topic_of_pages(definition) if definition else PAGES.name


def _poll(crawl: OpenCrawl, follow: bool) -> Iterator[Record]:
    name = crawl.id
    return (r for r in read_topic(crawl.log, _topic_of(crawl), follow) if crawl_of(r) == name)


def _newest(poll: Callable[[], Iterator[Record]], with_gone: bool) -> Iterator[Record]:
    """Yield the newest record of each URL among those that *poll* yields. *with_gone*: whether
    tombstones are yielded.

    Brokers compact a topic late. So the topic is read twice: first for the offset of the newest
    record of each URL, which fits into memory, unlike the pages.
    """
    newest: dict[bytes, int] = {}
    for record in poll():
        if record.value or with_gone:
            newest[_digest(record.key)] = record.offset
        else:
            newest.pop(_digest(record.key), None)
    for record in poll():
        key = _digest(record.key)
        # A newer record may have been appended since, and the older one compacted.
        if (offset := newest.get(key)) is not None and record.offset >= offset:
            del newest[key]
            if record.value or with_gone:
                yield record


def _digest(key: str) -> bytes:
    return blake2b(key.encode(), digest_size=DIGEST_BYTES).digest()


class Cursor:
    """How far the documents of a crawl were read under a name."""

    def __init__(self, crawl: OpenCrawl, name: str) -> None:
        """Raise BadSettings if *name* is not a name of a cursor."""
        if not _cursor_name.fullmatch(name):
            raise BadSettings(
                f"{name!r} is not the name of a cursor: 1 to 64 of a-z, A-Z, 0-9, _ and -"
            )
        self._crawl, self._topic = crawl, _topic_of(crawl)
        self._group = f"export.{crawl.id}.{name}"
        stored = crawl.log.group_offsets(self._group, [self._topic])
        self.is_new = not stored
        """Whether nothing was read under this name."""
        found = {number: offsets.committed for (_, number), offsets in stored.items()}
        self._starts = {number: found.get(number, 0) for number in range(crawl.log.partitions)}
        self._ends: Mapping[int, int] = {}

    def records(self) -> Iterator[Record]:
        """Yield the newest record of each document that is new, changed or gone since the cursor.

        A new cursor yields no documents that are gone.
        """
        if self._crawl.fleet:
            yield from _newest(self._poll, not self.is_new)
            return
        for record in self._poll():
            if record.value or not self.is_new:
                yield record

    def _poll(self) -> Iterator[Record]:
        # A fleet is read twice. Records that are appended meanwhile are left for the next time:
        # the second reading yields one record of each URL of the first one.
        is_first, ends = not self._ends, dict(self._starts)
        with closing(self._crawl.log.tail([self._topic], self._starts)) as tail:
            while records := tail.poll(0):
                for record in records:
                    ends[record.partition] = record.offset + 1
                    if crawl_of(record) == self._crawl.id:
                        yield record
        if is_first:
            self._ends = ends

    def advance(self) -> None:
        """Store that all records were read. The next `records` begin after them."""
        moved = {(self._topic, number): at for number, at in self._ends.items() if at}
        if moved:
            self._crawl.log.move(self._group, moved)
