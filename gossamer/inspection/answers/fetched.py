"""The answers to a request for urgent URLs: the outcome and the document of each, once it has them.

A visit has ended when the row of its URL is another one than before the request. No clocks are
compared: those of a fleet differ.
"""

from collections.abc import Sequence

from msgspec import Struct

from gossamer.errors import GossamerError
from gossamer.inspection.archive.captures import iterate_captures
from gossamer.inspection.archive.page_texts import PageVersion, describe_version
from gossamer.inspection.archive.versions import Version, read_row
from gossamer.inspection.basics.views import view_of
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.urls.urls import FETCHED, UrlState, explain_url
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.web.url import host_key


class Before(Struct, frozen=True):
    """A URL as it was before its visit was requested."""

    url: str
    """In the form of the crawl."""
    row: UrlRow | None
    """Its last outcome; None without one."""


class Fetched(Struct, frozen=True, kw_only=True):
    """The result of a request for an urgent URL so far."""

    url: str
    state: UrlState
    answer: str
    """The outcome in one or two sentences, or what the visit waits for, and until when."""
    has_ended: bool
    """Whether the visit has ended, or the URL was refused."""
    is_fetched: bool = False
    """Whether the visit has ended with a page."""
    status: int = 0
    redirects_to: str = ""
    document: PageVersion | None = None
    """The archived page with its text; null until it is archived, and without a page."""
    fault: str = ""
    """Why the archived page cannot be read here, for people."""


def note_before(crawl: OpenCrawl, urls: Sequence[str]) -> list[Before]:
    """Return *urls* in the form of *crawl*, as they are before a request."""
    with crawl.view(UrlRow) as store:
        rows = store.table(UrlRow)
        return [Before(url, rows.get((crawl.id, host_key(url)), url)) for url in urls]


def read_fetched(crawl: OpenCrawl, before: Before) -> Fetched:
    """Return what the request for a URL has brought so far, with the document if it is archived."""
    row, found = _find_outcome(crawl, before), explain_url(crawl, before.url)
    if row is None:
        return Fetched(url=before.url, state=found.state, answer=found.answer, has_ended=False)
    is_fetched = row.outcome in FETCHED
    document, fault = _read_document(crawl, row) if is_fetched else (None, "")
    return view_of(
        Fetched,
        row,
        state=found.state,
        answer=found.answer,
        has_ended=True,
        is_fetched=is_fetched,
        document=document,
        fault=fault,
    )


def has_ended(crawl: OpenCrawl, before: Before) -> bool:
    """Return whether the requested visit to a URL has ended. It reads one row: `read_fetched` also
    searches the parked links for a URL that the crawl does not know yet."""
    return _find_outcome(crawl, before) is not None


def _find_outcome(crawl: OpenCrawl, before: Before) -> UrlRow | None:
    """Return the row of a URL after the requested visit; None until the visit has ended."""
    row = crawl.store().table(UrlRow).get((crawl.id, host_key(before.url)), before.url)
    return None if row is None or row == before.row or row.queued else row


def is_complete(found: Fetched) -> bool:
    """Return whether more time would not change *found*."""
    return found.has_ended and bool(not found.is_fetched or found.document or found.fault)


def _read_document(crawl: OpenCrawl, row: UrlRow) -> tuple[PageVersion | None, str]:
    """Return the document of the visit of *row*, or why it cannot be read; neither before it is
    archived."""
    newest = next(iterate_captures(crawl.store(), crawl.id, row.url), None)
    if newest is None or newest.fetched_at < row.at:
        return None, ""
    try:
        return describe_version(crawl, Version(newest, read_row(crawl, newest))), ""
    except GossamerError as error:
        # In a fleet the file may be on the machine of the archive.
        return None, str(error)
