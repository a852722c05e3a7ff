"""A search for words in the pages of a folder or a fleet.

The index is a file of SQLite's FTS5: beside the crawl in a folder, and anywhere for a fleet. Each
search first reads what `pages` has got since the search before, so that nobody has to build the
index or keep it up to date. The file has the offsets that were read, so a fleet needs no consumer
group for it. A folder's run in which data is erased removes the file, because FTS5 leaves traces of
deleted texts.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from gossamer import clock
from gossamer.errors import GossamerError
from gossamer.events import Page
from gossamer.events.topics import PAGES, topic_named, topic_of_pages
from gossamer.inspection.crawls.crawl import NotFound, OpenCrawl
from gossamer.inspection.crawls.url_forms import crawl_form
from gossamer.log import Record
from gossamer.log.codec import decode, split_key

FORMAT = 2
"""The version of SCHEMA. An index of another version is built again."""
SCHEMA = """
CREATE TABLE positions (
    topic TEXT, partition INTEGER, next INTEGER, read_at REAL, PRIMARY KEY (topic, partition)
);
CREATE TABLE pages (
    id INTEGER PRIMARY KEY, key TEXT UNIQUE, topic TEXT, partition INTEGER, offset INTEGER
);
CREATE VIRTUAL TABLE words USING fts5(
    title, text, url UNINDEXED, crawl UNINDEXED, tokenize = 'unicode61 remove_diacritics 2'
);
"""
SEARCH = """
SELECT url, title, snippet(words, 1, '', '', ' … ', 40) FROM words
WHERE words MATCH ? AND crawl = ? ORDER BY bm25(words, 4.0, 1.0) LIMIT ?
"""
BUSY_TIMEOUT = 60.0
_word = re.compile(r"\w+")


class Hit(Struct, frozen=True):
    """A page with the words of a search."""

    url: str
    title: str
    passage: str
    """The part of the text with the words."""


def search_pages(crawl: OpenCrawl, file: Path, words: str, limit: int) -> list[Hit]:
    """Return the best pages of *crawl* with all *words*, or else with some of them, by the index in
    *file*."""
    terms = [f'"{word}"' for word in _word.findall(words)]
    if not terms:
        return []
    with _open_index(crawl, file) as index:
        for query in (" ".join(terms), " OR ".join(terms)):
            if rows := index.execute(SEARCH, (query, crawl.id, limit)).fetchall():
                return [Hit(*row) for row in rows]
    return []


def read_page(crawl: OpenCrawl, file: Path, text: str) -> Page:
    """Return the newest version of the page at the URL *text*. Raise NotFound without one."""
    url = crawl_form(crawl, text).url
    with _open_index(crawl, file) as index:
        at = index.execute(
            "SELECT topic, partition, offset FROM pages WHERE key = ?", (f"{crawl.id}/{url}",)
        ).fetchone()
    if at:
        topic, partition, offset = at
        with closing(crawl.log.tail([topic], {partition: offset})) as tail:
            record = next(iter(tail.poll(0.0)), None)
        page = decode(record) if record and record.value else None
        if isinstance(page, Page) and page.url == url:
            return page
    raise NotFound(f"{url} is not among the pages: the tool why explains it")


@contextmanager
def _open_index(crawl: OpenCrawl, file: Path) -> Iterator[sqlite3.Connection]:
    """Open the index in *file*, with all pages that *crawl* has now."""
    definition = crawl.definition()
    topic = topic_of_pages(definition) if definition else PAGES.name
    try:
        with closing(sqlite3.connect(file, BUSY_TIMEOUT, isolation_level=None)) as index:
            _update(index, crawl, topic)
            yield index
    except sqlite3.Error as error:
        raise GossamerError(
            f"the index {file} cannot be used ({error}): remove it, and it is built again"
        ) from error


def _update(index: sqlite3.Connection, crawl: OpenCrawl, topic: str) -> None:
    """Read *topic* from where the last search ended to its present end.

    The pages of each poll are committed, so an interrupted search is continued by the next one. If
    several programs update one index, records are indexed twice, which changes nothing.
    """
    with _transaction(index):
        offsets = crawl.log.offsets(topic)
        starts = _read_starts(index, crawl, topic, offsets)
    unread = {number for number, at in starts.items() if at < offsets[number].stop}
    if unread:
        with closing(
            crawl.log.tail([topic], {number: starts[number] for number in unread})
        ) as tail:
            while unread and (records := tail.poll(0.0)):
                with _transaction(index):
                    for record in records:
                        _replace(index, record)
                        starts[record.partition] = record.offset + 1
                    _set_starts(index, topic, {number: starts[number] for number in unread})
                unread = {number for number in unread if starts[number] < offsets[number].stop}
    with _transaction(index):
        _set_starts(index, topic, starts)


def _read_starts(
    index: sqlite3.Connection, crawl: OpenCrawl, topic: str, offsets: Mapping[int, range]
) -> dict[int, int]:
    """Return partition → the next offset to read. An index that cannot be continued is emptied."""
    (version,) = index.execute("PRAGMA user_version").fetchone()
    if version != FORMAT:
        _reset(index)
    rows = index.execute(
        "SELECT partition, next, read_at FROM positions WHERE topic = ?", (topic,)
    ).fetchall()
    oldest = clock.now() - topic_named(topic).tombstone_retention if crawl.fleet else 0.0
    for number, start, read_at in rows:
        stop = offsets.get(number, range(0)).stop
        # An older database was restored, so that offsets mean other records now, or Kafka may have
        # dropped tombstones.
        if start > stop or (start < stop and read_at < oldest):
            _reset(index)
            rows = []
            break
    known = {number: start for number, start, _ in rows}
    return {number: known.get(number, 0) for number in offsets}


def _set_starts(index: sqlite3.Connection, topic: str, starts: Mapping[int, int]) -> None:
    now = clock.now()
    index.executemany(
        "INSERT OR REPLACE INTO positions VALUES (?, ?, ?, ?)",
        [(topic, number, start, now) for number, start in starts.items()],
    )


@contextmanager
def _transaction(index: sqlite3.Connection) -> Iterator[None]:
    with index:  # It commits, or rolls back after an exception.
        index.execute("BEGIN IMMEDIATE")
        yield


def _reset(index: sqlite3.Connection) -> None:
    for table in ("positions", "pages", "words"):
        index.execute(f"DROP TABLE IF EXISTS {table}")
    for statement in SCHEMA.split(";"):
        index.execute(statement)
    index.execute(f"PRAGMA user_version = {FORMAT}")


def _replace(index: sqlite3.Connection, record: Record) -> None:
    """Replace the page of *record* in the index; remove it if the record is a tombstone."""
    if found := index.execute("SELECT id FROM pages WHERE key = ?", (record.key,)).fetchone():
        index.execute("DELETE FROM pages WHERE id = ?", found)
        index.execute("DELETE FROM words WHERE rowid = ?", found)
    page = None
    with suppress(GossamerError):
        page = decode(record) if record.value else None
    if not isinstance(page, Page):
        return
    row = index.execute(
        "INSERT INTO pages (key, topic, partition, offset) VALUES (?, ?, ?, ?)",
        (record.key, record.topic, record.partition, record.offset),
    )
    crawl, url = split_key(record.key)
    index.execute(
        "INSERT INTO words (rowid, title, text, url, crawl) VALUES (?, ?, ?, ?, ?)",
        (row.lastrowid, page.title, page.text or "", url, crawl),
    )
