"""An index of all hosts and sites for search and sorting, in a temporary SQLite file of the reader.

The store has hosts by their site. To sort a million of them reads the whole table, 13 µs for each
row. So a process of its own fills a file from one scan (`fill_index`), which replaces the file of
the scan before. Searches read the file within milliseconds. The shown hosts are then read from the
store (`search_hosts`), so only their order is as old as the scan.

A page continues after the sort value and the name of its last host. Between two scans, a host whose
value changes may therefore appear twice or be missed; all others appear once.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from gossamer import clock
from gossamer.errors import BadSettings, Unavailable
from inspection.crawl import OpenCrawl, open_crawl
from inspection.hosts import Host, host_of, read_some_hosts
from services.frontier.conditions import Condition
from services.frontier.rows import HostRow

if TYPE_CHECKING:
    from gossamer.settings import Settings

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

NAMED = f"SELECT rowid FROM names WHERE names MATCH ? LIMIT {MAX_MATCHES + 1}"


class HostSort(StrEnum):
    """The columns that hosts can be sorted by."""

    HOST = "host"
    QUEUED = "queued"
    VISITS = "visits"
    PAGES = "pages"
    RECEIVED = "received"
    DELAY = "delay"
    READY_AT = "ready_at"
    SECONDS_LEFT = "seconds_left"


class SiteSort(StrEnum):
    """The columns that sites can be sorted by."""

    SITE = "site"
    HOSTS = "hosts"
    QUEUED = "queued"
    VISITS = "visits"
    PAGES = "pages"
    RECEIVED = "received"


class HostQuery(Struct, frozen=True, kw_only=True):
    """Which hosts are listed, and in which order."""

    search: str = ""
    """A part of the host key, such as `example` or `https://`; "" for all hosts."""
    condition: Condition | None = None
    cause: str | None = None
    """Only hosts that back off because of this outcome."""
    site: str = ""
    sort: HostSort = HostSort.QUEUED
    is_ascending: bool = False


class IndexedSite(Struct, frozen=True, kw_only=True):
    """A site with the sums of its hosts, at the time of the scan."""

    site: str
    hosts: int
    queued: int
    visits: int
    pages: int
    received: int
    """Bytes."""
    backing_off: int
    """Its hosts that back off."""


class HostPage(Struct, frozen=True, kw_only=True):
    """Some hosts of a sorted list."""

    hosts: tuple[Host, ...]
    next: str | None
    """The cursor of the next page; null after the last host."""
    total: int
    """Hosts in the whole list."""
    is_total_least: bool
    """Whether the list has more than `total` hosts."""
    as_of: float
    """When the order was read, in epoch seconds. The hosts themselves are current."""


class SitePage(Struct, frozen=True, kw_only=True):
    """Some sites of a sorted list."""

    sites: tuple[IndexedSite, ...]
    next: str | None
    total: int
    as_of: float
    """When the sites were read, in epoch seconds."""


class IndexSummary(Struct, frozen=True, kw_only=True):
    """The numbers of all hosts in the index."""

    hosts: int
    sites: int
    conditions: dict[str, int]
    """Condition → hosts."""
    causes: dict[str, int]
    """Outcome that caused a backoff → hosts that back off."""
    as_of: float
    """When the scan began, in epoch seconds."""
    took: float
    """Seconds that the scan took. The next one should not begin before 20 times as long."""


_COLUMNS = (
    "host, site, condition, cause, queued, visits, pages, received, delay, ready_at, seconds_left"
)
_STAGED = f"CREATE TEMP TABLE staged ({_COLUMNS})"
_INSERT = f"INSERT INTO staged VALUES ({', '.join('?' * len(_COLUMNS.split(',')))})"
_BUILD = f"""
CREATE TABLE hosts (id INTEGER PRIMARY KEY, {_COLUMNS.replace("host,", "host TEXT UNIQUE,", 1)});
INSERT INTO hosts ({_COLUMNS}) SELECT {_COLUMNS} FROM staged ORDER BY host;
DROP TABLE staged;
{"".join(f"CREATE INDEX by_{name} ON hosts ({name}, id);" for name in HostSort if name != "host")}
CREATE INDEX by_condition ON hosts (condition);
CREATE INDEX by_cause ON hosts (cause) WHERE cause IS NOT NULL;
CREATE INDEX by_site ON hosts (site);
CREATE VIRTUAL TABLE names USING fts5(
    host, content='hosts', content_rowid='id', tokenize='trigram'
);
INSERT INTO names (names) VALUES ('rebuild');
CREATE TABLE sites AS
    SELECT site, count(*) hosts, sum(queued) queued, sum(visits) visits, sum(pages) pages,
        sum(received) received, sum(condition = '{Condition.BACKING_OFF}') backing_off
    FROM hosts GROUP BY site;
{"".join(f"CREATE INDEX sites_by_{name} ON sites ({name}, site);" for name in SiteSort)}
CREATE TABLE counts AS
    SELECT 'condition' kind, condition name, count(*) hosts FROM hosts GROUP BY condition
    UNION ALL SELECT 'cause', cause, count(*) FROM hosts WHERE cause IS NOT NULL GROUP BY cause;
CREATE TABLE about (hosts, sites, as_of, took);
ANALYZE;
"""


def fill_index(path: Path, data: Path | None, settings: "Settings | None") -> None:
    """Write the index of the folder *data*, or else of the fleet of *settings*, to *path*.

    Call it in a process of its own: the scan of a million hosts takes half a minute of CPU.
    """
    with open_crawl(settings, data) as crawl:
        table, began = crawl.store().table(HostRow), clock.now()
        write_index(path, table.everything(), began)


def write_index(path: Path, rows: Iterable[HostRow], began: float) -> None:
    """Write the index of *rows*, of a scan that *began* at this time, in place of the file *path*.

    Readers of the file before keep it until their next search.
    """
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    with closing(sqlite3.connect(fresh, isolation_level=None)) as db:
        # The file is temporary: after a crash it is made again.
        db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")
        db.execute(_STAGED)
        db.execute("BEGIN")
        db.executemany(_INSERT, map(_values, rows))
        db.execute("COMMIT")
        db.executescript(_BUILD)
        db.execute(
            "INSERT INTO about SELECT (SELECT count(*) FROM hosts), (SELECT count(*) FROM sites),"
            " ?, ?",
            (began, clock.now() - began),
        )
    fresh.replace(path)


def _values(row: HostRow) -> tuple[Any, ...]:
    host = host_of(row)
    return (
        host.host,
        host.site,
        str(host.condition),
        host.backoff_cause if host.condition is Condition.BACKING_OFF else None,
        host.queued,
        host.visits,
        host.pages,
        host.received,
        host.delay,
        host.ready_at,
        host.seconds_left,
    )


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

    def summarize(self) -> IndexSummary:
        """Return the numbers of hosts. Raise Unavailable before the first scan has ended."""
        db = self._open()
        hosts, sites, as_of, took = db.execute("SELECT * FROM about").fetchone()
        return IndexSummary(
            hosts=hosts,
            sites=sites,
            conditions=_counts(db, "condition"),
            causes=_counts(db, "cause"),
            as_of=as_of,
            took=took,
        )

    def find_hosts(
        self, query: HostQuery, after: str | None = None, limit: int = 100
    ) -> tuple[list[tuple[str, str]], HostPage]:
        """Return site and key of *limit* hosts, and their page without the hosts.

        *after*: the cursor of the page before. Raise BadSettings for an invalid cursor, and
        Unavailable before the first scan has ended.
        """
        db = self._open()
        where, values, is_selective = _conditions(db, query)
        total = _count(db, "hosts", where, values)
        name = "id" if query.sort is HostSort.HOST else query.sort.value
        column = f"+{name}" if is_selective else name  # The sign keeps SQLite from its index.
        if after is not None:
            clause, more = _after_host(db, query, column, after)
            where, values = [*where, clause], [*values, *more]
        direction = "ASC" if query.is_ascending else "DESC"
        rows = db.execute(
            f"SELECT site, host, {column} FROM hosts {_where(where)}"
            f" ORDER BY {column} {direction}, id {direction} LIMIT ?",
            (*values, limit + 1),
        ).fetchall()
        shown, cursor = rows[:limit], None
        if len(rows) > limit:
            cursor = json.dumps([shown[-1][2] if name != "id" else None, shown[-1][1]])
        (as_of,) = db.execute("SELECT as_of FROM about").fetchone()
        page = HostPage(
            hosts=(),
            next=cursor,
            total=min(total, MAX_COUNT),
            is_total_least=total > MAX_COUNT,
            as_of=as_of,
        )
        return [(site, host) for site, host, _ in shown], page

    def find_sites(
        self,
        search: str = "",
        sort: SiteSort = SiteSort.HOSTS,
        is_ascending: bool = False,
        after: str | None = None,
        limit: int = 100,
    ) -> SitePage:
        """Return *limit* sites whose names contain *search*, sorted.

        Raise BadSettings for an invalid cursor, and Unavailable before the first scan has ended.
        """
        db = self._open()
        where, values, is_selective = _site_conditions(db, search.strip().lower())
        total = _count(db, "sites", where, values)
        comparison, direction = (">", "ASC") if is_ascending else ("<", "DESC")
        column = f"+{sort.value}" if is_selective else sort.value
        if after is not None:
            where = [*where, f"({column}, site) {comparison} (?, ?)"]
            values = [*values, *_parse_cursor(after)]
        rows = db.execute(
            "SELECT site, hosts, queued, visits, pages, received, backing_off, "
            f"{sort.value} FROM sites {_where(where)}"
            f" ORDER BY {column} {direction}, site {direction} LIMIT ?",
            (*values, limit + 1),
        ).fetchall()
        names = IndexedSite.__struct_fields__
        (as_of,) = db.execute("SELECT as_of FROM about").fetchone()
        return SitePage(
            sites=tuple(IndexedSite(**dict(zip(names, row, strict=False))) for row in rows[:limit]),
            next=json.dumps([rows[limit - 1][-1], rows[limit - 1][0]]) if rows[limit:] else None,
            total=total,
            as_of=as_of,
        )


def search_hosts(
    crawl: OpenCrawl, index: HostIndex, query: HostQuery, after: str | None = None, limit: int = 100
) -> HostPage:
    """Return *limit* hosts in the order of *index*, as they are now in *crawl*.

    A host that was erased since the scan is left out. Raise BadSettings for an invalid cursor, and
    Unavailable before the first scan has ended.
    """
    keys, page = index.find_hosts(query, after, limit)
    return replace(page, hosts=tuple(read_some_hosts(crawl, keys)))


def _connect(path: Path) -> sqlite3.Connection:
    """Return a connection that only reads. The file never changes: it is replaced."""
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)


def _conditions(db: sqlite3.Connection, query: HostQuery) -> tuple[list[str], list[Any], bool]:
    """Return the SQL conditions of *query*, their values, and whether one of them chooses few
    hosts, so that these are sorted and the sorted index is not searched."""
    where, values, is_selective = list[str](), list[Any](), False
    chosen = {"condition": query.condition, "cause": query.cause, "site": query.site or None}
    matches = {
        f"SELECT id FROM hosts WHERE {name} = ? LIMIT {MAX_MATCHES + 1}": str(value)
        for name, value in chosen.items()
        if value is not None
    }
    where += [f"{name} = ?" for name, value in chosen.items() if value is not None]
    values += matches.values()
    if search := query.search.strip().lower():
        if not is_plain(search):
            return ["0"], [], True
        where, values = [*where, "host LIKE ? ESCAPE '!'"], [*values, _like(search)]
        if len(search) >= MIN_TRIGRAM:
            matches[NAMED] = _phrase(search)
    for rows, value in matches.items():
        if _are_few(db, rows, value):
            where, values, is_selective = [*where, f"id IN ({rows})"], [*values, value], True
    return where, values, is_selective


def _site_conditions(db: sqlite3.Connection, search: str) -> tuple[list[str], list[Any], bool]:
    """Return the SQL conditions for sites, their values, and whether they choose few sites."""
    if not search:
        return [], [], False
    if not is_plain(search):
        return ["0"], [], True
    where, values = ["site LIKE ? ESCAPE '!'"], [_like(search)]
    # The name of a site is a part of the names of its hosts.
    if len(search) >= MIN_TRIGRAM and _are_few(db, NAMED, phrase := _phrase(search)):
        where.append(f"site IN (SELECT site FROM hosts WHERE id IN ({NAMED}))")
        return where, [*values, phrase], True
    return where, values, False


def _phrase(search: str) -> str:
    """Return *search* as a phrase of the index of names."""
    return f'"{search.replace(chr(34), chr(34) * 2)}"'


def _are_few(db: sqlite3.Connection, rows: str, value: str) -> bool:
    """Return whether the query *rows* with this *value* finds at most `MAX_MATCHES` rows."""
    (count,) = db.execute(f"SELECT count(*) FROM ({rows})", (value,)).fetchone()
    return int(count) <= MAX_MATCHES


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


def _counts(db: sqlite3.Connection, kind: str) -> dict[str, int]:
    return dict(db.execute("SELECT name, hosts FROM counts WHERE kind = ?", (kind,)))


def _after_host(
    db: sqlite3.Connection, query: HostQuery, column: str, after: str
) -> tuple[str, list[Any]]:
    """Return the SQL condition for the hosts beyond the cursor *after*, and its values."""
    value, host = _parse_cursor(after)
    beyond = ">" if query.is_ascending else "<"
    # Ids are in the order of names. The host itself may be missing in a newer index.
    nearest = "<= ? ORDER BY host DESC" if query.is_ascending else ">= ? ORDER BY host"
    found = db.execute(f"SELECT id FROM hosts WHERE host {nearest} LIMIT 1", (host,)).fetchone()
    id_ = found[0] if found else 0 if query.is_ascending else MAX_ID
    if query.sort is HostSort.HOST:
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
