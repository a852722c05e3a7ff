"""An index of all hosts and sites for search and sorting, in a temporary SQLite file of the reader.

The store has hosts by their site. To sort a million of them reads the whole table, 13 µs for each
row. So a process of its own fills a file from one scan (`fill_index`), which replaces the file of
the scan before. Searches read the file within milliseconds. The shown hosts are then read from the
store (`read_some_hosts`), so only their order is as old as the scan.

A page continues after the sort value and the name of its last host. Between two scans, a host whose
value changes may therefore appear twice or be missed; all others appear once.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from gossamer import clock
from gossamer.errors import BadSettings, Unavailable
from gossamer.inspection.crawls.crawl import open_crawl
from gossamer.inspection.hosts.hosts import (
    ALL_SITES,
    Host,
    HostQuery,
    HostSort,
    SiteQuery,
    SiteSort,
    SiteSums,
    host_of,
    host_reader,
    iterate_sites,
    sums_of_site,
)
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.sites import SiteRow
from gossamer.web.url import HostKey, Site

if TYPE_CHECKING:
    from gossamer.settings import Settings

T = TypeVar("T")
Other = TypeVar("Other")
MAX_COUNT = 100_000
"""Hosts that are counted for a search; if there are more, the total is a lower bound."""
MAX_MATCHES = 20_000
"""Hosts that the index of names is used for. If more match, the sorted list is searched instead,
where the next match is never far."""
MAX_ID = (1 << 63) - 1
MAX_VALUE = 1e18
"""No sort value is as large."""
MIN_TRIGRAM = 3
"""Characters of a search that the index of names can answer."""


class IndexPage(Struct, Generic[T], frozen=True, kw_only=True):
    """Some hosts or sites of a sorted list."""

    items: tuple[T, ...]
    """As they are now, except for the sums of a site's hosts."""
    next: str | None
    """The cursor of the next page; null after the last item."""
    total: int
    """Items in the whole list."""
    is_total_least: bool = False
    """Whether the list has more than `total` items."""
    as_of: float | None = None
    """When the order and the sums were read, in epoch seconds; null for now."""

    def with_items(self, items: Iterable[Other]) -> "IndexPage[Other]":
        """Return this page of the list with other *items*."""
        return IndexPage(**{**asdict(self), "items": tuple(items)})


_COLUMNS = ", ".join((*HostSort, "site", "condition", "cause"))
_SUMS = ", ".join(SiteSort)
_STAGED = f"""
CREATE TEMP TABLE staged ({_COLUMNS}, crawls);
CREATE TEMP TABLE staged_sites (site, refused_urls, crawls);
"""
_INSERT = f"INSERT INTO staged VALUES ({', '.join('?' * (len(_COLUMNS.split(',')) + 1))})"
_INSERT_SITE = "INSERT INTO staged_sites VALUES (?, ?, ?)"
_INDEXES = "".join(
    f"CREATE INDEX {table}_by_{name} ON {table} ({name}, id);"
    for table, sort in (("hosts", HostSort), ("sites", SiteSort))
    for name in sort
    if name not in ("host", "site")
)
_BUILD = f"""
CREATE TABLE hosts (id INTEGER PRIMARY KEY, {_COLUMNS.replace("host,", "host TEXT UNIQUE,", 1)});
INSERT INTO hosts ({_COLUMNS}) SELECT {_COLUMNS} FROM staged ORDER BY host;
CREATE INDEX by_condition ON hosts (condition);
CREATE INDEX by_cause ON hosts (cause) WHERE cause IS NOT NULL;
CREATE INDEX by_site ON hosts (site);
CREATE TABLE hosts_crawls (crawl TEXT, id INTEGER, PRIMARY KEY (crawl, id)) WITHOUT ROWID;
INSERT INTO hosts_crawls SELECT one.value, hosts.id
    FROM staged CROSS JOIN hosts USING (host), json_each(staged.crawls) one;
CREATE VIRTUAL TABLE hosts_names USING fts5(
    host, content='hosts', content_rowid='id', tokenize='trigram'
);
INSERT INTO hosts_names (hosts_names) VALUES ('rebuild');
CREATE TABLE sites (id INTEGER PRIMARY KEY, {_SUMS.replace("site,", "site TEXT UNIQUE,", 1)});
INSERT INTO sites ({_SUMS})
    SELECT site, sum(hosts), sum(queued), sum(visits), sum(pages), sum(received),
        sum(backing_off), sum(refused_urls)
    FROM (
        SELECT site, 1 hosts, queued, visits, pages, received,
            condition = '{Condition.BACKING_OFF}' backing_off, 0 refused_urls FROM hosts
        UNION ALL SELECT site, 0, 0, 0, 0, 0, 0, refused_urls FROM staged_sites
    ) GROUP BY site ORDER BY site;
{_INDEXES}
CREATE TABLE sites_crawls (crawl TEXT, id INTEGER, PRIMARY KEY (crawl, id)) WITHOUT ROWID;
INSERT INTO sites_crawls SELECT one.value, sites.id
    FROM staged CROSS JOIN sites USING (site), json_each(staged.crawls) one WHERE true
    ON CONFLICT DO NOTHING;
INSERT INTO sites_crawls SELECT one.value, sites.id
    FROM staged_sites CROSS JOIN sites USING (site), json_each(staged_sites.crawls) one WHERE true
    ON CONFLICT DO NOTHING;
CREATE VIRTUAL TABLE sites_names USING fts5(
    site, content='sites', content_rowid='id', tokenize='trigram'
);
INSERT INTO sites_names (sites_names) VALUES ('rebuild');
DROP TABLE staged;
DROP TABLE staged_sites;
CREATE TABLE about (as_of, took);
ANALYZE;
"""


def fill_index(path: Path, data: Path | None, settings: "Settings | None") -> None:
    """Write the index of the folder *data*, or else of the fleet of *settings*, to *path*.

    Call it in a process of its own: the scan of a million hosts takes half a minute of CPU.
    """
    with open_crawl(settings, data) as crawl:
        store, began = crawl.store(), clock.now()
        show = host_reader(crawl, store)
        write_index(path, store.table(HostRow).everything(), began, iterate_sites(crawl), show)


def write_index(
    path: Path,
    rows: Iterable[HostRow],
    began: float,
    sites: Iterable[SiteRow] = (),
    show: Callable[[HostRow], Host] = host_of,
) -> None:
    """Write the index of hosts and *sites*, of a scan that *began* at this time, in place of the
    file *path*. *show*: returns the data of a host.

    Readers of the file before keep it until their next search.
    """
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    with closing(sqlite3.connect(fresh, isolation_level=None)) as db:
        # The file is temporary: after a crash it is made again.
        db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")
        db.executescript(_STAGED)
        db.execute("BEGIN")
        db.executemany(_INSERT, (_values(show(row), row.crawls) for row in rows))
        db.executemany(_INSERT_SITE, map(_site_values, sites))
        db.execute("COMMIT")
        db.executescript(_BUILD)
        db.execute("INSERT INTO about VALUES (?, ?)", (began, clock.now() - began))
    fresh.replace(path)


def _values(host: Host, crawls: Iterable[str]) -> tuple[Any, ...]:
    cause = host.backoff_cause if host.condition is Condition.BACKING_OFF else None
    sorted_by = (getattr(host, name) for name in HostSort)
    return (*sorted_by, host.site, str(host.condition), cause, json.dumps([*crawls]))


def _site_values(row: SiteRow) -> tuple[Any, ...]:
    return row.site, sums_of_site(row).refused_urls, json.dumps([*row.crawls])


class _List(NamedTuple):
    """A list that is searched: a table, the column of its names, and the order."""

    table: str
    name: str
    sort: str
    is_ascending: bool

    @property
    def matching_ids(self) -> str:
        """SQL for the ids of items with a matching name: at most one more than `MAX_MATCHES`."""
        names = f"{self.table}_names"
        return f"SELECT rowid FROM {names} WHERE {names} MATCH ? LIMIT {MAX_MATCHES + 1}"


class HostIndex:
    """Searches the newest index at a path. One thread may use it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        """Inode and time of the opened file."""

    def close(self) -> None:
        """Close the file. The caller deletes it."""
        if self._db:
            self._db.close()
        self._db = self._file = None

    def _open(self) -> sqlite3.Connection:
        try:
            status = self._path.stat()
        except FileNotFoundError as error:
            raise Unavailable("the list of hosts is being read: try again in a moment") from error
        found = status.st_ino, status.st_mtime_ns
        if self._db is None or found != self._file:
            self.close()
            self._db, self._file = _connect(self._path), found
        return self._db

    def scan_seconds(self) -> float:
        """Return how long the scan took. Raise Unavailable before the first one has ended."""
        (took,) = self._open().execute("SELECT took FROM about").fetchone()
        return float(took)

    def find_hosts(
        self, query: HostQuery, after: str | None = None, limit: int = 100
    ) -> IndexPage[tuple[Site, HostKey]]:
        """Return site and key of *limit* hosts in the order of *query*.

        *after*: the cursor of the page before. Raise BadSettings for an invalid cursor, and
        Unavailable before the first scan has ended.
        """
        db, chosen = self._open(), _List("hosts", "host", query.sort.value, query.is_ascending)
        conditions = {
            "condition": query.condition,
            "cause": query.cause,
            "site": query.site or None,
        }
        searched = _conditions(db, chosen, query.search, query.crawl, conditions)
        page = _find(db, chosen, "site, host", searched, after, limit)
        return page.with_items((site, host) for site, host, _ in page.items)

    def find_sites(
        self, query: SiteQuery = ALL_SITES, after: str | None = None, limit: int = 100
    ) -> IndexPage[SiteSums]:
        """Return *limit* sites in the order of *query*, as `find_hosts` returns hosts."""
        db, chosen = self._open(), _List("sites", "site", query.sort.value, query.is_ascending)
        searched = _conditions(db, chosen, query.search, query.crawl, {})
        page = _find(db, chosen, _SUMS, searched, after, limit)
        return page.with_items(
            SiteSums(**dict(zip(SiteSort, row, strict=False))) for row in page.items
        )


def _connect(path: Path) -> sqlite3.Connection:
    """Return a connection that only reads. The file never changes: it is replaced."""
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)


class _Conditions(NamedTuple):
    """The SQL conditions of a search."""

    where: list[str]
    values: list[Any]
    is_selective: bool
    """Whether one of them chooses few items, so that these are sorted and the sorted index is not
    searched."""


def _conditions(
    db: sqlite3.Connection,
    chosen: _List,
    search: str,
    crawl: str | None,
    columns: Mapping[str, str | None],
) -> _Conditions:
    """Return the conditions for a part of the name, a crawl, and the values of *columns*."""
    where, values, is_selective = list[str](), list[Any](), False
    table, matches = chosen.table, list[tuple[str, str]]()
    for name, value in columns.items():
        if value is not None:
            where, values = [*where, f"{name} = ?"], [*values, str(value)]
            ids = f"SELECT id FROM {table} WHERE {name} = ? LIMIT {MAX_MATCHES + 1}"
            matches.append((ids, str(value)))
    if crawl is not None:
        of_crawl = f"SELECT id FROM {table}_crawls WHERE crawl = ?"
        where.append(f"EXISTS ({of_crawl} AND {table}_crawls.id = {table}.id)")
        values.append(crawl)
        matches.append((f"{of_crawl} LIMIT {MAX_MATCHES + 1}", crawl))
    if search := search.strip().lower():
        if not is_plain(search):
            return _Conditions(["0"], [], True)
        like = f"{chosen.name} LIKE ? ESCAPE '!'"
        where, values = [*where, like], [*values, _like(search)]
        # All names are read for a shorter text, once and from their index alone.
        few = f"SELECT id FROM {table} WHERE {like} LIMIT {MAX_MATCHES + 1}"
        is_long = len(search) >= MIN_TRIGRAM
        matches.append((chosen.matching_ids, _phrase(search)) if is_long else (few, _like(search)))
    for query, value in matches:
        found = [id_ for (id_,) in db.execute(query, (value,))]
        if len(found) <= MAX_MATCHES:
            where.append("id IN (SELECT value FROM json_each(?))")
            values, is_selective = [*values, json.dumps(found)], True
    return _Conditions(where, values, is_selective)


def _find(
    db: sqlite3.Connection,
    chosen: _List,
    columns: str,
    searched: _Conditions,
    after: str | None,
    limit: int,
) -> IndexPage[Any]:
    """Return the *columns* and the sort values of *limit* items beyond the cursor *after*."""
    where, values, is_selective = searched
    total = _count(db, chosen.table, where, values)
    name = "id" if chosen.sort == chosen.name else chosen.sort
    column = f"+{name}" if is_selective else name  # The sign keeps SQLite from its index.
    if after is not None:
        clause, more = _beyond(db, chosen, column, after)
        where, values = [*where, clause], [*values, *more]
    direction = "ASC" if chosen.is_ascending else "DESC"
    rows = db.execute(
        f"SELECT {columns}, {column}, {chosen.name} FROM {chosen.table} {_where(where)}"
        f" ORDER BY {column} {direction}, id {direction} LIMIT ?",
        (*values, limit + 1),
    ).fetchall()
    cursor = None
    if len(rows) > limit:
        *_, value, last = rows[limit - 1]
        cursor = json.dumps([value if name != "id" else None, last])
    (as_of,) = db.execute("SELECT as_of FROM about").fetchone()
    return IndexPage(
        items=tuple(row[:-1] for row in rows[:limit]),
        next=cursor,
        total=min(total, MAX_COUNT),
        is_total_least=total > MAX_COUNT,
        as_of=as_of,
    )


def _phrase(search: str) -> str:
    """Return *search* as a phrase of the index of names."""
    return f'"{search.replace(chr(34), chr(34) * 2)}"'


def is_plain(text: str) -> bool:
    """Return whether *text* may be a part of a host key or a site: printable ASCII."""
    return text.isascii() and text.isprintable()


def _like(text: str) -> str:
    escaped = text.strip().lower()
    for special in "!%_":
        escaped = escaped.replace(special, f"!{special}")
    return f"%{escaped}%"


def _where(conditions: Sequence[str]) -> str:
    return f"WHERE {' AND '.join(conditions)}" if conditions else ""


def _count(db: sqlite3.Connection, table: str, where: list[str], values: list[Any]) -> int:
    """Return the number of rows, at most one more than `MAX_COUNT`."""
    rows = f"SELECT 1 FROM {table} {_where(where)} LIMIT {MAX_COUNT + 1}"
    (count,) = db.execute(f"SELECT count(*) FROM ({rows})", values).fetchone()
    return int(count)


def _beyond(
    db: sqlite3.Connection, chosen: _List, column: str, after: str
) -> tuple[str, list[Any]]:
    """Return the SQL condition for the items beyond the cursor *after*, and its values."""
    value, last = _parse_cursor(after)
    beyond = ">" if chosen.is_ascending else "<"
    # Ids are in the order of names. The item itself may be missing in a newer index.
    name = chosen.name
    nearest = f"<= ? ORDER BY {name} DESC" if chosen.is_ascending else f">= ? ORDER BY {name}"
    ids = f"SELECT id FROM {chosen.table} WHERE {name} {nearest} LIMIT 1"
    found = db.execute(ids, (last,)).fetchone()
    id_ = found[0] if found else 0 if chosen.is_ascending else MAX_ID
    if chosen.sort == name:
        return f"{column} {beyond} ?", [id_]
    return f"({column}, id) {beyond} (?, ?)", [value, id_]


def _parse_cursor(text: str) -> tuple[float | str | None, str]:
    with suppress(ValueError, TypeError):
        value, name = json.loads(text)
        is_number = isinstance(value, float | int) and abs(value) < MAX_VALUE
        is_name = isinstance(value, str) and is_plain(value)
        if isinstance(name, str) and is_plain(name) and (value is None or is_number or is_name):
            return value, name
    raise BadSettings("the cursor is not one of this list")
