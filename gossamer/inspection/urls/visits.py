"""Visits to URLs as data: the history of a URL, URLs by their last outcome, and failed seeds."""

import re
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from msgspec import Struct

from gossamer.blocklist import Blocklist
from gossamer.bounds import exclusion_of, seed_part
from gossamer.crawl import blocklist_of, crawl_url, last_definition
from gossamer.errors import BadSettings
from gossamer.events import CrawlDefined, Discovery, Outcome, Verdict
from gossamer.inspection.archive.captures import iterate_captures
from gossamer.inspection.basics.folder import Opened
from gossamer.inspection.basics.labels import finding_text, outcome_text
from gossamer.inspection.basics.views import view_of
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.log import Log
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.urls import HistoryRow, UrlRow
from gossamer.web.http import GONE, NOT_MODIFIED
from gossamer.web.soft_404 import NO_PAGE
from gossamer.web.url import BadUrl, HostKey, canonicalize, host_key, site_of

READ_ROWS = 100
"""Rows of one read of a history."""
NOT_VISITED = "not visited yet"
"""The reason of a seed without a page that will be visited, or of an unknown one."""
OUTCOME_NAMES = ", ".join(
    str(outcome).replace("_", "-") for outcome in Outcome if outcome != "other"
)
OUTCOME_OF_CLASS = {
    2: Outcome.PAGE,
    3: Outcome.REDIRECT,
    4: Outcome.CLIENT_ERROR,
    5: Outcome.SERVER_ERROR,
}
"""Class of a status → the outcome of a visit of which only the status is known."""
_status = re.compile(r"[1-5]\d\d")
_status_class = re.compile(r"([1-5])xx")


class Visit(HistoryRow, frozen=True):
    """One visit to a URL: its row in the history of that URL, and its capture."""

    capture: CaptureRow | None = None
    """The archived response; null if it is not archived, or its row has expired."""
    finding: str = ""
    """What the visit found, for people: the verdict, and how much had changed."""


class LastOutcome(Struct, frozen=True):
    """The last outcome of a URL, or its refusal."""

    url: str
    host: HostKey
    """The host key of the URL."""
    outcome: str
    at: float
    status: int
    text: str
    """The outcome in words, with the reason of a failure."""
    was_visited: bool
    """Whether a visit ended with this outcome; false for a refused URL."""


class OutcomeFilter(Struct, frozen=True):
    """A status code, a class of status codes, or the name of an outcome."""

    text: str
    """As a person typed it."""
    outcome: Outcome | None = None
    status: int | None = None
    status_class: int | None = None

    def matches(self, outcome: str, status: int) -> bool:
        """Return whether an *outcome* with this *status* is the chosen one."""
        if self.status is not None:
            return status == self.status
        if self.status_class is not None:
            return status // 100 == self.status_class
        return outcome == self.outcome


class SeedFailure(Struct, frozen=True):
    """Why a seed gave no page."""

    outcome: str
    """The last outcome; empty if the seed was not visited."""
    status: int
    reason: str


def visit_of(row: HistoryRow, capture: CaptureRow | None = None) -> Visit:
    """Return the visit of one *row* of a history, with its *capture*."""
    # The text of a soft 404 may be new, but it does not count as a page.
    verdict = Verdict.GONE if row.reason == NO_PAGE else row.verdict
    finding = finding_text(verdict, row.change, row.duplicate_of, row.redirects_to)
    return view_of(Visit, row, verdict=verdict, capture=capture, finding=finding)


def read_history(crawl: OpenCrawl, url: str) -> Iterator[Visit]:
    """Yield the visits to a canonical *url*, newest first, with their captures.

    A capture without a row of its visit, which has expired, is a visit too.
    """
    table, before = crawl.store().table(HistoryRow), None
    captures = iterate_captures(crawl.store(), crawl.id, url)
    capture = next(captures, None)
    while rows := table.scan((crawl.id, url), before, READ_ROWS):
        for row in rows:
            while capture and capture.fetched_at > row.at:
                yield _visit_of_capture(capture)
                capture = next(captures, None)
            is_archived = capture is not None and capture.fetched_at == row.at
            yield visit_of(row, capture if is_archived else None)
            if is_archived:
                capture = next(captures, None)
        before = rows[-1].at
    while capture:
        yield _visit_of_capture(capture)
        capture = next(captures, None)


def _visit_of_capture(row: CaptureRow) -> Visit:
    """Return the data of a visit of which only the capture is known."""
    outcome = OUTCOME_OF_CLASS.get(row.status // 100, Outcome.OTHER)
    if row.status in (NOT_MODIFIED, *GONE):
        outcome = Outcome.NOT_MODIFIED if row.status == NOT_MODIFIED else Outcome.GONE
    return Visit(
        row.crawl, row.url, row.fetched_at, outcome, row.status, size=row.size, capture=row
    )


def parse_outcome(text: str) -> OutcomeFilter:
    """Read a status code (`404`), a class (`5xx`), or the name of an outcome (`host-down`).

    Raise BadSettings for any other text.
    """
    typed = text.strip().lower()
    if _status.fullmatch(typed):
        return OutcomeFilter(typed, status=int(typed))
    if found := _status_class.fullmatch(typed):
        return OutcomeFilter(typed, status_class=int(found[1]))
    name = typed.replace("-", "_")
    if name in set(Outcome) and name != Outcome.OTHER:
        return OutcomeFilter(name.replace("_", "-"), outcome=Outcome(name))
    raise BadSettings(
        f"{text!r} is not an outcome: give a status code (404, 429, 5xx) or one of {OUTCOME_NAMES}"
    )


def read_last_outcome(crawl: OpenCrawl, url: str) -> LastOutcome | None:
    """Return the last outcome of a canonical *url*; None if it was neither visited nor refused."""
    row = crawl.store().table(UrlRow).get((crawl.id, host_key(url)), url)
    return last_outcome(row) if row else None


def matching_urls(
    crawl: OpenCrawl, chosen: OutcomeFilter | None, among: Container[str], before: float
) -> Iterator[LastOutcome]:
    """Yield the URLs of *crawl* whose last outcome is in *among* and not newer than *before*.

    If *chosen* is given, it must match, too. The whole table of URLs is read.
    """
    for row in crawl.store().table(UrlRow).everything():
        is_candidate = row.crawl == crawl.id and row.outcome in among and row.at <= before
        if is_candidate and (chosen is None or chosen.matches(row.outcome, row.status)):
            yield last_outcome(row)


def last_outcome(row: UrlRow) -> LastOutcome:
    """Return the last outcome of a URL from its *row*."""
    text = outcome_text(row.outcome, row.status, row.reason)
    return view_of(LastOutcome, row, text=text, was_visited=bool(row.earlier or row.attempt))


def failed_seeds(opened: Opened, crawl_id: str, seeds: Iterable[str]) -> dict[str, SeedFailure]:
    """Return the canonical *seeds* that gave no page, each with its failure.

    Redirects of a seed are followed.
    """
    failures, controls = dict[str, SeedFailure](), _Controls(opened.log, crawl_id)
    for seed in seeds:
        *_, (url, row) = _follow(opened, controls, seed)
        if row is None or row.outcome not in (Outcome.PAGE, Outcome.NOT_MODIFIED):
            failures[seed] = _seed_failure(opened, controls, seed, url, row)
    return failures


def follow_redirects(
    opened: Opened, crawl_id: str, url: str
) -> Iterator[tuple[str, UrlRow | None]]:
    """Yield *url* in the form of the crawl, and the targets of its redirects, each with its row.

    The last row is a redirect if the redirects lead back to an earlier URL.
    """
    return _follow(opened, _Controls(opened.log, crawl_id), url)


@dataclass(frozen=True)
class _Controls:
    """The definition of a crawl and the blocklist, each read from the log at its first use, once
    for many seeds."""

    log: Log
    crawl_id: str

    @cached_property
    def crawl(self) -> CrawlDefined | None:
        return last_definition(self.log, self.crawl_id)

    @cached_property
    def blocklist(self) -> Blocklist:
        return blocklist_of(self.log)


def _follow(opened: Opened, controls: _Controls, url: str) -> Iterator[tuple[str, UrlRow | None]]:
    crawl_id, followed = controls.crawl_id, set[str]()
    row = _url_row(opened, crawl_id, url)
    if row is None and controls.crawl:
        with suppress(BadUrl):
            url = crawl_url(controls.crawl, url)
            row = _url_row(opened, crawl_id, url)
    while row and row.outcome == Outcome.REDIRECT:
        followed.add(url)
        try:
            target = canonicalize(row.redirects_to, url)
        except BadUrl:
            break
        yield url, row
        url = target
        if target in followed:
            # The end of a circle is where it closes.
            break
        row = _url_row(opened, crawl_id, url)
    yield url, row


def _seed_failure(
    opened: Opened, controls: _Controls, seed: str, url: str, row: UrlRow | None
) -> SeedFailure:
    if row and row.outcome == Outcome.REDIRECT:
        return SeedFailure(row.outcome, row.status, f"its redirects lead back to {url}")
    if row:
        return view_of(SeedFailure, row)
    if url != seed and (crawl := controls.crawl):
        found = Discovery(url, joined=seed_part(crawl, url))
        if exclusion := exclusion_of(crawl, controls.blocklist, found):
            reason = f"it redirects to {url}, which is {exclusion.reason}"
            return SeedFailure("", 0, reason)
    host = opened.store.table(HostRow).get(site_of(url), host_key(url))
    return SeedFailure("", 0, (host.backoff_reason if host else "") or NOT_VISITED)


def _url_row(opened: Opened, crawl_id: str, url: str) -> UrlRow | None:
    return opened.store.table(UrlRow).get((crawl_id, host_key(url)), url)
