"""A search for words in the pages of a folder.

The index is a file of SQLite's FTS5 beside the crawl. Each search first reads what `pages` has got
since the search before, so that nobody has to build the index or keep it up to date. A run in which
data is erased removes the file, because FTS5 leaves traces of deleted texts.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from msgspec import Struct

from gossamer.errors import GossamerError
from gossamer.events import Page
from gossamer.events.topics import PAGES, topic_of_pages
from gossamer.inspection.basics.folder import Folder
from gossamer.inspection.crawls.crawl import NotFound, OpenCrawl
from gossamer.inspection.crawls.url_forms import crawl_form
from gossamer.log import Record
from gossamer.log.codec import decode, split_key

FORMAT = 1
"""The version of SCHEMA. An index of another version is built again."""
SCHEMA = """
CREATE TABLE positions (
    topic TEXT, partition INTEGER, next INTEGER, PRIMARY KEY (topic, partition)
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


def search_pages(crawl: OpenCrawl, folder: Folder, words: str, limit: int) -> list[Hit]:
    """Return the best pages of *crawl* with all *words*, or else with some of them."""
    terms = [f'"{word}"' for word in _word.findall(words)]
    if not terms:
        return []
    with _open_index(crawl, folder) as index:
        for query in (" ".join(terms), " OR ".join(terms)):
            if rows := index.execute(SEARCH, (query, crawl.id, limit)).fetchall():
                return [Hit(*row) for row in rows]
    return []


def read_page(crawl: OpenCrawl, folder: Folder, text: str) -> Page:
    """Return the newest version of the page at the URL *text*. Raise NotFound without one."""
    url = crawl_form(crawl, text).url
    with _open_index(crawl, folder) as index:
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
def _open_index(crawl: OpenCrawl, folder: Folder) -> Iterator[sqlite3.Connection]:
    """Open the index of *folder*, with all pages that *crawl* has now."""
    definition = crawl.definition()
    topic = topic_of_pages(definition) if definition else PAGES.name
    try:
        with closing(sqlite3.connect(folder.search, BUSY_TIMEOUT, isolation_level=None)) as index:
            index.execute("BEGIN IMMEDIATE")
            try:
                _update(index, crawl, topic)
            except BaseException:
                index.execute("ROLLBACK")
                raise
            index.execute("COMMIT")
            yield index
    except sqlite3.Error as error:
        raise GossamerError(
            f"the index {folder.search} cannot be used ({error}): remove it, and it is built again"
        ) from error


def _update(index: sqlite3.Connection, crawl: OpenCrawl, topic: str) -> None:
    (version,) = index.execute("PRAGMA user_version").fetchone()
    if version != FORMAT:
        _reset(index)
    starts = dict(
        index.execute("SELECT partition, next FROM positions WHERE topic = ?", (topic,)).fetchall()
    )
    offsets = crawl.log.offsets(topic)
    if any(next_at > offsets.get(number, range(0)).stop for number, next_at in starts.items()):
        # An older database was restored, so that offsets mean other records now.
        _reset(index)
        starts = {}
    starts = {number: starts.get(number, 0) for number in offsets}
    if all(offsets[number].stop <= starts[number] for number in offsets):
        return
    with closing(crawl.log.tail([topic], starts)) as tail:
        while records := tail.poll(0.0):
            for record in records:
                _replace(index, record)
                starts[record.partition] = record.offset + 1
    rows = [(topic, number, next_at) for number, next_at in starts.items()]
    index.executemany("INSERT OR REPLACE INTO positions VALUES (?, ?, ?)", rows)


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
