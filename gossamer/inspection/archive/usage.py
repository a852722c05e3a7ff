"""The permitted uses of a URL at a time, by the statements that were archived until then.

The copy of robots.txt in force is the newest one that was fetched until the time. A server error
does not replace an earlier copy. The files and headers are read from the WARC files, so the result
shows the bytes that the server sent, and not a later conclusion from them.

Crawls share robots.txt and usage files: one of them visits a file, and its WARC files have the copy
that is in force for all. So these files are searched in the captures of all crawls.
"""

from collections.abc import Iterable, Iterator
from heapq import merge
from math import nextafter
from typing import NamedTuple

from msgspec import Struct

from gossamer.captures import Capture
from gossamer.errors import GossamerError
from gossamer.inspection.archive.captures import FOREVER, iterate_captures, unarchived_reason
from gossamer.inspection.archive.versions import decode_file, read_row
from gossamer.inspection.basics.figures import instant
from gossamer.inspection.basics.views import view_of
from gossamer.inspection.crawls.crawl import NotFound, OpenCrawl
from gossamer.inspection.crawls.url_forms import crawl_form
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.frontier.features.usage_files import carried_files
from gossamer.services.frontier.tables.hosts import HostRow, RobotsRow
from gossamer.services.frontier.tables.urls import HistoryRow
from gossamer.web.directives import find_in_markup
from gossamer.web.http import Headers, redirect_target
from gossamer.web.robots import LIMIT, REDIRECTS, RobotsRules, parse_robots
from gossamer.web.url import HostKey, host_key, host_name, site_of
from gossamer.web.usage import CATEGORIES, Statement, judge, names_of_meta, read_headers, read_meta
from gossamer.web.usage.files import (
    TDMREP_PATH,
    ReadFile,
    UsageFile,
    statements_about,
)
from gossamer.web.usage.reading import read_usage_file

DEFAULT_PRODUCT = "gossamer"
MAX_HEAD_BYTES = 64 << 10
"""Bytes of a page in which meta elements are searched, as in the archive."""
MAX_VISITS = 10
"""Visits to a page that are read."""
MAX_HOSTS = 20
"""Hosts of a site that are read."""


class ArchivedFile(Struct, frozen=True):
    """A robots.txt, a usage file or a page, as archived."""

    kind: str
    """`robots.txt`, `usage file` or `page`."""
    url: str
    fetched_at: float
    status: int
    file: str
    """The WARC file."""
    offset: int
    fault: str = ""
    """Why it or a part of it was not read, for people; "" if all was read."""
    text: str = ""
    """The decoded text of a file; "" for a page."""
    headers: Headers = ()


class CitedStatement(Struct, frozen=True):
    """A statement that decides, with the response that it comes from."""

    statement: Statement
    url: str
    fetched_at: float


class CategoryUsage(Struct, frozen=True):
    """Whether a use was allowed."""

    allowed: bool | None
    """Null means unknown: no statement is about the use."""
    by: tuple[CitedStatement, ...] = ()


class UsageAt(Struct, frozen=True):
    """The permitted uses of a URL at a time."""

    url: str
    at: float
    visit_allowed: bool | None
    """Whether robots.txt allowed a visit; null if no robots.txt was archived."""
    visit_rule: str
    """The rule of robots.txt that decides about a visit, for people."""
    categories: dict[str, CategoryUsage]
    files: tuple[ArchivedFile, ...]
    """The responses that the statements come from."""
    statements: tuple[CitedStatement, ...]
    """All statements about the URL, also those that do not decide."""
    not_archived: str = ""
    """Why the page is not archived although it was fetched, as a sentence; "" if it is archived."""
    not_archived_at: float | None = None
    """When that page was fetched; null if it is archived."""


class _Found(NamedTuple):
    """The row of a capture, and the capture."""

    row: CaptureRow
    capture: Capture | None
    """None if it cannot be read."""
    fault: str = ""
    """Why it cannot be read, for people."""

    @property
    def headers(self) -> Headers:
        return self.capture.headers if self.capture else ()

    @property
    def is_cut(self) -> bool:
        """Whether the end of the body is missing."""
        return self.capture is not None and bool(self.capture.truncated)

    def decode_body(self, limit: int) -> bytes:
        """Return at most *limit* bytes of the decoded body; b"" if there is none."""
        if self.capture is None or self.capture.refers_to is not None:
            return b""
        return decode_file(self.capture, limit)


class UsageReader:
    """Reads what was archived of a crawl until a time."""

    def __init__(self, crawl: OpenCrawl, at: float) -> None:
        self._crawl, self._at = crawl, at
        settings = crawl.settings
        self._product = settings.fetcher.product if settings else DEFAULT_PRODUCT

    def read(self, url: str) -> UsageAt | None:
        """Return the permitted uses of a canonical *url*.

        Return None if nothing was archived until the time.
        """
        files, cited = list[ArchivedFile](), list[CitedStatement]()
        host, rules = host_key(url), RobotsRules()
        robots = self._find(f"{host}/robots.txt")
        if robots:
            rules, body = self._read_robots(robots)
            files.append(_describe_file("robots.txt", robots, body, _robots_fault(robots)))
            cited += _cite(rules.usage_of(url), robots.row.url, robots.row)
        usage = [*self._usage_files(host, rules, files)]
        captured = {file.url: found for file, found in usage}
        row = RobotsRow(host, rules, usage_files=tuple(file for file, _ in usage))
        for file in carried_files(row, [url]):
            # A license that was not archived is a statement of robots.txt.
            if found := captured.get(file.url, robots) if file.fault else captured[file.url]:
                cited += _cite(statements_about([file], url), found.row.url, found.row)
        if page := self._newest(url):
            files.append(_describe_file("page", page, b"", page.fault))
            cited += _cite(self._page_statements(page), url, page.row)
        visits = self._visits(url)
        reason = unarchived_reason(visits, [page.row] if page else [])
        if not files and not reason:
            return None
        return UsageAt(
            url=url,
            at=self._at,
            visit_allowed=rules.allows(url) if robots else None,
            visit_rule=rules.explain(url) if robots else self._no_robots(),
            categories=_judge(cited),
            files=tuple(files),
            statements=tuple(cited),
            not_archived=reason,
            not_archived_at=next(row.at for row in visits if row.verdict) if reason else None,
        )

    def _no_robots(self) -> str:
        settings = self._crawl.settings
        is_off = settings and "robots" not in settings.archive.records
        return f"no robots.txt was archived{': archive.records has no robots' if is_off else ''}"

    def _visits(self, url: str) -> list[HistoryRow]:
        """Return the last visits to *url* until the time, newest first."""
        after = nextafter(self._at, FOREVER)  # The rows beyond it are the older ones.
        return self._crawl.store().table(HistoryRow).scan((self._crawl.id, url), after, MAX_VISITS)

    def _page_statements(self, page: _Found) -> Iterator[Statement]:
        """Yield the statements in the headers and the meta elements of a page."""
        yield from read_headers(page.headers, self._product)
        head = page.decode_body(MAX_HEAD_BYTES).decode("latin-1")
        yield from read_meta(find_in_markup(head, names_of_meta(self._product)), self._product)

    def first_archived_at(self, url: str) -> float | None:
        """Return when *url* or its robots.txt was archived first; None if neither was."""
        store, crawl = self._crawl.store(), self._crawl.id
        page = iterate_captures(store, crawl, url, FOREVER)
        robots = self._captures_of_file(f"{host_key(url)}/robots.txt", FOREVER)
        return min((row.fetched_at for row in (*page, *robots)), default=None)

    def _captures_of_file(self, url: str, until: float) -> Iterator[CaptureRow]:
        """Yield the captures of a robots.txt or a usage file that were fetched until then, newest
        first."""
        store = self._crawl.store()
        crawls = {self._crawl.id, *self._crawl.crawls()}
        found = (iterate_captures(store, crawl, url, until) for crawl in crawls)
        return merge(*found, key=lambda row: row.fetched_at, reverse=True)

    def _usage_files(
        self, host: HostKey, rules: RobotsRules, files: list[ArchivedFile]
    ) -> Iterator[tuple[UsageFile, _Found]]:
        own = (line.url for line in rules.licenses if host_key(line.url) == host)
        for url in dict.fromkeys([f"{host}{TDMREP_PATH}", *own]):
            found = self._find(url)
            if found is None:
                continue
            body, read = found.decode_body(LIMIT + 1), ReadFile((), found.fault)
            if found.row.status // 100 != 2:
                read = ReadFile((), f"the server answered {found.row.status}")
            elif not read.fault:
                read = read_usage_file(body[:LIMIT], url, host, found.is_cut or len(body) > LIMIT)
            files.append(_describe_file("usage file", found, body[:LIMIT], read.fault))
            yield UsageFile(url, read.statements, read.fault, found.row.fetched_at), found

    def _read_robots(self, found: _Found) -> tuple[RobotsRules, bytes]:
        if found.row.status // 100 != 2:
            return RobotsRules(status=found.row.status), b""
        body = found.decode_body(LIMIT + 1)
        at = found.row.fetched_at
        file = parse_robots(body, self._product, at, 0.0, found.row.url, found.is_cut)
        return file.rules, body[:LIMIT]

    def _find(self, url: str) -> _Found | None:
        """Return the response in force for a file: after redirects, and before server errors."""
        for _ in range(REDIRECTS + 1):
            rows = self._captures_of_file(url, self._at)
            row = next((row for row in rows if row.status // 100 in (2, 3, 4)), None)
            if row is None or row.status == 429:
                return None
            found = self._read(row)
            target = redirect_target(row.status, found.headers, url)
            if not target:
                return found
            url = target
        return found

    def _newest(self, url: str) -> _Found | None:
        rows = iterate_captures(self._crawl.store(), self._crawl.id, url, self._at)
        row = next(rows, None)
        return self._read(row) if row else None

    def _read(self, row: CaptureRow) -> _Found:
        try:
            return _Found(row, read_row(self._crawl, row))
        except GossamerError as error:
            return _Found(row, None, str(error))


def read_usage(crawl: OpenCrawl, text: str, at: float) -> list[UsageAt]:
    """Return the permitted uses of the URL *text*, or of the start pages of the hosts of a site.

    Raise NotFound if nothing was archived until *at*, and BadSettings for an invalid URL.
    """
    reader = UsageReader(crawl, at)
    urls = [*_urls(crawl, text)]
    found = [one for url in urls if (one := reader.read(url))]
    if found:
        return found
    first = [at for at in map(reader.first_archived_at, urls) if at is not None]
    later = f": the first capture is of {instant(min(first))}" if first else ""
    raise NotFound(
        f"nothing about {text} was archived until {instant(at)}{later or ', or at any time'}"
    )


def _urls(crawl: OpenCrawl, text: str) -> Iterator[str]:
    """Yield the URL *text* in the form of *crawl*, or the start page of each host of a site."""
    url = crawl_form(crawl, text).url
    site = site_of(url)
    if "/" in text or host_name(url) != site:
        yield url
        return
    hosts = crawl.store().table(HostRow).scan(site, limit=MAX_HOSTS)
    yield from (f"{row.host}/" for row in hosts) if hosts else (url,)


def _judge(cited: Iterable[CitedStatement]) -> dict[str, CategoryUsage]:
    found = {id(one.statement): one for one in cited}
    judgements = judge(one.statement for one in found.values())
    return {
        category.value: CategoryUsage(
            judgements[category].allowed,
            tuple(found[id(one)] for one in judgements[category].by),
        )
        for category in CATEGORIES
    }


def _cite(statements: Iterable[Statement], url: str, row: CaptureRow) -> Iterator[CitedStatement]:
    return (CitedStatement(one, url, row.fetched_at) for one in statements)


def _describe_file(kind: str, found: _Found, body: bytes, fault: str) -> ArchivedFile:
    text = body.decode("utf-8", "replace")
    return view_of(
        ArchivedFile, found.row, kind=kind, fault=fault, text=text, headers=found.headers
    )


def _robots_fault(found: _Found) -> str:
    if found.row.status // 100 != 2:
        return f"the server answered {found.row.status}: everything may be visited"
    return found.fault
